/* SPDX-License-Identifier: Apache-2.0 */
/* How memory can travel between the ranks, and if it cannot, what is missing and what shows it. */
#include "ranks.h"

#include "bwtool/text.h"

#include <stdlib.h>
#include <string.h>

static bool is_zero(const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != 0) {
            return false;
        }
    }
    return true;
}

static const char *state_words(int state)
{
    switch (state) {
    case 1:
        return "its registration has not started";
    case 2:
        return "its registration is in progress";
    default:
        return "it is in none";
    }
}

/* What keeps one rank's GPU from fabric handles, for free(); NULL: nothing. */
static char *why_no_fabric(const struct bw_rank_facts *f)
{
    const struct bw_nvml_fabric *fabric = &f->fabric;

    if (!f->is_fabric_attribute) {
        return bw_text_format("the GPU or its driver has no fabric handles");
    }
    if (!fabric->is_known) {
        return bw_text_format("NVML does not say which NVLink fabric the GPU is in (nvidia-smi -q "
                              "shows it under Fabric)");
    }
    if (fabric->state != 3) {
        return bw_text_format("the GPU is in no NVLink fabric yet: %s (nvidia-smi -q shows it "
                              "under Fabric; systemctl status nvidia-fabricmanager)",
                              state_words(fabric->state));
    }
    if (fabric->status != 0) {
        return bw_text_format("the GPU's registration with the NVLink fabric failed with NVML "
                              "error %d (systemctl status nvidia-fabricmanager)",
                              fabric->status);
    }
    if (is_zero(fabric->cluster, sizeof(fabric->cluster))) {
        return bw_text_format("the GPU's fabric has an all-zero cluster UUID, which is none "
                              "(nvidia-smi -q shows it under Fabric)");
    }
    if (f->fabric_probe == CUDA_SUCCESS) {
        return NULL;
    }
    if (f->fabric_probe == CUDA_ERROR_NOT_PERMITTED && !f->has_imex_channel) {
        return bw_text_format("[%s] no IMEX channel device in /dev/nvidia-caps-imex-channels "
                              "(systemctl status nvidia-imex; nvidia-modprobe -i 0 makes channel0)",
                              bw_cu_error_name((CUresult)f->fabric_probe));
    }
    return bw_text_format("[%s] cuMemCreate refuses fabric handles (systemctl status nvidia-imex; "
                          "nvidia-imex-ctl -N shows the domain)",
                          bw_cu_error_name((CUresult)f->fabric_probe));
}

/* The same for all ranks together. */
static char *why_not_one_fabric(const struct bw_rank_facts *facts, int ranks)
{
    for (int i = 0; i < ranks; i++) {
        const struct bw_nvml_fabric *a = &facts[0].fabric;
        const struct bw_nvml_fabric *b = &facts[i].fabric;
        char *why = why_no_fabric(&facts[i]);
        char *text = NULL;

        if (why != NULL) {
            text = bw_text_format("rank %d (%s): %s", i, facts[i].host, why);
            free(why);
            return text;
        }
        if (memcmp(a->cluster, b->cluster, sizeof(a->cluster)) != 0) {
            return bw_text_format("rank %d (%s) is in another NVLink cluster than rank 0 (%s) "
                                  "(nvidia-smi -q shows ClusterUUID under Fabric)",
                                  i, facts[i].host, facts[0].host);
        }
        if (a->clique != b->clique) {
            return bw_text_format("rank %d (%s) is in clique %u, rank 0 (%s) in clique %u of the "
                                  "NVLink cluster (nvidia-smi -q shows CliqueId under Fabric)",
                                  i, facts[i].host, b->clique, facts[0].host, a->clique);
        }
    }
    return NULL;
}

static bool is_one_host(const struct bw_rank_facts *facts, int ranks)
{
    for (int i = 1; i < ranks; i++) {
        if (facts[i].host_rank != facts[0].host_rank) {
            return false;
        }
    }
    return true;
}

/* What keeps descriptors from being used within a host; NULL: nothing. */
static char *why_no_fd(const struct bw_rank_facts *facts, int ranks)
{
    for (int i = 0; i < ranks; i++) {
        if (facts[i].fd_probe != CUDA_SUCCESS) {
            return bw_text_format("rank %d (%s): [%s] cuMemCreate refuses memory with a POSIX file "
                                  "descriptor",
                                  i, facts[i].host, bw_cu_error_name((CUresult)facts[i].fd_probe));
        }
    }
    return NULL;
}

enum bw_share_kind bw_ranks_choose_kind(const struct bw_rank_facts *facts, int ranks, char **reason)
{
    char *no_fabric = why_not_one_fabric(facts, ranks);
    char *no_fd = NULL;

    *reason = NULL;
    if (no_fabric == NULL) {
        return SHARE_FABRIC;
    }
    if (!is_one_host(facts, ranks)) {
        *reason = bw_text_format("memory cannot be shared between the hosts: %s", no_fabric);
        free(no_fabric);
        return SHARE_NONE;
    }
    no_fd = why_no_fd(facts, ranks);
    if (no_fd == NULL) {
        free(no_fabric);
        return SHARE_FD;
    }
    *reason =
        bw_text_format("memory cannot be shared between the ranks: %s; and %s", no_fd, no_fabric);
    free(no_fabric);
    free(no_fd);
    return SHARE_NONE;
}
