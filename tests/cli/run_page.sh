#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# run_page.sh - the page of a run in a browser: positions of arrows and labels; server data has no effect as
# markup; the page of a long run stays small.
#
# The unit test test_run_page, in the folder of the program, writes the pages. The browser prints the document, with
# numeric positions, after its script has run.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome || true)
if [ -z "$browser" ]; then
    echo 'no chromium: skipped (tools/setup installs it)'
    exit 77
fi
title='the page of a run'
: >"$dir/out"
: >"$dir/err"
samples=$(dirname "$ANTIPHON")/test_run_page
if ! "$samples" "$dir" 2>"$dir/err"; then
    fail "$samples does not write the sample pages"
    finish
fi

# open PAGE[#ADDRESS]: writes the document to $dir/out, one element per line, and the browser's errors to $dir/err. As root,
# the browser runs only without its sandbox.
open() {
    title="the page $1"
    HOME=$dir timeout $hang_s "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run \
        --disable-background-networking --host-resolver-rules='MAP * ~NOTFOUND' --user-data-dir="$dir/profile" \
        --log-net-log="$dir/net" --enable-logging=stderr --window-size=1600,1000 \
        --dump-dom "file://$dir/${1%%#*}.html${1#"${1%%#*}"}" >"$dir/dom" 2>"$dir/log"
    sed 's/</\n</g' "$dir/dom" >"$dir/out"
    grep -a CONSOLE "$dir/log" >"$dir/err"
    quiet_err # no script errors and no policy violations
}

# count NUMBER TEXT: expects that NUMBER elements contain the text.
count() { check "not $1 times: $2" [ "$(grep -cF -e "$2" "$dir/out")" -eq "$1" ]; }

# arrows: checks that each arrow begins and ends on the lines of its participants, that time runs down, and that each
# label is just above its arrow, between the connections and the subject. Prints the index in the run, connection, direction
# and label of each message.
arrows() {
    awk '
    function of(name,    at) {
        if (!match($0, " " name "=\"[^\"]*\"")) return ""
        at = substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 4)
        return at
    }
    function wrong(why) { print "WRONG " why ": " $0; bad = 1 }
    /^<line class="lane"/ {
        x = of("x1")
        lane[x] = of("data-of")
        if (lane[x] == "subject") subject = x + 0
        else if (x + 0 > last) last = x + 0
        if (x != of("x2")) wrong("not upright")
    }
    /^<g class="message/ { i = of("data-i"); failing = /failing/ ? " failing" : "" }
    /^<line class="arrow"/ {
        x1 = of("x1"); x2 = of("x2"); y1 = of("y1") + 0; y2 = of("y2") + 0
        outward = x2 == subject
        if (!(x1 in lane) || !(x2 in lane) || (x1 != subject) == (x2 != subject)) wrong("not between lines")
        if (y2 <= y1) wrong("not downwards")
        here = outward ? y1 : y2 # at the tester
        if (here <= before) wrong("not after the one before")
        before = here
        who = lane[outward ? x1 : x2]
    }
    /^<text class="label"/ {
        label = $0
        sub(/^[^>]*>/, "", label)
        x = of("x") + 0; y = of("y") + 0
        if (x <= last || x >= subject) wrong("label not in the gap")
        if (y > y2 || y < y1 - 30) wrong("label not above its arrow")
        if (label !~ /^✗/) print i, who, outward ? "out" : "in", label failing
    }
    END { exit bad }' "$dir/out"
}

open small
arrows >"$dir/arrows" || fail "arrows: $(grep WRONG "$dir/arrows")"
cat >"$dir/expected" <<'END'
0 0 out put "a" 1
1 1 out put "a" 2
2 0 in "ok"
3 1 in "ok"
4 2 out get "a"
5 2 in {"found":true,"tags":["x","y"],… failing
END
sed 's/"value":.* failing$/… failing/' "$dir/arrows" >"$dir/seen" # the shown part depends on the font
if ! diff "$dir/expected" "$dir/seen"; then fail 'the arrows differ'; fi
out '<title>fail: kv at 127.0.0.1:4711'
count 1 'class="message received failing chosen"'
out '"version": 9007199254740993,'
out 'waits for response #2'
out '{"value":1} (RFC 9110 9.3.1)'
out '<td>get: not found'
out 'antiphon replay .antiphon/kv-1.jsonl --target 127.0.0.1:4711'
out '│◀── ✗ #6'

# Server data is inert: it adds no elements, event handlers or network requests; its text is readable.
open hostile
for tag in '<img' '<script' '<iframe' '<a ' '<form' '<object' '<style>@'; do count 0 "$tag"; done
check 'an element has an event handler' [ "$(grep -cE '^<[a-zA-Z]+( [a-zA-Z:-]+="[^"]*")* on[a-z]+=' "$dir/out")" -eq 0 ]
check 'the title differs' grep -qF '<title>malformed: ' "$dir/out"
no_out '<title>owned'
check 'the page makes a network request' [ "$(grep -c 'evil\.invalid' "$dir/net")" -eq 0 ]
out 'img src=http://evil.invalid/x onerror='
out '\xff\xfe\xc3('
out '\u202e'
arrows >"$dir/arrows" || fail "arrows: $(grep WRONG "$dir/arrows")"
check 'not seven arrows' [ "$(wc -l <"$dir/arrows")" -eq 7 ]

# The page of a long run is small, and each message can be selected.
for page in long various; do
    title="the page $page"
    check 'the page has 2 MB or more' [ "$(wc -c <"$dir/$page.html")" -lt 2000000 ]
done
open long#m12346
arrows >"$dir/arrows" || fail "arrows: $(grep WRONG "$dir/arrows")"
check 'not 28 arrows in the window' [ "$(wc -l <"$dir/arrows")" -eq 28 ]
count 1 'class="message received chosen"'
check 'another message is selected' grep -qF 'data-i="12345"' <(grep -F 'received chosen' "$dir/out")
out '12,346 of 100,000'
count 1 '<rect class="window"'
count 200 '<rect class="back"'
finish
