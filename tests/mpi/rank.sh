#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# One rank of a test: RANK_EXTRA="RANK LINES" are lines of a machine file for that rank alone,
# RANK_ARGUMENTS="RANK WORDS" more arguments.
rank=${OMPI_COMM_WORLD_RANK:-0}
if [ -n "${RANK_EXTRA-}" ] && [ "${RANK_EXTRA%% *}" = "$rank" ]; then
    export SIM_EXTRA=${RANK_EXTRA#* }
fi
if [ -n "${RANK_ARGUMENTS-}" ] && [ "${RANK_ARGUMENTS%% *}" = "$rank" ]; then
    # shellcheck disable=SC2086 # words are meant
    exec "$@" ${RANK_ARGUMENTS#* }
fi
exec "$@"
