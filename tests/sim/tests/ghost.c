/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"
#include "cu.h"
#include "kernels/params.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*
 * Large buffers, of which the simulator only notes what they hold: whatever is
 * done with them, and whoever looks, the bytes are those that real work would
 * have left. Run once with notes, and once with "lazy 0".
 */

enum { MIB = 1 << 20, BYTES = 24 * MIB };
static CUcontext ctx[2];
static CUlibrary library;
static CUstream stream[2];
static struct bw_check_result *result;

static CUfunction function(const char *name)
{
    CUkernel kernel = NULL;
    CUfunction func = NULL;

    OK(cu.LibraryGetKernel(&kernel, library, name));
    OK(cu.KernelGetFunction(&func, kernel));
    return func;
}

static void finish(int gpu)
{
    OK(cu.StreamSynchronize(stream[gpu]));
}

static void fill(CUdeviceptr at, uint64_t bytes, uint32_t seed)
{
    LAUNCH(function("bw_fill"), 8, 128, stream[0], &at, &bytes, &seed);
    finish(0);
}

/* Bytes of `at` that are not the pattern's, by the product's own kernel. */
static uint64_t wrong(CUdeviceptr at, uint64_t bytes, uint32_t seed)
{
    *result = (struct bw_check_result){.first = UINT64_MAX};
    LAUNCH(function("bw_check"), 8, 128, stream[0], &at, &bytes, &seed, &result);
    finish(0);
    return result->count;
}

/* By the host's own eyes; `from` is the byte of the pattern that the first one is. */
static uint64_t wrong_here(const unsigned char *at, uint64_t bytes, uint32_t seed, uint64_t from)
{
    uint64_t count = 0;

    for (uint64_t i = 0; i < bytes; i++) {
        count += at[i] != bw_pattern_byte(from + i, seed);
    }
    return count;
}

static void copy(CUdeviceptr dst, CUdeviceptr src, size_t bytes)
{
    OK(cu.MemcpyAsync(dst, src, bytes, stream[0]));
    finish(0);
}

static void by_kernel(const char *name, CUdeviceptr dst, CUdeviceptr src, uint64_t bytes)
{
    uint64_t passes = 3;

    LAUNCH(function(name), 8, 128, stream[0], &dst, &src, &bytes, &passes);
    finish(0);
}

static void on_device(CUdeviceptr a, CUdeviceptr b, unsigned char *host)
{
    uint64_t word = 12345;

    fill(a, BYTES, 1);
    CHECK(wrong(a, BYTES, 1) == 0, "as filled");
    CHECK(wrong(a, BYTES, 2) > BYTES / 2, "another seed is seen");
    CHECK(result->first < 4 && result->expected != result->got, "and where");
    fill(a, BYTES, 1);
    copy(b, a, BYTES);
    CHECK(wrong(b, BYTES, 1) == 0, "as copied");
    LAUNCH(function("bw_corrupt"), 1, 1, stream[0], &b, &word);
    finish(0);
    CHECK(wrong(b, BYTES, 1) == 4 && result->first == 4 * word, "one word: %llu from %llu",
          (unsigned long long)result->count, (unsigned long long)result->first);
    /* a piece of it elsewhere, and a piece overwritten */
    fill(a, BYTES, 3);
    copy(b + 5, a + MIB, 20 * MIB);
    copy((CUdeviceptr)host, b + 5, 20 * MIB);
    CHECK(wrong_here(host, 20 * MIB, 3, MIB) == 0, "shifted");
    OK(cu.MemsetD8Async(a + 7, 0xab, 3 * MIB, stream[0]));
    finish(0);
    copy((CUdeviceptr)host, a, BYTES);
    CHECK(wrong_here(host, 7, 3, 0) == 0 && host[7] == 0xab && host[3 * MIB + 6] == 0xab &&
              wrong_here(host + 3 * MIB + 7, BYTES - 3 * MIB - 7, 3, 3 * MIB + 7) == 0,
          "what a set has left");
    /* a large set, and a kernel's copies */
    OK(cu.MemsetD32Async(b, 0x01020304, BYTES / 4, stream[0]));
    finish(0);
    by_kernel("bw_copy_stride", a, b, BYTES);
    copy((CUdeviceptr)host, a, BYTES);
    CHECK(host[0] == 4 && host[BYTES - 1] == 1, "set and copied");
    fill(b, BYTES, 4);
    by_kernel("bw_copy_sweep", a, b, BYTES);
    by_kernel("bw_copy_sweep", a, b, BYTES);
    CHECK(wrong(a, BYTES, 4) == 0, "copied by a kernel");
}

static void split(CUdeviceptr a, CUdeviceptr b, CUdeviceptr c, CUdeviceptr d, const char *name)
{
    struct bw_split_state *state = NULL;
    uint64_t bytes = BYTES, passes = 2;
    double forward_ns, reverse_ns;

    OK(cu.MemHostAlloc((void **)&state, sizeof(*state), 0));
    *state = (struct bw_split_state){0};
    fill(a, BYTES, 5);
    fill(c, BYTES, 6);
    LAUNCH(function(name), 4, 128, stream[0], &b, &a, &d, &c, &bytes, &passes, &state);
    finish(0);
    CHECK(wrong(b, BYTES, 5) == 0 && wrong(d, BYTES, 6) == 0, "%s: both ways", name);
    forward_ns = (double)(state->forward_end_ns - ~state->not_begin_ns);
    reverse_ns = (double)(state->reverse_end_ns - ~state->not_begin_ns);
    CHECK(state->reverse_bytes >= BYTES && forward_ns > 0 && reverse_ns >= forward_ns,
          "%s: %llu bytes back, %.0f and %.0f ns", name, (unsigned long long)state->reverse_bytes,
          forward_ns, reverse_ns);
    printf("%-20s %.3f and %.3f GB/s\n", name, 2.0 * BYTES / forward_ns,
           (double)state->reverse_bytes / reverse_ns);
    OK(cu.MemFreeHost(state));
}

/* The program's own memory: it looks whenever it likes. */
static void on_host(CUdeviceptr a)
{
    unsigned char *memory =
        mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const CUdeviceptr at = (CUdeviceptr)memory;

    OK(cu.MemHostRegister(memory, BYTES, 0));
    fill(at, BYTES, 7);
    CHECK(memory[5 * MIB] == bw_pattern_byte(5 * MIB, 7), "one look");
    CHECK(wrong_here(memory, BYTES, 7, 0) == 0, "all");
    fill(at, BYTES, 8);
    memory[MIB] ^= 1; /* a write of its own */
    CHECK(wrong(at, BYTES, 8) == 1 && result->first == MIB, "its own write is seen");
    fill(at, BYTES, 9);
    copy(a, at, BYTES);
    copy(a, at, BYTES);
    memory[2 * MIB] ^= 1;
    CHECK(wrong(a, BYTES, 9) == 0, "the copy is older");
    copy(a, at, BYTES);
    CHECK(wrong(a, BYTES, 9) == 1, "the next one is not");
    fill(a, BYTES, 10);
    copy(at, a, BYTES);
    OK(cu.MemHostUnregister(memory));
    CHECK(wrong_here(memory, BYTES, 10, 0) == 0, "after the driver has let go of it");
    OK(cu.MemHostRegister(memory, BYTES, 0));
    fill(at, BYTES, 11);
    OK(cu.MemHostUnregister(memory));
    munmap(memory, BYTES);
    memory =
        mmap(memory, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    memset(memory, 3, BYTES);
    OK(cu.MemHostRegister(memory, BYTES, 0));
    CHECK(memory[0] == 3 && memory[BYTES - 1] == 3, "other memory at the same place");
    OK(cu.MemHostUnregister(memory));
    munmap(memory, BYTES);
}

int main(void)
{
    CUdeviceptr a = 0, b = 0, c = 0, d = 0;
    unsigned char *host = malloc(BYTES);

    if (!CHECK(cu_load() == 0 && OK(cu.Init(0)) &&
                   OK(cu.LibraryLoadData(&library, cu_image, NULL, NULL, 0, NULL, NULL, 0)),
               "open")) {
        return check_report("ghost");
    }
    for (int i = 0; i < 2; i++) {
        OK(cu.DevicePrimaryCtxRetain(&ctx[i], i));
        OK(cu.CtxSetCurrent(ctx[i]));
        OK(cu.StreamCreate(&stream[i], CU_STREAM_NON_BLOCKING));
        OK(cu.MemAlloc(i == 0 ? &a : &b, BYTES + 5));
        OK(cu.MemAlloc(i == 0 ? &d : &c, BYTES));
    }
    OK(cu.CtxSetCurrent(ctx[0]));
    OK(cu.CtxEnablePeerAccess(ctx[1], 0));
    OK(cu.MemHostAlloc((void **)&result, sizeof(*result), 0));
    on_device(a, b, host);
    split(a, b, c, d, "bw_copy_split_in");
    split(a, b, c, d, "bw_copy_split_out");
    on_host(a);
    free(host);
    OK(cu.MemFreeHost(result));
    for (int i = 0; i < 2; i++) {
        OK(cu.DevicePrimaryCtxRelease(i));
    }
    return check_report("ghost");
}
