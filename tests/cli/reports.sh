#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# reports.sh - what results look like: for people, as JSON, as JUnit; and what happens if they cannot be written.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

printf '%s\n' '{"conn":1,"send":{"f":"write","value":1}}' '{"conn":2,"send":{"f":"write","value":2}}' '{"conn":1,"recv":"ok"}' \
    '{"conn":3,"send":{"f":"read"}}' '{"conn":2,"recv":"ok"}' '{"conn":3,"recv":3}' >"$dir/bad <&\"'>"
sed 's/"recv":3/"recv":1/' "$dir/bad <&\"'>" >"$dir/good"
echo nonsense >"$dir/broken"
bad="$dir/bad <&\"'>"

# The failing window, drawn. Times and the folder differ from run to run.
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
if ! diff "$dir/expected" "$dir/drawn"; then fault 'the window is drawn otherwise'; fi
out 'if the requests were applied in this order (by line): 1, 4, 2'
LC_ALL=C COLUMNS=80 run 1 check --color never register "$bad"
check 'without UTF-8 there are other bytes' [ "$(LC_ALL=C tr -d '\n -~' <"$dir/out" | wc -c)" -eq 0 ]
COLUMNS=60 run 1 check register "$bad"
check 'wider than 60 columns' [ "$(head -8 "$dir/out" | tail -6 | wc -L)" -le 60 ]

# Colour: when asked, or on a terminal.
escape=$(printf '\033[')
run 1 check register "$bad"
no_out "$escape"
run 1 check --color always register "$bad"
out "$escape"
NO_COLOR=1 run 1 check register "$bad"
no_out "$escape"
run 2 check --color perhaps register "$bad"
if command -v script >/dev/null && script -qec true /dev/null </dev/null >/dev/null 2>&1; then
    told='check, on a terminal'
    TERM=xterm script -qec "'$ANTIPHON' check register '$dir/good' '$ANTIPHON_ROOT/examples/kv-bad.jsonl'" /dev/null \
        </dev/null >"$dir/out" 2>"$dir/err"
    out "$escape"
    TERM=xterm NO_COLOR=1 script -qec "'$ANTIPHON' check --quiet register '$dir/good'" /dev/null \
        </dev/null >"$dir/out" 2>"$dir/err"
    no_out "${escape}3"
    # A trace that takes its time: the line says what it counts.
    told='check -, on a terminal'
    TERM=xterm script -qec "{ cat '$dir/good'; sleep 1.3; } | '$ANTIPHON' check register -" /dev/null \
        </dev/null >"$dir/out" 2>"$dir/err"
    out 'observations checked:  6  1 s'
fi

# How much is said.
run 0 check --quiet register "$dir/good"
quiet_out
quiet_err
run 1 check --quiet register "$dir/good" "$bad"
out 'no explanation for'
run 1 check register "$dir/good" "$bad" "$dir/broken"
out '3 files: 1 pass, 1 fail, 1 error'

# JSON: one object a line, for every trace, with what there is to know; and it is JSON: the program's own reader, which
# takes no fractions in messages, takes it as a remark.
run 1 check --json register "$dir/good" "$bad" "$dir/broken"
check 'not three lines' [ "$(wc -l <"$dir/out")" -eq 3 ]
for field in file verdict check_ms operations configurations exit model format; do
    check "not in each: $field" [ "$(grep -c "\"$field\":" "$dir/out")" -eq 3 ]
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

# What led to what was allowed: names and clauses, wherever a failure is told.
etag="$ANTIPHON_ROOT/examples/etag-bad.jsonl"
run 1 check --junit "$dir/junit.xml" etag-kv "$etag"
out 'because of If-Match: tags match = false (RFC 9110 13.1.1), this response (RFC 9110 13.1.1)'
check 'the JUnit file does not say why' grep -qF 'If-Match: tags match = false (RFC 9110 13.1.1)' "$dir/junit.xml"
run 1 check --json etag-kv "$etag"
out '"because":[{"clause":"RFC 9110 13.1.1","decision":"If-Match: tags match","value":false},{"clause":"RFC 9110 13.1.1"}]'
run 1 check --json -j 2 etag-kv "$etag" "$etag"
check 'workers do not say why' [ "$(grep -c '"because":\[{"clause":' "$dir/out")" -eq 2 ]

# Without rpc: each message for itself, the mark at the answer. An answer is shown whole, whatever its fields.
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
if ! diff "$dir/expected" "$dir/drawn"; then fault 'the window is drawn otherwise'; fi
run 1 check --json "$dir/two.c" "$dir/unpaired"
no_out '"request":null'
out '"violated":true'

# Long orders are wrapped where the terminal ends.
awk 'BEGIN {
    for (i = 1; i < 30; i++) printf "{\"conn\":1,\"send\":{\"f\":\"write\",\"value\":%d}}\n{\"conn\":1,\"recv\":\"ok\"}\n", i
    print "{\"conn\":1,\"send\":{\"f\":\"read\"}}\n{\"conn\":1,\"recv\":3}"
}' >"$dir/order"
COLUMNS=70 run 1 check register "$dir/order"
check 'wider than 70 columns' [ "$(grep -v "$dir" "$dir/out" | wc -L)" -le 70 ]
sed 's/"recv":3}/"recv":29}/' "$dir/order" >"$dir/ordered"
COLUMNS=70 run 0 check --explain register "$dir/ordered"
check 'wider than 70 columns' [ "$(grep -v "$dir" "$dir/out" | wc -L)" -le 70 ]

# JUnit.
run 1 check --junit "$dir/junit.xml" register "$dir/good" "$bad" "$dir/broken"
told='--junit'
for text in '<testsuites name="antiphon" tests="3" failures="1" errors="1"' '<failure ' '<error ' 'bad &lt;&amp;&quot;'; do
    check "the JUnit file does not say $text" grep -qF -e "$text" "$dir/junit.xml"
done
check 'three test cases' [ "$(grep -c '<testcase ' "$dir/junit.xml")" -eq 3 ]
if command -v xmllint >/dev/null; then check 'not well formed' xmllint --noout "$dir/junit.xml"; fi
run 4 check --junit "$dir/nowhere/junit.xml" register "$dir/good"
err "$dir/nowhere/junit.xml"

# A full disk.
if [ -c /dev/full ]; then
    for options in '' --json --verbose; do
        told="check $options > /dev/full"
        # shellcheck disable=SC2086 # no word if there is none
        "$ANTIPHON" check $options register "$dir/good" "$dir/good" >/dev/full 2>"$dir/err"
        code=$?
        : >"$dir/out"
        if [ $code -ne 4 ]; then fault "exit code $code, not 4"; fi
        err 'could not be written'
    done
    told='explain > /dev/full'
    "$ANTIPHON" explain register "$dir/good" >/dev/full 2>"$dir/err"
    code=$?
    if [ $code -ne 4 ]; then fault "exit code $code, not 4"; fi
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
run 0 help check
out --ignore-promises
run 0 check --help
run 0 version
out antiphon
run 0 --version
finish
