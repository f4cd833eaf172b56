/* SPDX-License-Identifier: Apache-2.0 */
    .section .rodata
    .global tune_image
    .balign 16
tune_image:
    .incbin "tune.fatbin"
    .section .note.GNU-stack,"",%progbits
