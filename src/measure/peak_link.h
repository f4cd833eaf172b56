/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_PEAK_LINK_H
#define BW_PEAK_LINK_H

#include "bwtool/peak.h"

/*
 * One link each: fill in the peak of a copy that crosses it. What is unknown
 * leaves NAN, but the link is named.
 */

#define BW_LINK_TWOFOLD "a copied byte is one read and one write"

/* Between the GPU and host memory. */
void bw_link_pcie(const struct bw_port *port, bool is_to_gpu, struct bw_peak *peak);
/* Between GPUs; data is pushed by the source, or pulled. */
void bw_link_pcie_peers(const struct bw_port *src, const struct bw_port *dst, bool is_push,
                        struct bw_peak *peak);
/* To GPU `to`; leaves the peak alone if no NVLink leads there. */
void bw_link_nvlink(const struct bw_port *src, const struct bw_port *dst, int to,
                    enum bw_engine engine, struct bw_peak *peak);
void bw_link_c2c(const struct bw_port *port, struct bw_peak *peak);
/* The GPU's own memory; `port` NULL: unknown. */
void bw_link_memory(const struct bw_port *port, enum bw_op op, struct bw_peak *peak);

#endif
