/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BW_UNIT_H
#define BW_UNIT_H

/* cmocka needs these before its own header, in this order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
