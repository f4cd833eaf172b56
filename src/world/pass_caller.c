/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/clock.h"
#include "bwtool/log.h"
#include "pass_wire.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>

static enum bw_status connect_to(const struct bw_pass_ticket *ticket, int owner,
                                 uint64_t deadline_ns, int *sock)
{
    struct sockaddr_un address;
    const socklen_t length = bw_pass_address(ticket, owner, &address);

    *sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (*sock < 0) {
        return bw_errno("socket");
    }
    while (connect(*sock, (const struct sockaddr *)&address, length) != 0) {
        /* refused: not listening yet; again: its queue is full */
        if (errno != ECONNREFUSED && errno != EAGAIN && errno != EINTR) {
            return bw_errno("connect to rank %d", owner);
        }
        if (bw_clock_ns() > deadline_ns) {
            bw_error("rank %d does not listen at @%s", owner, address.sun_path + 1);
            return BW_ERR_TIMEOUT;
        }
        bw_clock_sleep_us(1000);
    }
    /* the token is for our own kind only: whoever took the name learns nothing */
    if (!bw_pass_is_same_user(*sock)) {
        bw_error("the socket of rank %d belongs to another user", owner);
        return BW_ERR_SYSTEM;
    }
    return BW_OK;
}

static enum bw_status send_hello(const struct bw_pass_ticket *ticket, int me, int owner, int sock)
{
    struct bw_pass_hello hello = {
        .magic = BW_PASS_MAGIC, .version = BW_PASS_VERSION, .from = me, .to = owner};
    ssize_t n = 0;

    memcpy(hello.token, ticket->token, sizeof(hello.token));
    n = send(sock, &hello, sizeof(hello), MSG_NOSIGNAL);
    explicit_bzero(&hello, sizeof(hello));
    if (n != (ssize_t)sizeof(hello)) {
        return bw_errno("cannot greet rank %d", owner);
    }
    return BW_OK;
}

static enum bw_status await_reply(int sock, int owner, uint64_t deadline_ns)
{
    struct pollfd ready = {.fd = sock, .events = POLLIN};
    int n = 0;

    do {
        n = poll(&ready, 1, bw_pass_left_ms(deadline_ns));
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return bw_errno("poll");
    }
    if (n == 0) {
        bw_error("rank %d did not answer in time", owner);
        return BW_ERR_TIMEOUT;
    }
    return BW_OK;
}

/*
 * The one descriptor of a message. If there are more, which fit into the
 * padding of the buffer, all are closed, and the answer is -1 as for none.
 */
static int take_descriptor(struct msghdr *message)
{
    int taken = -1;
    size_t count = 0;

    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
        const bool is_rights = c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS;
        const size_t n = is_rights ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;

        for (size_t i = 0; i < n; i++) {
            int fd = -1;

            memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(fd));
            bw_pass_close_fd(&taken); /* of two, neither is wanted */
            taken = fd;
            count++;
        }
    }
    if (count != 1) {
        bw_pass_close_fd(&taken);
    }
    return taken;
}

static enum bw_status receive_grant(int sock, int owner, int *fd, uint64_t *bytes)
{
    struct bw_pass_grant grant = {0};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {&grant, sizeof(grant)};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.space,
                             .msg_controllen = sizeof(control.space)};
    const ssize_t n = recvmsg(sock, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    int got = n > 0 ? take_descriptor(&message) : -1;

    if (n == 0 || (n < 0 && errno == ECONNRESET)) {
        bw_error("rank %d hung up: it did not accept rank or token", owner);
        return BW_ERR_SYSTEM;
    }
    if (n != (ssize_t)sizeof(grant) || grant.magic != BW_PASS_MAGIC || grant.from != owner ||
        got < 0 || (message.msg_flags & (MSG_CTRUNC | MSG_TRUNC)) != 0) {
        bw_error("rank %d sent something else than a descriptor", owner);
        bw_pass_close_fd(&got);
        return BW_ERR_SYSTEM;
    }
    *fd = got;
    *bytes = grant.bytes;
    return BW_OK;
}

enum bw_status bw_pass_fetch(const struct bw_pass *pass, const struct bw_pass_ticket *ticket,
                             int owner, uint64_t deadline_ns, int *fd, uint64_t *bytes)
{
    enum bw_status st = BW_OK;
    int sock = -1;

    TRY(connect_to(ticket, owner, deadline_ns, &sock));
    TRY(send_hello(ticket, pass->me, owner, sock));
    TRY(await_reply(sock, owner, deadline_ns));
    TRY(receive_grant(sock, owner, fd, bytes));
out:
    bw_pass_close_fd(&sock);
    return st;
}
