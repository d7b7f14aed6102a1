#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# reach.sh - how many sequences of dme-4 a second antiphon reach visits, with one thread and with two.
set -euo pipefail
: "${ANTIPHON:?names the program}"

for jobs in 1 2; do
    said=$("$ANTIPHON" reach --json --limit 20000000 -j $jobs dme-4 || [ $? -eq 3 ])
    sed 's/.*"po":\([0-9]*\).*"seconds":\([0-9.]*\).*/\1 \2/' <<<"$said" |
        awk -v jobs=$jobs '{ printf "dme-4, -j %d: %.2f million sequences a second\n", jobs, $1 / $2 / 1e6 }'
done
