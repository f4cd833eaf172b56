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

# Two images: kernels.cu, and profile.cu with what only --profile loads, the
# operators' kernels once more with frames, for the same chips, so that one
# compiler made both. Images built before may be given; the second one is then
# looked for beside the first, and where it is not there made as PTX only, which
# takes seconds and which the driver compiles when it is loaded.
set(BWTOOL_PROFILE_IMAGE ${CMAKE_CURRENT_BINARY_DIR}/profile.fatbin)
set(profile_gencode ${nvcc_gencode})
set(profile_fatbin ${BWTOOL_PROFILE_FATBIN})
if(BWTOOL_FATBIN AND NOT profile_fatbin)
    get_filename_component(folder ${BWTOOL_FATBIN} DIRECTORY)
    if(EXISTS ${folder}/profile.fatbin)
        set(profile_fatbin ${folder}/profile.fatbin)
    else()
        list(FILTER profile_gencode INCLUDE REGEX "code=compute_")
    endif()
endif()

file(GLOB kernel_files CONFIGURE_DEPENDS kernels/*.cu kernels/*.h)
function(kernel_image image source given gencode)
    if(given)
        add_custom_command(OUTPUT ${image} DEPENDS ${given}
            COMMAND ${CMAKE_COMMAND} -E copy ${given} ${image})
        return()
    endif()
    add_custom_command(OUTPUT ${image} DEPENDS ${kernel_files}
        COMMAND ${NVCC} -O3 -std=c++17 -Werror all-warnings -Wno-deprecated-gpu-targets
            ${gencode} --threads 2 -fatbin -o ${image}
            ${CMAKE_CURRENT_SOURCE_DIR}/kernels/${source}
        COMMENT "Kernels of ${source} for sm_${arch_list}" VERBATIM)
endfunction()
kernel_image(${BWTOOL_IMAGE} kernels.cu "${BWTOOL_FATBIN}" "${nvcc_gencode}")
kernel_image(${BWTOOL_PROFILE_IMAGE} profile.cu "${profile_fatbin}" "${profile_gencode}")
set_source_files_properties(kernels/image.S PROPERTIES
    OBJECT_DEPENDS "${BWTOOL_IMAGE};${BWTOOL_PROFILE_IMAGE}"
    COMPILE_OPTIONS -I${CMAKE_CURRENT_BINARY_DIR})
add_library(bwtool_kernels OBJECT kernels/image.S)
