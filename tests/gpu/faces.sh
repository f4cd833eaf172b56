#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# faces.sh N COMMAND [ARGS...]
#
# Run COMMAND with the first GPU shown as N (faces.c): to see that what needs
# several GPUs works where there is one. LIBCUDA names the driver, if it is not
# the one that ldconfig knows; CUDA_INCLUDE, where cuda.h is. The figures mean nothing.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
faces=$1
shift
# shellcheck disable=SC2016 # awk's own
of_ldconfig='$1 == "libcuda.so.1" && /x86-64|AArch64/ { print $NF; exit }'
driver=${LIBCUDA:-$(ldconfig -p | awk "$of_ldconfig")}
[ -f "$driver" ] || { echo "faces.sh: no libcuda.so.1; LIBCUDA=PATH names it" >&2; exit 2; }
for include in ${CUDA_INCLUDE:+"$CUDA_INCLUDE"} ${CUDA_HOME:+"$CUDA_HOME/include"} \
    /usr/local/cuda/include /usr/local/cuda-*/include; do
    [ -f "$include/cuda.h" ] && break
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# The driver's own name is that of the library that stands before it: it is
# depended on by its path, through a stand-in whose name is that path.
echo | "${CC:-cc}" -shared -x c - -o "$folder/driver.so" -Wl,-soname,"$driver"
"${CC:-cc}" -O1 -Wall -Wextra -Werror -D_GNU_SOURCE -shared -fPIC -I "$include" \
    -o "$folder/libcuda.so.1" "$here/faces.c" -Wl,--no-as-needed "$folder/driver.so" -ldl
# Streams of different faces must not wait for each other in a shared queue of the GPU's.
FACES=$faces CUDA_DEVICE_MAX_CONNECTIONS=32 LD_LIBRARY_PATH=$folder${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} "$@"
