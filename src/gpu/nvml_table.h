/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_NVML_TABLE_H
#define BW_NVML_TABLE_H

/* Internal to gpu/: what nvml.c and the questions to it share. */

/* Put the library's symbol into *function, a pointer to a function; NULL if there is none. */
void bw_nvml_look_up(const char *symbol, void *function);

/* nvml_values.c and nvml_links.c look their symbols up anew. */
void bw_nvml_table_fill(void);
void bw_nvml_links_fill(void);

#endif
