/* SPDX-License-Identifier: Apache-2.0 */
#include "driver_rules.h"

#include <pthread.h>
#include <stdatomic.h>

/* Events, waits between streams, gates, and the length of a queue. */

static CUevent new_event(struct answer *a, unsigned flags)
{
    CUevent event = NULL;

    GOOD(cu.EventCreate(&event, flags));
    return event;
}

static void queries(struct world *w, struct answer *a)
{
    CUevent event = new_event(a, 0);

    rules_hold(w, 0, w->stream[0], 20000);
    GOOD(cu.EventRecord(event, w->stream[0]));
    rules_sleep_ms(2);
    WANT(cu.EventQuery(event), CUDA_ERROR_NOT_READY);
    WANT(cu.StreamQuery(w->stream[0]), CUDA_ERROR_NOT_READY);
    WANT(cu.StreamQuery(w->other[0]), CUDA_SUCCESS);
    WANT(cu.StreamQuery(NULL), CUDA_SUCCESS);
    rules_let_go(w);
    GOOD(cu.EventSynchronize(event));
    WANT(cu.EventQuery(event), CUDA_SUCCESS);
    GOOD(cu.StreamSynchronize(w->stream[0]));
    WANT(cu.StreamQuery(w->stream[0]), CUDA_SUCCESS);
    GOOD(cu.EventDestroy(event));
}

static void new_events(struct world *w, struct answer *a)
{
    CUevent event = new_event(a, 0);

    WANT(cu.EventQuery(event), CUDA_SUCCESS);
    GOOD(cu.EventSynchronize(event));
    GOOD(cu.StreamWaitEvent(w->other[0], event, 0));
    GOOD(cu.StreamSynchronize(w->other[0]));
    GOOD(cu.EventDestroy(event));
}

static void elapsed_errors(struct world *w, struct answer *a)
{
    CUevent never = new_event(a, 0), timed = new_event(a, 0),
            plain = new_event(a, CU_EVENT_DISABLE_TIMING), late = new_event(a, 0);
    float ms;

    GOOD(cu.EventRecord(timed, w->other[0]));
    GOOD(cu.EventRecord(plain, w->other[0]));
    GOOD(cu.StreamSynchronize(w->other[0]));
    WANT(cu.EventElapsedTime(&ms, timed, never), CUDA_ERROR_INVALID_HANDLE);
    WANT(cu.EventElapsedTime(&ms, timed, plain), CUDA_ERROR_INVALID_HANDLE);
    rules_hold(w, 0, w->stream[0], 20000);
    GOOD(cu.EventRecord(late, w->stream[0]));
    WANT(cu.EventElapsedTime(&ms, timed, late), CUDA_ERROR_NOT_READY);
    rules_let_go(w);
    GOOD(cu.StreamSynchronize(w->stream[0]));
    GOOD(cu.EventElapsedTime(&ms, timed, late));
    GOOD(cu.EventDestroy(never));
    GOOD(cu.EventDestroy(timed));
    GOOD(cu.EventDestroy(plain));
    GOOD(cu.EventDestroy(late));
}

static void foreign_events(struct world *w, struct answer *a)
{
    CUevent mine = new_event(a, 0), theirs;
    float ms;

    WANT(cu.EventRecord(mine, w->other[1]), CUDA_ERROR_INVALID_HANDLE);
    GOOD(cu.EventRecord(mine, w->other[0]));
    rules_use(w, 1);
    theirs = new_event(a, 0);
    GOOD(cu.EventRecord(theirs, w->other[1]));
    GOOD(cu.StreamWaitEvent(w->other[1], mine, 0));
    GOOD(cu.StreamSynchronize(w->other[1]));
    GOOD(cu.EventSynchronize(mine));
    WANT(cu.EventElapsedTime(&ms, mine, theirs), CUDA_ERROR_INVALID_HANDLE);
    GOOD(cu.EventDestroy(theirs));
    GOOD(cu.EventDestroy(mine));
}

/* A copy between two events takes time; two events with nothing between, next to none. */
static void event_times(struct world *w, struct answer *a)
{
    CUevent e[3] = {new_event(a, 0), new_event(a, 0), new_event(a, 0)};
    float copy_ms = -1, empty_ms = -1;

    rules_hold(w, 0, w->stream[0], 20000);
    GOOD(cu.EventRecord(e[0], w->stream[0]));
    for (int i = 0; i < 8; i++) {
        GOOD(cu.MemcpyAsync(w->memory[0], w->memory[0] + 2 * MIB, 2 * MIB, w->stream[0]));
    }
    GOOD(cu.EventRecord(e[1], w->stream[0]));
    GOOD(cu.EventRecord(e[2], w->stream[0]));
    rules_let_go(w);
    GOOD(cu.StreamSynchronize(w->stream[0]));
    GOOD(cu.EventElapsedTime(&copy_ms, e[0], e[1]));
    GOOD(cu.EventElapsedTime(&empty_ms, e[1], e[2]));
    rules_must(a, copy_ms > 0 && empty_ms >= 0 && empty_ms < copy_ms && empty_ms < 0.1f,
               "16 MiB took %g ms, nothing %g ms", (double)copy_ms, (double)empty_ms);
    for (int i = 0; i < 3; i++) {
        GOOD(cu.EventDestroy(e[i]));
    }
}

/* The latest record that had been asked for when the wait was asked for is what counts. */
static void wait_for_event(struct world *w, struct answer *a)
{
    CUevent event = new_event(a, CU_EVENT_DISABLE_TIMING);

    rules_hold(w, 0, w->stream[0], 20000);
    GOOD(cu.EventRecord(event, w->stream[0]));
    GOOD(cu.StreamWaitEvent(w->other[0], event, 0));
    GOOD(cu.MemsetD8Async(w->memory[0], 1, KIB, w->other[0]));
    rules_sleep_ms(5);
    WANT(cu.StreamQuery(w->other[0]), CUDA_ERROR_NOT_READY);
    rules_let_go(w);
    GOOD(cu.StreamSynchronize(w->other[0]));
    WANT(cu.EventQuery(event), CUDA_SUCCESS);
    GOOD(cu.StreamSynchronize(w->stream[0]));
    GOOD(cu.EventDestroy(event));
}

static void wait_for_value(struct world *w, struct answer *a)
{
    volatile uint32_t *word = w->page + 4 * KIB;
    const CUdeviceptr at = (CUdeviceptr)(uintptr_t)word;

    word[0] = 0;
    word[64] = 0;
    GOOD(cu.StreamWaitValue32(w->other[0], at, 5, CU_STREAM_WAIT_VALUE_GEQ));
    GOOD(cu.StreamWriteValue32(w->other[0], at + 256, 9, 0));
    rules_sleep_ms(5);
    rules_must(a, word[64] == 0, "it did not wait");
    word[0] = 6;
    GOOD(cu.StreamSynchronize(w->other[0]));
    rules_must(a, word[64] == 9, "wrote %u", word[64]);
}

/* Of the null stream: it and blocking streams wait for each other, non-blocking ones do not. */
static void null_stream(struct world *w, struct answer *a)
{
    CUstream blocking;

    GOOD(cu.StreamCreate(&blocking, CU_STREAM_DEFAULT));
    rules_hold(w, 0, blocking, 20000);
    GOOD(cu.MemsetD8Async(w->memory[0], 1, KIB, NULL));
    rules_sleep_ms(5);
    WANT(cu.StreamQuery(NULL), CUDA_ERROR_NOT_READY);
    GOOD(cu.MemsetD8Async(w->memory[0] + KIB, 1, KIB, w->other[0]));
    GOOD(cu.StreamSynchronize(w->other[0]));
    rules_let_go(w);
    GOOD(cu.StreamSynchronize(NULL));
    GOOD(cu.StreamDestroy(blocking));
}

static void gate_opened(struct world *w, struct answer *a)
{
    rules_hold(w, 0, w->stream[0], 20000);
    for (int i = 0; i < 1000 && rules_hold_state(w) == 0; i++) {
        rules_sleep_ms(1);
    }
    rules_must(a, rules_hold_state(w) == HOLD_WAITING, "seen to wait: state %u",
               rules_hold_state(w));
    rules_let_go(w);
    GOOD(cu.StreamSynchronize(w->stream[0]));
    rules_must(a, rules_hold_state(w) == HOLD_OPENED, "state %u", rules_hold_state(w));
}

static void gate_times_out(struct world *w, struct answer *a)
{
    CUevent begin = new_event(a, 0), end = new_event(a, 0);
    float ms = 0;

    GOOD(cu.EventRecord(begin, w->stream[0]));
    rules_hold(w, 0, w->stream[0], 100);
    GOOD(cu.EventRecord(end, w->stream[0]));
    GOOD(cu.StreamSynchronize(w->stream[0]));
    rules_must(a, rules_hold_state(w) == HOLD_TIMED_OUT, "state %u", rules_hold_state(w));
    GOOD(cu.EventElapsedTime(&ms, begin, end));
    rules_must(a, ms >= 100 && ms < 105, "100 ms took %g", (double)ms);
    GOOD(cu.EventDestroy(begin));
    GOOD(cu.EventDestroy(end));
}

static void gates_open_together(struct world *w, struct answer *a)
{
    uint32_t first;

    rules_hold(w, 0, w->stream[0], 20000);
    rules_use(w, 1);
    first = w->epoch--; /* both wait for the same epoch */
    rules_hold(w, 1, w->stream[1], 20000);
    rules_must(a, w->epoch == first, "epochs");
    rules_let_go(w);
    GOOD(cu.StreamSynchronize(w->stream[1]));
    rules_use(w, 0);
    GOOD(cu.StreamSynchronize(w->stream[0]));
    rules_must(a, rules_hold_state(w) == HOLD_OPENED, "state %u", rules_hold_state(w));
}

/* --- how much fits behind a held stream ------------------------------------ */

enum entry { ENTRY_EVENT, ENTRY_COPY, ENTRY_LAUNCH, ENTRY_SET, ENTRY_COPY_AND_EVENT };
enum { TRIES = 5000 }; /* to want so many is to want that more would fit */

struct queue {
    struct world *w;
    atomic_uint queued;
    atomic_bool is_over;
    bool has_stalled;
};

/* Opens the gate once a call has made no progress for a while. Makes no driver call itself. */
static void *watch(void *argument)
{
    struct queue *q = argument;
    unsigned seen = 0, idle_ms = 0;

    while (!atomic_load(&q->is_over) && idle_ms < STALL_MS) {
        const unsigned queued = atomic_load(&q->queued);

        idle_ms = queued == seen ? idle_ms + 5 : 0;
        seen = queued;
        rules_sleep_ms(5);
    }
    q->has_stalled = !atomic_load(&q->is_over);
    rules_let_go(q->w);
    return NULL;
}

static CUresult put(struct world *w, enum entry entry, CUevent event)
{
    const CUdeviceptr page = (CUdeviceptr)(uintptr_t)w->page + 8 * KIB;
    uint64_t bytes = KIB;
    uint32_t seed = 1;
    CUresult res;

    switch (entry) {
    case ENTRY_EVENT:
        return cu.EventRecord(event, w->stream[0]);
    case ENTRY_COPY:
        return cu.MemcpyAsync(w->memory[0], page, KIB, w->stream[0]);
    case ENTRY_LAUNCH:
        return rules_launch(w, 0, FILL, 1, 32, w->stream[0],
                            (void *[]){&w->memory[0], &bytes, &seed})
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_UNKNOWN;
    case ENTRY_SET:
        return cu.MemsetD32Async(w->memory[0], 1, KIB, w->stream[0]);
    case ENTRY_COPY_AND_EVENT:
        res = cu.MemcpyAsync(w->memory[0], page, KIB, w->stream[0]);
        return res == CUDA_SUCCESS ? cu.EventRecord(event, w->stream[0]) : res;
    }
    return CUDA_ERROR_UNKNOWN;
}

static void queue_of(struct world *w, struct answer *a, enum entry entry, unsigned flags,
                     unsigned wanted)
{
    struct queue q = {.w = w};
    CUevent event = new_event(a, flags);
    pthread_t thread;
    unsigned fits = 0;

    rules_hold(w, 0, w->stream[0], 20000);
    if (pthread_create(&thread, NULL, watch, &q) != 0) {
        return;
    }
    for (unsigned i = 0; i < TRIES && a->verdict == RULE_OK; i++) {
        GOOD(put(w, entry, event));
        if (__atomic_load_n(w->page, __ATOMIC_ACQUIRE) == w->epoch) {
            break; /* this call has waited until the gate was opened */
        }
        atomic_store(&q.queued, i + 1);
        fits = i + 1;
    }
    atomic_store(&q.is_over, true);
    pthread_join(thread, NULL);
    GOOD(cu.StreamSynchronize(w->stream[0]));
    GOOD(cu.EventDestroy(event));
    rules_must(a, q.has_stalled == (wanted < TRIES) && fits == wanted, "%u fit%s", fits,
               q.has_stalled ? "" : " and more would");
}

/* One that takes the time is an entry; others need none. */
static void queue_timing_events(struct world *w, struct answer *a)
{
    queue_of(w, a, ENTRY_EVENT, CU_EVENT_DEFAULT, 1021);
}

static void queue_events(struct world *w, struct answer *a)
{
    queue_of(w, a, ENTRY_EVENT, CU_EVENT_DISABLE_TIMING, TRIES);
}

static void queue_copies(struct world *w, struct answer *a)
{
    queue_of(w, a, ENTRY_COPY, 0, 1021);
}

static void queue_launches(struct world *w, struct answer *a)
{
    queue_of(w, a, ENTRY_LAUNCH, 0, 1021);
}

static void queue_sets(struct world *w, struct answer *a)
{
    queue_of(w, a, ENTRY_SET, 0, 1021);
}

static void queue_timing_pairs(struct world *w, struct answer *a)
{
    queue_of(w, a, ENTRY_COPY_AND_EVENT, CU_EVENT_DEFAULT, 510);
}

static void queue_pairs(struct world *w, struct answer *a)
{
    queue_of(w, a, ENTRY_COPY_AND_EVENT, CU_EVENT_DISABLE_TIMING, 1021);
}

const struct rule rules_order[] = {
    {"order: what is queued behind a held stream is not ready, other streams are", queries, 0,
     NULL},
    {"order: an event that was never recorded is ready", new_events, 0, NULL},
    {"order: which events have no time between them", elapsed_errors, 0, NULL},
    {"order: events of another GPU can be waited for, not recorded or timed", foreign_events,
     NEEDS_TWO, NULL},
    {"order: times between events", event_times, 0, NULL},
    {"order: a stream waits for another one's event", wait_for_event, 0, NULL},
    {"order: a stream waits for a value, and writes one", wait_for_value, 0, NULL},
    {"order: the null stream waits for blocking streams only", null_stream, 0, NULL},
    {"gate: it opens, and the host sees that it waits before", gate_opened, 0, NULL},
    {"gate: left shut it ends by its time-out", gate_times_out, 0, NULL},
    {"gate: one flag opens those of two GPUs", gates_open_together, NEEDS_TWO, NULL},
    {"queue: 1021 timing events fit behind a held stream", queue_timing_events, 0, NULL},
    {"queue: events that take no time need no room", queue_events, 0, NULL},
    {"queue: 1021 copies", queue_copies, 0, NULL},
    {"queue: 1021 launches", queue_launches, 0, NULL},
    {"queue: 1021 sets", queue_sets, 0, NULL},
    {"queue: 510 copies with a timing event each", queue_timing_pairs, 0, NULL},
    {"queue: 1021 copies with an event that takes no time each", queue_pairs, 0, NULL},
    {NULL, NULL, 0, NULL},
};
