/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_SHMEM_INTERNAL_H
#define BW_SHMEM_INTERNAL_H

#include "../measure/lane.h"

#include "bwtool/shmem.h"

#include "shmem_route_params.h"

/* --- choose.c: pure ----------------------------------------------------------------------------
 */

/* The row of that operator and algorithm, or NULL. */
const struct bw_operator *bw_operator_way(enum bw_shmem_op op, enum bw_algorithm algorithm);
bool bw_operator_fits(const struct bw_operator *row, enum bw_placement placement,
                      enum bw_shmem_dtype dtype, bool has_bulk);
/* The row itself or, for ALGORITHM_AUTO, the best that fits; NULL if none does. */
const struct bw_operator *bw_operator_choose(const struct bw_operator *row, uint64_t payload_bytes,
                                             enum bw_placement placement, enum bw_shmem_dtype dtype,
                                             bool has_bulk);
/* Blocks for messages of so many 16-byte vectors; they all fit on the GPU at once. */
unsigned bw_operator_ctas(const struct bw_operator *row, uint64_t vectors, unsigned sm_count);
unsigned bw_operator_tile_vectors(uint64_t vectors, unsigned ctas);

/* --- window.c: symmetric memory -----------------------------------------------------------------
 */

/* Route tables of a rank. The user's lie in ordinary memory; the kernel's in the window if peers
 * read them. */
struct shmem_route_tables {
    CUdeviceptr user_dst, user_slot, dst, slot;
    CUdeviceptr edge, origin;
};

/* What this process drives of one rank. */
struct shmem_rank {
    const struct bw_gpu *gpu;      /* NULL: another process's */
    CUdeviceptr window;            /* as this process's GPUs see it */
    CUdeviceptr area;              /* its own memory behind the multicast address */
    CUdeviceptr user_in, user_out; /* ordinary memory; 0: not needed */
    CUdeviceptr in, out;           /* where the kernel takes from, and puts to */
    CUstream stream;               /* of work that is not timed */
    struct bw_slip check, timed_out, delay;
    uint32_t epoch, tick, turn; /* launches; tiles and barriers; uses of scratch */
    struct shmem_route_tables route;
};

/* Where things lie in a window, in bytes; signals have pages of their own. */
struct shmem_layout {
    uint64_t signals, signal_bytes;
    uint64_t in, out, scratch, tables;
    uint64_t bytes;
    uint64_t area_bytes; /* not 0: in and out are behind a multicast address, not in the window */
};

/* One operator at one size, ready to run. */
struct shmem_case {
    struct bw_session *session;
    const struct bw_operator *row;
    enum bw_placement placement;
    enum bw_shmem_dtype dtype;
    int ranks, root;
    uint64_t elements, payload_bytes, message_bytes; /* message: of one vector-aligned part */
    uint64_t part_bytes;                             /* two-shot: of one rank's part */
    uint32_t vectors, total, slot_vectors, tile_vectors, tile_steps;
    unsigned ctas, default_ctas, threads, rounds, fresh_rounds;
    bool has_pdl, is_sum;
    enum bw_shmem_layout layout;
    uint64_t in_bytes, out_bytes;
    struct shmem_layout at;
    CUdeviceptr multicast; /* the address of all areas; 0: none */
    struct bw_route route; /* dispatch and combine */
    uint32_t tile_tokens, tiles;
    struct shmem_rank rank[BW_SHMEM_RANKS_MAX];
    enum bw_profile_mode profile_mode; /* what is asked for */
    struct shmem_profile *profile;     /* launches are of kernels with frames; NULL: plain ones */
};

/* What a window of the case needs, and what behind a multicast address. */
uint64_t shmem_window_bytes(struct shmem_case *c);
uint64_t shmem_area_bytes(struct shmem_case *c);
/*
 * Memory of all ranks, zeroed signals, poisoned scratch. Close it either way.
 * Collective: once it returns, any rank may signal any other; and the other
 * way round none does any more once it is closed.
 */
enum bw_status shmem_windows_open_all(struct shmem_case *c);
void shmem_windows_close_all(struct shmem_case *c);
/* True if this process drives rank r. */
bool shmem_is_here(const struct shmem_case *c, int r);
enum bw_status shmem_agreed_all(const struct shmem_case *c, enum bw_status mine, const char *phase);
/* The ranks' status of a step, never BW_OK where ours is not; alone, `mine`. Collective. */
static inline enum bw_status shmem_agree_all(const struct shmem_case *c, enum bw_status mine,
                                             const char *phase)
{
    const enum bw_status agreed = shmem_agreed_all(c, mine, phase);

    return agreed == BW_OK ? mine : agreed;
}
/* How long work on the case that is not timed may take before the GPU counts as lost. */
uint64_t shmem_patience_ns(const struct shmem_case *c);
/* True if input or output of the kernel lies in the window, or behind the multicast address. */
bool shmem_in_is_symmetric(const struct shmem_case *c);
bool shmem_out_is_symmetric(const struct shmem_case *c);

/* --- program.c: what one iteration puts into a rank's stream ------------------------------------
 */

enum shmem_program_kind {
    PROGRAM_E2E,     /* user's input to user's output, moves outside of the kernel included */
    PROGRAM_KERNEL,  /* the operator alone */
    PROGRAM_STAGING, /* the copy outside of the kernel alone */
};

/* True if the two programs differ. */
bool shmem_has_staging(const struct shmem_case *c);
/* Ranks 0 to this one less take part. */
int shmem_issuers(const struct shmem_case *c);
/* Entries of a queue that an iteration takes at most. */
unsigned shmem_entries(const struct shmem_case *c, enum shmem_program_kind kind);
/*
 * Iterations that warm up. No gate holds them, but all of them may wait for ranks that are not
 * queued yet; and the gate behind them waits for them, 20 s at most.
 */
unsigned shmem_warm(const struct shmem_case *c, enum shmem_program_kind kind);
/* Side streams of copy engines are in `side`, which may be NULL for others. */
struct shmem_side {
    CUstream stream;
    CUevent fork, join;
};
enum bw_status shmem_side_open(struct shmem_side *side, const struct shmem_case *c, int r);
void shmem_side_close(struct shmem_side *side, const struct shmem_case *c, int r);
enum bw_status shmem_queue(struct shmem_case *c, int r, enum shmem_program_kind kind,
                           CUstream stream, const struct shmem_side *side);

/* --- check.c: patterns
 * ---------------------------------------------------------------------------- */

/*
 * The user's input; and the symmetric one, which has another pattern where the
 * program copies the user's there, so that bytes tell whether it did.
 */
enum bw_status shmem_fill(struct shmem_case *c, int r, enum shmem_program_kind kind, uint32_t seed,
                          CUstream stream);
/* The seed of that other pattern; `seed` where nothing is copied in. */
uint32_t shmem_stale_seed(const struct shmem_case *c, enum shmem_program_kind kind, uint32_t seed);
enum bw_status shmem_spoil(struct shmem_case *c, int r, uint32_t seed, CUstream stream);
/* The output of a put, in a stream of the rank that puts. */
enum bw_status shmem_spoil_put(struct shmem_case *c, uint32_t seed, CUstream stream);
/* Begin a count of wrong bytes, add what the output of rank r has, fetch it. */
enum bw_status shmem_check_begin(struct shmem_case *c, int r, CUstream stream);
enum bw_status shmem_check(struct shmem_case *c, int r, enum shmem_program_kind kind, uint32_t seed,
                           CUstream stream);
enum bw_status shmem_check_fetch(struct shmem_case *c, int r, CUstream stream);
/* After that came: BW_ERR_TIMEOUT or BW_ERR_VERIFY, logged. */
enum bw_status shmem_check_verdict(const struct shmem_case *c, int r, const char *when);
/* True if rank r's output is defined. */
bool shmem_is_checked(const struct shmem_case *c, int r);
/* Rounds with a fresh pattern each, without a pause, one rank late each time. Collective; `seed`
 * is the same in all ranks. So many, if the request says nothing else. */
enum { SHMEM_FRESH_ROUNDS = 6 };
enum bw_status shmem_check_fresh_all(struct shmem_case *c, uint32_t seed);
/* The same, but all ranks wait for the host before the operator and behind it. Collective. */
enum bw_status shmem_check_paced_all(struct shmem_case *c, uint32_t seed);

/* --- route_case.c, route_check.c: dispatch and combine ------------------------------------------
 */

bool shmem_is_routed(enum bw_shmem_op op);
/* Tokens of each rank for a payload of about so many bytes. */
uint32_t shmem_route_tokens(const struct bw_operator *row, const struct bw_shmem_request *request,
                            uint64_t bytes);
/* Sizes of a case whose row, dtype and ranks are known; NULL, or why it cannot be, as text. */
char *shmem_route_set(struct shmem_case *c, const struct bw_shmem_request *request, uint64_t bytes);
void shmem_route_set_tiles(struct shmem_case *c);
/*
 * The route and what lies where; nothing for other operators. BW_ERR_MEMORY,
 * logged; then the sizes are those of the worst route. Close it either way.
 */
enum bw_status shmem_route_open(struct shmem_case *c);
void shmem_route_close(struct shmem_case *c);
/* The same, with counted bytes and additions for the point. Collective. */
enum bw_status shmem_route_open_all(struct shmem_case *c, struct bw_shmem_point *point);
/* Bytes that rank r takes from its input, or finds in its output; other operators: all of it. */
uint64_t shmem_in_bytes(const struct shmem_case *c, int r);
uint64_t shmem_out_bytes(const struct shmem_case *c, int r);
/* True if peers read this rank's tables: then they lie in the window, and B stages them. */
bool shmem_route_is_shared(const struct shmem_case *c);
uint64_t shmem_route_shared_bytes(const struct shmem_case *c);
/* The rank's tables, sent and waited for. */
enum bw_status shmem_route_upload(struct shmem_case *c, int r);
/* Queued: the tables that peers read, from the user's memory to the window. */
enum bw_status shmem_route_stage(const struct shmem_case *c, int r, CUstream stream);
struct bw_route_args shmem_route_args(const struct shmem_case *c, int r,
                                      const struct bw_shmem_args *args);
/* As those of check.c. */
enum bw_status shmem_route_fill(const struct shmem_case *c, int r, enum shmem_program_kind kind,
                                uint32_t seed, CUstream stream);
enum bw_status shmem_route_spoil(const struct shmem_case *c, int r, uint32_t seed, CUstream stream);
enum bw_status shmem_route_check(const struct shmem_case *c, int r, CUdeviceptr out, uint32_t seed,
                                 CUstream stream);

/* --- lane.c: programs as lanes of the measuring loop
 * ---------------------------------------------- */

struct shmem_program {
    struct shmem_case *c;
    enum shmem_program_kind kind;
    struct shmem_side side[BW_SHMEM_RANKS_MAX];
};
extern const struct bw_engine_ops bw_engine_shmem;
/* Of a sample, and before the first one; and samples at the least. */
enum { SHMEM_ITERATIONS = 40, SHMEM_WARM = 10, SHMEM_SAMPLES = 6 };

/* --- plan.c
 * ------------------------------------------------------------------------------------------ */

/* The plan of a program: a lane for each issuing rank, with its steps. bw_plan_free() frees it. */
enum bw_status shmem_plan_build(struct bw_plan *plan, const struct shmem_case *c,
                                struct shmem_program *program);
void shmem_plan_print(const struct bw_plan *plan, const struct shmem_case *c,
                      enum shmem_program_kind kind, FILE *out);
/* What --profile adds to it, or why nothing. */
void shmem_plan_print_frames(const struct shmem_case *c, FILE *out);

/* --- case.c
 * ------------------------------------------------------------------------------------------ */

/* What is asked for, for a payload of about `bytes` on `ranks` GPUs like these; `c` is overwritten.
 */
struct shmem_machine {
    int ranks, sm_count;
    bool has_bulk;
    const char *no_multicast; /* why there is none; NULL: there is, or nobody knows yet */
};
/* NULL, or why it cannot be, as the caller's own text. */
char *shmem_case_set(struct shmem_case *c, const struct bw_operator *row,
                     const struct bw_shmem_request *request, const struct shmem_machine *machine,
                     uint64_t bytes, unsigned ctas);

/* --- waiver.c
 * ------------------------------------------------------------------------------------------ */

/* What the ranks that the request is of can do. */
struct shmem_machine shmem_machine_of(const struct bw_session *session,
                                      const struct bw_shmem_request *request);
/* Of `ranks` GPUs like those; without any, NULL is fine, of one of today, an H200. */
struct shmem_machine shmem_machine_to_plan(const struct bw_gpus *gpus, int ranks);
/* Why `asked` ranks of `there` cannot be had, as the caller's own text. */
char *shmem_ranks_reason(int asked, int there);
/* The size after `*bytes`, which is 0 at first; 0 after the last. */
uint64_t shmem_next_bytes(const struct bw_operator *row, const struct bw_shmem_request *request,
                          double *bytes);

/* --- take.c
 * -------------------------------------------------------------------------------------------- */

/*
 * Check and measure the case; the point gets its figures. Collective: a
 * failure is one in all ranks, BW_ERR_PEER where it is another's.
 */
enum bw_status shmem_take_all(struct shmem_case *c, const struct bw_sampling *sampling, double peak,
                              struct bw_shmem_point *point);

/* What one program took: microseconds an iteration, of the slowest rank and of each. */
struct shmem_taken {
    struct bw_stats us;
    double *rank_us; /* the caller's to free */
    double mean_us;  /* over ranks */
    unsigned long long iterations;
};
/* Collective. */
enum bw_status shmem_take_program_all(struct shmem_case *c, enum shmem_program_kind kind,
                                      const struct bw_sampling *sampling,
                                      struct shmem_taken *taken);

/* --- peak.c
 * -------------------------------------------------------------------------------------------- */

/* GB/s of a port, one way; NAN if unknown. Its kind and source go into the result. */
double shmem_peak(const struct bw_session *session, const struct bw_operator *row,
                  const struct bw_shmem_request *request, const struct bw_sampling *sampling,
                  struct bw_shmem_result *result);

#endif
