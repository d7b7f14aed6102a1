#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# bad_http_servers.sh - web servers that confuse, flood or exhaust the tester: each gets the right verdict with
# the violated clause; memory stays bounded, and the trace is complete.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

find_python
folder=$dir/folder
kilobytes=$(sanitized && echo 800000 || echo 65536)

# measure.py FILE COMMAND...: runs the command and writes its seconds and its peak memory in KB to FILE.
cat >"$dir/measure.py" <<'END_OF_PROGRAM'
import resource, subprocess, sys, time
begin = time.monotonic()
status = subprocess.run(sys.argv[2:]).returncode
with open(sys.argv[1], 'w') as out:
    print(round(time.monotonic() - begin), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=out)
sys.exit(status if status >= 0 else 128 - status)
END_OF_PROGRAM

# trace_is_complete FILE: each line of the trace is JSON, and antiphon can read the trace.
trace_is_complete() {
    "$python" -S - "$1" <<'END_OF_PROGRAM' || fail "the trace is incomplete"
import json, sys
text = open(sys.argv[1], 'rb').read()
assert text.endswith(b'\n'), 'the last line has no newline'
for line in text.splitlines():
    json.loads(line)
END_OF_PROGRAM
    "$ANTIPHON" check http "$1" >"$dir/check" 2>&1
    local status=$?
    case $status in
    0 | 1 | 3 | 7 | 14 | 22) ;; # 14: a response without a request
    *) fail "check of the trace: exit code $status: $(head -3 "$dir/check")" ;;
    esac
}

# against CODE MODE TEXT [OPTION]...: tests a server in that mode (tests/support/bad_http_server.py); expects CODE and TEXT.
against() {
    local expected=$1 mode=$2 text=$3 took peak
    shift 3
    rm -rf "$folder"
    title="test http, against bad_http_server.py $mode"
    "$python" -S "$dir/measure.py" "$dir/measured" "$ANTIPHON" test http "${budgets[@]}" --no-shrink --messages 500 --seed 1 --folder "$folder" \
        --patience 0.2 --run "$python -S $ANTIPHON_ROOT/tests/support/bad_http_server.py {port} $mode ${calls:-}" "$@" \
        >"$dir/out" 2>"$dir/err" </dev/null
    code=$?
    if [ $code -ne "$expected" ]; then fail "exit code $code, not $expected"; fi
    if [ $code -eq 55 ]; then err "$text"; else out "$text"; fi
    read -r took peak <"$dir/measured"
    if [ "$took" -gt $hang_s ]; then fail "the test took $took s"; fi
    if [ "$peak" -gt "$kilobytes" ]; then fail "the test used $peak KB"; fi
    trace_is_complete "$(find "$folder" -name '*.trace' -o -name trace.jsonl | head -1)"
}

# ---- lengths ---------------------------------------------------------------------------------------------------------

against 50 negative-length 'RFC 9110 8.6: a Content-Length must have only digits'
against 50 signed-length 'RFC 9110 8.6: a Content-Length must have only digits'
# Messages beyond our limits are not violations.
against 3 overflowing-length 'the Content-Length announces a message of more than 16777216 bytes'
against 3 long-length 'the Content-Length announces a message of more than 16777216 bytes'
against 3 gigabyte-length 'the Content-Length announces a message of more than 16777216 bytes'
against 3 chunk-overflow 'a chunk size announces a message of more than 16777216 bytes'
against 3 chunk-gigabyte 'a chunk size announces a message of more than 16777216 bytes'
against 50 chunk-negative 'RFC 9112 7.1'
against 50 chunk-prefix 'RFC 9112 7.1'
against 50 chunk-bare-lf 'RFC 9112 7.1'
against 50 chunk-long 'RFC 9112 7.1'
against 50 cut-body 'RFC 9112 8: the connection ends in the middle'

# ---- ambiguous framing -----------------------------------------------------------------------------------------------

against 50 two-lengths 'RFC 9112 6.3: two different Content-Length values'
against 50 listed-lengths 'RFC 9112 6.3: two different Content-Length values'
against 50 length-and-coding 'RFC 9112 6.3: Transfer-Encoding and Content-Length together'
against 50 coding-and-length 'RFC 9112 6.3: Transfer-Encoding and Content-Length together'
against 50 coding-unknown 'RFC 9112 6.1'
against 50 coding-twice 'RFC 9112 6.1: chunked more than once'
against 50 coding-1.0 'RFC 9112 6.1: Transfer-Encoding in an HTTP/1.0 message'
against 50 coding-204 'RFC 9112 6.1: Transfer-Encoding in a 204 response'
against 50 space-before-colon 'RFC 9112 5.1: blank between a field name and the colon'
against 50 fold-first 'RFC 9112 2.2: a blank before the first field'
against 50 folded-length 'RFC 9110 8.6: a Content-Length must have only digits'
against 50 bare-cr 'RFC 9112 2.2: a CR without LF'
against 50 nul 'RFC 9110 5.5: invalid byte 0'
against 50 no-name 'RFC 9112 5'

# ---- bytes that are not HTTP/1.1----------------------------------------------------------------------------------------

against 50 version-2 'RFC 9112 2.3: HTTP major version 2'
against 50 status-99 'RFC 9110 15'
against 50 status-long 'RFC 9112 4'
against 50 not-http 'RFC 9112 2.3'
against 50 tls 'RFC 9112 2.3'

# ---- endless messages ------------------------------------------------------------------------------------------------

for mode in endless-start endless-headers endless-header endless-name endless-1xx endless-zeros; do
    against 3 $mode 'a head of more than 65536 bytes'
done
against 50 endless-blank 'RFC 9112 4: empty line instead of a status line'
against 3 endless-extension 'size of more than 4096 bytes'
against 3 endless-size 'size of more than 4096 bytes'
against 3 endless-trailers 'trailers of more than 16384 bytes'
against 3 endless-chunks 'a message of more than 16777216 bytes'
against 3 endless-body 'a message of more than 16777216 bytes'
against 1 flood fail
against 8 drip 'no complete message'
against 8 stall 'no complete response within'

# ---- unsolicited and missing responses -------------------------------------------------------------------------------

against 1 twice 'response without a request' --connections 1 --pipeline 1
against 1 early fail
against 9 close 'it closed the connection; a response was outstanding'
against 9 reset 'Connection reset by peer'

# ---- connections to the tester ---------------------------------------------------------------------------------------

calls='- {listen}'
against 8 short-calls 'no response within' --listen 0
if [ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -gt 4400 ]; then
    against 3 many-calls 'the subject opened too many connections to the tester: 4096 at once' --listen 0 --patience 20
fi
ulimit -n 200
against 55 many-calls 'cannot accept a connection from the subject: Too many open files' --listen 0 --patience 20

finish
