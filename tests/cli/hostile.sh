#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# hostile.sh - subjects that hide their processes, folders with other tests, links and damaged scripts, texts that
#              command a terminal or a shell, and machines without a network.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

find_python
: "${ANTIPHON_SUBJECTS:?names the folder of the subjects}"
cd "$dir" || exit 1
export TMPDIR=$dir/tmp
mkdir "$TMPDIR"
kv="$python -S $ANTIPHON_ROOT/tests/support/bad_kv_server.py {port}"

# left: prints the processes that have the name of the scratch folder in their arguments, and temporary files.
left() { pgrep -af "$dir/"; ls -A "$TMPDIR"; }
nothing_is_left() { [ -z "$(left)" ]; }
leaves_nothing() { check "left: $(left)" nothing_is_left; }

# ---- hidden processes ------------------------------------------------------------------------------------------------

# Processes in their own sessions, without environment, that ignore SIGTERM or are stopped.
cat >hide.sh <<'END'
setsid -f env -i bash -c 'trap "" TERM HUP INT; while :; do sleep 100; done' "$1/hidden"
setsid -f env -i bash -c 'kill -STOP $$; sleep 100' "$1/stopped"
END
run 0 test kv --run "sh hide.sh $dir; exec $kv right 5 $dir/pid" --messages 100
leaves_nothing
# Every start while shrinking.
run 1 test kv --run "sh hide.sh $dir; setsid -f env -i $kv wrong 20 $dir/pid" --messages 200 --shrink-time 1
leaves_nothing

# A subject that kills the process that watches it, often before that has reported the start.
for ((i = 0; i < 5; i++)); do
    run 51 test kv --run "kill -KILL \$PPID; sleep 60; : $dir/orphan {port}" --messages 100
    err 'killed the process that watches it'
done
leaves_nothing

if [ -x /usr/sbin/nginx ]; then
    cat >nginx.sh <<'END'
printf 'daemon on; pid %s/pid; events {}\nhttp { access_log off; server { listen 127.0.0.1:%s; } }\n' "$2" "$1" >"$2/conf"
exec /usr/sbin/nginx -e "$2/log" -c "$2/conf"
END
    run 50 test kv --run 'sh nginx.sh {port} {dir}' --shrink-time 1
    leaves_nothing
fi

# The tester is killed.
rm -rf .antiphon
"$ANTIPHON" test kv --run "sh hide.sh $dir; setsid -f env -i $kv right 5 $dir/pid" --time 600 >out 2>err &
tester=$!
title='test, killed'
has_received() { grep -qs '"recv"' .antiphon/trace.jsonl; }
check 'the tester receives nothing' wait_until has_received
disown $tester
kill -KILL $tester
check 'a process is left' wait_until nothing_is_left

# A program on the threads library.
cp "$ANTIPHON_SUBJECTS/buffer" program
printf '#!/bin/sh\nsh hide.sh %s\nexec ./program\n' "$dir" >hiding
chmod +x hiding
run 0 explore --random 2 ./hiding
leaves_nothing

# ---- two tests -------------------------------------------------------------------------------------------------------

title='test, the first of two'
"$ANTIPHON" test kv --run "$kv right 5 $dir/pid" --time 600 --folder shared >first 2>&1 &
tester=$!
has_received() { grep -qs '"recv"' shared/trace.jsonl; }
check 'the tester receives nothing' wait_until has_received
run 54 test kv --run "$kv right 5 $dir/pid" --messages 20 --folder shared
err "shared: another test uses this folder (process $tester)"
err 'give another --folder'
run 0 test kv --run "$kv right 5 $dir/pid" --messages 20 --folder other
kill -INT $tester
wait $tester
check 'the first test does not end' [ $? -eq 5 ]
title='check, the trace of the first test'
"$ANTIPHON" check kv shared/trace.jsonl >out 2>err
code=$?
check "exit code $code, neither 0 nor 7" [ $code -eq 0 -o $code -eq 7 ]
# The lock of a killed test does not last.
"$ANTIPHON" test kv --run "$kv right 5 $dir/pid" --time 600 --folder killed >first 2>&1 &
tester=$!
has_received() { grep -qs '"recv"' killed/trace.jsonl; }
check 'the tester receives nothing' wait_until has_received
disown $tester
kill -KILL $tester
wait_until has_ended $tester
run 0 test kv --run "$kv right 5 $dir/pid" --messages 20 --folder killed

# ---- symbolic links --------------------------------------------------------------------------------------------------

echo precious >victim
mkdir linked
for name in trace.jsonl trace.again.jsonl shrink.log undecided-1.jsonl; do ln -s ../victim linked/$name; done
ln -s victim report.html
ln -s victim junit.xml
ln -s victim output
run 1 test kv --run "$kv wrong 5 $dir/pid" --messages 200 --shrink-time 1 --folder linked --report report.html \
    --junit junit.xml --output output
check 'a link was followed' [ "$(cat victim)" = precious ]
check 'the report was not written' grep -q '</html>' report.html
check 'the JUnit file was not written' grep -q '</testsuite' junit.xml
rm -f linked/lock
ln -s ../victim linked/lock
run 4 test kv --run "$kv wrong 5 $dir/pid" --messages 200 --folder linked
err 'linked/lock: cannot be locked'
check 'a link was followed' [ "$(cat victim)" = precious ]
# A file is replaced as a whole: an unwritable report leaves the earlier one.
echo earlier >whole.html
ln whole.html same.html
run 0 test kv --run "$kv right 5 $dir/pid" --messages 20 --report whole.html
check 'the report was written in place' [ "$(cat same.html)" = earlier ]
check 'a temporary file is left' [ -z "$(find . -name '*.tmp')" ]

# ---- damaged scripts -------------------------------------------------------------------------------------------------

kept=$(ls linked/kv-*.script)
name=$(basename "$kept")
# damaged TEXT: the script, which was replaced before, is an error that has the text.
damaged() {
    run 52 test kv --run "$kv wrong 5 $dir/pid" --messages 200 --folder damaged
    err "$name"
    err "$1"
    err 'restore or remove this script'
}
mkdir damaged
: >"damaged/$name"
damaged 'the text ends in the middle of a value'
head -c 80 "$kept" >"damaged/$name"
damaged "$name:2"
head -n 1 "$kept" >"damaged/$name"
damaged 'a script without actions'
head -c 1000 "$ANTIPHON" >"damaged/$name"
damaged "$name:1"
rm "damaged/$name"
ln -s "../$kept" "damaged/$name"
damaged 'symbolic links are not followed'
rm "damaged/$name"
mkdir "damaged/$name"
damaged 'not a regular file'
rmdir "damaged/$name"
cp "$kept" damaged
run 1 test kv --run "$kv wrong 5 $dir/pid" --messages 200 --folder damaged --no-shrink

# ---- texts -----------------------------------------------------------------------------------------------------------

# no_commands: expects that the output has no control characters.
no_commands() {
    if LC_ALL=C grep -q $'[\001-\010\013-\037\177\233]' out err; then fail "a command for the terminal: $(cat -v out err)"; fi
}
shout='printf "\033]0;owned\007\033[2J\302\233\377"'
run 51 test kv --run "$shout; exit 3 # {port}"
err '\x1b]0;owned\x07\x1b[2J\u009b\xff'
no_commands
run 9 test kv --run "$shout; exec $kv exit 5 $dir/pid" --no-shrink
err '\x1b]0;owned'
no_commands
mkdir $'esc\033[31m'
echo $'{"conn":0,"\033]0;owned\007":1}' >$'esc\033[31m/trace\377.jsonl'
for arguments in 'check kv' 'check kv --verbose' 'explain kv'; do
    # shellcheck disable=SC2086 # two words
    run 12 $arguments $'esc\033[31m/trace\377.jsonl'
    no_commands
done
run 1 test kv --run "$kv wrong 5 $dir/pid # "$'\033[31m\377' --folder $'esc\033[31m' --no-shrink --messages 200
no_commands
run 30 check $'no\033[31m' "$dir/out"
no_commands

# The printed command can be pasted into a shell.
printf '#!/bin/sh\nexec "%s" "$@"\n' "$ANTIPHON" >antiphon
chmod +x antiphon
mkdir "it's"
cp "$ANTIPHON_ROOT"/models/*.h "it's"
{ cat "$ANTIPHON_ROOT/models/key-value.c"; echo 'APH_MODEL(aph_model_kv)'; } >"it's/mine.c"
folder=$'an odd\n\'folder\' $HOME'
run 1 test "it's/mine.c" --no-shrink --messages 200 --folder "$folder" --run "true \"it's\" '\$HOME'
exec $kv wrong 5 '$dir/pid' # "$'\033'
script=$(ls "$folder"/*.script)
run 1 replay --run "$kv wrong 5 $dir/pid" "$script" "it's/mine.c"
run 1 replay --run "$kv wrong 5 $dir/pid" "it's/mine.c" "$script"
run 1 replay --run "$kv wrong 5 $dir/pid" kv "$script"
run 52 replay --run "$kv wrong 5 $dir/pid" kv "$folder"
run 1 test "it's/mine.c" --no-shrink --messages 200 --folder "$folder" --run "true \"it's\" '\$HOME'
exec $kv wrong 5 '$dir/pid' # "$'\033'
sed '1,/To reproduce/d' out >command
title='replay, as printed'
PATH=$dir:$PATH sh ./command >replayed 2>&1
check "exit code $?: $(cat replayed)" grep -q '^fail' replayed

# A signal while the model is compiled.
printf '#!/bin/sh\nuntil [ -e %s/signalled ]; do sleep 0.02; done\nexit 1\n' "$dir" >slow-cc
chmod +x slow-cc
title='test, interrupted while the model is compiled'
CC=$dir/slow-cc "$ANTIPHON" test "it's/mine.c" --run "$kv right 5 $dir/pid" >out 2>err &
tester=$!
check 'it does not handle SIGINT' wait_until catches_sigint $tester
kill -INT $tester
touch signalled
wait $tester
code=$?
check "exit code $code, not 5" [ $code -eq 5 ]

# ---- addresses and networks ------------------------------------------------------------------------------------------

# relay.py ADDRESS PORT: forwards connections from a local socket or ::1 to 127.0.0.1.
cat >relay.py <<'END'
import os, socket, sys, threading
def pump(a, b):
    while data := a.recv(65536):
        b.sendall(data)
    b.shutdown(socket.SHUT_WR)
is_local = sys.argv[1] != '::1'
listener = socket.socket(socket.AF_UNIX if is_local else socket.AF_INET6)
listener.bind(sys.argv[1] + '.new' if is_local else ('::1', 0))
listener.listen(1)
if is_local:
    os.rename(sys.argv[1] + '.new', sys.argv[1])
else:
    print('listening on ::1:%d' % listener.getsockname()[1], flush=True)
while True:
    client = listener.accept()[0]
    server = socket.create_connection(('127.0.0.1', int(sys.argv[2])))
    for pair in (client, server), (server, client):
        threading.Thread(target=pump, args=pair, daemon=True).start()
END
# relay ADDRESS: starts a fresh server and a relay; their processes are $server and $relay.
relay() {
    title="serve, behind $1"
    : >out
    "$ANTIPHON" serve kv --port 0 >out 2>err &
    server=$!
    wait_listening $server
    : >out
    "$python" -S relay.py "$1" "$port" >out &
    relay=$!
}
stop_relay() { kill $server $relay && wait $server $relay 2>/dev/null; rm -f socket; }
relay "$dir/socket"
check 'the relay does not listen' wait_until [ -S socket ]
run 0 test kv --target unix:socket --messages 50 --no-shrink
stop_relay
relay "$dir/socket"
check 'the relay does not listen' wait_until [ -S socket ]
title='fault, with a local socket'
: >out
"$ANTIPHON" fault --break nothing --target "unix:$dir/socket" >out 2>err &
proxy=$!
wait_listening $proxy
run 0 test kv --target "127.0.0.1:$port" --messages 50 --no-shrink
kill $proxy
wait $proxy
stop_relay
run 51 test kv --target unix:socket --messages 20
err 'No such file or directory'
for target in unix: 4000 localhost:0 ::1:80 "unix:$(printf 'x%.0s' {1..200})"; do
    run 2 test kv --target "$target"
    run 2 replay --target "$target" "$script"
    run 2 fault --break nothing --target "$target"
done
run 2 test register --env udp --target unix:socket
if "$python" -S -c 'import socket; socket.socket(socket.AF_INET6).bind(("::1", 0))' 2>/dev/null; then
    relay ::1
    wait_listening $relay
    run 0 test kv --target "[::1]:$port" --messages 50 --no-shrink
    stop_relay
fi

# Without a network, the subject is not blamed.
if unshare -n true 2>/dev/null; then
    ANTIPHON="$dir/isolated"
    printf '#!/bin/sh\nexec unshare -n %s "$@"\n' "$(sed -n 's/^exec "\(.*\)" .*/\1/p' antiphon)" >isolated
    chmod +x isolated
    for target in 127.0.0.1:4000 10.1.2.3:4000; do run 55 test kv --target $target --messages 20; done
    err 'Network is unreachable'
    run 55 test kv --run "$kv right 5 $dir/pid" --messages 20
    err 'loopback'
fi

finish
