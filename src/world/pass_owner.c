/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/clock.h"
#include "bwtool/log.h"
#include "pass_wire.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>

/* Callers that have connected and said nothing yet; more than ranks that may come at once. */
enum { PENDING_MAX = 256 };

/* Compares all bytes always: the time says nothing about where they differ. */
static bool same_token(const unsigned char *a, const unsigned char *b, size_t bytes)
{
    unsigned char differ = 0;

    for (size_t i = 0; i < bytes; i++) {
        differ |= (unsigned char)(a[i] ^ b[i]);
    }
    return differ == 0;
}

struct server {
    struct bw_pass *pass;
    int fd;
    uint64_t bytes;
    int left;                 /* ranks still to come */
    int pending[PENDING_MAX]; /* sockets, -1 where free */
    size_t next;              /* place to take from the silent when all are taken */
};

/* Read the caller's one message; true if it is entitled. No reply otherwise. */
static bool is_entitled(const struct server *s, int sock, int *from)
{
    struct bw_pass_hello hello = {0};
    char rest = 0; /* a longer message than ours is not ours */
    struct iovec parts[2] = {{&hello, sizeof(hello)}, {&rest, 1}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    const ssize_t n = recvmsg(sock, &message, MSG_DONTWAIT);
    bool entitled = n == (ssize_t)sizeof(hello) && hello.magic == BW_PASS_MAGIC &&
                    hello.version == BW_PASS_VERSION &&
                    same_token(hello.token, s->pass->ticket.token, sizeof(hello.token));

    /* only who knows the token is worth a look at the rest */
    entitled = entitled && hello.to == s->pass->me && hello.from >= 0 &&
               hello.from < s->pass->ranks && !s->pass->served[hello.from];
    *from = entitled ? hello.from : -1;
    explicit_bzero(&hello, sizeof(hello));
    return entitled;
}

static bool send_grant(const struct server *s, int sock)
{
    struct bw_pass_grant grant = {.magic = BW_PASS_MAGIC, .from = s->pass->me, .bytes = s->bytes};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {&grant, sizeof(grant)};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.space,
                             .msg_controllen = sizeof(control.space)};
    struct cmsghdr *head = NULL;

    memset(&control, 0, sizeof(control));
    head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(head), &s->fd, sizeof(int));
    return sendmsg(sock, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)sizeof(grant);
}

/* A place for one more caller; if all are taken, of the one that has been silent longest. */
static int *slot_for_caller(struct server *s)
{
    int *slot = &s->pending[s->next];

    for (size_t i = 0; i < PENDING_MAX; i++) {
        if (s->pending[i] < 0) {
            return &s->pending[i];
        }
    }
    s->next = (s->next + 1) % PENDING_MAX;
    s->pass->refused++;
    bw_pass_close_fd(slot);
    return slot;
}

static void server_accept(struct server *s, int listener)
{
    int sock = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (sock < 0) {
        return; /* the caller has gone again */
    }
    if (!bw_pass_is_same_user(sock)) {
        s->pass->refused++;
        bw_pass_close_fd(&sock);
        return;
    }
    *slot_for_caller(s) = sock;
}

static void server_answer(struct server *s, int *sock)
{
    int from = -1;

    if (!is_entitled(s, *sock, &from)) {
        s->pass->refused++;
    } else if (!send_grant(s, *sock)) {
        bw_note("rank %d came for a descriptor and went before it was sent", from);
    } else {
        s->pass->served[from] = true;
        s->left--;
    }
    bw_pass_close_fd(sock);
}

/* Wait for callers and deal with those that are there. False once the time is up. */
static bool server_step(struct server *s, int listener, uint64_t deadline_ns)
{
    struct pollfd polls[PENDING_MAX + 1];
    int n = 0;

    for (size_t i = 0; i < PENDING_MAX; i++) {
        polls[i] = (struct pollfd){.fd = s->pending[i], .events = POLLIN}; /* -1 is skipped */
    }
    polls[PENDING_MAX] = (struct pollfd){.fd = listener, .events = POLLIN};
    n = poll(polls, PENDING_MAX + 1, bw_pass_left_ms(deadline_ns));
    if (n <= 0) {
        return n < 0 && errno == EINTR && bw_clock_ns() <= deadline_ns;
    }
    for (size_t i = 0; i < PENDING_MAX; i++) {
        if (polls[i].revents != 0) {
            server_answer(s, &s->pending[i]);
        }
    }
    if (polls[PENDING_MAX].revents != 0) {
        server_accept(s, listener);
    }
    return bw_clock_ns() <= deadline_ns;
}

/* Say who has not come. */
static enum bw_status missing(const struct server *s)
{
    enum bw_status st = BW_OK;

    for (int i = 0; i < s->pass->ranks && s->left > 0; i++) {
        if (!s->pass->served[i]) {
            bw_error("rank %d did not come for the descriptor of rank %d in time", i, s->pass->me);
            st = BW_ERR_TIMEOUT;
        }
    }
    return st;
}

enum bw_status bw_pass_serve(struct bw_pass *pass, const int *wants, int fd, uint64_t bytes,
                             uint64_t deadline_ns)
{
    struct server s = {.pass = pass, .fd = fd, .bytes = bytes};

    for (int i = 0; i < pass->ranks; i++) {
        pass->served[i] = i == pass->me || (wants != NULL && !wants[i]);
        s.left += !pass->served[i];
    }
    for (size_t i = 0; i < PENDING_MAX; i++) {
        s.pending[i] = -1;
    }
    while (s.left > 0 && server_step(&s, pass->listener, deadline_ns)) {
    }
    for (size_t i = 0; i < PENDING_MAX; i++) {
        bw_pass_close_fd(&s.pending[i]);
    }
    return missing(&s);
}
