/* SPDX-License-Identifier: Apache-2.0 */
#include "ranks.h"

#include "multicast_area.h"

#include "bwtool/clock.h"
#include "bwtool/log.h"
#include "bwtool/multicast.h"
#include "bwtool/text.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum bw_status bw_session_choose_gpu(const struct bw_world *world, const struct bw_gpus *gpus,
                                     int *own)
{
    *own = 0;
    if (world->ranks == 1) {
        return BW_OK;
    }
    /* A launcher may show each rank a GPU of its own, which is then its first */
    *own = gpus->count == 1 ? 0 : world->local_rank;
    if (*own < gpus->count) {
        return BW_OK;
    }
    bw_error("more ranks than GPUs: %d ranks were started on %s, and this one sees %d GPUs (start "
             "one rank a GPU: mpirun -n %d, or srun --ntasks-per-node=%d)",
             world->local_ranks, world->host, gpus->count, gpus->count, gpus->count);
    return BW_ERR_NO_GPU;
}

/* Channels by which IMEX lets GPUs of other hosts map memory of this one's. */
static bool has_imex_channel(void)
{
    DIR *folder = opendir("/dev/nvidia-caps-imex-channels");
    const struct dirent *entry = NULL;
    bool is_found = false;

    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        is_found |= strncmp(entry->d_name, "channel", 7) == 0;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return is_found;
}

static enum bw_status find_facts(struct bw_rank_facts *facts, const struct bw_session *session)
{
    const struct bw_gpu *gpu = &session->gpus.gpus[session->own];
    size_t free_bytes = 0;
    size_t total = 0;
    size_t granularity = 0;
    enum bw_status st = BW_OK;

    facts->ordinal = gpu->ordinal;
    facts->visible = session->gpus.count;
    facts->is_fabric_attribute = gpu->has_fabric_handles;
    facts->is_fd_attribute = gpu->has_fd_handles;
    facts->has_multicast = gpu->has_multicast;
    facts->sm_count = gpu->sm_count;
    facts->has_bulk = bw_kernel_has_bulk(gpu);
    facts->is_multicast_off = bw_multicast_is_off();
    facts->has_imex_channel = has_imex_channel();
    facts->fabric = bw_nvml_fabric(gpu->uuid);
    (void)snprintf(facts->uuid, sizeof(facts->uuid), "%s", gpu->uuid);
    (void)snprintf(facts->pci, sizeof(facts->pci), "%s", gpu->pci);
    TRY(bw_gpu_use(gpu));
    facts->fabric_probe = (int32_t)bw_share_probe(gpu, SHARE_FABRIC);
    facts->fd_probe = (int32_t)bw_share_probe(gpu, SHARE_FD);
    if (facts->fd_probe == CUDA_SUCCESS) {
        TRY(bw_share_granularity(gpu, SHARE_FD, &granularity));
    } else if (facts->fabric_probe == CUDA_SUCCESS) {
        TRY(bw_share_granularity(gpu, SHARE_FABRIC, &granularity));
    }
    TRY(CU(cu.MemGetInfo(&free_bytes, &total)));
    facts->granularity = granularity;
    facts->free_bytes = free_bytes;
out:
    return st;
}

/* Two ranks on one GPU would measure each other. */
static enum bw_status check_distinct(const struct bw_ranks *ranks, const struct bw_world *world)
{
    for (int a = 0; a < world->ranks; a++) {
        for (int b = a + 1; b < world->ranks; b++) {
            const struct bw_rank_facts *first = &ranks->facts[a];
            const struct bw_rank_facts *second = &ranks->facts[b];

            if (first->host_rank == second->host_rank && strcmp(first->uuid, second->uuid) == 0) {
                if (bw_world_is_root(world)) {
                    bw_error("ranks %d and %d of %s have the same GPU, %s: start one rank a GPU, "
                             "and give each another one",
                             a, b, first->host, first->uuid);
                }
                return BW_ERR_NO_GPU;
            }
        }
    }
    return BW_OK;
}

static bool sees(const struct bw_gpus *gpus, const char *uuid)
{
    for (int i = 0; i < gpus->count; i++) {
        if (strcmp(gpus->gpus[i].uuid, uuid) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether each rank sees the GPUs of all ranks of its host: known once it is known who has which.
 */
static enum bw_status find_views_all(struct bw_ranks *ranks, const struct bw_session *session,
                                     struct bw_rank_facts *mine)
{
    struct bw_world *world = session->world;

    mine->sees_all = true;
    for (int i = 0; i < world->ranks; i++) {
        mine->sees_all &= ranks->facts[i].host_rank != mine->host_rank ||
                          sees(&session->gpus, ranks->facts[i].uuid);
    }
    return bw_world_gather_all(world, mine, ranks->facts, sizeof(*mine));
}

/* Measured where each rank saw one GPU: NVLink copies between them are slower. */
static void say_narrow(const struct bw_ranks *ranks, const struct bw_world *world)
{
    int count = 0;

    for (int i = 0; i < world->ranks; i++) {
        count += !ranks->facts[i].sees_all;
    }
    if (count > 0 && bw_world_is_root(world)) {
        bw_warn("%d of %d ranks do not see the GPUs of all ranks of their host "
                "(CUDA_VISIBLE_DEVICES, or the launcher's binding of GPUs): copies between ranks "
                "can be slower so; let all see all GPUs of their host",
                count, world->ranks);
    }
}

enum bw_status bw_ranks_open_all(struct bw_ranks *ranks, struct bw_session *session)
{
    struct bw_world *world = session->world;
    const size_t count = (size_t)world->ranks;
    struct bw_rank_facts mine = {
        .rank = world->rank, .host_rank = world->host_rank, .seed = bw_clock_ns()};
    enum bw_status st = BW_OK;

    *ranks = (struct bw_ranks){.status = BW_WAIVED};
    (void)snprintf(mine.host, sizeof(mine.host), "%.63s", world->host);
    ranks->facts = calloc(count, sizeof(*ranks->facts));
    ranks->shares = calloc(count, sizeof(*ranks->shares));
    ranks->taken = calloc(count, sizeof(*ranks->taken));
    if (ranks->facts == NULL || ranks->shares == NULL || ranks->taken == NULL) {
        st = bw_errno("no memory for what %zu ranks have", count);
    } else {
        st = find_facts(&mine, session);
    }
    TRY(bw_world_agree_all(world, st, "finding out what each rank has"));
    TRY(bw_world_gather_all(world, &mine, ranks->facts, sizeof(mine)));
    TRY(check_distinct(ranks, world));
    TRY(find_views_all(ranks, session, &mine));
    say_narrow(ranks, world);
    session->seed = (uint32_t)ranks->facts[0].seed;
out:
    return st;
}

void bw_ranks_close_all(struct bw_ranks *ranks, struct bw_session *session)
{
    /* Nobody unmaps while another rank's GPU may still read or write. */
    (void)bw_world_agree_all(session->world, BW_OK, "before giving back shared memory");
    bw_multicast_area_close(session);
    for (int i = session->world->ranks; ranks->shares != NULL && i-- > 0;) {
        bw_share_close(&ranks->shares[i]);
    }
    bw_share_give_back(ranks->base, (size_t)session->world->ranks * ranks->bytes);
    free(ranks->facts);
    free(ranks->shares);
    free(ranks->taken);
    free(ranks->reason);
    *ranks = (struct bw_ranks){0};
}

bool bw_session_rank(const struct bw_session *session, int rank, struct bw_rank_info *info)
{
    const struct bw_rank_facts *facts = NULL;
    char *end = info->cluster;

    if (session->ranks == NULL || session->ranks->facts == NULL) {
        return false;
    }
    facts = &session->ranks->facts[rank];
    *info = (struct bw_rank_info){
        .visible = facts->visible,
        .sees_all = facts->sees_all,
        .has_multicast = facts->has_multicast,
        .has_imex_channel = facts->has_imex_channel,
        .fabric_answer = bw_cu_error_name((CUresult)facts->fabric_probe),
        .fabric_state = facts->fabric.is_known ? facts->fabric.state : -1,
        .clique = facts->fabric.clique,
    };
    info->fd_answer = bw_cu_error_name((CUresult)facts->fd_probe);
    for (size_t i = 0; i < sizeof(facts->fabric.cluster); i++) {
        const bool dash = i == 4 || i == 6 || i == 8 || i == 10;

        end += sprintf(end, "%s%02x", dash ? "-" : "", facts->fabric.cluster[i]);
    }
    return true;
}

unsigned bw_ranks_slots(const struct bw_plan *plan, int ranks, unsigned *count)
{
    unsigned most = 0;

    for (size_t i = 0; i < plan->launch_count; i++) {
        const struct bw_launch *launch = &plan->launches[i];

        memset(count, 0, (size_t)ranks * sizeof(*count));
        for (size_t k = 0; k < launch->lane_count; k++) {
            const struct bw_step *step = &plan->steps[plan->lanes[launch->lane + k].step];
            const struct bw_end *ends[2] = {&step->src, &step->dst};

            for (int e = 0; e < 2; e++) {
                if (ends[e]->mem == MEM_SHARED && ++count[ends[e]->id] > most) {
                    most = count[ends[e]->id];
                }
            }
        }
    }
    return most;
}

unsigned bw_ranks_multicast_slots(const struct bw_plan *plan)
{
    unsigned most = 0;

    for (size_t i = 0; i < plan->launch_count; i++) {
        const struct bw_launch *launch = &plan->launches[i];
        unsigned count = 0;

        for (size_t k = 0; k < launch->lane_count; k++) {
            count += plan->steps[plan->lanes[launch->lane + k].step].dst.mem == MEM_MULTICAST;
        }
        most = count > most ? count : most;
    }
    return most;
}

void bw_ranks_begin(struct bw_ranks *ranks, int count)
{
    memset(ranks->taken, 0, (size_t)count * sizeof(*ranks->taken));
}

enum bw_status bw_ranks_take(struct bw_ranks *ranks, int rank, CUdeviceptr *ptr)
{
    if (ranks->taken[rank] == ranks->slots) {
        bw_error("this launch needs more than the %u buffers of %zu bytes that each rank shares",
                 ranks->slots, ranks->slot_bytes);
        return BW_ERR_MEMORY;
    }
    *ptr =
        ranks->shares[rank].ptr + BW_RANKS_CONTROL_BYTES + ranks->taken[rank]++ * ranks->slot_bytes;
    return BW_OK;
}

enum bw_status bw_ranks_window(const struct bw_ranks *ranks, int rank, uint64_t bytes,
                               CUdeviceptr *ptr)
{
    const uint64_t room = ranks->bytes - BW_RANKS_CONTROL_BYTES;

    if (bytes > room) {
        bw_error("%.1f MiB of symmetric memory a rank are needed, and %.1f MiB are shared, which "
                 "is what the ranks' GPUs have free: take a smaller size",
                 (double)bytes / (1024 * 1024), (double)room / (1024 * 1024));
        return BW_ERR_MEMORY;
    }
    *ptr = ranks->shares[rank].ptr + BW_RANKS_CONTROL_BYTES;
    return BW_OK;
}
