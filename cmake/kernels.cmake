# SPDX-License-Identifier: Apache-2.0
# All kernels as one fat image inside the binary: machine code for the chips
# below, and PTX of the oldest (any chip in between), of the first with bulk
# copies (likewise) and of the newest (chips to come).
set(BWTOOL_IMAGE ${CMAKE_CURRENT_BINARY_DIR}/kernels.fatbin)
execute_process(COMMAND ${NVCC} --list-gpu-arch OUTPUT_VARIABLE nvcc_archs)
set(nvcc_gencode)
set(arch_list)
foreach(arch IN ITEMS 70 75 80 90 100 120)
    if(nvcc_archs MATCHES "compute_${arch}[^0-9]")
        list(APPEND arch_list ${arch})
        list(APPEND nvcc_gencode --generate-code=arch=compute_${arch},code=sm_${arch})
    endif()
endforeach()
list(GET arch_list 0 arch_oldest)
list(GET arch_list -1 arch_newest)
foreach(arch IN ITEMS ${arch_oldest} 90 ${arch_newest})
    list(APPEND nvcc_gencode --generate-code=arch=compute_${arch},code=compute_${arch})
endforeach()
list(REMOVE_DUPLICATES nvcc_gencode)

file(GLOB kernel_files CONFIGURE_DEPENDS kernels/*.cu kernels/*.h)
if(BWTOOL_FATBIN)
    add_custom_command(OUTPUT ${BWTOOL_IMAGE} DEPENDS ${BWTOOL_FATBIN}
        COMMAND ${CMAKE_COMMAND} -E copy ${BWTOOL_FATBIN} ${BWTOOL_IMAGE})
else()
    add_custom_command(OUTPUT ${BWTOOL_IMAGE} DEPENDS ${kernel_files}
        COMMAND ${NVCC} -O3 -std=c++17 -Werror all-warnings -Wno-deprecated-gpu-targets
            ${nvcc_gencode} --threads 2 -fatbin
            -o ${BWTOOL_IMAGE} ${CMAKE_CURRENT_SOURCE_DIR}/kernels/kernels.cu
        COMMENT "Kernels for sm_${arch_list}" VERBATIM)
endif()
set_source_files_properties(kernels/image.S PROPERTIES OBJECT_DEPENDS ${BWTOOL_IMAGE}
    COMPILE_OPTIONS -I${CMAKE_CURRENT_BINARY_DIR})
add_library(bwtool_kernels OBJECT kernels/image.S)
