/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_OPTIONS_H
#define BW_OPTIONS_H

#include "frames.h"
#include "peak.h"
#include "status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* What the command line says. One table (cli/option_table.c) feeds parser, help and README's check.
 */

struct bw_words {
    char **words; /* each its own allocation */
    size_t count;
};

/* Sizes from min to max, each `factor` times the one before. */
struct bw_sweep {
    uint64_t min, max;
    double factor;
    bool is_given;
};

struct bw_options {
    uint64_t buffer_bytes; /* -b: plain numbers are MiB                     */
    bool has_buffer_bytes; /* it was given                                  */
    char *suite;           /* --suite: the name of one; NULL: none          */
    bool list, help, version;
    struct bw_words testcases;      /* -t: names and indices, in the order given     */
    struct bw_words explain;        /* --explain: names and indices                  */
    struct bw_peak_override *peaks; /* --peak; `why` points into argv            */
    size_t peak_count;
    struct bw_words prefixes; /* -p                                            */
    bool verbose;
    bool skip_verification;
    bool no_multicast;
    unsigned long long multicast_width; /* bytes of a multicast store: 16, or less for 4 */
    bool disable_affinity;
    unsigned long long test_samples; /* -i                                         */
    bool use_mean;
    double precision;                    /* --precision, as a fraction                      */
    unsigned long long max_time_s;       /* --max-time; 0: no bound                         */
    bool json;                           /* -j or -F json; wins over perf_formatter       */
    char *format;                        /* -F as given; NULL: it was not                 */
    bool perf_formatter;                 /* --perfFormatter or -F perf                    */
    unsigned long long loop_count;       /* --loopCount: copies in a sample              */
    unsigned long long target_pairs;     /* -P; 0: all pairs                        */
    struct bw_words pair;                /* --pair: none, or two UUIDs              */
    bool use_huge_pages;                 /* -H                                      */
    struct bw_sweep sweep;               /* --sweep                                        */
    char *placement, *dtype, *algorithm; /* of operators, as given and known; NULL: not */
    struct bw_words ctas;                /* of operators: grids to try                     */
    unsigned long long tokens, hidden, top_k, experts, route_seed; /* of dispatch, combine */
    double skew;                  /* --skew; infinite: all to one rank */
    bool perf;                    /* --perf: a [PERF] line a rank                   */
    enum bw_profile_mode profile; /* --profile[=MODE]                               */
    char *baseline;               /* --baseline: "nccl", "nccl-only"; NULL: none    */
    char *compare;                /* --compare: "A.json,B.json"; NULL: not          */
    bool has_baseline_fd;         /* hidden: this is the process that measures it   */
    unsigned long long baseline_fd, baseline_patience_s; /* hidden: where it tells; and how long it
                                                            may say nothing */
    bool dry_run;
    unsigned long long dry_run_gpus;       /* --dry-run=N; 0: this machine               */
    unsigned long long corrupt_word;       /* hidden test hook; UINT64_MAX: none         */
    bool created_memory;                   /* hidden: device memory by cuMemCreate       */
    bool has_test_samples, has_loop_count; /* were given                           */
};

/*
 * Read argv. On bad input BW_ERR_USAGE, after one line on stderr that names
 * the word and says what would be right. Call bw_options_free() either way.
 * May be called again, but from one thread at a time (getopt).
 */
enum bw_status bw_options_parse(struct bw_options *options, int argc, char **argv);
void bw_options_free(struct bw_options *options);

/* The help text: the version's first line, then every option that is not hidden. */
void bw_options_help(FILE *out);

/*
 * A size in bytes: "512" (MiB), "64K", "64KiB", "4M", "4MiB", "1G", "1GiB",
 * "1T", "1TiB", "4099B", case-insensitive, 1 KiB to 2^46 bytes. False if it is
 * none; "64KB" is none, because it may mean two sizes.
 */
bool bw_options_size(const char *text, uint64_t *bytes);

/* A percentage, "0.25%" or "0.25", 0.01 to 50, as a fraction. False if it is none. */
bool bw_options_percent(const char *text, double *fraction);

#endif
