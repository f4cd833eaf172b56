/* SPDX-License-Identifier: Apache-2.0 */
    .section .rodata
    .global bw_kernels_image, bw_kernels_image_bytes
    .global bw_profile_image, bw_profile_image_bytes
    .balign 16
bw_kernels_image:
    .incbin "kernels.fatbin"
1:
    .balign 16
bw_profile_image:
    .incbin "profile.fatbin"
2:
    .balign 4
bw_kernels_image_bytes:
    .int 1b - bw_kernels_image
bw_profile_image_bytes:
    .int 2b - bw_profile_image
    .section .note.GNU-stack,"",%progbits
