#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# http.sh - the model of HTTP: our own web server passes and its mutants do not; Apache, nginx and lighttpd are rejected for
# what they are known for, and pass with that waived; the model does not reject itself.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh" || exit 1
: "${ANTIPHON_SUBJECTS:?names the folder of the subjects}"

cd "$dir" || exit 1
run 0 test http --run "'$ANTIPHON' serve http --port {port} --delay 0.2" --messages 3000 --seed 1
run 0 test http --subject web --messages 5000 --connections 20 --seed 1
run 0 check http .antiphon/trace.jsonl

for mutant in "$ANTIPHON_SUBJECTS"/web-mutant-[0-9][0-9]; do
    rm -rf .antiphon
    "$ANTIPHON" test http --run "'$mutant' {port}" --time 20 --no-shrink --seed 1 --json >found
    check "$(basename "$mutant") is not rejected" grep -q '"verdict":"\(fail\|malformed\)"' found
done

# A weak tag that was shown matches in If-None-Match, also of a write: 412 is due.
rm -rf .antiphon
run 1 test http --subject apache --seed 1 --json
out '"if-none-match":['
out '"status":412'
rm -rf .antiphon
run 0 test http --subject apache --messages 3000 --seed 1 --waive if-none-match-strong --waive weak-tag-ends-list \
    --waive head-range --waive if-unmodified-since-now --json
out '"waived":{'
run 1 check http .antiphon/trace.jsonl
run 0 check http .antiphon/trace.jsonl --waive if-none-match-strong --waive weak-tag-ends-list --waive head-range \
    --waive if-unmodified-since-now

# Writes whose conditions do not hold are done all the same.
rm -rf .antiphon
run 1 test http --subject nginx --seed 1
out '"status":412'
rm -rf .antiphon
run 0 test http --subject nginx --messages 3000 --seed 1 --waive conditional-writes-ignored --waive head-range \
    --waive if-unmodified-since-now
out 'the waiver if-unmodified-since-now was never used'

rm -rf .antiphon
run 1 test http --subject lighttpd --seed 1 --no-shrink

run 2 test http --subject web --waive no-such-thing
err 'there is no such waiver; antiphon models http lists those that there are'
run 2 test kv --subject web --waive x
err 'kv declares no waivers'
run 0 models http
out 'if-none-match-strong'
finish
