#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# reports.sh - results of antiphon check as text, JSON and JUnit; write errors; the command line.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

printf '%s\n' '{"conn":1,"send":{"f":"write","value":1}}' '{"conn":2,"send":{"f":"write","value":2}}' '{"conn":1,"recv":"ok"}' \
    '{"conn":3,"send":{"f":"read"}}' '{"conn":2,"recv":"ok"}' '{"conn":3,"recv":3}' >"$dir/bad <&\"'>"
sed 's/"recv":3/"recv":1/' "$dir/bad <&\"'>" >"$dir/good"
echo nonsense >"$dir/broken"
bad="$dir/bad <&\"'>"

# The diagram of a failure.
cat >"$dir/expected" <<'END'

FILE:6: no explanation for this response: read → 3

  line      1                    4
  client 1  ├─ write 1 → "ok" ─┤
  client 2   ├─ write 2 → "ok" ───┤
  client 3                       ├─ ✗ read → 3 ─┤
                                 ╰─ expected 2 or 1

END
COLUMNS=80 run 1 check --color never register "$bad"
head -9 "$dir/out" | sed "s|^$dir/[^:]*:|FILE:|" >"$dir/drawn"
if ! diff "$dir/expected" "$dir/drawn"; then fail 'the diagram differs'; fi
out 'if the requests were applied in this order (by line): 1, 4, 2'
LC_ALL=C COLUMNS=80 run 1 check --color never register "$bad"
check 'the output is not ASCII without a UTF-8 locale' [ "$(LC_ALL=C tr -d '\n -~' <"$dir/out" | wc -c)" -eq 0 ]
COLUMNS=60 run 1 check register "$bad"
check 'the output is wider than 60 columns' [ "$(head -8 "$dir/out" | tail -6 | wc -L)" -le 60 ]

# Colour is used on request or on a terminal.
escape=$(printf '\033[')
run 1 check register "$bad"
no_out "$escape"
run 1 check --color always register "$bad"
out "$escape"
NO_COLOR=1 run 1 check register "$bad"
no_out "$escape"
run 2 check --color perhaps register "$bad"
if command -v script >/dev/null && script -qec true /dev/null </dev/null >/dev/null 2>&1; then
    title='check, on a terminal'
    TERM=xterm script -qec "'$ANTIPHON' check register '$dir/good' '$ANTIPHON_ROOT/examples/kv-bad.jsonl'" /dev/null \
        </dev/null >"$dir/out" 2>"$dir/err"
    out "$escape"
    TERM=xterm NO_COLOR=1 script -qec "'$ANTIPHON' check --quiet register '$dir/good'" /dev/null \
        </dev/null >"$dir/out" 2>"$dir/err"
    no_out "${escape}3"
    # Progress while a trace is read slowly.
    title='check -, on a terminal'
    TERM=xterm script -qec "{ cat '$dir/good'; sleep 3; } | '$ANTIPHON' check register -" /dev/null \
        </dev/null >"$dir/out" 2>"$dir/err"
    check 'no progress line' grep -qE 'observations checked:  6  [0-9]+ s' "$dir/out"
fi

# Verbosity.
run 0 check --quiet register "$dir/good"
quiet_out
quiet_err
run 1 check --quiet register "$dir/good" "$bad"
out 'no explanation for'
run 1 check register "$dir/good" "$bad" "$dir/broken"
out '3 files: 1 pass, 1 fail, 1 error'

# JSON: one object per trace and line. The program's own JSON reader accepts the object as an ignored field of a trace, where
# fractions are allowed.
run 1 check --json register "$dir/good" "$bad" "$dir/broken"
check 'not three lines' [ "$(wc -l <"$dir/out")" -eq 3 ]
for field in file verdict check_ms operations configurations exit model format; do
    check "not in each object: $field" [ "$(grep -c "\"$field\":" "$dir/out")" -eq 3 ]
done
out '"file":"'"$dir"'/bad <&\"'"'"'>"'
sed 's/.*/{"conn":1,"send":0,"result":&}/; 2,$s/.*/{"note":0,"result":&}/' "$dir/out" >"$dir/wrapped"
{
    cat "$dir/wrapped"
    echo '{"conn":1,"recv":"000"}'
} >"$dir/objects"
run 0 check swap "$dir/objects"
run 1 check --json register "$bad"
out '"line":6'
out '"observed":3'
out '"allowed":[{"answer":'

# The rationale of an allowed response: decisions and clauses, in every report.
etag="$ANTIPHON_ROOT/examples/etag-bad.jsonl"
run 1 check --junit "$dir/junit.xml" etag-kv "$etag"
out 'because of If-Match: tags match = false (RFC 9110 13.1.1), this response (RFC 9110 13.1.1)'
check 'no rationale in the JUnit file' grep -qF 'If-Match: tags match = false (RFC 9110 13.1.1)' "$dir/junit.xml"
run 1 check --json etag-kv "$etag"
out '"because":[{"clause":"RFC 9110 13.1.1","decision":"If-Match: tags match","value":false},{"clause":"RFC 9110 13.1.1"}]'
run 1 check --json -j 2 etag-kv "$etag" "$etag"
check 'no rationale from workers' [ "$(grep -c '"because":\[{"clause":' "$dir/out")" -eq 2 ]

# Without rpc, each message is drawn separately, the mark is at the response, and responses are shown in full.
cat >"$dir/two.c" <<'END'
#include <antiphon/model.h>
static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    (void)state;
    aph_send(m, q.from, aph_record("f", aph_str("read"), "to", q.message));
    aph_send(m, q.from, aph_str("end"));
}
static const aph_model model = {.version = APH_MODEL_VERSION, .name = "two", .step = step};
APH_MODEL(model)
END
printf '%s\n' '{"conn":1,"send":1}' '{"conn":2,"send":{"f":"x"}}' '{"conn":1,"recv":{"f":"read","to":1}}' \
    '{"conn":1,"recv":{"f":"end"}}' >"$dir/unpaired"
cat >"$dir/expected" <<'END'

FILE:4: no explanation for this response: {"f":"end"}, to client 1

  line      1       2       3                           4
  client 1  ├─ 1 ─┤         ├─ → {"f":"read","to":1} ─┤ ├─ ✗ → {"f":"end"} ─┤
                                                        ╰─ expected "end"
  client 2          ├─ x ─┤

END
COLUMNS=90 run 1 check --color never "$dir/two.c" "$dir/unpaired"
head -8 "$dir/out" | sed "s|^$dir/[^:]*:|FILE:|" >"$dir/drawn"
if ! diff "$dir/expected" "$dir/drawn"; then fail 'the diagram differs'; fi
run 1 check --json "$dir/two.c" "$dir/unpaired"
no_out '"request":null'
out '"violated":true'

# Long orders are wrapped at the width of the terminal.
awk 'BEGIN {
    for (i = 1; i < 30; i++) printf "{\"conn\":1,\"send\":{\"f\":\"write\",\"value\":%d}}\n{\"conn\":1,\"recv\":\"ok\"}\n", i
    print "{\"conn\":1,\"send\":{\"f\":\"read\"}}\n{\"conn\":1,\"recv\":3}"
}' >"$dir/order"
COLUMNS=70 run 1 check register "$dir/order"
check 'the output is wider than 70 columns' [ "$(grep -v "$dir" "$dir/out" | wc -L)" -le 70 ]
sed 's/"recv":3}/"recv":29}/' "$dir/order" >"$dir/ordered"
COLUMNS=70 run 0 check --explain register "$dir/ordered"
check 'the output is wider than 70 columns' [ "$(grep -v "$dir" "$dir/out" | wc -L)" -le 70 ]

# The difference of long messages, which are cut.
long=$(printf '%070000d' 0)
printf '%s\n' '{"conn":1,"send":{"f":"put","key":"a","value":"'"$long"'"}}' '{"conn":1,"recv":"ok"}' \
    '{"conn":1,"send":{"f":"get","key":"a"}}' '{"conn":1,"recv":"'"${long:0:65535}!${long:65536}"'"}' >"$dir/long"
COLUMNS=120 run 1 check kv "$dir/long"
out 'first difference: the message, byte 65535 (from 0): got "…00000000000000000000!0000000000000000000…"'
check 'the expected value is not cut' [ "$(wc -c <"$dir/out")" -lt 10000 ]

# JUnit.
run 1 check --junit "$dir/junit.xml" register "$dir/good" "$bad" "$dir/broken"
title='--junit'
for text in '<testsuites name="antiphon" tests="3" failures="1" errors="1"' '<failure ' '<error ' 'bad &lt;&amp;&quot;'; do
    check "not in the JUnit file: $text" grep -qF -e "$text" "$dir/junit.xml"
done
check 'not three test cases' [ "$(grep -c '<testcase ' "$dir/junit.xml")" -eq 3 ]
if command -v xmllint >/dev/null; then check 'the JUnit file is not well-formed' xmllint --noout "$dir/junit.xml"; fi
run 4 check --junit "$dir/nowhere/junit.xml" register "$dir/good"
err "$dir/nowhere/junit.xml"

# A full disk.
if [ -c /dev/full ]; then
    for options in '' --json --verbose; do
        title="check $options > /dev/full"
        # shellcheck disable=SC2086 # no word if there is none
        "$ANTIPHON" check $options register "$dir/good" "$dir/good" >/dev/full 2>"$dir/err"
        code=$?
        : >"$dir/out"
        if [ $code -ne 4 ]; then fail "exit code $code, not 4"; fi
        err 'could not be written'
    done
    title='explain > /dev/full'
    "$ANTIPHON" explain register "$dir/good" >/dev/full 2>"$dir/err"
    code=$?
    if [ $code -ne 4 ]; then fail "exit code $code, not 4"; fi
    run 4 check --junit /dev/full register "$dir/good"
fi

# The command line.
run 2
err usage
run 2 chekc register "$dir/good"
err 'chekc: no such command'
run 2 check
run 2 check register
run 2 check --what register "$dir/good"
err --what
run 2 check --format
err --format
for option in --time --memory --solver-ms --jobs; do
    run 2 check $option -1 register "$dir/good"
    run 2 check $option soon register "$dir/good"
    err $option
done
run 2 check --env pigeon register "$dir/good"
err pigeon
run 0 help
out check
run 0 help --help
out 'usage: antiphon COMMAND'
run 0 help check
out --ignore-promises
run 0 check --help
run 0 version
out antiphon
run 0 --version
finish
