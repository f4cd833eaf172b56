#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Build bwtool, installing what the build needs, and run it with the arguments
# given. stdout and the exit status are bwtool's alone.
set -eu
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "$(dirname "$0")/lib.sh"

packages_for_build | need_packages
folder=$root/build
mkdir -p "$folder"
# Two at once in one tree would build over each other.
exec 9>"$folder/.lock"
if command -v flock >/dev/null; then
    flock 9
fi
[ -x "$folder/bwtool" ] || say "building in $folder; this takes a minute or two the first time"
build "$folder" -DCMAKE_BUILD_TYPE=Release
exec 9>&-
exec "$folder/bwtool" "$@"
