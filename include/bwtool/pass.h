/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_PASS_H
#define BW_PASS_H

#include "status.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Passing a file descriptor of a rank to the other ranks of its host, over
 * Unix sockets in the abstract name space: nothing is left behind in a file
 * system. Who wants one must run as the same user and know the owner's token;
 * everyone else gets no byte. The socket's name can be read by anybody
 * (/proc/net/unix), so it is a random word of its own and says nothing of the
 * token.
 */

/* What others need to come for a rank's descriptor; told to them by other means. */
struct bw_pass_ticket {
    unsigned char token[32]; /* secret */
    char name[33];           /* public, hexadecimal */
};

/* One rank's end. Zeroed with `listener` -1 is closed. */
struct bw_pass {
    int listener;
    int me, ranks;
    struct bw_pass_ticket ticket;
    bool *served;     /* by rank: has got what it came for, or need not come; the pass's own */
    unsigned refused; /* callers that were hung up on */
};

/*
 * Make a ticket, and listen: from now on others may come, and wait to be
 * served, for which no more memory is needed. On failure too: close it.
 */
enum bw_status bw_pass_open(struct bw_pass *pass, int me, int ranks);
/* Wipes the token. */
void bw_pass_close(struct bw_pass *pass);

/*
 * Give `fd`, and the number `bytes`, once to each rank that `wants[rank]` says
 * (its own place is not looked at; NULL: to all others). BW_ERR_TIMEOUT, logged
 * with who is missing, if one has not come by `deadline_ns` (bw_clock_ns()).
 */
enum bw_status bw_pass_serve(struct bw_pass *pass, const int *wants, int fd, uint64_t bytes,
                             uint64_t deadline_ns);

/*
 * Get the descriptor of `owner`, whose ticket this is. `*fd` is the caller's to
 * close, and is close-on-exec.
 */
enum bw_status bw_pass_fetch(const struct bw_pass *pass, const struct bw_pass_ticket *ticket,
                             int owner, uint64_t deadline_ns, int *fd, uint64_t *bytes);

/*
 * Every rank's descriptor to every other, at once: a thread serves while the
 * caller fetches. `tickets` and `fds` have a place for each rank; one's own,
 * and what could not be got, is -1. The caller closes what was got, also after
 * a failure.
 */
enum bw_status bw_pass_exchange(struct bw_pass *pass, const struct bw_pass_ticket *tickets, int fd,
                                uint64_t bytes, uint64_t deadline_ns, int *fds);

#endif
