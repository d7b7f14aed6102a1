#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# bad_subjects.sh - subjects that crash, stall, close, flood and lie, disks that are full, and signals: each gets the right
# verdict or error in good time, says what is wrong, leaves a whole trace, and leaves no process behind.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

# What python3 names may be a script that looks for it.
python=$(python3 -c 'import sys; print(sys.executable)') || { echo 'this test needs python3'; exit 1; }
folder=$dir/folder
pids=$dir/pid
mkdir "$dir/home"

milliseconds() { date +%s%3N; }

# The command for a subject: hostile MODE [NUMBER].
hostile() { echo "$python -S $ANTIPHON_ROOT/tests/support/bad_kv_server.py {port} $1 ${2:-5} $pids"; }

# gone: the subject that was started last is no more.
gone() {
    local pid i=0
    pid=$(cat "$pids" 2>/dev/null) || return 0
    while kill -0 "$pid" 2>/dev/null && [ "$(ps -o stat= -p "$pid")" != Z ]; do
        i=$((i + 1))
        if [ $i -gt 100 ]; then
            fault "the subject, process $pid, is still there"
            kill -9 "$pid"
            break
        fi
        sleep 0.02
    done
    rm -f "$pids"
}

# whole FILE [CODE]: each line of the trace is JSON, and antiphon can read it as a trace; CODE: unless with that code.
whole() {
    if ! [ -s "$1" ]; then
        fault "there is no trace $1"
        return
    fi
    "$python" -S - "$1" <<'END' || fault "a line of $1 is torn"
import json, sys
text = open(sys.argv[1], 'rb').read()
assert text.endswith(b'\n'), 'the last line has no end'
for line in text.splitlines():
    json.loads(line)
END
    "$ANTIPHON" check kv "$1" >"$dir/check" 2>&1
    local status=$?
    case $status in
    0 | 1 | 3 | 22 | "${2:-0}") ;;
    *) fault "check of $1: exit code $status: $(head -3 "$dir/check")" ;;
    esac
}

# The trace of the run that was told of: beside its script if that was kept.
# shellcheck disable=SC2012 # we made these names
trace() { ls -t "$folder"/*.trace "$folder"/trace.jsonl 2>/dev/null | head -1; }

# against CODE SECONDS SUBJECT [OPTION]...: a test of kv with what hostile said, which must end in so many seconds.
against() {
    local expected=$1 most=$2 subject=$3 begin took
    shift 3
    rm -rf "$folder"
    begin=$(milliseconds)
    run "$expected" test kv --run "$subject" --folder "$folder" --messages 2000 --seed 1 --no-shrink "$@"
    took=$(($(milliseconds) - begin))
    if [ $took -gt $((most * 1000)) ]; then fault "it took $took ms"; fi
    gone
    if [ "$expected" -ne 51 ]; then whole "$(trace)" "${orphan:-}"; fi
}

# ---- what the subject does -------------------------------------------------------------------------------------------

against 0 20 "$(hostile right)"
out pass
against 0 20 "$(hostile late)" --messages 50
against 0 20 "$(hostile noisy)" --messages 50
# A byte at a time is a message all the same; if that takes long, it is not silence.
against 0 20 "$(hostile bytes)" --messages 100
against 0 20 "$(hostile slow)" --messages 20 --connections 1 --pipeline 1

against 9 10 "$(hostile kill)"
out 'the subject was killed by SIGKILL'
against 9 10 "$(hostile crash)"
out 'the subject was killed by SIGSEGV'
against 9 10 "$(hostile exit)"
out 'the subject exited with status 3'
against 9 10 "$(hostile leave)"
out 'the subject exited with status 0'
against 9 10 "$(hostile close)"
out 'it closed the connection; a response was outstanding'
against 9 10 "$(hostile settle)"
out 'it closed the connection'
no_out 'was outstanding'
against 9 10 "$(hostile reset)"
out 'Connection reset by peer'
against 9 10 "$(hostile half)"
out 'it closed the connection; a response was outstanding'
against 9 10 "$(hostile door)"
out 'connection'

against 8 15 "$(hostile stop)"
out 'no response within 0.4 s; the subject is stopped by a signal'
against 8 15 "$(hostile hang)"
out 'no response within'
against 8 15 "$(hostile accept)"
out 'request 1 on connection'
against 8 20 "$(hostile trickle)" --patience 0.05
out 'no complete message'
# Nobody takes the connections, and the queue for them is short.
against 8 12 "$(hostile unlet)" --connections 20 --patience 0.2
out 'no response within'

# The time that is given is all the time there is, also for a message that never ends.
against 3 8 "$(hostile trickle)" --time 2
out 'time limit reached; no complete message'

# What never happens again is no proof: a subject may be slow, and a close that crosses a request is seen as a reset.
for shrink in --no-shrink --shrink-time=2; do
    rm -f "$pids.once"
    against 3 60 "$(hostile once-hang)" "$shrink" --messages 100
    out 'the subject may be slow'
    rm -f "$pids.once"
    against 3 60 "$(hostile once-reset)" "$shrink" --messages 100
    out 'Connection reset by peer'
    out 'the system resets a connection'
done
rm -f "$pids.once"
# But what comes after such a silence may be proof.
against 1 60 "$(hostile once-hang-then-wrong)" --shrink-time=2
rm -f "$pids.once"

# Neither is a silence that ends, though it is there every time; on a busy machine it may not be noticed at all.
for shrink in --no-shrink --shrink-time=2; do
    told="test, a subject that is slow, $shrink"
    rm -rf "$folder"
    "$ANTIPHON" test kv --run "$(hostile doze)" --folder "$folder" --messages 30 --seed 1 --shrink-time 2 "$shrink" \
        >"$dir/out" 2>"$dir/err"
    code=$?
    check "it is rejected: $code" [ $code -eq 0 -o $code -eq 3 ]
    gone
    check 'its script is kept' [ -z "$(ls "$folder"/*.script 2>/dev/null)" ]
done

against 50 10 "$(hostile garbage)"
out 'not a message'
against 50 10 "$(hostile cut)"
out 'in the middle of a message'
orphan=14 against 1 10 "$(hostile twice 1)" --connections 1 --pipeline 1
out 'response without a request'
against 1 10 "$(hostile wrong)"
out 'the model cannot explain'

# A run for which there was no time is not one that passed.
told='test, a subject that takes long to start'
"$ANTIPHON" test kv --run "sleep 0.6; exec $(hostile wrong)" --folder "$folder" --messages 50 --seed 1 --shrink-time 2 \
    >"$dir/out" 2>"$dir/err"
no_err 'reproduced the failure'
check 'it does not fail each time' grep -q -e 'reproduced in \([0-9]*\) of \1 runs' -e 'no time to reproduce' "$dir/out" "$dir/err"
gone

# What never ends is not waited for, nor kept in memory.
orphan=14 against 1 15 "$(hostile flood)"
against 3 15 "$(hostile gigabyte)"
out 'a message of more than 16777216 bytes, the limit of the tester'
if ! sanitized; then
    told='test, a gigabyte as an answer'
    peak=$("$python" -S -c '
import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$ANTIPHON" test kv --folder "$folder" --no-shrink \
        --run "$(hostile gigabyte 1)")
    check "it took $peak KB" [ "$peak" -lt 200000 ]
    gone
    {
        echo '{"antiphon":1,"script":"kv","environment":"tcp","seed":1}'
        for i in $(seq 0 99); do echo "{\"label\":$((2 * i + 1)),\"conn\":$i,\"send\":{\"f\":\"get\",\"key\":\"a\"}}"; done
    } >"$dir/hoard.script"
    run 3 replay --run "$(hostile hoard)" --folder "$folder" "$dir/hoard.script"
    out 'incomplete messages take more than 256 MiB'
    gone
fi

# ---- subjects that are not there -------------------------------------------------------------------------------------

against 51 10 "$(hostile stillborn)"
err 'exited with status 1 before it listened'
err 'cannot read its configuration'
run 51 test kv --run 'no-such-program {port}' --folder "$folder"
err 'command not found'
run 51 test kv --run "$python" --folder "$folder"
err 'no {port} in the command'
run 51 test kv --target nosuchhost.invalid:4000 --folder "$folder"
err 'unknown host nosuchhost.invalid'
run 51 test kv --target 4000 --folder "$folder"
err 'not HOST:PORT'
run 51 test kv --target 127.0.0.1:1 --folder "$folder" --no-shrink
err 'cannot connect to the subject: Connection refused; check the address'

# Another program takes the port first: that is not what is tested, and the subject is started again elsewhere.
cat >"$dir/thief.sh" <<'END'
if [ "$3" = steals ] && ! [ -e "$2/stolen" ]; then
    env -u ANTIPHON_SUBJECT setsid python3 -S -c '
import os, socket, sys, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", int(sys.argv[1])))
s.listen()
with open(sys.argv[2] + "/thief", "w") as out: out.write(str(os.getpid()))
os.rename(sys.argv[2] + "/thief", sys.argv[2] + "/stolen")
time.sleep(60)' "$1" "$2" &
    while ! [ -e "$2/stolen" ]; do sleep 0.02; done
elif [ "$3" = says ] && ! [ -e "$2/said" ]; then
    : >"$2/said"
    echo 'bind: Address already in use' >&2
    exit 1
fi
shift 3
exec "$@"
END
mkdir "$dir/theft"
for way in steals says; do
    against 0 30 "sh $dir/thief.sh {port} $dir/theft $way $(hostile right)" --messages 50
done
kill "$(cat "$dir/theft/stolen")"

run 52 replay "$dir/no-such.script"
err 'no-such.script'
no_err 'no subject'

# ---- a disk that is full, and other trouble of our own ---------------------------------------------------------------

# limited BLOCKS: no file may become larger than so many KB.
told='test, with files of at most 16 KB'
rm -rf "$folder"
(
    ulimit -f 16
    "$ANTIPHON" test kv --run "$(hostile right)" --folder "$folder" --messages 20000 --seed 1 --output /dev/null
) >"$dir/out" 2>"$dir/err"
code=$?
check "exit code $code, not 4" [ $code -eq 4 ]
err "$folder/trace.jsonl: cannot be written"
err 'another --folder'
gone
whole "$folder/trace.jsonl"
if [ "$(id -u)" -eq 0 ] && mkdir "$dir/small" && mount -t tmpfs -o size=64k none "$dir/small" 2>/dev/null; then
    run 4 test kv --run "$(hostile right)" --folder "$dir/small" --messages 20000 --seed 1
    err 'No space left on device'
    gone
    whole "$dir/small/trace.jsonl"
    umount "$dir/small"
fi
run 4 test kv --run "$(hostile right)" --folder /dev/null/folder
err 'cannot create the folder'
run 4 test kv --run "$(hostile right)" --folder "$dir/home" --messages 20 --report /dev/full
err '/dev/full: cannot be written: No space left on device'
told='test, with a full standard output'
"$ANTIPHON" test kv --run "$(hostile right)" --folder "$dir/home" --messages 20 >/dev/full 2>"$dir/err"
code=$?
check "exit code $code, not 4" [ $code -eq 4 ]
err 'stdout: cannot be written'
gone
# Too few descriptors are no fault of the subject's.
told='test, with 40 descriptors'
rm -rf "$folder"
(
    ulimit -n 40
    "$ANTIPHON" test kv --run "$(hostile right)" --folder "$folder" --connections 200 --messages 20000
) >"$dir/out" 2>"$dir/err"
code=$?
check "exit code $code, not 4" [ $code -eq 4 ]
err 'cannot be opened: Too many open files'
gone
whole "$folder/trace.jsonl"

# ---- signals to us ---------------------------------------------------------------------------------------------------

# begin SUBJECT [OPTION]...: a test that would last; it is process $tester, and its subject was started.
begin() {
    local subject=$1 i=0
    shift
    told="test, to be interrupted: $subject"
    rm -rf "$folder" "$pids"
    "$ANTIPHON" test kv --run "$subject" --folder "$folder" --time 60 --seed 1 "$@" \
        >"$dir/out" 2>"$dir/err" </dev/null &
    tester=$!
    while ! [ -s "$pids" ]; do
        i=$((i + 1))
        if [ $i -gt 500 ]; then
            fault 'the subject does not start'
            break
        fi
        sleep 0.02
    done
}

# ends CODE SECONDS: the tester does, with that code and in that time.
ends() {
    local begin took
    begin=$(milliseconds)
    wait "$tester"
    code=$?
    took=$(($(milliseconds) - begin))
    if [ $code -ne "$1" ]; then fault "exit code $code, not $1"; fi
    if [ $took -gt $(($2 * 1000)) ]; then fault "it took $took ms to end"; fi
}

for signal in INT TERM HUP; do
    begin "$(hostile right)"
    sleep 0.3
    kill -$signal $tester
    ends 5 5
    out stopped
    out 'messages in '
    gone
    whole "$folder/trace.jsonl"
done
# While the subject does not yet listen.
begin "$(hostile elsewhere)"
kill -INT $tester
ends 5 3
out 'before the subject listened'
gone
# Twice: at once, whatever there is to be done.
begin "$(hostile right)"
sleep 0.3
kill -INT $tester
kill -INT $tester
wait $tester
gone
whole "$folder/trace.jsonl"
# While a failure is being made small: it stays a failure.
begin "$(hostile wrong 40)" --patience 5
i=0
while ! grep -q . "$folder/trace.jsonl" 2>/dev/null && [ $i -lt 200 ]; do
    i=$((i + 1))
    sleep 0.02
done
sleep 1
kill -INT $tester
wait $tester
code=$?
check "exit code $code, neither 1 nor 5" [ $code -eq 1 -o $code -eq 5 ]
gone
if [ $code -eq 1 ]; then whole "$(trace)"; fi
# There is no time for anything.
begin "$(hostile right)"
sleep 0.3
disown $tester # the shell would tell of its end
kill -KILL $tester
gone
whole "$folder/trace.jsonl"

finish
