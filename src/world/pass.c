/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/pass.h"

#include "bwtool/clock.h"
#include "bwtool/log.h"
#include "pass_wire.h"

#include <limits.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static enum bw_status random_bytes(void *data, size_t bytes)
{
    /* Up to 256 bytes are never cut short */
    if (getrandom(data, bytes, 0) != (ssize_t)bytes) {
        return bw_errno("getrandom");
    }
    return BW_OK;
}

static enum bw_status make_ticket(struct bw_pass_ticket *ticket)
{
    unsigned char name[16];
    enum bw_status st = BW_OK;

    TRY(random_bytes(ticket->token, sizeof(ticket->token)));
    TRY(random_bytes(name, sizeof(name)));
    for (size_t i = 0; i < sizeof(name); i++) {
        (void)snprintf(ticket->name + 2 * i, 3, "%02x", name[i]);
    }
out:
    return st;
}

socklen_t bw_pass_address(const struct bw_pass_ticket *ticket, int rank,
                          struct sockaddr_un *address)
{
    int length = 0;

    memset(address, 0, sizeof(*address));
    address->sun_family = AF_UNIX;
    /* A leading zero byte: abstract */
    length = snprintf(address->sun_path + 1, sizeof(address->sun_path) - 1, "bwtool-%.32s-%d",
                      ticket->name, rank);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

bool bw_pass_is_same_user(int sock)
{
    struct ucred who = {.uid = (uid_t)-1};
    socklen_t bytes = sizeof(who);

    return getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &who, &bytes) == 0 && bytes == sizeof(who) &&
           who.uid == geteuid();
}

void bw_pass_close_fd(int *fd)
{
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = -1;
}

int bw_pass_left_ms(uint64_t deadline_ns)
{
    const uint64_t now_ns = bw_clock_ns();
    const uint64_t left_ms = now_ns < deadline_ns ? (deadline_ns - now_ns) / 1000000 + 1 : 0;

    return left_ms < INT_MAX ? (int)left_ms : INT_MAX;
}

enum bw_status bw_pass_open(struct bw_pass *pass, int me, int ranks)
{
    struct sockaddr_un address;
    socklen_t length = 0;
    enum bw_status st = BW_OK;

    *pass = (struct bw_pass){.listener = -1, .me = me, .ranks = ranks};
    pass->served = calloc((size_t)ranks, sizeof(*pass->served));
    if (pass->served == NULL) {
        return bw_errno("no memory for a list of ranks");
    }
    TRY(make_ticket(&pass->ticket));
    length = bw_pass_address(&pass->ticket, me, &address);
    pass->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (pass->listener < 0) {
        return bw_errno("cannot make a socket for the other ranks");
    }
    if (bind(pass->listener, (const struct sockaddr *)&address, length) != 0) {
        st = bw_errno("cannot bind the socket @%s", address.sun_path + 1);
    } else if (listen(pass->listener, 2 * ranks) != 0) {
        st = bw_errno("cannot listen at the socket @%s", address.sun_path + 1);
    }
out:
    return st;
}

void bw_pass_close(struct bw_pass *pass)
{
    bw_pass_close_fd(&pass->listener);
    free(pass->served);
    pass->served = NULL;
    explicit_bzero(&pass->ticket, sizeof(pass->ticket));
}

/* What the serving thread needs, and how it went. */
struct service {
    struct bw_pass *pass;
    int fd;
    uint64_t bytes, deadline_ns;
    enum bw_status st;
};

static void *serve(void *argument)
{
    struct service *service = argument;

    service->st =
        bw_pass_serve(service->pass, NULL, service->fd, service->bytes, service->deadline_ns);
    return NULL;
}

/* Each rank begins with the one after it, so that not all come to the same at once. */
static enum bw_status fetch_all(struct bw_pass *pass, const struct bw_pass_ticket *tickets,
                                uint64_t bytes, uint64_t deadline_ns, int *fds)
{
    enum bw_status worst = BW_OK;

    for (int i = 1; i < pass->ranks; i++) {
        const int owner = (pass->me + i) % pass->ranks;
        uint64_t their_bytes = 0;
        enum bw_status st =
            bw_pass_fetch(pass, &tickets[owner], owner, deadline_ns, &fds[owner], &their_bytes);

        if (st == BW_OK && their_bytes != bytes) {
            bw_error("rank %d shares %llu bytes, this rank %llu", owner,
                     (unsigned long long)their_bytes, (unsigned long long)bytes);
            st = BW_ERR_SYSTEM;
        }
        worst = st > worst ? st : worst;
    }
    return worst;
}

enum bw_status bw_pass_exchange(struct bw_pass *pass, const struct bw_pass_ticket *tickets, int fd,
                                uint64_t bytes, uint64_t deadline_ns, int *fds)
{
    struct service service = {pass, fd, bytes, deadline_ns, BW_OK};
    enum bw_status st = BW_OK;
    bool has_thread = false;
    pthread_t thread;

    for (int i = 0; i < pass->ranks; i++) {
        fds[i] = -1;
    }
    has_thread = pthread_create(&thread, NULL, serve, &service) == 0;
    if (!has_thread) { /* others have one: they come now, and serve us afterwards */
        bw_warn("there is no thread to serve the other ranks: this one does it first");
        (void)serve(&service);
    }
    st = fetch_all(pass, tickets, bytes, deadline_ns, fds);
    if (has_thread) {
        pthread_join(thread, NULL);
    }
    return service.st > st ? service.st : st;
}
