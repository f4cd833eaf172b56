/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_PCI_H
#define BW_PCI_H

/*
 * What the operating system's files say of a PCI device's way to the CPU.
 * Numbers are -1 where they say nothing.
 */

struct bw_pci_link {
    int gen, width;         /* of the device's own link, as it is now (idle ones may be slow) */
    int gen_max, width_max; /* what both ends of that link could do                          */
    int payload_bytes;      /* that a packet carries; needs the right to read the config space */
    int above_gen, above_width; /* the slowest link between there and the CPU, as it is now    */
    char above[24];             /* the device at its lower end; "": none was seen               */
};

/*
 * `pci` is "0000:0f:00.0". `root` is prepended to the paths, "" for the real
 * ones (tests give another). Never fails.
 */
void bw_pci_read(const char *root, const char *pci, struct bw_pci_link *link);

/*
 * What one direction carries after line coding, in GB/s, and the part of it
 * that is payload when data is written, or comes as the answer to reads, in
 * packets of so many bytes. NAN where an argument is unknown.
 */
double bw_pci_gb_per_s(int gen, int width);
double bw_pci_write_part(int gen, int payload_bytes);
double bw_pci_read_part(int gen, int payload_bytes);

#endif
