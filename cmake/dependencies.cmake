# SPDX-License-Identifier: Apache-2.0
# What the build needs. Each thing that is missing is named together with the
# package that brings it.
function(bwtool_need found what debian_package)
    if(NOT ${found})
        message(FATAL_ERROR "${what} is missing: install it, e.g. "
            "`apt-get install ${debian_package}` (Debian, Ubuntu), and configure again")
    endif()
endfunction()

find_package(Threads REQUIRED)
find_package(PkgConfig)
bwtool_need(PkgConfig_FOUND "pkg-config" pkg-config)
pkg_check_modules(HWLOC IMPORTED_TARGET "hwloc>=2.0")
bwtool_need(HWLOC_FOUND "hwloc 2.0 or newer, with its header," libhwloc-dev)
pkg_check_modules(JANSSON IMPORTED_TARGET "jansson>=2.10")
bwtool_need(JANSSON_FOUND "jansson 2.10 or newer, with its header," libjansson-dev)
if(BWTOOL_MPI)
    find_package(MPI COMPONENTS C)
    bwtool_need(MPI_C_FOUND "An MPI library with mpicc (BWTOOL_MPI is ON)" libopenmpi-dev)
endif()
if(BWTOOL_TESTS)
    pkg_check_modules(CMOCKA IMPORTED_TARGET cmocka)
    bwtool_need(CMOCKA_FOUND "cmocka (BWTOOL_TESTS is ON)" libcmocka-dev)
endif()

# The CUDA Toolkit: the first found, of version 12 or newer, of PATH, CUDACXX,
# CUDA_HOME and /usr/local/cuda*. Only nvcc and cuda.h are used, nothing is linked.
set(CUDA_VERSION_NEEDED 12.0)

# What `nvcc --version` says, e.g. "12.8"; "" if it cannot be run.
function(bwtool_nvcc_version nvcc version)
    execute_process(COMMAND ${nvcc} --version OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE rc)
    string(REGEX MATCH "release ([0-9]+\\.[0-9]+)" found "${text}")
    set(${version} "${CMAKE_MATCH_1}" PARENT_SCOPE)
endfunction()

function(bwtool_find_nvcc)
    set(candidates)
    string(REPLACE ":" ";" folders "$ENV{PATH}")
    list(TRANSFORM folders APPEND /nvcc OUTPUT_VARIABLE candidates)
    list(APPEND candidates "$ENV{CUDACXX}" "$ENV{CUDA_HOME}/bin/nvcc" /usr/local/cuda/bin/nvcc)
    file(GLOB others /usr/local/cuda-*/bin/nvcc)
    list(SORT others COMPARE NATURAL ORDER DESCENDING)
    list(APPEND candidates ${others})
    set(too_old)
    foreach(candidate IN LISTS candidates)
        if(NOT IS_ABSOLUTE "${candidate}" OR NOT EXISTS "${candidate}")
            continue()
        endif()
        bwtool_nvcc_version("${candidate}" version)
        if(version AND NOT version VERSION_LESS CUDA_VERSION_NEEDED)
            set(NVCC "${candidate}" CACHE FILEPATH "The CUDA compiler" FORCE)
            return()
        endif()
        list(APPEND too_old "${candidate} (${version})")
    endforeach()
    string(JOIN ", " too_old ${too_old})
    if(too_old)
        set(too_old "; not new enough: ${too_old}")
    endif()
    message(FATAL_ERROR "The CUDA Toolkit (${CUDA_VERSION_NEEDED} or newer) is missing: install it "
        "from https://developer.nvidia.com/cuda-downloads, or put its nvcc into PATH${too_old}")
endfunction()

if(NOT NVCC)
    bwtool_find_nvcc()
endif()
bwtool_nvcc_version("${NVCC}" CUDA_VERSION_FOUND)
if(NOT CUDA_VERSION_FOUND OR CUDA_VERSION_FOUND VERSION_LESS CUDA_VERSION_NEEDED)
    message(FATAL_ERROR "NVCC=${NVCC} is of CUDA Toolkit '${CUDA_VERSION_FOUND}': "
        "${CUDA_VERSION_NEEDED} or newer is needed")
endif()
# Its toolkit's folder, as nvcc itself tells: the nvcc of PATH may be a script
# that calls one elsewhere.
execute_process(COMMAND ${NVCC} --dryrun -c ${CMAKE_CURRENT_SOURCE_DIR}/kernels/kernels.cu
    ERROR_VARIABLE nvcc_steps OUTPUT_QUIET)
string(REGEX MATCH "#\\$ TOP=([^\n]*[^\n ])" found "${nvcc_steps}")
set(cuda_root "${CMAKE_MATCH_1}")
# First there: another toolkit's header would not fit its kernels.
find_path(CUDA_INCLUDE_DIR cuda.h HINTS ${cuda_root}/include
    ${cuda_root}/targets/x86_64-linux/include ${cuda_root}/targets/sbsa-linux/include)
if(NOT CUDA_INCLUDE_DIR)
    message(FATAL_ERROR "cuda.h is missing in the toolkit of ${NVCC} (${cuda_root}): install the CUDA Toolkit's headers "
        "(package cuda-driver-dev or cuda-cudart-dev of the same version)")
endif()
if(NOT BWTOOL_FATBIN AND NOT DEFINED ENV{NVCC_CCBIN})
    find_program(BWTOOL_NVCC_HOST_COMPILER g++)
    bwtool_need(BWTOOL_NVCC_HOST_COMPILER "g++, which nvcc works with," g++)
endif()
message(STATUS "CUDA Toolkit ${CUDA_VERSION_FOUND}: ${NVCC}")
