#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One rank of a test. RANK_EXTRA="RANK LINES": lines of a machine file for that rank alone;
# RANK_ARGUMENTS="RANK WORDS": more arguments; RANK_PRELOAD="RANK LIBRARY": preloaded into that rank;
# SHOW_EACH="SET SET ...": the GPUs that each rank sees; PID_FOLDER: where its process number goes;
# STATUS_FOLDER: where its status goes. The launcher gets that when the others have ended, too, or
# 3 s later: it would end them.
rank=${OMPI_COMM_WORLD_RANK:-0}
if [ -n "${RANK_EXTRA-}" ] && [ "${RANK_EXTRA%% *}" = "$rank" ]; then
    export SIM_EXTRA=${RANK_EXTRA#* }
fi
if [ -n "${SHOW_EACH-}" ]; then
    read -ra sets <<<"$SHOW_EACH"
    export CUDA_VISIBLE_DEVICES=${sets[rank]}
fi
if [ -n "${PID_FOLDER-}" ]; then
    echo $$ >"$PID_FOLDER/pid.$rank"
fi
if [ -n "${RANK_ARGUMENTS-}" ] && [ "${RANK_ARGUMENTS%% *}" = "$rank" ]; then
    # shellcheck disable=SC2086 # words are meant
    set -- "$@" ${RANK_ARGUMENTS#* }
fi
if [ -n "${RANK_PRELOAD-}" ] && [ "${RANK_PRELOAD%% *}" = "$rank" ]; then
    set -- env "LD_PRELOAD=${RANK_PRELOAD#* }" "$@"
fi
if [ -n "${STATUS_FOLDER-}" ]; then
    "$@"
    status=$?
    echo $status >"$STATUS_FOLDER/status.$rank"
    for _ in $(seq 30); do
        [ "$(cat "$STATUS_FOLDER"/status.* | wc -l)" = "$OMPI_COMM_WORLD_SIZE" ] && break
        sleep 0.1
    done
    exit $status
fi
exec "$@"
