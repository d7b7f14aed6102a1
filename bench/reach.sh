#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# reach.sh - sequences per second of antiphon reach on dme-4, with one thread, two threads, and two processes.
set -euo pipefail
: "${ANTIPHON:?names the program}"

# rate NAME: prints the rate of the JSON result on stdin.
rate() {
    sed 's/.*"po":\([0-9]*\).*"seconds":\([0-9.]*\).*/\1 \2/' |
        awk -v name="$1" '{ printf "dme-4, %s: %.2f million sequences a second\n", name, $1 / $2 / 1e6 }'
}

options=(reach --json --limit 20000000 dme-4)
for jobs in 1 2; do
    said=$("$ANTIPHON" "${options[@]}" -j $jobs || [ $? -eq 3 ])
    rate "-j $jobs" <<<"$said"
done
if command -v mpirun >/dev/null && [ -e "$(dirname "$ANTIPHON")/libantiphon-mpi.so" ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
    said=$(mpirun -n 2 "$ANTIPHON" "${options[@]}" 2>/dev/null || [ $? -eq 3 ])
    rate 'mpirun -n 2' <<<"$said"
fi
