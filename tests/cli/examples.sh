#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# examples.sh - every example model explains its good trace and rejects its bad one.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

tried=0
for model in "$ANTIPHON_ROOT"/examples/*.c "$ANTIPHON_ROOT"/examples/prog/*.prog; do
    stem=${model%.*}
    [ -r "$stem-good.jsonl" ] || continue
    tried=$((tried + 1))
    run 0 check --explain "$model" "$stem-good.jsonl"
    out 'the replay of the explanation holds'
    run 1 check "$model" "$stem-bad.jsonl"
    out 'no explanation for this response'
    run 0 check --ignore-promises "$model" "$stem-good.jsonl"
    run 1 check --ignore-promises "$model" "$stem-bad.jsonl"
done
title='the examples'
check 'too few examples' [ $tried -ge 5 ]

# Prog is a sequential language; its default environment is sync.
cd "$ANTIPHON_ROOT/examples/prog" || exit 1
printf '%s\n' '{"conn":1,"send":5}' '{"conn":2,"send":3}' '{"conn":1,"recv":0}' '{"conn":2,"recv":1}' >"$dir/race"
run 1 check cmp-set.prog "$dir/race" # 5 is taken when it is sent
printf '%s\n' '{"conn":1,"send":5}' '{"conn":2,"send":3}' '{"conn":1,"recv":1}' '{"conn":2,"recv":1}' >"$dir/race"
run 1 check cmp-set.prog "$dir/race" # and 3 after it
run 0 check --env tcp cmp-set.prog "$dir/race"
finish
