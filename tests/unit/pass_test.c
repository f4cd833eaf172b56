/* SPDX-License-Identifier: Apache-2.0 */
/* Who gets a descriptor of a rank, and who does not. */
#include "unit.h"

#include "bwtool/clock.h"
#include "bwtool/log.h"
#include "bwtool/pass.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/world/pass_wire.h"

enum { RANKS = 2, BYTES = 4096 };

/* Threads that get none of their own. */
static _Thread_local bool is_refused;

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
                   void *(*call)(void *), void *restrict argument)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = NULL;

    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return is_refused ? EAGAIN : real(thread, attributes, call, argument);
}

struct owner {
    struct bw_pass pass;
    pthread_t thread;
    int fd;
    unsigned ms;
    enum bw_status st;
};

static uint64_t in_ms(unsigned ms)
{
    return bw_clock_ns() + (uint64_t)ms * 1000000;
}

static void *serve(void *argument)
{
    struct owner *owner = argument;

    owner->st = bw_pass_serve(&owner->pass, NULL, owner->fd, BYTES, in_ms(owner->ms));
    return NULL;
}

/* Rank 0 shares a file with "shared" in it. */
static void begin_for(struct owner *owner, int ranks, unsigned ms)
{
    bw_log_fini();
    memset(owner, 0, sizeof(*owner));
    owner->ms = ms;
    owner->fd = memfd_create("pass-test", MFD_CLOEXEC);
    assert_true(owner->fd >= 0);
    assert_int_equal(write(owner->fd, "shared", 6), 6);
    assert_int_equal(bw_pass_open(&owner->pass, 0, ranks), BW_OK);
    assert_int_equal(pthread_create(&owner->thread, NULL, serve, owner), 0);
}

static void begin(struct owner *owner, unsigned ms)
{
    begin_for(owner, RANKS, ms);
}

static enum bw_status end(struct owner *owner)
{
    pthread_join(owner->thread, NULL);
    close(owner->fd);
    bw_pass_close(&owner->pass);
    return owner->st;
}

static enum bw_status fetch(const struct bw_pass_ticket *ticket, int *fd)
{
    const struct bw_pass me = {.listener = -1, .me = 1, .ranks = RANKS};
    uint64_t bytes = 0;
    const enum bw_status st = bw_pass_fetch(&me, ticket, 0, in_ms(3000), fd, &bytes);

    assert_true(st != BW_OK || bytes == BYTES);
    return st;
}

static int call(const struct owner *owner)
{
    struct sockaddr_un address;
    const socklen_t length = bw_pass_address(&owner->pass.ticket, 0, &address);
    const int sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

    assert_int_equal(connect(sock, (const struct sockaddr *)&address, length), 0);
    return sock;
}

/* True if the owner hangs up without a byte. */
static bool gets_nothing(int sock)
{
    char reply[64];
    const ssize_t n = recv(sock, reply, sizeof(reply), 0);

    close(sock);
    return n <= 0;
}

static void right_token(void **state)
{
    struct owner owner;
    char text[6];
    int fd = -1;

    (void)state;
    begin(&owner, 5000);
    assert_int_equal(fetch(&owner.pass.ticket, &fd), BW_OK);
    assert_int_equal(pread(fd, text, sizeof(text), 0), 6);
    assert_memory_equal(text, "shared", 6);
    close(fd);
    assert_int_equal(end(&owner), BW_OK);
    assert_int_equal(owner.pass.refused, 0);
}

static void wrong_token(void **state)
{
    struct owner owner;
    struct bw_pass_ticket ticket;
    int fd = -1;

    (void)state;
    begin(&owner, 5000);
    ticket = owner.pass.ticket;
    ticket.token[31] ^= 1;
    assert_int_equal(fetch(&ticket, &fd), BW_ERR_SYSTEM);
    assert_int_equal(fd, -1);
    assert_int_equal(fetch(&owner.pass.ticket, &fd), BW_OK); /* it goes on serving */
    close(fd);
    assert_int_equal(end(&owner), BW_OK);
    assert_int_equal(owner.pass.refused, 1);
}

static void rubbish_and_silence(void **state)
{
    struct owner owner;
    int silent = -1;
    int sock = -1;
    int fd = -1;

    (void)state;
    begin(&owner, 5000);
    silent = call(&owner);
    sock = call(&owner);
    assert_int_equal(send(sock, "rubbish", 7, MSG_NOSIGNAL), 7);
    assert_true(gets_nothing(sock));
    assert_int_equal(fetch(&owner.pass.ticket, &fd), BW_OK);
    close(fd);
    assert_int_equal(end(&owner), BW_OK);
    assert_true(gets_nothing(silent));
}

/* What a rank says, with whoever it means to reach. False if it was hung up on before. */
static bool greet(const struct owner *owner, int sock, int from, int to)
{
    struct bw_pass_hello hello = {
        .magic = BW_PASS_MAGIC, .version = BW_PASS_VERSION, .from = from, .to = to};

    memcpy(hello.token, owner->pass.ticket.token, sizeof(hello.token));
    return send(sock, &hello, sizeof(hello), MSG_NOSIGNAL) == (ssize_t)sizeof(hello);
}

/* The right token is not enough: it must be a rank of the job, and mean this one. */
static void somebody_else(void **state)
{
    static const int from_to[][2] = {{1, 1}, {RANKS, 0}, {-1, 0}, {0, 0}};
    struct owner owner;
    int fd = -1;

    (void)state;
    begin(&owner, 5000);
    for (size_t i = 0; i < sizeof(from_to) / sizeof(from_to[0]); i++) {
        const int sock = call(&owner);

        assert_true(greet(&owner, sock, from_to[i][0], from_to[i][1]));
        assert_true(gets_nothing(sock));
    }
    assert_int_equal(fetch(&owner.pass.ticket, &fd), BW_OK);
    close(fd);
    assert_int_equal(end(&owner), BW_OK);
    assert_int_equal(owner.pass.refused, 4);
}

/* A rank that comes a second time gets nothing; the other one is waited for. */
static void twice(void **state)
{
    struct owner owner;
    struct bw_pass other = {.listener = -1, .me = 2, .ranks = RANKS + 1};
    uint64_t bytes = 0;
    int fd = -1;

    (void)state;
    begin_for(&owner, RANKS + 1, 5000);
    assert_int_equal(fetch(&owner.pass.ticket, &fd), BW_OK);
    close(fd);
    fd = -1;
    assert_int_equal(fetch(&owner.pass.ticket, &fd), BW_ERR_SYSTEM);
    assert_int_equal(fd, -1);
    assert_int_equal(bw_pass_fetch(&other, &owner.pass.ticket, 0, in_ms(3000), &fd, &bytes), BW_OK);
    close(fd);
    assert_int_equal(end(&owner), BW_OK);
    assert_int_equal(owner.pass.refused, 1);
}

/* Asked in spite of whose the socket is. */
static bool answers_stranger(const struct owner *owner)
{
    const int sock = call(owner);

    (void)greet(owner, sock, 1, 0);
    return !gets_nothing(sock);
}

/* Another user's process that knows everything is still another user's. */
static void other_user(void **state)
{
    struct owner owner;
    pid_t child = 0;
    int status = 0;
    int fd = -1;

    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    begin(&owner, 5000);
    child = fork();
    if (child == 0) {
        const bool is_other = setuid(65534) == 0;

        /* By a signal: valgrind makes an exit status of what the other thread's copy holds. */
        if (is_other && fetch(&owner.pass.ticket, &fd) != BW_OK && fd == -1 &&
            strstr(bw_log_reason(), "another user") != NULL && !answers_stranger(&owner)) {
            (void)raise(SIGUSR1);
        }
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
    assert_int_equal(fetch(&owner.pass.ticket, &fd), BW_OK);
    close(fd);
    assert_int_equal(end(&owner), BW_OK);
}

static void nobody(void **state)
{
    struct owner owner;

    (void)state;
    begin(&owner, 200);
    assert_int_equal(end(&owner), BW_ERR_TIMEOUT);
    assert_string_equal(bw_log_reason(),
                        "rank 1 did not come for the descriptor of rank 0 in time");
}

struct rank {
    struct bw_pass pass;
    struct bw_pass_ticket tickets[RANKS];
    pthread_t thread;
    uint64_t bytes;
    int fd, fds[RANKS];
    bool has_no_threads;
    enum bw_status st;
};

static void *exchange(void *argument)
{
    struct rank *rank = argument;

    is_refused = rank->has_no_threads;
    rank->st =
        bw_pass_exchange(&rank->pass, rank->tickets, rank->fd, rank->bytes, in_ms(5000), rank->fds);
    return NULL;
}

/* Both ranks at once; what each says it shares is `bytes` and `other_bytes` long. */
static void exchange_both(struct rank *ranks, uint64_t bytes, uint64_t other_bytes)
{
    for (int i = 0; i < RANKS; i++) {
        const char letter = (char)('0' + i);

        ranks[i].bytes = i == 0 ? bytes : other_bytes;
        ranks[i].fd = memfd_create("pass-test", MFD_CLOEXEC);
        assert_int_equal(write(ranks[i].fd, &letter, 1), 1);
        assert_int_equal(bw_pass_open(&ranks[i].pass, i, RANKS), BW_OK);
    }
    for (int i = 0; i < RANKS; i++) {
        for (int k = 0; k < RANKS; k++) {
            ranks[i].tickets[k] = ranks[k].pass.ticket;
        }
        assert_int_equal(pthread_create(&ranks[i].thread, NULL, exchange, &ranks[i]), 0);
    }
    for (int i = 0; i < RANKS; i++) {
        pthread_join(ranks[i].thread, NULL);
    }
}

static void close_both(struct rank *ranks)
{
    for (int i = 0; i < RANKS; i++) {
        bw_pass_close_fd(&ranks[i].fd);
        bw_pass_close_fd(&ranks[i].fds[0]);
        bw_pass_close_fd(&ranks[i].fds[1]);
        bw_pass_close(&ranks[i].pass);
    }
}

/* Each has the other's descriptor, and none of its own. */
static void expect_both(struct rank *ranks)
{
    exchange_both(ranks, BYTES, BYTES);
    for (int i = 0; i < RANKS; i++) {
        char letter = 0;

        assert_int_equal(ranks[i].st, BW_OK);
        assert_int_equal(ranks[i].fds[i], -1);
        assert_int_equal(pread(ranks[i].fds[1 - i], &letter, 1, 0), 1);
        assert_int_equal(letter, '0' + (1 - i));
    }
    close_both(ranks);
}

static void all_to_all(void **state)
{
    struct rank ranks[RANKS] = {0};

    (void)state;
    expect_both(ranks);
}

/* A rank for which there is no thread serves the others first, and no one waits in vain. */
static void without_a_thread(void **state)
{
    struct rank ranks[RANKS] = {0};

    (void)state;
    ranks[1].has_no_threads = true;
    expect_both(ranks);
}

/* What this rank fetches is fine, and nobody fetches what it has: that is a failure, too. */
static void nobody_comes(void **state)
{
    struct owner owner;
    struct bw_pass pass;
    struct bw_pass_ticket tickets[RANKS];
    int fds[RANKS];

    (void)state;
    begin(&owner, 5000);
    assert_int_equal(bw_pass_open(&pass, 1, RANKS), BW_OK);
    tickets[0] = owner.pass.ticket;
    tickets[1] = pass.ticket;
    assert_int_equal(bw_pass_exchange(&pass, tickets, owner.fd, BYTES, in_ms(300), fds),
                     BW_ERR_TIMEOUT);
    assert_true(fds[0] >= 0);
    bw_pass_close_fd(&fds[0]);
    bw_pass_close(&pass);
    assert_int_equal(end(&owner), BW_OK);
}

/* Who would map too much of another's memory hears of it. */
static void other_sizes(void **state)
{
    struct rank ranks[RANKS] = {0};

    (void)state;
    exchange_both(ranks, BYTES, 2 * BYTES);
    for (int i = 0; i < RANKS; i++) {
        assert_int_equal(ranks[i].st, BW_ERR_SYSTEM);
    }
    close_both(ranks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_token),         cmocka_unit_test(wrong_token),
        cmocka_unit_test(rubbish_and_silence), cmocka_unit_test(twice),
        cmocka_unit_test(other_user),          cmocka_unit_test(nobody),
        cmocka_unit_test(all_to_all),          cmocka_unit_test(other_sizes),
        cmocka_unit_test(without_a_thread),    cmocka_unit_test(somebody_else),
        cmocka_unit_test(nobody_comes),
    };

    bw_log_init(true, false);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
