/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stores to a multicast address: the switch writes them into the memory of all
 * GPUs. Only multimem instructions may touch such an address. 16 bytes a store
 * or, for comparison, 4. The last bytes that are no multiple of 4 are a whole
 * word: there is room behind a buffer. On GPUs without multicast (before
 * sm_90) these kernels do nothing.
 */
#include "device.h"
#include "params.h"

#ifdef BW_HAS_MULTIMEM

/* Words `first` and up, a store each. */
BW_DEVICE void multicast_words(uint32_t *dst, const uint32_t *src, uint64_t first, uint64_t bytes)
{
    for (uint64_t i = first + bw_thread(); i < bytes / 4; i += bw_threads()) {
        bw_multimem_store4(dst + i, src[i]);
    }
    if (bytes % 4 != 0 && bw_thread() == 0) {
        const unsigned char *last = (const unsigned char *)(src + bytes / 4);
        uint32_t word = 0;

        for (uint32_t k = 0; k < bytes % 4; k++) {
            word |= (uint32_t)last[k] << (8 * k);
        }
        bw_multimem_store4(dst + bytes / 4, word);
    }
}

#endif

BW_KERNEL bw_multicast_copy(void *dst, const void *src, uint64_t bytes, uint64_t passes)
{
#ifdef BW_HAS_MULTIMEM
    const uint64_t vectors = bytes / 16;

    for (uint64_t pass = 0; pass < passes; pass++) {
        for (uint64_t i = bw_thread(); i < vectors; i += bw_threads()) {
            bw_multimem_store16((uint4 *)dst + i, __ldcg((const uint4 *)src + i));
        }
        multicast_words((uint32_t *)dst, (const uint32_t *)src, 4 * vectors, bytes);
    }
#endif
}

BW_KERNEL bw_multicast_copy4(void *dst, const void *src, uint64_t bytes, uint64_t passes)
{
#ifdef BW_HAS_MULTIMEM
    for (uint64_t pass = 0; pass < passes; pass++) {
        multicast_words((uint32_t *)dst, (const uint32_t *)src, 0, bytes);
    }
#endif
}

/* What is no byte of the pattern (pattern.cu), into all GPUs' memory. */
BW_KERNEL bw_multicast_poison(void *dst, uint64_t bytes, uint32_t seed)
{
#ifdef BW_HAS_MULTIMEM
    for (uint64_t i = bw_thread(); i < (bytes + 3) / 4; i += bw_threads()) {
        bw_multimem_store4((uint32_t *)dst + i, ~bw_pattern_word(i, seed));
    }
#endif
}
