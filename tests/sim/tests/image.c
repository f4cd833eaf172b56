/* SPDX-License-Identifier: Apache-2.0 */
/* In place of the product's kernels: the simulator looks only at an image's first bytes. */
extern const unsigned char bw_kernels_image[16];
const unsigned char bw_kernels_image[16] = {0x50, 0xed, 0x55, 0xba};
