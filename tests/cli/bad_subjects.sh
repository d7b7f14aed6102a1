#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# bad_subjects.sh - subjects that crash, stall, close, flood and send wrong responses; full disks; signals. Each run has the
# right verdict or error, a message with the reason, and a complete trace, and leaves no process behind.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

find_python
folder=$dir/folder
pids=$dir/pid
mkdir "$dir/home"

# bad_kv MODE [NUMBER]: the command for a subject (tests/support/bad_kv_server.py).
bad_kv() { echo "$python -S $ANTIPHON_ROOT/tests/support/bad_kv_server.py {port} $1 ${2:-5} $pids"; }

# subject_has_ended: waits until the last subject has ended.
subject_has_ended() {
    local pid
    pid=$(cat "$pids" 2>/dev/null) || return 0
    if ! wait_until has_ended "$pid"; then
        fail "the subject, process $pid, is still running"
        kill -9 "$pid"
    fi
    rm -f "$pids"
}

# trace_is_complete FILE [CODE]: each line of the trace is JSON, and antiphon can read the trace, or exits with CODE.
trace_is_complete() {
    if ! [ -s "$1" ]; then
        fail "there is no trace $1"
        return
    fi
    "$python" -S - "$1" <<'END' || fail "a line of $1 is incomplete"
import json, sys
text = open(sys.argv[1], 'rb').read()
assert text.endswith(b'\n'), 'the last line has no newline'
for line in text.splitlines():
    json.loads(line)
END
    "$ANTIPHON" check kv "$1" >"$dir/check" 2>&1
    local status=$?
    case $status in
    0 | 1 | 3 | 7 | 22 | "${2:-0}") ;;
    *) fail "check of $1: exit code $status: $(head -3 "$dir/check")" ;;
    esac
}

# Prints the path of the trace of the last run, which is beside its script if that was kept.
# shellcheck disable=SC2012 # we made these names
trace() { ls -t "$folder"/*.trace "$folder"/trace.jsonl 2>/dev/null | head -1; }

# against CODE SUBJECT [OPTION]...: tests the subject with the model kv; expects CODE.
against() {
    local expected=$1 subject=$2 begin=$SECONDS
    shift 2
    rm -rf "$folder"
    run "$expected" test kv --run "$subject" --folder "$folder" --messages 2000 --seed 1 --no-shrink "$@"
    check "the test took $((SECONDS - begin)) s" [ $((SECONDS - begin)) -le $hang_s ]
    subject_has_ended
    if [ "$expected" -ne 51 ]; then trace_is_complete "$(trace)" "${orphan:-}"; fi
}

# ---- behaviour of the subject----------------------------------------------------------------------------------------

against 0 "$(bad_kv right)"
out pass
against 0 "$(bad_kv late-listen)" --messages 50
against 0 "$(bad_kv verbose)" --messages 50
# Messages that arrive byte by byte; slow bytes are not silence.
against 0 "$(bad_kv bytes)" --messages 100
against 0 "$(bad_kv slow)" --messages 20 --connections 1 --pipeline 1

against 9 "$(bad_kv kill)"
out 'the subject was killed by SIGKILL'
against 9 "$(bad_kv crash)"
out 'the subject was killed by SIGSEGV'
against 9 "$(bad_kv exit)"
out 'the subject exited with status 3'
against 9 "$(bad_kv exit-0)"
out 'the subject exited with status 0'
against 9 "$(bad_kv close)"
out 'it closed the connection; a response was outstanding'
against 9 "$(bad_kv close-after-response)"
out 'it closed the connection'
no_out 'was outstanding'
against 9 "$(bad_kv reset)"
out 'Connection reset by peer'
against 9 "$(bad_kv half-close)"
out 'it closed the connection; a response was outstanding'
against 9 "$(bad_kv reset-on-accept)"
out 'connection'

against 8 "$(bad_kv stop)"
out 'no response within 0.4 s; the subject is stopped by a signal'
against 8 "$(bad_kv hang)" --patience 0.4
out 'no response within'
against 8 "$(bad_kv no-accept)" --patience 0.4
out 'request 1 on connection'
against 8 "$(bad_kv trickle)" --patience 0.05
out 'no complete message'
# A subject that does not accept connections and has a short backlog.
against 8 "$(bad_kv backlog-full)" --connections 20 --patience 0.2
out 'no response within'

# --time also ends a run in the middle of a message.
against 3 "$(bad_kv trickle)" --time 2
out 'time limit reached; no complete message'

# A failure that cannot be reproduced is not proof: a subject may be slow, and a close that crosses a request looks like
# a reset.
for shrink in --no-shrink --shrink-time=20; do
    rm -f "$pids.once"
    against 3 "$(bad_kv once-hang)" "$shrink" --messages 100 --patience 0.4
    out 'the subject may be slow'
    rm -f "$pids.once"
    against 3 "$(bad_kv once-reset)" "$shrink" --messages 100
    out 'Connection reset by peer'
    out 'the system resets a connection'
done
rm -f "$pids.once"
# But a wrong response after such a silence is proof.
against 1 "$(bad_kv once-hang-then-wrong)"
rm -f "$pids.once"

# A silence that ends is not proof either, even if it occurs in every run; on a busy machine it may go unnoticed.
for shrink in --no-shrink --shrink-time=2; do
    title="test, a slow subject, $shrink"
    rm -rf "$folder"
    "$ANTIPHON" test kv --run "$(bad_kv late-response)" --folder "$folder" --messages 30 --seed 1 --shrink-time 2 "$shrink" \
        >"$dir/out" 2>"$dir/err"
    code=$?
    check "a late response is rejected: exit code $code" [ $code -eq 0 -o $code -eq 3 ]
    subject_has_ended
    check 'the script of a late response is kept' [ -z "$(ls "$folder"/*.script 2>/dev/null)" ]
done

against 50 "$(bad_kv garbage)"
out 'not a message'
against 50 "$(bad_kv truncate)"
out 'in the middle of a message'
orphan=14 against 1 "$(bad_kv twice 1)" --connections 1 --pipeline 1
out 'response without a request'
against 1 "$(bad_kv wrong)"
out 'the model cannot explain'

# A run that was skipped for lack of time does not count as passed.
title='test, a subject that starts slowly'
"$ANTIPHON" test kv --run "sleep 0.6; exec $(bad_kv wrong)" --folder "$folder" --messages 50 --seed 1 --shrink-time 2 \
    >"$dir/out" 2>"$dir/err"
no_err 'reproduced the failure'
check 'the failure is not reproduced in all runs' grep -q -e 'reproduced in \([0-9]*\) of \1 runs' -e 'no time to reproduce' "$dir/out" "$dir/err"
subject_has_ended

# The tester neither waits for the end of endless responses nor keeps them in memory.
orphan=14 against 1 "$(bad_kv flood)"
against 3 "$(bad_kv gigabyte)"
out 'beyond a limit of Antiphon: a message of more than 16777216 bytes'
if ! sanitized; then
    title='test, a response of a gigabyte'
    peak=$("$python" -S -c '
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$ANTIPHON" test kv --folder "$folder" --no-shrink \
        --run "$(bad_kv gigabyte 1)")
    check "the test used $peak KB" [ "$peak" -lt 200000 ]
    subject_has_ended
    {
        echo '{"antiphon":1,"script":"kv","environment":"tcp","seed":1}'
        for i in $(seq 0 99); do echo "{\"label\":$((2 * i + 1)),\"conn\":$i,\"send\":{\"f\":\"get\",\"key\":\"a\"}}"; done
    } >"$dir/hoard.script"
    run 3 replay --run "$(bad_kv incomplete)" --folder "$folder" "$dir/hoard.script"
    out 'incomplete messages take more than 256 MiB'
    subject_has_ended
fi

# ---- subjects that cannot be reached ---------------------------------------------------------------------------------

against 51 "$(bad_kv exit-at-start)"
err 'exited with status 1 before it listened'
err 'cannot read its configuration'
run 51 test kv --run 'no-such-program {port}' --folder "$folder"
err 'command not found'
run 51 test kv --run "$python" --folder "$folder"
err 'no {port} in the command'
run 51 test kv --target nosuchhost.invalid:4000 --folder "$folder"
err 'unknown host nosuchhost.invalid'
run 2 test kv --target 4000 --folder "$folder"
err 'not HOST:PORT'
run 51 test kv --target 127.0.0.1:1 --folder "$folder" --no-shrink
err 'cannot connect to the subject: Connection refused; check the address'

# If another program takes the port first, the tester does not test it and starts the subject again on another port.
cat >"$dir/take_port.sh" <<'END'
if [ "$3" = listens ] && ! [ -e "$2/taken" ]; then
    echo "$1" >"$2/wanted.new"
    mv "$2/wanted.new" "$2/wanted"
    while ! [ -e "$2/taken" ]; do sleep 0.02; done
elif [ "$3" = reports ] && ! [ -e "$2/reported" ]; then
    : >"$2/reported"
    echo 'bind: Address already in use' >&2
    exit 1
fi
shift 3
exec "$@"
END
mkdir "$dir/other"
"$python" -S -c '
import os, socket, sys, time
while not os.path.exists(sys.argv[1] + "/wanted"):
    time.sleep(0.01)
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", int(open(sys.argv[1] + "/wanted").read())))
s.listen()
open(sys.argv[1] + "/taken", "w").close()
time.sleep(600)' "$dir/other" &
other=$!
for way in listens reports; do
    against 0 "sh $dir/take_port.sh {port} $dir/other $way $(bad_kv right)" --messages 50
done
check 'the other program took no port' [ -e "$dir/other/taken" ]
kill $other

run 52 replay "$dir/no-such.script"
err 'no-such.script'
no_err 'no subject'
echo '{"antiphon":1,"script":"mine","environment":"tcp","seed":1}' >"$dir/mine.script"
run 30 replay --run "$(bad_kv right)" "$dir/mine.script"
err 'mine.script: the model of this script is not built in; give its file after the script'

# ---- full disks and other errors of the tester -----------------------------------------------------------------------

title='test, with files of at most 16 KB'
rm -rf "$folder"
(
    ulimit -f 16
    "$ANTIPHON" test kv --run "$(bad_kv right)" --folder "$folder" --messages 20000 --seed 1 --output /dev/null
) >"$dir/out" 2>"$dir/err"
code=$?
check "exit code $code, not 4" [ $code -eq 4 ]
err "$folder/trace.jsonl: cannot be written"
err 'another --folder'
subject_has_ended
trace_is_complete "$folder/trace.jsonl"
if [ "$(id -u)" -eq 0 ] && mkdir "$dir/small" && mount -t tmpfs -o size=64k none "$dir/small" 2>/dev/null; then
    run 4 test kv --run "$(bad_kv right)" --folder "$dir/small" --messages 20000 --seed 1
    err 'No space left on device'
    subject_has_ended
    trace_is_complete "$dir/small/trace.jsonl"
    umount "$dir/small"
fi
run 4 test kv --run "$(bad_kv right)" --folder /dev/null/folder
err 'cannot create the folder'
run 4 test kv --run "$(bad_kv right)" --folder "$dir/home" --messages 20 --report /dev/full
err '/dev/full: cannot be written: No space left on device'
title='test, with a full standard output'
"$ANTIPHON" test kv --run "$(bad_kv right)" --folder "$dir/home" --messages 20 >/dev/full 2>"$dir/err"
code=$?
check "exit code $code, not 4" [ $code -eq 4 ]
err 'stdout: cannot be written'
subject_has_ended
# A lack of file descriptors is not an error of the subject.
title='test, with 40 descriptors'
rm -rf "$folder"
(
    ulimit -n 40
    "$ANTIPHON" test kv --run "$(bad_kv right)" --folder "$folder" --connections 200 --messages 20000
) >"$dir/out" 2>"$dir/err"
code=$?
check "exit code $code, not 55" [ $code -eq 55 ]
err 'cannot be opened: Too many open files'
subject_has_ended
trace_is_complete "$folder/trace.jsonl"

# ---- signals to the tester -------------------------------------------------------------------------------------------

# begin SUBJECT [OPTION]...: starts a long test, process $tester, and waits for its subject.
begin() {
    local subject=$1
    shift
    title="test, to be interrupted: $subject"
    rm -rf "$folder" "$pids"
    "$ANTIPHON" test kv --run "$subject" --folder "$folder" --time 3600 --seed 1 "$@" \
        >"$dir/out" 2>"$dir/err" </dev/null &
    tester=$!
    check 'the subject does not start' wait_until [ -s "$pids" ]
}

# sends: waits until the tester has sent messages.
sends() {
    has_sent() { [ "$(grep -cs '"send"' "$folder/trace.jsonl")" -ge 2 ]; }
    check 'the tester sends nothing' wait_until has_sent
}

# ends CODE: the tester exits with that code, long before its --time limit.
ends() {
    local begin=$SECONDS
    wait "$tester"
    code=$?
    if [ $code -ne "$1" ]; then fail "exit code $code, not $1"; fi
    check "it took $((SECONDS - begin)) s to end" [ $((SECONDS - begin)) -le $hang_s ]
}

for signal in INT TERM HUP; do
    begin "$(bad_kv right)"
    sends
    kill -$signal $tester
    ends 5
    out stopped
    out ' messages in '
    subject_has_ended
    trace_is_complete "$folder/trace.jsonl"
done
# A signal before the subject listens.
begin "$(bad_kv never-listen)"
kill -INT $tester
ends 5
out 'before the subject listened'
subject_has_ended
# Two signals at once, as timeout sends them, count as one.
begin "$(bad_kv right)"
sends
kill -INT $tester
kill -INT $tester
ends 5
subject_has_ended
trace_is_complete "$folder/trace.jsonl"
# A signal during shrinking: the verdict stays fail. A new subject shows that shrinking has begun.
begin "$(bad_kv wrong 40)" --patience 5
first=$(cat "$pids")
is_started_again() { [ -s "$pids" ] && [ "$(cat "$pids")" != "$first" ]; }
check 'shrinking does not begin' wait_until is_started_again
kill -INT $tester
wait $tester
code=$?
check "exit code $code, neither 1 nor 5" [ $code -eq 1 -o $code -eq 5 ]
subject_has_ended
if [ $code -eq 1 ]; then trace_is_complete "$(trace)"; fi
# Killed.
begin "$(bad_kv right)"
sends
disown $tester # so that the shell does not report it
kill -KILL $tester
subject_has_ended
trace_is_complete "$folder/trace.jsonl"

finish
