/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_WORLD_BEAT_H
#define BW_WORLD_BEAT_H

#include "watch.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * Hosts watch each other: the first rank of each says once a second by UDP to
 * rank 0 that it lives and where it is, and rank 0 answers. Who was heard and
 * then is silent is lost; who never was (a firewall) is left to the deadlines
 * of collective calls. Datagrams without the job's token are thrown away. No
 * MPI, no thread and no wait in here: whoever watches calls often.
 */

enum { BW_BEAT_ADDRESSES = 8, BW_BEAT_TOKEN_BYTES = 32 };

/* Where rank 0 listens. Sent as it is; all zero: nowhere. IPv4. */
struct bw_beat_ticket {
    unsigned char token[BW_BEAT_TOKEN_BYTES];
    uint32_t address[BW_BEAT_ADDRESSES]; /* network order, as is the port */
    uint32_t count;
    uint16_t port, pad;
};

/* What a rank says of itself. */
struct bw_beat_note {
    int32_t rank;
    char host[64], gpu[BW_WATCH_TEXT], phase[BW_WATCH_TEXT], step[BW_WATCH_TEXT];
};

struct bw_beat;

/* Rank 0's, for a job of `ranks`; fills the ticket. NULL if there can be none, which is no error.
 */
struct bw_beat *bw_beat_open_hub(struct bw_beat_ticket *ticket, int ranks);
/* That of the first rank of another host; likewise. */
struct bw_beat *bw_beat_open(const struct bw_beat_ticket *ticket);
/* NULL is fine. */
void bw_beat_close(struct bw_beat *beat);

/*
 * Send what is due, take in what has come. True if a rank was heard and then
 * was silent for `silent_ms`; `*lost` is the last that it said.
 */
bool bw_beat_look(struct bw_beat *beat, uint64_t now_ns, uint32_t silent_ms,
                  const struct bw_beat_note *mine, struct bw_beat_note *lost);

#endif
