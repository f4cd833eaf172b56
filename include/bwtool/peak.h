/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_PEAK_H
#define BW_PEAK_H

#include "plan.h"
#include "status.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * What a cell's link could carry: the nominal rate, and the bound that its
 * packets leave of it. Pure: from the plan and from what is known of the GPUs'
 * links to two numbers and where they come from.
 */

enum bw_link {
    LINK_NONE, /* not known, or not asked for */
    LINK_PCIE,
    LINK_NVLINK,
    LINK_C2C,  /* between CPU and GPU of one package     */
    LINK_HBM,  /* the GPU's own memory, of whatever kind */
    LINK_HOST, /* the CPUs' memory                       */
};

/* "pcie", "nvlink", "c2c", "hbm", "host"; "" for LINK_NONE. */
const char *bw_link_name(enum bw_link link);

/* In the unit and by the counting of the cell: GB/s. NAN where unknown, as for all latencies. */
struct bw_peak {
    enum bw_link link;
    double nominal_gb_per_s;
    double bound_gb_per_s;
    int group;        /* cells that have the same one should have the same value  */
    char source[240]; /* where both numbers come from; "" if there is none        */
};

/* What is known of one GPU's links. -1: unknown. */
struct bw_port {
    int pcie_gen, pcie_width;   /* the highest seen: an idle link is slow          */
    int pcie_payload;           /* bytes a packet                                  */
    int above_gen, above_width; /* of the slowest PCIe link beyond its own      */
    char above[24];             /* the device below that link; "": none known    */
    int nvlinks, nvlink_mbps;   /* active ones; one way, before line coding        */
    bool has_switch;            /* they lead to every GPU                          */
    const int *nvlinks_to;      /* to each GPU, where there is no switch; or NULL  */
    const int *path_to;         /* how far each GPU is, by PCIe; or NULL           */
    int c2c_links, c2c_mbps;
    int memory_mhz, memory_bits;
};

/* --peak LINK=GBps[,why] */
struct bw_peak_override {
    enum bw_link link;
    double gb_per_s; /* one direction of one GPU; of memory, reads and writes together */
    const char *why; /* borrowed; NULL: nothing was said                               */
};

/* False if the text is none. `why` points into `text`. */
bool bw_peak_parse(const char *text, struct bw_peak_override *override);

struct bw_ports {
    const struct bw_port *ports; /* by GPU */
    int count;
    const struct bw_peak_override *overrides; /* the last one for a link counts */
    size_t override_count;
};

/* Peak of a cell of the launch: matrix `matrix`; with one cell a lane, that of lane `lane`. */
struct bw_peak bw_peak_of(const struct bw_ports *ports, const struct bw_plan *plan,
                          const struct bw_launch *launch, int matrix, size_t lane);

/* True if `value` is more than the peak allows, by more than clocks can differ. */
bool bw_peak_is_exceeded(const struct bw_peak *peak, double value);

#endif
