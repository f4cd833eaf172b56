/* SPDX-License-Identifier: Apache-2.0 */
#include "option_table.h"

#include "bwtool/route.h"

/* The first rows are in the order in which nvbandwidth v0.8 lists them. */
#define AT(member) offsetof(struct bw_options, member)
#define FLAG(name, letter, member, help)                                                      \
    {                                                                                         \
        name, letter, OPTION_FLAG, AT(member), NO_OFFSET, 0, 0, NULL, NULL, NULL, help, false \
    }

/* clang-format off */
const struct bw_option bw_option_table[BW_OPTION_COUNT] = {
    FLAG("help", 'h', help, "Print this help and exit"),
    {"bufferSize", 'b', OPTION_SIZE, AT(buffer_bytes), AT(has_buffer_bytes), 0, 0, "512", "SIZE",
     "a size (1K to 64T; a plain number is MiB)",
     "Bytes of a copy, 1K to 64T: 64K, 4MiB, 1000001B; a plain\n"
     "number is MiB", false},
    FLAG("list", 'l', list, "List the testcases and exit"),
    {"testcase", 't', OPTION_WORDS, AT(testcases), NO_OFFSET, 0, 0, NULL, "NAME...",
     "a testcase (a name or an index; -l lists them)",
     "Testcases to run, by name or index, in this order", false},
    {"testcasePrefixes", 'p', OPTION_WORDS, AT(prefixes), NO_OFFSET, 0, 0, NULL, "PREFIX...",
     "the beginning of a testcase's name (-l lists them)",
     "Testcases to run, by the beginning of their names", false},
    FLAG("verbose", 'v', verbose, "Print every sample, and MIN, MAX and AVG too"),
    FLAG("skipVerification", 's', skip_verification, "Do not compare the bytes that arrived"),
    FLAG("disableAffinity", 'd', disable_affinity,
         "Do not bind threads and host memory to the NUMA node\n"
         "nearest to the GPU"),
    {"testSamples", 'i', OPTION_NUMBER, AT(test_samples), AT(has_test_samples), 1, 1000000, "3",
     "N", NULL, "Take N samples of each value, of 16 copies each, as\n"
                "nvbandwidth does, and not as many as it needs", false},
    {"precision", '\0', OPTION_PERCENT, AT(precision), NO_OFFSET, 0, 0, "0.25%", "PERCENT",
     "a percentage (0.01% to 50%)",
     "Take samples until the 95 % interval of the median is\n"
     "within so much of it, or a cap is reached", false},
    {"max-time", '\0', OPTION_NUMBER, AT(max_time_s), NO_OFFSET, 1, 1000000, NULL, "SECONDS", NULL,
     "Begin no further measurement after so many seconds; what\n"
     "is left is not run, which is exit status 1", false},
    FLAG("useMean", 'm', use_mean, "The value is the mean of the samples, not the median"),
    FLAG("json", 'j', json, "The same as -F json"),
    {"loopCount", '\0', OPTION_NUMBER, AT(loop_count), AT(has_loop_count), 1, 1000000000, "16",
     "N", NULL, "Copies in a sample (fixes the number of samples, too)", true},
    {"perfFormatter", '\0', OPTION_FLAG, AT(perf_formatter), NO_OFFSET, 0, 0, NULL, NULL, NULL,
     "The same as -F perf", true},
    {"format", 'F', OPTION_FORMAT, AT(format), NO_OFFSET, 0, 0, NULL, "FORMAT",
     "a format (text, json or perf)",
     "text, json or perf (default: text)", false},
    FLAG("version", '\0', version, "Print the version and exit"),
    {"dry-run", '\0', OPTION_OPTIONAL_NUMBER, AT(dry_run_gpus), AT(dry_run), 1, 576, NULL, "N",
     NULL, "Print what would be measured, on N GPUs that all reach\n"
           "each other or, without N, on this machine, and exit", false},
    {"explain", '\0', OPTION_WORDS, AT(explain), NO_OFFSET, 0, 0, NULL, "NAME...",
     "a testcase (a name or an index; -l lists them)",
     "Say in words what these testcases measure, over which\n"
     "link, and what limits it, and exit", false},
    {"peak", '\0', OPTION_PEAK, AT(peaks), NO_OFFSET, 0, 0, NULL, "LINK=GBps[,WHY]",
     "LINK=GBps[,WHY] (LINK: pcie, nvlink, c2c, hbm or host)",
     "Take this as the nominal rate of pcie, nvlink, c2c, hbm\n"
     "or host, one way and for one GPU, in place of what was\n"
     "found", false},
    {"targetNumPairs", 'P', OPTION_NUMBER, AT(target_pairs), NO_OFFSET, 1, 1000000, NULL, "N", NULL,
     "Of the pairs of GPUs measure N, spread over all", false},
    {"pair", '\0', OPTION_WORDS, AT(pair), NO_OFFSET, 0, 0, NULL, "UUID1 UUID2",
     "the UUID of a GPU (nvidia-smi -L lists them)",
     "Of the pairs of GPUs measure this one, both ways", false},
    FLAG("useHugePages", 'H', use_huge_pages,
         "Warn if host memory is not in huge pages (they are\n"
         "used, wherever there are any, without this)"),
    {"sweep", '\0', OPTION_SWEEP, AT(sweep), NO_OFFSET, 0, 0, NULL, "MIN:MAX[:FACTOR]",
     "MIN:MAX or MIN:MAX:FACTOR (sizes, 1B to 64T; FACTOR from 1.1 to 1024)",
     "Operators: every size from MIN to MAX, each FACTOR (2)\n"
     "times the one before: 64K:1G, 1B:1M:4", false},
    {"placement", '\0', OPTION_PLACEMENT, AT(placement), NO_OFFSET, 0, 0, NULL, "PLACEMENT",
     "a placement (a, b, r or auto)",
     "Operators: who moves the user's data to or from symmetric\n"
     "memory: a the kernel, b a copy outside of it, r nobody", false},
    {"dtype", '\0', OPTION_DTYPE, AT(dtype), NO_OFFSET, 0, 0, NULL, "DTYPE",
     "a dtype (fp16, bf16, fp32, int32 or int8)",
     "Operators: fp16, bf16, fp32, int32 or int8", false},
    {"algorithm", '\0', OPTION_ALGORITHM, AT(algorithm), NO_OFFSET, 0, 0, NULL, "ALGORITHM",
     "an algorithm (auto, push, pull, tma, ce, tiles, two_shot, ll, poison, poison4 or multicast)",
     "Operators: push, pull, tma, ce, tiles, two_shot, ll,\n"
     "poison, poison4 or multicast, not the best known one", false},
    {"ctas", '\0', OPTION_NUMBERS, AT(ctas), NO_OFFSET, 1, 512, NULL, "N...", NULL,
     "Operators: up to 16 grids to try, in blocks", false},
    FLAG("no-multicast", '\0', no_multicast, "As if the GPUs had no multicast"),
    {"multicast-width", '\0', OPTION_NUMBER, AT(multicast_width), NO_OFFSET, 4, 16, "16", "BYTES",
     NULL, "Bytes of a multicast store: 16, or 4\n"
           "for comparison", false},
    FLAG("perf", '\0', perf, "Operators: print a [PERF] line for every rank"),
    {"tokens", '\0', OPTION_NUMBER, AT(tokens), NO_OFFSET, 1, BW_ROUTE_TOKENS_MAX, NULL, "N", NULL,
     "Dispatch, combine: tokens of each rank, instead of as\n"
     "many as -b or --sweep has room for", false},
    {"hidden", '\0', OPTION_NUMBER, AT(hidden), NO_OFFSET, 1, BW_ROUTE_HIDDEN_MAX, "7168", "N", NULL,
     "Dispatch, combine: elements of a token", false},
    {"top-k", '\0', OPTION_NUMBER, AT(top_k), NO_OFFSET, 1, BW_ROUTE_TOP_K_MAX, "8", "N", NULL,
     "Dispatch, combine: experts that a token goes to", false},
    {"experts", '\0', OPTION_NUMBER, AT(experts), NO_OFFSET, 1, BW_ROUTE_EXPERTS_MAX, "32", "N", NULL,
     "Dispatch, combine: experts of each rank", false},
    {"skew", '\0', OPTION_SKEW, AT(skew), NO_OFFSET, 0, 0, "0", "SKEW",
     "a skew (0 to 16, or one)",
     "Dispatch, combine: 0 all experts alike, S expert E as\n"
     "likely as 1/E^S, one all tokens to rank 0", false},
    {"route-seed", '\0', OPTION_NUMBER, AT(route_seed), NO_OFFSET, 0, (1ull << 63) - 1, "1", "N", NULL,
     "Dispatch, combine: another number, other routes", false},
    {"profile", '\0', OPTION_PROFILE, AT(profile), NO_OFFSET, 0, 0, NULL, "MODE",
     "a way to profile (light or sync)",
     "Operators: run them once more with frames, which say\n"
     "where the kernel spends its time: light (default), or\n"
     "sync, with a barrier of the block at frames' edges", false},
    {"baseline", '\0', OPTION_BASELINE, AT(baseline), NO_OFFSET, 0, 0, NULL, "BASELINE",
     "a baseline (nccl, or nccl-only)",
     "Operators: measure NCCL first, in a process of its own,\n"
     "and hold them against it; nccl-only: nothing but NCCL", false},
    {"compare", '\0', OPTION_COMPARE, AT(compare), NO_OFFSET, 0, 0, NULL, "A.json,B.json",
     "two JSON files of this tool with a comma between them (A.json,B.json)",
     "Operators: hold the operators in one JSON file against\n"
     "the baseline in the other, and exit", false},
    {"suite", '\0', OPTION_SUITE, AT(suite), NO_OFFSET, 0, 0, NULL, "SUITE",
     "a suite (shmem)",
     "Run the cases of a suite and print its report, in\n"
     "Markdown: shmem, operators from S to L (-b; 128M)", false},
    {"baseline-fd", '\0', OPTION_NUMBER, AT(baseline_fd), AT(has_baseline_fd), 3, 1000000, NULL,
     "N", NULL, "Measure the baseline, and tell it to this descriptor", true},
    {"baseline-patience", '\0', OPTION_NUMBER, AT(baseline_patience_s), NO_OFFSET, 1, 1000000,
     "120", "SECONDS", NULL, "The baseline may say nothing for so long", true},
    {"corrupt-word", '\0', OPTION_NUMBER, AT(corrupt_word), NO_OFFSET, 0, (1ull << 44) - 1, NULL,
     "N", NULL, "Spoil this 32-bit word of each destination", true},
    {"created-memory", '\0', OPTION_FLAG, AT(created_memory), NO_OFFSET, 0, 0, NULL, NULL, NULL,
     "Make device memory as that of ranks is made", true},
};
/* clang-format on */
