/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_RESULT_H
#define BW_RESULT_H

#include "measure.h"
#include "outlier.h"
#include "phase.h"
#include "shmem.h"
#include "state.h"
#include "suite.h"

/*
 * What a run found, as a structure. Writers (report.h) print it, so text and
 * JSON cannot disagree.
 */

enum bw_verdict {
    VERDICT_PASSED,
    VERDICT_WAIVED,     /* the machine lacks what it needs: `reason`              */
    VERDICT_FAILED,     /* at least one cell failed, or all could not be measured */
    VERDICT_UNRELIABLE, /* measured, but a cell is not to be trusted              */
    VERDICT_NOT_FOUND,  /* no testcase of that name or index                      */
    VERDICT_NOT_RUN,    /* the run ended before its turn: `reason`                */
};

enum { BW_OUTLIERS_MAX = 8 };

struct bw_matrix {
    const char *suffix; /* "", "_read1", ...: the key is the testcase's name and this */
    char title[128];    /* the description line                                       */
    int rows, cols;
    struct bw_cell *cells; /* rows x cols, row-major; N/A where !is_present */
    char **row_labels;     /* rows of them ("0->2"), or NULL: numbers       */
    /* What is worse than its like. */
    struct bw_outlier outliers[BW_OUTLIERS_MAX];
    size_t outlier_count;
};

struct bw_testcase_result {
    char *name;                   /* as in the table or, if not found, as the user gave it */
    int index;                    /* in the table; -1 if not found by name                 */
    long long asked_index;        /* not found: the index asked for; else unused           */
    bool by_index;                /* not found: the user gave a number                     */
    const struct bw_testcase *tc; /* NULL if not found */
    enum bw_verdict verdict;
    enum bw_status status; /* the worst of its cells' */
    char *reason;          /* NULL if there is none  */
    struct bw_matrix matrices[3];
    int matrix_count;
    uint64_t buffer_bytes;             /* of this testcase: a latency has its own */
    struct bw_shmem_result *shmem;     /* an operator's points; NULL for all others */
    const struct bw_suite_case *suite; /* of --suite; NULL: of none */
    const char *shared_by;   /* several ranks: the kind of handle that memory travelled by; NULL */
    double skew_ns;          /* several ranks: how far apart their streams start */
    struct bw_world_use use; /* several ranks: what they have cost each other */
    double wall_seconds;
    struct bw_phases phases;       /* of them */
    struct bw_gpu_record *records; /* of the GPUs, by ordinal; NULL: nothing is known */
    int record_count;
};

struct bw_device_info {
    int ordinal; /* as printed: local ordinal */
    int rank;
    char name[96], pci[20], uuid[48], host[256];
    int numa_node; /* operating system's number; -1: unknown */
    size_t memory_bytes;
    int sm_count, capability_major, capability_minor;
    bool has_sharing; /* several ranks: what follows is known */
    int visible_gpus; /* that the rank sees */
    bool sees_all;    /* those of all ranks of its host among them */
    bool has_multicast, has_imex_channel;
    char fabric_answer[48], fd_answer[48]; /* the driver's, when memory was to be made so */
    int fabric_state;                      /* NVML's; -1: unknown */
    unsigned fabric_clique;
    char fabric_cluster[40];
};

/* A NUMA node, in the topology's numbering. */
struct bw_node_info {
    int os_index;        /* the operating system's number */
    int cpus;            /* usable hardware threads       */
    size_t memory_bytes; /* 0: unknown                    */
};

/* The whole run. */
struct bw_run {
    int argc;
    char **argv; /* borrowed */
    char host[256];
    char system[256]; /* "Linux 6.1.0 x86_64" */
    char workdir[1024];
    char started[32];        /* ISO 8601, UTC */
    int cuda_version;        /* 12080; 0 if there is no driver                          */
    char driver_version[80]; /* "570.124.06"; "" if unknown                             */
    char mpi_version[256];   /* "" in one process                                       */
    int rank_count;          /* 1 in one process                                        */
    bool is_host_only;       /* no GPU in this machine: host testcases ran instead      */
    bool is_simulated;       /* a device's name starts with "Simulated"                 */
    bool verbose;
    struct bw_sampling sampling;
    struct bw_device_info *devices;
    int device_count;
    int node_count;             /* NUMA nodes */
    struct bw_node_info *nodes; /* node_count of them, or NULL; the run's own */
    bool *peer;                 /* device_count x device_count, or NULL */
    struct bw_testcase_result *testcases;
    size_t testcase_count, testcase_room;
    uint64_t suite_bytes;         /* --suite: its size L; 0: there is none */
    struct bw_baseline *baseline; /* beside the operators; NULL: not asked for; the run's own */
    bool has_error;               /* something ended the run: so much is known without memory */
    char *error;                  /* what it was, or NULL */
    double wall_seconds;
    struct bw_phases phases; /* of them */
    double state_ms;         /* of it, spent with asking for the GPUs' state */
    int exit_status;
};

/* Fills in what is known before any driver is: command, host, folder, time; one rank, no error. */
void bw_run_init(struct bw_run *run, int argc, char **argv);
/* Something ended it; what came first stays. `reason` is now the run's own; NULL: no memory. */
void bw_run_set_error(struct bw_run *run, char *reason);
/* What ended the run, in words, also where there was no memory for them; NULL: nothing did. */
const char *bw_run_error(const struct bw_run *run);
/* Zeroed is fine. */
void bw_run_free(struct bw_run *run);

/*
 * A new entry at the end, valid until the next call; NULL if out of memory.
 * Zeroed, but for a copy of `name`, and `index` and `tc` (-1 and NULL, if the
 * table has no such name).
 */
struct bw_testcase_result *bw_run_add(struct bw_run *run, const char *name);

/*
 * Cells, titles and labels for a plan; `result` has no matrices before.
 * BW_ERR_MEMORY, logged, leaves what was got for bw_run_free().
 */
enum bw_status bw_result_shape(struct bw_testcase_result *result, const struct bw_plan *plan);
/* As if nothing had been made ready or measured: no matrices, and no operator's points. */
void bw_result_drop(struct bw_testcase_result *result);

/* Fill in the outliers of all matrices; and log a note about each. */
void bw_result_find_outliers(const struct bw_run *run, struct bw_testcase_result *result);
void bw_result_say_outliers(const struct bw_testcase_result *result);

/* True if there is a number to print: measured, and finite. */
bool bw_cell_has_value(const struct bw_cell *cell);

/* Why a value is not to be trusted, in words, also if there was no memory for them; NULL: it is. */
const char *bw_cell_doubt(const struct bw_cell *cell);

/*
 * The verdict on a testcase that was measured, from its status and its cells:
 * failed if any of them says so, else unreliable if a cell is in doubt, else
 * passed; waived if each cell that could have had a value was.
 */
enum bw_verdict bw_result_verdict(const struct bw_testcase_result *result);

/* A copy of `reason`, or NULL, as the testcase's; the one before is freed. */
void bw_result_set_reason(struct bw_testcase_result *result, const char *reason);

/*
 * What stands for the testcase: the first failed cell's reason; where none has failed, the first
 * one's that is in doubt; else of any. The cell's own, or NULL; then also for want of memory.
 * `row` and `column` are where it is; NULL is fine.
 */
const char *bw_result_first_reason(const struct bw_testcase_result *result, int *row, int *column);

/* The testcase's buffer is that of its first cell there is: a latency has a list of its own size.
 */
void bw_result_set_buffer_bytes(struct bw_testcase_result *result);

/* Sum and extremes of a matrix over present cells; n = 0: the others are NAN. */
struct bw_summary {
    size_t n;
    double sum, min, max, average;
    double cv; /* greatest coefficient of variation of its cells; NAN if unknown */
};
struct bw_summary bw_matrix_summary(const struct bw_matrix *matrix);

/*
 * The process's exit status for the run so far: the first that applies of 1 (a
 * testcase failed), 3 (no usable GPU), 2 (usage, unknown testcase), 4 (below a
 * threshold), 5 (unreliable), else 0. What ended the run, or was not run, for
 * another reason than these is a failure. `no_gpu` and `usage` come from the
 * caller.
 */
int bw_run_exit_status(const struct bw_run *run, bool no_gpu, bool usage);

#endif
