/* SPDX-License-Identifier: Apache-2.0 */
#include "bwtool/nccl.h"

#include "bwtool/log.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct bw_nccl_api nccl;

static const struct {
    const char *symbol;
    size_t offset;
    bool is_required;
} entries[] = {
#define R(name) {"nccl" #name, offsetof(struct bw_nccl_api, name), true},
#define O(name) {"nccl" #name, offsetof(struct bw_nccl_api, name), false},
    R(GetVersion) R(GetErrorString) R(CommInitAll) R(CommDestroy) R(CommAbort) R(GroupStart)
        R(GroupEnd) R(AllReduce) R(ReduceScatter) R(AllGather) R(Broadcast) R(Send) R(Recv)
            O(GetLastError) O(AlltoAll) O(MemAlloc) O(MemFree) O(CommWindowRegister)
                O(CommWindowDeregister)
#undef R
#undef O
};

/* Up to 2.8 a version has one digit less for its second number. */
int bw_nccl_version_text(int version, char *text, size_t room)
{
    const int scale = version < 10000 ? 1000 : 10000;

    return snprintf(text, room, "%d.%d.%d", version / scale, version % scale / 100, version % 100);
}

static enum bw_status too_old(int version, const char *lacks)
{
    char text[40], needed[40];

    (void)bw_nccl_version_text(version, text, sizeof(text));
    (void)bw_nccl_version_text(BW_NCCL_VERSION_MIN, needed, sizeof(needed));
    bw_error("NCCL is too old: libnccl.so.2 is version %s%s%s, and the baseline needs %s or newer",
             version > 0 ? text : "unknown", lacks != NULL ? " and has no " : "",
             lacks != NULL ? lacks : "", needed);
    return BW_WAIVED;
}

static enum bw_status fill(struct bw_nccl_api *api)
{
    for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
        void *symbol = dlsym(api->lib, entries[i].symbol);

        if (symbol == NULL && entries[i].is_required) {
            return too_old(api->version, entries[i].symbol);
        }
        memcpy((char *)api + entries[i].offset, &symbol, sizeof(symbol));
        if (i == 0 && api->GetVersion(&api->version) != BW_NCCL_OK) {
            api->version = 0;
        }
    }
    return api->version < BW_NCCL_VERSION_MIN ? too_old(api->version, NULL) : BW_OK;
}

enum bw_status bw_nccl_open(void)
{
    struct bw_nccl_api api = {0};
    enum bw_status st = BW_OK;

    if (nccl.lib != NULL) {
        return BW_OK;
    }
    api.lib = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (api.lib == NULL) {
        bw_error("no NCCL: %s (put its folder into LD_LIBRARY_PATH)", dlerror());
        return BW_WAIVED;
    }
    st = fill(&api);
    if (st != BW_OK) {
        dlclose(api.lib);
        return st;
    }
    nccl = api; /* for good: its threads run on in it */
    return BW_OK;
}

enum bw_status bw_nccl(int result, const char *call, const char *file, int line)
{
    const char *base = strrchr(file, '/');
    const char *more = NULL;

    if (result == BW_NCCL_OK) {
        return BW_OK;
    }
    more = nccl.GetLastError != NULL ? nccl.GetLastError(NULL) : NULL;
    bw_error("NCCL: %s%s%s in %s (%s:%d; NCCL_DEBUG=WARN says more)", nccl.GetErrorString(result),
             more != NULL && more[0] != '\0' ? ": " : "", more != NULL ? more : "", call,
             base != NULL ? base + 1 : file, line);
    return BW_ERR_CUDA;
}
