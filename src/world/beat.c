/* SPDX-License-Identifier: Apache-2.0 */
#include "beat.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAGIC = 0x62776274 };

static const uint64_t beat_ns = 1000ULL * 1000 * 1000;

/* No padding: what is sent is what is set. */
struct datagram {
    uint32_t magic, bytes;
    unsigned char token[BW_BEAT_TOKEN_BYTES];
    struct bw_beat_note note;
};

/* Who is listened to. */
struct heard {
    uint64_t at_ns; /* 0: never yet */
    struct bw_beat_note note;
};

struct bw_beat {
    int sock;
    bool is_hub;
    int ranks; /* of `heard`: all for rank 0, which is the only one for others */
    struct heard *heard;
    struct bw_beat_ticket ticket;
    uint64_t sent_ns, looked_ns;
};

static struct bw_beat *make(int ranks)
{
    struct bw_beat *beat = calloc(1, sizeof(*beat));

    if (beat == NULL) {
        return NULL;
    }
    beat->ranks = ranks;
    beat->heard = calloc((size_t)ranks, sizeof(*beat->heard));
    beat->sock = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (beat->heard == NULL || beat->sock < 0) {
        bw_beat_close(beat);
        return NULL;
    }
    return beat;
}

void bw_beat_close(struct bw_beat *beat)
{
    if (beat == NULL) {
        return;
    }
    if (beat->sock >= 0) {
        close(beat->sock);
    }
    explicit_bzero(&beat->ticket, sizeof(beat->ticket));
    free(beat->heard);
    free(beat);
}

/* All addresses of this host: which of them the others reach, they find out by trying. */
static bool find_addresses(struct bw_beat_ticket *ticket)
{
    struct ifaddrs *list = NULL;

    if (getifaddrs(&list) != 0) {
        return false;
    }
    for (const struct ifaddrs *i = list; i != NULL && ticket->count < BW_BEAT_ADDRESSES;
         i = i->ifa_next) {
        struct sockaddr_in at;

        if (i->ifa_addr != NULL && i->ifa_addr->sa_family == AF_INET) {
            memcpy(&at, i->ifa_addr, sizeof(at));
            ticket->address[ticket->count++] = at.sin_addr.s_addr;
        }
    }
    freeifaddrs(list);
    return ticket->count > 0;
}

struct bw_beat *bw_beat_open_hub(struct bw_beat_ticket *ticket, int ranks)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    socklen_t length = sizeof(at);
    struct bw_beat *beat = make(ranks);

    memset(ticket, 0, sizeof(*ticket));
    if (beat == NULL) {
        return NULL;
    }
    if (bind(beat->sock, (const struct sockaddr *)&at, sizeof(at)) != 0 ||
        getsockname(beat->sock, (struct sockaddr *)&at, &length) != 0 ||
        getrandom(ticket->token, sizeof(ticket->token), 0) != (ssize_t)sizeof(ticket->token) ||
        !find_addresses(ticket)) {
        bw_beat_close(beat);
        memset(ticket, 0, sizeof(*ticket));
        return NULL;
    }
    ticket->port = at.sin_port;
    beat->is_hub = true;
    beat->ticket = *ticket;
    return beat;
}

struct bw_beat *bw_beat_open(const struct bw_beat_ticket *ticket)
{
    struct bw_beat *beat = NULL;

    if (ticket->count == 0 || ticket->count > BW_BEAT_ADDRESSES) {
        return NULL;
    }
    beat = make(1);
    if (beat != NULL) {
        beat->ticket = *ticket;
    }
    return beat;
}

/* If it does not arrive, the next one may. */
static void say(const struct bw_beat *beat, const struct bw_beat_note *mine, in_addr_t address,
                in_port_t port)
{
    const struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = address};
    struct datagram out = {.magic = MAGIC, .bytes = sizeof(out), .note = *mine};

    memcpy(out.token, beat->ticket.token, sizeof(out.token));
    (void)sendto(beat->sock, &out, sizeof(out), MSG_NOSIGNAL, (const struct sockaddr *)&to,
                 sizeof(to));
}

static bool is_ours(const struct bw_beat *beat, const struct datagram *in, ssize_t bytes)
{
    unsigned char differs = 0;

    if (bytes != (ssize_t)sizeof(*in) || in->magic != MAGIC || in->bytes != sizeof(*in)) {
        return false;
    }
    for (size_t i = 0; i < sizeof(in->token); i++) {
        differs |= (unsigned char)(in->token[i] ^ beat->ticket.token[i]);
    }
    return differs == 0 && in->note.rank >= 0 && in->note.rank < beat->ranks;
}

static void end_texts(struct bw_beat_note *note)
{
    note->host[sizeof(note->host) - 1] = '\0';
    note->gpu[sizeof(note->gpu) - 1] = '\0';
    note->phase[sizeof(note->phase) - 1] = '\0';
    note->step[sizeof(note->step) - 1] = '\0';
}

static void take_in(struct bw_beat *beat, uint64_t now_ns, const struct bw_beat_note *mine)
{
    struct datagram in;
    struct sockaddr_in from = {0};
    socklen_t length = sizeof(from);
    ssize_t bytes = 0;

    /* Not for ever, if somebody floods it */
    for (int i = 0; i < 4096; i++, length = sizeof(from)) {
        bytes =
            recvfrom(beat->sock, &in, sizeof(in), MSG_DONTWAIT, (struct sockaddr *)&from, &length);
        if (bytes < 0) {
            return;
        }
        if (!is_ours(beat, &in, bytes)) {
            continue;
        }
        end_texts(&in.note);
        beat->heard[in.note.rank] = (struct heard){now_ns, in.note};
        if (beat->is_hub) {
            say(beat, mine, from.sin_addr.s_addr, from.sin_port);
        }
    }
}

bool bw_beat_look(struct bw_beat *beat, uint64_t now_ns, uint32_t silent_ms,
                  const struct bw_beat_note *mine, struct bw_beat_note *lost)
{
    /* Who was stopped himself, or starved, has not listened: that is nobody's silence */
    const uint64_t deaf_ns = beat->looked_ns != 0 ? now_ns - beat->looked_ns : 0;

    for (int r = 0; r < beat->ranks && deaf_ns > beat_ns; r++) {
        beat->heard[r].at_ns += beat->heard[r].at_ns != 0 ? deaf_ns : 0;
    }
    beat->looked_ns = now_ns;
    take_in(beat, now_ns, mine);
    if (!beat->is_hub && now_ns - beat->sent_ns >= beat_ns) {
        for (uint32_t i = 0; i < beat->ticket.count; i++) {
            say(beat, mine, beat->ticket.address[i], beat->ticket.port);
        }
        beat->sent_ns = now_ns;
    }
    for (int r = 0; r < beat->ranks; r++) {
        const struct heard *heard = &beat->heard[r];

        if (heard->at_ns != 0 && now_ns - heard->at_ns > (uint64_t)silent_ms * 1000000) {
            *lost = heard->note;
            return true;
        }
    }
    return false;
}
