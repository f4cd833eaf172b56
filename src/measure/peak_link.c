/* SPDX-License-Identifier: Apache-2.0 */
/* The formulas, one a link. */
#include "peak_link.h"

#include "bwtool/pci.h"

#include <math.h>
#include <stdio.h>

/* What NVIDIA's GPUs and the chips around them usually agree on. */
enum { PAYLOAD_ASSUMED = 256 };

static void fill_pcie(struct bw_peak *peak, int gen, int width, const struct bw_port *port,
                      bool is_written, const char *where)
{
    const int payload = port->pcie_payload > 0 ? port->pcie_payload : PAYLOAD_ASSUMED;

    peak->link = LINK_PCIE;
    peak->nominal_gb_per_s = bw_pci_gb_per_s(gen, width);
    peak->bound_gb_per_s = peak->nominal_gb_per_s * (is_written ? bw_pci_write_part(gen, payload)
                                                                : bw_pci_read_part(gen, payload));
    if (isfinite(peak->nominal_gb_per_s)) {
        snprintf(peak->source, sizeof(peak->source),
                 "PCIe %d.0 x%d as negotiated%s, after line coding; bound: packets of %d bytes%s, "
                 "%s",
                 gen, width, where, payload, port->pcie_payload > 0 ? "" : " (assumed)",
                 is_written ? "written" : "as answers to reads");
    }
}

void bw_link_pcie(const struct bw_port *port, bool is_to_gpu, struct bw_peak *peak)
{
    const double own = bw_pci_gb_per_s(port->pcie_gen, port->pcie_width);
    const double above = bw_pci_gb_per_s(port->above_gen, port->above_width);
    char where[48];

    if (isfinite(own) && above < own) {
        snprintf(where, sizeof(where), " above %s", port->above);
        fill_pcie(peak, port->above_gen, port->above_width, port, !is_to_gpu, where);
    } else {
        fill_pcie(peak, port->pcie_gen, port->pcie_width, port, !is_to_gpu, "");
    }
}

void bw_link_pcie_peers(const struct bw_port *src, const struct bw_port *dst, bool is_push,
                        struct bw_peak *peak)
{
    const double from = bw_pci_gb_per_s(src->pcie_gen, src->pcie_width);
    const double to = bw_pci_gb_per_s(dst->pcie_gen, dst->pcie_width);
    const struct bw_port *slower = to < from ? dst : src;

    peak->link = LINK_PCIE;
    if (isfinite(from) && isfinite(to)) {
        fill_pcie(peak, slower->pcie_gen, slower->pcie_width, slower, is_push,
                  from == to ? "" : " (the slower end)");
    }
}

/*
 * What a link carries after line coding. What is shown before it is 16/17
 * more on newer ones, so 26.562 is 25; older ones are shown as 25.781 or 25.
 */
static double nvlink_gb_per_s(int mbps)
{
    if (mbps >= 24000 && mbps < 27500) {
        return 25;
    }
    if (mbps >= 48000 && mbps < 54000) {
        return 50;
    }
    return mbps > 0 ? mbps * 1e-3 * 16 / 17 : NAN;
}

void bw_link_nvlink(const struct bw_port *src, const struct bw_port *dst, int to,
                    enum bw_engine engine, struct bw_peak *peak)
{
    /* The engines' packets: kernels' accesses have 128 bytes, a copy engine's 256, header 16. */
    const int payload = engine == ENGINE_SM ? 128 : 256;
    const bool is_direct = !src->has_switch && src->nvlinks_to != NULL;
    int links = src->nvlinks < dst->nvlinks ? src->nvlinks : dst->nvlinks;

    if (is_direct && src->nvlinks_to[to] >= 0) {
        links = src->nvlinks_to[to];
    }
    if (links == 0) {
        return;
    }
    peak->link = LINK_NVLINK;
    peak->group = is_direct ? links : 0;
    peak->nominal_gb_per_s = links * nvlink_gb_per_s(src->nvlink_mbps);
    peak->bound_gb_per_s = peak->nominal_gb_per_s * payload / (payload + 16);
    if (isfinite(peak->nominal_gb_per_s)) {
        snprintf(peak->source, sizeof(peak->source),
                 "%d active NVLinks of %.4g GB/s, after line coding; bound: packets of %d bytes",
                 links, nvlink_gb_per_s(src->nvlink_mbps), payload);
    }
}

void bw_link_c2c(const struct bw_port *port, struct bw_peak *peak)
{
    peak->link = LINK_C2C;
    if (port->c2c_mbps > 0) {
        peak->nominal_gb_per_s = port->c2c_links * (port->c2c_mbps * 1e-3);
        snprintf(peak->source, sizeof(peak->source), "%d NVLink-C2C links of %.4g GB/s",
                 port->c2c_links, port->c2c_mbps * 1e-3);
    }
}

void bw_link_memory(const struct bw_port *port, enum bw_op op, struct bw_peak *peak)
{
    const bool is_twofold = op == OP_COPY;

    peak->link = LINK_HBM;
    if (port != NULL && port->memory_mhz > 0 && port->memory_bits > 0) {
        /* Two transfers a clock, a bit each a wire. */
        const double traffic = 2e-3 * port->memory_mhz * port->memory_bits / 8;

        peak->nominal_gb_per_s = traffic / (is_twofold ? 2 : 1);
        snprintf(peak->source, sizeof(peak->source),
                 "memory of %d bits at %d MHz, twice a clock: %.0f GB/s%s", port->memory_bits,
                 port->memory_mhz, traffic, is_twofold ? "; " BW_LINK_TWOFOLD : "");
    }
}
