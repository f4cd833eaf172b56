/* SPDX-License-Identifier: Apache-2.0 */
/* How memory can travel between the ranks, and if it cannot, what is missing and what shows it. */
#include "ranks.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Why a way is closed, for free(). NULL if there is no memory for it: the way is closed all the
 * same, or one rank would go where the others do not. */
__attribute__((format(printf, 2, 3))) static bool lacks(char **why, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (vasprintf(why, format, args) < 0) {
        *why = NULL;
    }
    va_end(args);
    return true;
}

static const char *words(const char *why)
{
    return why != NULL ? why : "no memory to say why";
}

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

/* True if something keeps one rank's GPU from fabric handles. */
static bool lacks_fabric(const struct bw_rank_facts *f, char **why)
{
    const struct bw_nvml_fabric *fabric = &f->fabric;

    if (!f->is_fabric_attribute) {
        return lacks(why, "the GPU or its driver has no fabric handles");
    }
    if (!fabric->is_known) {
        return lacks(why, "NVML does not say which NVLink fabric the GPU is in (nvidia-smi -q "
                          "shows it under Fabric)");
    }
    if (fabric->state != 3) {
        return lacks(why,
                     "the GPU is in no NVLink fabric yet: %s (nvidia-smi -q shows it "
                     "under Fabric; systemctl status nvidia-fabricmanager)",
                     state_words(fabric->state));
    }
    if (fabric->status != 0) {
        return lacks(why,
                     "the GPU's registration with the NVLink fabric failed with NVML "
                     "error %d (systemctl status nvidia-fabricmanager)",
                     fabric->status);
    }
    if (is_zero(fabric->cluster, sizeof(fabric->cluster))) {
        return lacks(why, "the GPU's fabric has an all-zero cluster UUID, which is none "
                          "(nvidia-smi -q shows it under Fabric)");
    }
    if (f->fabric_probe == CUDA_SUCCESS) {
        return false;
    }
    if (f->fabric_probe == CUDA_ERROR_NOT_PERMITTED && !f->has_imex_channel) {
        return lacks(why,
                     "[%s] no IMEX channel device in /dev/nvidia-caps-imex-channels "
                     "(systemctl status nvidia-imex; nvidia-modprobe -i 0 makes channel0)",
                     bw_cu_error_name((CUresult)f->fabric_probe));
    }
    return lacks(why,
                 "[%s] cuMemCreate refuses fabric handles (systemctl status nvidia-imex; "
                 "nvidia-imex-ctl -N shows the domain)",
                 bw_cu_error_name((CUresult)f->fabric_probe));
}

/* The same for all ranks together. */
static bool lacks_one_fabric(const struct bw_rank_facts *facts, int ranks, char **why)
{
    for (int i = 0; i < ranks; i++) {
        const struct bw_nvml_fabric *a = &facts[0].fabric;
        const struct bw_nvml_fabric *b = &facts[i].fabric;
        char *own = NULL;

        if (lacks_fabric(&facts[i], &own)) {
            (void)lacks(why, "rank %d (%s): %s", i, facts[i].host, words(own));
            free(own);
            return true;
        }
        if (memcmp(a->cluster, b->cluster, sizeof(a->cluster)) != 0) {
            return lacks(why,
                         "rank %d (%s) is in another NVLink cluster than rank 0 (%s) "
                         "(nvidia-smi -q shows ClusterUUID under Fabric)",
                         i, facts[i].host, facts[0].host);
        }
        if (a->clique != b->clique) {
            return lacks(why,
                         "rank %d (%s) is in clique %u, rank 0 (%s) in clique %u of the "
                         "NVLink cluster (nvidia-smi -q shows CliqueId under Fabric)",
                         i, facts[i].host, b->clique, facts[0].host, a->clique);
        }
    }
    return false;
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

/* True if something keeps descriptors from being used within a host. */
static bool lacks_fd(const struct bw_rank_facts *facts, int ranks, char **why)
{
    for (int i = 0; i < ranks; i++) {
        if (facts[i].fd_probe != CUDA_SUCCESS) {
            return lacks(why,
                         "rank %d (%s): [%s] cuMemCreate refuses memory with a POSIX file "
                         "descriptor",
                         i, facts[i].host, bw_cu_error_name((CUresult)facts[i].fd_probe));
        }
    }
    return false;
}

/* What a driver answers where memory cannot be shared so. */
static bool is_refusal(int32_t answer)
{
    switch ((CUresult)answer) {
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_DEVICE:
    case CUDA_ERROR_NOT_PERMITTED:
    case CUDA_ERROR_NOT_SUPPORTED:
    case CUDA_ERROR_SYSTEM_NOT_READY:
        return true;
    default:
        return false;
    }
}

bool bw_ranks_has_trouble(const struct bw_rank_facts *facts, int ranks, char **why)
{
    const bool is_fd = is_one_host(facts, ranks);

    for (int i = 0; i < ranks; i++) {
        const int32_t fd = is_fd ? facts[i].fd_probe : CUDA_SUCCESS;
        const int32_t fabric = facts[i].is_fabric_attribute ? facts[i].fabric_probe : CUDA_SUCCESS;
        const bool is_fd_trouble = fd != CUDA_SUCCESS && !is_refusal(fd);

        if (is_fd_trouble || (fabric != CUDA_SUCCESS && !is_refusal(fabric))) {
            return lacks(
                why,
                "memory cannot be shared between the ranks: rank %d (%s): [%s] cuMemCreate "
                "fails when it is asked for memory with a %s",
                i, facts[i].host, bw_cu_error_name((CUresult)(is_fd_trouble ? fd : fabric)),
                bw_share_name(is_fd_trouble ? SHARE_FD : SHARE_FABRIC));
        }
    }
    return false;
}

enum bw_share_kind bw_ranks_choose_kind(const struct bw_rank_facts *facts, int ranks, char **reason)
{
    enum bw_share_kind kind = SHARE_NONE;
    char *no_fabric = NULL;
    char *no_fd = NULL;

    *reason = NULL;
    if (!lacks_one_fabric(facts, ranks, &no_fabric)) {
        return SHARE_FABRIC;
    }
    if (!is_one_host(facts, ranks)) {
        (void)lacks(reason, "memory cannot be shared between the hosts: %s", words(no_fabric));
    } else if (lacks_fd(facts, ranks, &no_fd)) {
        (void)lacks(reason, "memory cannot be shared between the ranks: %s; and %s", words(no_fd),
                    words(no_fabric));
    } else {
        kind = SHARE_FD;
    }
    free(no_fabric);
    free(no_fd);
    return kind;
}
