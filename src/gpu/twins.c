/* SPDX-License-Identifier: Apache-2.0 */
/* The second image: operators' kernels with frames, loaded with --profile only. */
#include "bwtool/gpu.h"
#include "bwtool/kernels.h"
#include "bwtool/log.h"

#include <stddef.h>

static const struct {
    enum bw_kernel kernel;
    const char *name;
} names[] = {
#define TWIN(kernel) {KERNEL_##kernel, "bw_" #kernel "_prof"},
    BW_OPERATOR_KERNELS(TWIN)
#undef TWIN
};

/* A launch that loads its kernel would wait for a held stream: all of it is loaded now. */
static enum bw_status find(const struct bw_twins *twins, const char *name, CUfunction *function)
{
    CUkernel kernel = NULL;
    int registers = 0;
    enum bw_status st = BW_OK;

    TRY(bw_cu(cu.LibraryGetKernel(&kernel, twins->library, name), name, __FILE__, __LINE__));
    TRY(CU(cu.KernelGetFunction(function, kernel)));
    if (cu.FuncLoad != NULL) {
        TRY(CU(cu.FuncLoad(*function)));
    } else {
        TRY(CU(cu.FuncGetAttribute(&registers, CU_FUNC_ATTRIBUTE_NUM_REGS, *function)));
    }
out:
    return st;
}

enum bw_status bw_twins_open(struct bw_twins *twins, const struct bw_gpu *gpu)
{
    enum bw_status st = BW_OK;

    TRY(bw_gpu_use(gpu));
    TRY(CU(cu.LibraryLoadData(&twins->library, bw_profile_image, NULL, NULL, 0, NULL, NULL, 0)));
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        TRY(find(twins, names[i].name, &twins->functions[names[i].kernel]));
    }
    TRY(find(twins, "bw_frame_tick_find", &twins->tick));
out:
    return st;
}

void bw_twins_close(struct bw_twins *twins)
{
    if (twins->library != NULL && !bw_cu_context_lost()) {
        CU_WARN(cu.LibraryUnload(twins->library));
    }
    *twins = (struct bw_twins){0};
}
