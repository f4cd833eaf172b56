/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_STATUS_H
#define BW_STATUS_H

/*
 * What a function that can fail returns. Whoever finds an error logs it, once
 * (log.h); callers only pass the status on. Outputs are set on success only.
 * Ordered by weight: where several apply, the greatest is kept.
 */
enum bw_status {
    BW_OK = 0,
    BW_WAIVED,      /* the machine lacks what is asked for: no error         */
    BW_ERR_PEER,    /* another rank failed and has said why                  */
    BW_ERR_VERIFY,  /* bytes that arrived are not those that were sent       */
    BW_ERR_MEMORY,  /* not enough host or device memory                      */
    BW_ERR_SYSTEM,  /* a call of the operating system failed                 */
    BW_ERR_CUDA,    /* a driver call failed; its context lives               */
    BW_ERR_TIMEOUT, /* something did not end in time                         */
    BW_ERR_LOST,    /* a context is gone for good: no GPU testcase can go on */
    BW_ERR_NO_GPU,  /* no usable driver, or no GPU                           */
    BW_ERR_USAGE,   /* the user asked for what does not exist                */
};

enum { BW_STATUS_COUNT = BW_ERR_USAGE + 1 };

/* The only macro that jumps: needs `enum bw_status st` and a label `out`. */
#define TRY(call)          \
    do {                   \
        st = (call);       \
        if (st != BW_OK) { \
            goto out;      \
        }                  \
    } while (0)

#endif
