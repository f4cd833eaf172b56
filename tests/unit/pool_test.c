/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers that the launch under way does not use are given back where memory is short. */
#include "unit.h"

#include "../../src/measure/pool.h"
#include "bwtool/host_free.h"
#include "bwtool/log.h"

enum { GPUS = 4 };

/* A machine with as much memory, of the host and of each GPU. */
static size_t host_left, device_left[GPUS];
static int current; /* GPU */

static size_t host_free(const char *root)
{
    (void)root;
    return host_left;
}

static enum bw_status use(const struct bw_gpu *gpu)
{
    current = gpu->ordinal;
    return BW_OK;
}

static enum bw_status open_in(struct bw_buffer *buffer, size_t *left, bool is_host, int gpu,
                              size_t bytes)
{
    static CUdeviceptr next = 4096;

    *buffer = (struct bw_buffer){.gpu = gpu, .is_host = is_host};
    if (bytes > *left) {
        return BW_ERR_MEMORY;
    }
    *left -= bytes;
    buffer->bytes = bytes;
    buffer->ptr = next += 4096;
    return BW_OK;
}

static enum bw_status open_host_memory(struct bw_buffer *buffer, const struct bw_gpu *gpu,
                                       size_t bytes, unsigned threads)
{
    assert_true(threads >= 1);
    assert_int_equal(gpu->ordinal, current);
    return open_in(buffer, &host_left, true, gpu->ordinal, bytes);
}

static enum bw_status open_device_memory(struct bw_buffer *buffer, const struct bw_gpu *gpu,
                                         size_t bytes)
{
    return open_in(buffer, &device_left[gpu->ordinal], false, gpu->ordinal, bytes);
}

static void close_memory(struct bw_buffer *buffer, const struct bw_gpus *gpus)
{
    (void)gpus;
    if (buffer->ptr != 0) {
        current = buffer->gpu;
        *(buffer->is_host ? &host_left : &device_left[buffer->gpu]) += buffer->bytes;
    }
    *buffer = (struct bw_buffer){0};
}

static int cpus_of(const struct bw_topology *topology, int node)
{
    (void)topology, (void)node;
    return 2;
}

static CUresult mem_info(size_t *available, size_t *total)
{
    *available = *total = device_left[current];
    return CUDA_SUCCESS;
}

#define bw_host_free_bytes    host_free
#define bw_gpu_use            use
#define bw_buffer_open_host   open_host_memory
#define bw_buffer_open_device open_device_memory
#define bw_buffer_close       close_memory
#define bw_topology_node_cpus cpus_of
#include "../../src/measure/pool.c"

static struct bw_gpu gpus[GPUS];
static int nodes[GPUS];
static struct bw_session session = {.gpus = {.gpus = gpus, .count = GPUS}, .gpu_node = nodes};
static struct bw_pool *pool;

static int begin(void **state)
{
    (void)state;
    for (int i = 0; i < GPUS; i++) {
        gpus[i].ordinal = i;
        device_left[i] = 100;
    }
    host_left = 100;
    cu.MemGetInfo = mem_info;
    bw_log_init(true, false);
    return bw_pool_build(&pool, &session) == BW_OK ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    bw_pool_free(pool);
    assert_true(host_left == 100);
    for (int i = 0; i < GPUS; i++) {
        assert_true(device_left[i] == 100);
    }
    bw_log_fini();
    return 0;
}

static CUdeviceptr taken(bool is_host, int gpu, size_t bytes)
{
    CUdeviceptr ptr = 0;

    current = gpu;
    assert_int_equal(bw_pool_take(pool, is_host, gpu, bytes, &ptr), BW_OK);
    assert_true(ptr != 0);
    assert_int_equal(current, gpu);
    return ptr;
}

/* Cell after cell, each with host memory near another GPU, of which three have room. */
static void of_the_host(void **state)
{
    (void)state;
    for (int i = 0; i < GPUS; i++) {
        bw_pool_begin(pool);
        (void)taken(true, i, 30);
        (void)taken(false, i, 30);
    }
    assert_true(bw_pool_use(pool).host_bytes == 30);
    assert_true(bw_pool_use(pool).host_bytes_max == 90);
    assert_true(bw_pool_use(pool).device_bytes == 120);
}

static void not_what_the_launch_has_taken(void **state)
{
    CUdeviceptr ptr = 0;

    (void)state;
    bw_pool_begin(pool);
    (void)taken(true, 0, 40);
    (void)taken(true, 1, 40);
    current = 2;
    assert_int_equal(bw_pool_take(pool, true, 2, 40, &ptr), BW_ERR_MEMORY);
    assert_true(bw_pool_use(pool).host_bytes == 80);
}

static void not_where_there_is_room(void **state)
{
    CUdeviceptr ptr = 0;

    (void)state;
    bw_pool_begin(pool);
    ptr = taken(true, 0, 40);
    bw_pool_begin(pool);
    (void)taken(true, 1, 40);
    bw_pool_begin(pool);
    assert_true(taken(true, 0, 40) == ptr);
    assert_int_equal(bw_pool_use(pool).allocations, 2);
}

static void of_a_gpu(void **state)
{
    (void)state;
    bw_pool_begin(pool);
    (void)taken(false, 0, 60);
    (void)taken(false, 0, 30);
    bw_pool_begin(pool);
    (void)taken(false, 0, 60);
    assert_true(bw_pool_use(pool).device_bytes == 90);
    (void)taken(false, 0, 30);
    (void)taken(true, 0, 10);
    bw_pool_begin(pool);
    (void)taken(false, 0, 80);
    assert_true(bw_pool_use(pool).device_bytes == 80);
    assert_true(bw_pool_use(pool).host_bytes == 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(of_the_host, begin, end),
        cmocka_unit_test_setup_teardown(not_what_the_launch_has_taken, begin, end),
        cmocka_unit_test_setup_teardown(not_where_there_is_room, begin, end),
        cmocka_unit_test_setup_teardown(of_a_gpu, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
