# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What run.sh and test.sh share: packages, and building without noise.
# Sourced; `root` is the source tree, `me` the name that messages begin with.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
me=$(basename "$0")

say() {
    printf '%s: %s\n' "$me" "$*" >&2
}

die() {
    say "$*"
    exit 1
}

# What is needed, a line each: the Debian package, and a command that succeeds
# if it is there already, from whatever source.
packages_for_build() {
    cat <<'END'
cmake           command -v cmake
make            command -v make
gcc             command -v cc
libc6-dev       test -e /usr/include/stdio.h
g++             command -v g++
pkg-config      command -v pkg-config
libhwloc-dev    pkg-config --atleast-version=2.0 hwloc
libjansson-dev  pkg-config --atleast-version=2.10 jansson
END
}

packages_for_tests() {
    cat <<'END'
libcmocka-dev   pkg-config --exists cmocka
python3         command -v python3
shellcheck      command -v shellcheck
codespell       command -v codespell
pmccabe         command -v pmccabe
clang-format    command -v clang-format
libopenmpi-dev  command -v mpicc
openmpi-bin     command -v mpirun
END
}

packages_for_all_tests() {
    cat <<'END'
clang           command -v clang
clang-tidy      command -v clang-tidy
valgrind        command -v valgrind
END
}

packages_for_coverage() {
    echo 'gcovr           command -v gcovr'
}

# The packages of the lines on stdin whose command fails.
missing_packages() {
    local package probe
    while read -r package probe; do
        if ! eval "$probe" >/dev/null 2>&1 </dev/null; then
            printf '%s ' "$package"
        fi
    done
}

# Install what is missing of the lines on stdin; no network if nothing is.
need_packages() {
    local missing sudo=()
    read -r -a missing <<<"$(missing_packages)"
    if [ ${#missing[@]} -eq 0 ]; then
        return
    fi
    if ! command -v apt-get >/dev/null; then
        die "missing, and there is no apt-get to install it with: ${missing[*]} (Debian's names)"
    fi
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null ||
            die "neither root nor sudo: have someone run apt-get install ${missing[*]}"
        sudo=(sudo)
    fi
    say "installing ${missing[*]}"
    local apt=("${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -y
        -o DPkg::Lock::Timeout=300)
    # Old lists may do, so a failing update is not the end.
    "${apt[@]}" update >&2 </dev/null || say "apt-get update failed, going on with the lists there are"
    "${apt[@]}" install --no-install-recommends "${missing[@]}" >&2 </dev/null ||
        die "cannot install ${missing[*]}"
}

# Our own configure errors as one line each, from the log $1; fails if it has none.
configure_error() {
    awk '/^CMake Error at / && text == "" { inside = 1; next }
         inside && /^  [^ ]/ { text = text substr($0, 2); next }
         /^[^ ]/ { inside = 0 }
         END { if (text == "") exit 1; gsub(/  +/, " ", text); print substr(text, 2) }' "$1"
}

# The compiler of kernels that build folder $1 was configured with.
nvcc_of() {
    sed -n 's/^NVCC:[A-Z]*=//p' "$1/CMakeCache.txt" 2>/dev/null || true
}

# build FOLDER [CMAKE OPTIONS]: configure and build, silent unless it fails.
build() {
    local folder=$1 log nvcc
    shift
    mkdir -p "$folder"
    log=$folder/build.log
    nvcc=$(nvcc_of "$folder")
    # The CUDA Toolkit is looked for anew, so that PATH chooses it every time.
    if ! cmake -S "$root" -B "$folder" -UNVCC -UCUDA_INCLUDE_DIR "$@" >"$log" 2>&1 </dev/null; then
        die "$(configure_error "$log" || cat "$log")"
    fi
    if [ "$(nvcc_of "$folder")" != "$nvcc" ]; then
        rm -f "$folder/kernels.fatbin"
    fi
    if ! cmake --build "$folder" -j "$(nproc)" >>"$log" 2>&1 </dev/null; then
        cat "$log" >&2
        die "building in $folder failed"
    fi
}
