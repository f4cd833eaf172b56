/* SPDX-License-Identifier: Apache-2.0 */
/* Root `bwtool`: the whole run but its testcases. */
#include "bwtool/log.h"
#include "bwtool/text.h"
#include "comparison.h"
#include "json_document.h"
#include "json_value.h"
#include "suite.h"
#include "words.h"

#include <stdlib.h>

/* Raised when a member changes its meaning or goes; new ones do not raise it. */
enum { SCHEMA_VERSION = 1 };

static json_t *command_of(const struct bw_run *run)
{
    json_t *words = json_array();

    for (int i = 0; i < run->argc && run->argv != NULL; i++) {
        bw_json_add(words, bw_json_text(run->argv[i]));
    }
    return words;
}

/* Variables that change what is seen or how it is reached, where they are set. */
static json_t *variables(void)
{
    static const char *const names[] = {
        "CUDA_VISIBLE_DEVICES",    "CUDA_DEVICE_ORDER",    "CUDA_DEVICE_MAX_CONNECTIONS",
        "CUDA_LAUNCH_BLOCKING",    "CUDA_MODULE_LOADING",  "CUDA_FORCE_PTX_JIT",
        "CUDA_MPS_PIPE_DIRECTORY", "NVIDIA_TF32_OVERRIDE", "NCCL_NVLS_ENABLE",
        "HWLOC_XMLFILE",           "LD_LIBRARY_PATH",      "LD_PRELOAD",
    };
    json_t *object = json_object();

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);

        if (value != NULL) {
            bw_json_set(object, names[i], bw_json_text(value));
        }
    }
    return object;
}

static json_t *environment(const struct bw_run *run)
{
    json_t *object = json_object();

    bw_json_set(object, "host", bw_json_text(run->host));
    bw_json_set(object, "system", bw_json_text_or_null(run->system));
    bw_json_set(object, "driver", bw_json_text_or_null(run->driver_version));
    bw_json_set(object, "cuda", json_integer(run->cuda_version));
    bw_json_set(object, "mpi", bw_json_text_or_null(run->mpi_version));
    bw_json_set(object, "ranks", json_integer(run->rank_count));
    bw_json_set(object, "variables", variables());
    return object;
}

/* What a rank has for sharing memory with the others. */
static json_t *sharing_of(const struct bw_device_info *device)
{
    json_t *object = json_object();

    bw_json_set(object, "visible_gpus", json_integer(device->visible_gpus));
    bw_json_set(object, "sees_all_ranks", json_boolean(device->sees_all));
    bw_json_set(object, "fd_handles", bw_json_text(device->fd_answer));
    bw_json_set(object, "fabric_handles", bw_json_text(device->fabric_answer));
    bw_json_set(object, "imex_channel", json_boolean(device->has_imex_channel));
    bw_json_set(object, "multicast", json_boolean(device->has_multicast));
    bw_json_set(object, "fabric_state",
                device->fabric_state >= 0 ? json_integer(device->fabric_state) : json_null());
    bw_json_set(object, "fabric_cluster", bw_json_text_or_null(device->fabric_cluster));
    bw_json_set(object, "fabric_clique", json_integer((json_int_t)device->fabric_clique));
    return object;
}

static json_t *device_of(const struct bw_device_info *device)
{
    json_t *object = json_object();
    char *capability = bw_text_format("%d.%d", device->capability_major, device->capability_minor);

    bw_json_set(object, "ordinal", json_integer(device->ordinal));
    bw_json_set(object, "rank", json_integer(device->rank));
    bw_json_set(object, "host", bw_json_text(device->host));
    bw_json_set(object, "name", bw_json_text(device->name));
    bw_json_set(object, "pci", bw_json_text_or_null(device->pci));
    bw_json_set(object, "uuid", bw_json_text_or_null(device->uuid));
    bw_json_set(object, "numa_node",
                device->numa_node >= 0 ? json_integer(device->numa_node) : json_null());
    bw_json_set(object, "memory_bytes", bw_json_count(device->memory_bytes));
    bw_json_set(object, "sm_count", json_integer(device->sm_count));
    bw_json_set(object, "compute_capability", bw_json_made(capability));
    if (device->has_sharing) {
        bw_json_set(object, "sharing", sharing_of(device));
    }
    free(capability);
    return object;
}

static json_t *devices(const struct bw_run *run)
{
    json_t *list = json_array();

    for (int i = 0; i < run->device_count; i++) {
        bw_json_add(list, device_of(&run->devices[i]));
    }
    return list;
}

static json_t *node_of(const struct bw_run *run, int node)
{
    json_t *object = json_object();

    bw_json_set(object, "node", json_integer(node));
    if (run->nodes != NULL) {
        const struct bw_node_info *info = &run->nodes[node];

        bw_json_set(object, "os_index", json_integer(info->os_index));
        bw_json_set(object, "cpus", json_integer(info->cpus));
        bw_json_set(object, "memory_bytes",
                    info->memory_bytes > 0 ? bw_json_count(info->memory_bytes) : json_null());
    }
    return object;
}

static json_t *peer_matrix(const struct bw_run *run)
{
    json_t *rows = NULL;

    if (run->peer == NULL) {
        return json_null();
    }
    rows = json_array();
    for (int r = 0; r < run->device_count; r++) {
        json_t *row = json_array();

        for (int c = 0; c < run->device_count; c++) {
            bw_json_add(row, json_boolean(run->peer[r * run->device_count + c]));
        }
        bw_json_add(rows, row);
    }
    return rows;
}

static json_t *topology(const struct bw_run *run)
{
    json_t *object = json_object();
    json_t *nodes = json_array();

    for (int i = 0; i < run->node_count; i++) {
        bw_json_add(nodes, node_of(run, i));
    }
    bw_json_set(object, "nodes", nodes);
    bw_json_set(object, "peer_access", peer_matrix(run));
    return object;
}

static json_t *options(const struct bw_run *run)
{
    const struct bw_sampling *sampling = &run->sampling;
    json_t *object = json_object();

    bw_json_set(object, "buffer_bytes", bw_json_count(sampling->buffer_bytes));
    bw_json_set(object, "samples",
                sampling->samples > 0 ? json_integer(sampling->samples) : json_null());
    bw_json_set(object, "copies_per_sample",
                sampling->copies > 0 ? bw_json_count(sampling->copies) : json_null());
    bw_json_set(object, "precision",
                sampling->samples == 0 ? bw_json_real(sampling->precision) : json_null());
    bw_json_set(object, "value", bw_json_text(sampling->use_mean ? "mean" : "median"));
    bw_json_set(object, "verification", json_boolean(!sampling->skip_verification));
    bw_json_set(object, "binding", json_boolean(sampling->bind));
    if (sampling->corrupt_word != UINT64_MAX) {
        bw_json_set(object, "corrupt_word", bw_json_count(sampling->corrupt_word));
    }
    if (sampling->created_memory) {
        bw_json_set(object, "created_memory", json_true());
    }
    return object;
}

static const char *level_word(enum bw_log_level level)
{
    switch (level) {
    case LOG_ERROR:
        return "error";
    case LOG_WARNING:
        return "warning";
    case LOG_NOTE:
        return "note";
    case LOG_VERBOSE:
        return "verbose";
    }
    return "?";
}

static json_t *messages(void)
{
    json_t *list = json_array();

    for (size_t i = 0; i < bw_log_count(); i++) {
        json_t *object = json_object();

        bw_json_set(object, "level", bw_json_text(level_word(bw_log_level_at(i))));
        bw_json_set(object, "text", bw_json_text(bw_log_text_at(i)));
        bw_json_add(list, object);
    }
    return list;
}

json_t *bw_json_bwtool(const struct bw_run *run)
{
    json_t *root = json_object();
    json_t *testcases = json_array();

    for (size_t i = 0; i < run->testcase_count; i++) {
        bw_json_add(testcases, bw_json_testcase(&run->testcases[i], run->verbose));
    }
    bw_json_set(root, "schema_version", json_integer(SCHEMA_VERSION));
    bw_json_set(root, "version", bw_json_text(bw_words_version));
    bw_json_set(root, "git_version", bw_json_text(bw_words_git_version));
    bw_json_set(root, "command", command_of(run));
    bw_json_set(root, "workdir", bw_json_text_or_null(run->workdir));
    bw_json_set(root, "started", bw_json_text_or_null(run->started));
    bw_json_set(root, "wall_seconds", bw_json_real(run->wall_seconds));
    bw_json_set_phases(root, &run->phases);
    if (run->state_ms > 0) {
        bw_json_set(root, "state_ms", bw_json_real(run->state_ms));
    }
    bw_json_set(root, "exit_status", json_integer(run->exit_status));
    bw_json_set(root, "error", bw_json_text(bw_run_error(run)));
    bw_json_set(root, "simulated", json_boolean(run->is_simulated));
    bw_json_set(root, "host_only", json_boolean(run->is_host_only));
    bw_json_set(root, "environment", environment(run));
    bw_json_set(root, "devices", devices(run));
    bw_json_set(root, "topology", topology(run));
    bw_json_set(root, "options", options(run));
    if (run->baseline != NULL) {
        bw_json_set(root, "baseline", bw_json_baseline(run->baseline));
    }
    if (run->suite_bytes > 0) {
        bw_json_set(root, "suite", bw_json_suite(run));
    }
    bw_json_set(root, "testcases", testcases);
    bw_json_set(root, "messages", messages());
    return root;
}
