/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_WORLD_PASS_WIRE_H
#define BW_WORLD_PASS_WIRE_H

#include "bwtool/pass.h"

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

/* What owner and caller of a descriptor say to each other. For pass*.c only. */

enum { BW_PASS_MAGIC = 0x62777064, BW_PASS_VERSION = 1 };

/* No padding: what is sent is what is set. */
struct bw_pass_hello {
    uint32_t magic, version;
    int32_t from, to;
    unsigned char token[32];
};

struct bw_pass_grant {
    uint32_t magic;
    int32_t from;
    uint64_t bytes;
};

/* The address of `rank`'s socket; returns its length. */
socklen_t bw_pass_address(const struct bw_pass_ticket *ticket, int rank,
                          struct sockaddr_un *address);

/* Whether the process at the other end runs as this process's user. */
bool bw_pass_is_same_user(int sock);

/* Close if open, and mark as closed. */
void bw_pass_close_fd(int *fd);

/* Milliseconds until then, for poll(2). */
int bw_pass_left_ms(uint64_t deadline_ns);

#endif
