#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# reach_local.sh - antiphon reach --local: counts, suites, both algorithms, and invalid combinations of options.
. "$ANTIPHON_ROOT/tests/cli/lib.sh"

run 0 reach --local dp-3
out 'dp-3: local sequences: 9 by events, 12 with race sets'
out '  F0: 2 by events, 4 with race sets'
run 0 reach --local --json -j 2 dme-3
out '"local_events":315,"local_race_sets":327'
run 0 reach --local --events-only --json dp-4
out '"local_events":12,"components"'

# Both algorithms write the same suites.
run 0 reach --local --suite "$dir/direct" dp-4
run 0 reach --local --by-projection --suite "$dir/projected" dp-4
check 'not a suite for each component' test "$(find "$dir/direct" -name '*.jsonl' | wc -l)" -eq 8
for file in "$dir"/direct/*.jsonl; do
    check "$(basename "$file") differs between the algorithms" cmp <(sort "$file") <(sort "$dir/projected/$(basename "$file")")
done
check 'the number of sequences differs' test "$(cat "$dir"/direct/*.jsonl | wc -l)" -eq 16

# Two senders share a queue.
printf 'alts m\ncomponent A\ncomponent B\ncomponent C\nport p of A fifo-port\n' >"$dir/m.alts"
printf 'behaviour A states 3 initial 0\n0 -> 1 take p x\n0 -> 2 take p y\n' >>"$dir/m.alts"
printf 'behaviour B states 2 initial 0\n0 -> 1 post p x\nbehaviour C states 2 initial 0\n0 -> 1 post p y\n' >>"$dir/m.alts"
run 0 reach --local "$dir/m.alts"
out '  A: 2 by events, 2 with race sets'
run 0 reach --local --by-projection "$dir/m.alts"
out '  A: 2 by events, 2 with race sets'

run 2 reach --suite "$dir/x" dp-2
err '--by-projection, --events-only, --suite: only with --local'
run 2 reach --local --list dp-2
touch "$dir/file"
run 4 reach --local --suite "$dir/file/x" dp-2
err 'cannot be created'

finish
