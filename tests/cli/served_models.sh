#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# served_models.sh - the tester against served models: a model is never rejected, with any delay; every mutant is rejected, and
#             the shrunk script still fails. tools/soak does the same for longer.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

cd "$dir" || exit 1
serve="'$ANTIPHON' serve"

# swap-impl is excluded: it sends bytes in chunks and is for antiphon refine.
models=$("$ANTIPHON" models | sed '/^$/,$d; s/ .*//' | grep -v -x swap-impl)
check 'no models' [ -n "$models" ]

for model in $models; do
    # A proxy model connects to the tester. The order of concurrent enqueues is visible only much later, so with many clients
    # the oracle can reach its time limit (docs/validation.md).
    calls=() listens=
    [ "$model" != queue ] || calls=(--connections 4)
    [ "$model" != http-proxy ] || {
        calls=(--listen 0)
        listens='--calls 127.0.0.1:{listen:0} --calls 127.0.0.1:{listen:1} --calls 127.0.0.1:{listen:2}'
    }
    for delay in 0 2; do
        run 0 test "$model" "${calls[@]}" --run "$serve $model --port {port} --delay $delay --seed 7 $listens" \
            --messages 2000 --seed 11 --json
        out '"verdict":"pass"'
    done
    mutants=$("$ANTIPHON" models "$model" | sed -n 's/^ *\([0-9][0-9]*\) .*/\1/p')
    check "$model has no mutants" [ -n "$mutants" ]
    for mutant in $mutants; do
        rm -rf .antiphon
        run 1 test "$model" "${calls[@]}" --run "$serve $model --port {port} --delay 0.1 --mutate $mutant $listens" \
            --seed 13 --json --no-shrink
        out '"verdict":"fail"'
    done
done

# A run too short to send every kind of request is not a pass.
run 7 test queue --run "$serve queue --port {port}" --messages 2 --seed 3
out 'was sent'

# A complete test of one mutant: the failure is shrunk, kept, replayed, and reported as a page and as JUnit.
rm -rf .antiphon
subject="$serve kv --port {port} --delay 0.1 --mutate append-puts"
run 1 test kv --run "$subject" --seed 17 --report page.html --junit junit.xml
out 'shrunk to 3 requests'
out 'locally minimal'
out 'To reproduce'
check 'no page' grep -q '<svg\|application/json' page.html
check 'no JUnit' grep -q '<failure' junit.xml
script=$(ls .antiphon/*.script)
run 1 replay --run "$subject" "$script"
out 'the model cannot explain the observations'
run 0 replay --run "$serve kv --port {port}" "$script"
out 'first difference from the recorded run at #'
# Kept scripts are tried first.
run 1 test kv --run "$subject" --seed 19 --json
out '"runs":1,'
run 0 test kv --run "$serve kv --port {port}" --messages 200 --seed 23

# A server that chooses random tags: the script reproduces the failure with other tags.
rm -rf .antiphon
find_python
subject="$python -S '$ANTIPHON_ROOT/tests/support/random_etag_server.py' {port}"
run 1 test etag-kv --run "$subject" --seed 29
run 1 replay --run "$subject" .antiphon/*.script
out 'every message is as recorded, except for 1 value chosen by the subject'

finish
