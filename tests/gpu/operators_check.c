/* SPDX-License-Identifier: Apache-2.0 */
/*
 * operators_check [small | [paced] BYTES...]  (16 sizes at most)
 *
 * Runs every way of every operator over all GPUs, in each placement and dtype
 * that it has, without a gate (compute-sanitizer would have to let two streams
 * wait for the host), and has every byte of every output compared by the
 * product's own check. A way that cannot run on these GPUs is skipped, and said.
 * Multicast is left out: it is the simulator's alone.
 *
 * paced: the host comes before and behind each operator, for initcheck, under
 * which a copy waits for all of its GPU. Left out are then those that copy
 * while ranks wait for each other: by copy engine, placement B, the barrier.
 */
#include "measure/session.h"
#include "shmem/shmem.h"

#include "bwtool/log.h"
#include "bwtool/topology.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Payloads: one element, no multiple of anything, several tiles, all blocks. */
static const uint64_t sizes[] = {1, 1000, 65536 + 16, (3 << 20) + 48};
enum { SIZES_MAX = 16, SHOWN_MAX = 20 };

struct bench {
    struct bw_world world;
    struct bw_topology *topology;
    struct bw_gpus gpus;
    struct bw_session session;
    uint64_t sizes[SIZES_MAX];
    size_t size_count;
    bool is_paced;
    bool is_small; /* a simulated GPU: each row's own dtype only */
    unsigned long passed, skipped, failed;
};

static bool copies_meanwhile(const struct shmem_case *c)
{
    return c->row->algorithm == ALGORITHM_CE || c->row->op == SHMEM_BARRIER || shmem_has_staging(c);
}

static enum bw_status run_case(const struct bench *b, struct shmem_case *c, uint32_t seed)
{
    struct bw_shmem_point point = {.status = BW_OK};
    enum bw_status st = BW_OK;

    TRY(shmem_route_open_all(c, &point));
    TRY(shmem_windows_open_all(c));
    TRY(b->is_paced ? shmem_check_paced_all(c, seed) : shmem_check_fresh_all(c, seed));
out:
    shmem_windows_close_all(c);
    shmem_route_close(c);
    free(point.rank_bytes);
    return st;
}

/* One way at one size. Only a lost GPU ends it all. */
static enum bw_status check_case(struct bench *b, const struct bw_operator *row,
                                 const struct bw_shmem_request *request, uint64_t bytes)
{
    const struct shmem_machine machine = shmem_machine_of(&b->session, request);
    struct shmem_case *c = calloc(1, sizeof(*c));
    enum bw_status st = BW_OK;
    char *reason = NULL;

    if (c == NULL) {
        return bw_errno("no memory for a case of %s", row->tc.name);
    }
    reason = shmem_case_set(c, row, request, &machine, bytes, 0);
    if (reason != NULL || (b->is_paced && copies_meanwhile(c))) {
        b->skipped++;
        free(reason);
        free(c);
        return BW_OK;
    }
    c->session = &b->session;
    st = run_case(b, c, (uint32_t)bytes + (uint32_t)b->passed);
    if (st == BW_OK) {
        b->passed++;
    } else if (++b->failed <= SHOWN_MAX) {
        printf("FAILED: %s, placement %s, %s, %llu bytes\n", row->tc.name,
               bw_placement_name(request->placement), bw_dtype_name(request->dtype),
               (unsigned long long)bytes);
    }
    free(c);
    return bw_cu_context_lost() ? BW_ERR_LOST : BW_OK;
}

static enum bw_status check_row(struct bench *b, const struct bw_operator *row)
{
    static const enum bw_placement placements[] = {PLACEMENT_A, PLACEMENT_B, PLACEMENT_R};
    const unsigned long before = b->passed;
    enum bw_status st = BW_OK;

    for (size_t p = 0; p < sizeof(placements) / sizeof(placements[0]); p++) {
        for (unsigned d = 0; d < BW_SHMEM_DTYPES; d++) {
            const struct bw_shmem_request request = {
                .placement = placements[p], .has_dtype = true, .dtype = (enum bw_shmem_dtype)d};

            for (size_t s = 0; s < b->size_count; s++) {
                if (!b->is_small || request.dtype == row->dtype) {
                    TRY(check_case(b, row, &request, b->sizes[s]));
                }
            }
        }
    }
out:
    printf("%-36s %lu cases\n", row->tc.name, b->passed - before);
    (void)fflush(stdout);
    return st;
}

/* initcheck does not see what the CPU writes into the pinned slips. */
static enum bw_status clear_slips(const struct bw_session *session)
{
    const struct bw_slip first = bw_session_slip(session, 0, 0, 0);
    const struct bw_slip last =
        bw_session_slip(session, 0, bw_session_lanes_max(session) - 1, BW_SLIP_KINDS - 1);
    const size_t bytes = (size_t)((char *)last.host - (char *)first.host) + BW_SLIP_BYTES;
    enum bw_status st = BW_OK;

    TRY(bw_gpu_use(&session->gpus.gpus[0]));
    TRY(CU(cu.MemsetD8Async((CUdeviceptr)(uintptr_t)first.host, 0, bytes,
                            bw_session_stream(session, 0))));
    TRY(bw_session_settle(session));
out:
    return st;
}

static enum bw_status run(struct bench *b)
{
    enum bw_status st = BW_OK;

    bw_world_open_single(&b->world);
    TRY(bw_topology_open(&b->topology, NULL));
    TRY(bw_gpus_open(&b->gpus));
    TRY(bw_session_open_all(&b->session, &b->world, b->topology, &b->gpus));
    TRY(clear_slips(&b->session));
    printf("%s, %d ranks\n", b->session.gpus.gpus[0].name, b->session.gpus.count);
    for (size_t i = 0; i < bw_operator_count; i++) {
        if (bw_operators[i].algorithm != ALGORITHM_AUTO &&
            bw_operators[i].algorithm != ALGORITHM_MULTICAST) {
            TRY(check_row(b, &bw_operators[i]));
        }
    }
out:
    return st;
}

/* False: what is there is no size, or one too many. */
static bool choose_sizes(struct bench *b, int argc, char **argv)
{
    b->is_paced = argc > 1 && strcmp(argv[1], "paced") == 0;
    argc -= b->is_paced;
    argv += b->is_paced;
    if (argc == 1) {
        memcpy(b->sizes, sizes, sizeof(sizes));
        b->size_count = sizeof(sizes) / sizeof(sizes[0]);
    } else if (argc == 2 && strcmp(argv[1], "small") == 0) {
        b->is_small = true;
        b->sizes[b->size_count++] = 1000;
    } else {
        for (int i = 1; i < argc; i++) {
            const uint64_t bytes = strtoull(argv[i], NULL, 10);

            if (bytes == 0 || b->size_count == SIZES_MAX) {
                return false;
            }
            b->sizes[b->size_count++] = bytes;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    struct bench b = {.size_count = 0};
    enum bw_status st = BW_OK;

    if (!choose_sizes(&b, argc, argv)) {
        (void)fprintf(stderr, "usage: operators_check [small | [paced] BYTES...]\n");
        return 2;
    }
    bw_log_init(false, false);
    st = run(&b);
    bw_session_close_all(&b.session);
    bw_gpus_close(&b.gpus);
    bw_topology_close(b.topology);
    bw_log_fini();
    printf("%lu passed, %lu failed, %lu have no such case\n", b.passed, b.failed, b.skipped);
    return st == BW_OK && b.failed == 0 && b.passed > 0 ? 0 : 1;
}
