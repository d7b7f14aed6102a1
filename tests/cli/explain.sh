#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# explain.sh - antiphon explain: explanations are written and confirmed; changed explanations are rejected.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

printf '%s\n' '{"conn":1,"send":{"f":"write","value":1}}' '{"conn":1,"recv":"ok"}' \
    '{"conn":2,"send":{"f":"write","value":2}}' '{"conn":2,"recv":"ok"}' \
    '{"conn":3,"send":{"f":"read"}}' '{"conn":3,"recv":2}' >"$dir/trace"

run 0 explain register "$dir/trace"
cp "$dir/out" "$dir/whole.json"
out '"order":[0,2,4]'
check 'not one line' [ "$(wc -l <"$dir/whole.json")" -eq 1 ]
run 0 explain register "$dir/trace" "$dir/whole.json"
out holds
no_out 'does not'

# tampered SED-SCRIPT: the changed explanation does not hold.
tampered() {
    sed "$1" "$dir/whole.json" >"$dir/changed.json"
    title="sed '$1'"
    if cmp -s "$dir/whole.json" "$dir/changed.json"; then fail 'the sed script changes nothing'; fi
    run 1 explain register "$dir/trace" "$dir/changed.json"
    out 'does not hold'
}
tampered 's/\[0,2,4\]/[2,0,4]/'
tampered 's/\[0,2,4\]/[0,4,2]/'
tampered 's/\[0,2,4\]/[0,2]/'
tampered 's/\[0,2,4\]/[0,2,2,4]/'
tampered 's/\[0,2,4\]/[0,2,5]/'
tampered 's/"initial":{}/"initial":{"":7}/'
tampered 's/"part":""/"part":"elsewhere"/'
tampered 's/.*/[]/'
tampered 's/.*/{}/'
tampered 's/.*/null/'

echo '{"order":' >"$dir/cut.json"
run 12 explain register "$dir/trace" "$dir/cut.json"
err "$dir/cut.json"
run 10 explain register "$dir/trace" "$dir/missing.json"
run 10 explain register "$dir/missing" "$dir/whole.json"

# Choices of the server are part of the explanation.
printf '%s\n' '{"conn":1,"send":{"f":"put","key":"k","value":1}}' '{"conn":1,"recv":{"code":201}}' \
    '{"conn":2,"send":{"f":"get","key":"k"}}' \
    '{"conn":2,"recv":{"code":200,"value":1,"tag":{"opaque":"x","weak":true}}}' >"$dir/tagged"
run 0 explain etag-kv "$dir/tagged"
cp "$dir/out" "$dir/tagged.json"
out '"choices":[2,"x"]'
run 0 explain etag-kv "$dir/tagged" "$dir/tagged.json"
for change in 's/\[2,"x"\]/[2,"y"]/' 's/\[2,"x"\]/[1,"x"]/' 's/\[2,"x"\]/[3,"x"]/' 's/\[2,"x"\]/[2]/' 's/\[2,"x"\]/["x",2]/'; do
    sed "$change" "$dir/tagged.json" >"$dir/changed.json"
    run 1 explain etag-kv "$dir/tagged" "$dir/changed.json"
    out 'does not hold'
done

# An explanation does not hold for another trace.
sed 's/"recv":2/"recv":1/' "$dir/trace" >"$dir/other"
run 1 explain register "$dir/other" "$dir/whole.json"
run 1 explain register "$dir/other"
err 'no explanation for this response'
quiet_out

# There is one explanation per partition, also with antiphon check.
printf '%s\n' '{"conn":1,"send":{"f":"put","key":"a","value":"1"}}' '{"conn":2,"send":{"f":"put","key":"b","value":"2"}}' \
    '{"conn":1,"recv":"ok"}' '{"conn":2,"recv":"ok"}' >"$dir/keys"
run 0 explain kv "$dir/keys"
out '"part":"a"'
out '"part":"b"'
cp "$dir/out" "$dir/keys.json"
run 0 explain kv "$dir/keys" "$dir/keys.json"
# A model without partitions rejects it.
run 1 explain queue "$dir/keys" "$dir/keys.json"
out 'does not hold'
run 0 check --explain kv "$dir/keys"
out 'the replay of the explanation holds'
run 0 check --explain --json kv "$dir/keys"
out '"replay":"holds"'

# A trace without an end, interrupted.
title='explain, interrupted'
mkfifo "$dir/endless"
exec 7<>"$dir/endless"
"$ANTIPHON" explain register "$dir/endless" >"$dir/out" 2>"$dir/err" &
check 'it catches SIGINT' wait_until catches_sigint $!
kill -INT $!
wait $!
check 'exit code 5' [ $? -eq 5 ]

run 2 explain register
run 2 explain
run 0 explain --help
out usage
finish
