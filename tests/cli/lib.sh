# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# lib.sh - shared functions of the command line tests: a scratch folder, running the program, checking its output.
#
# A test sources this file and ends with `finish`. Each failure is reported with the command line and the output of the
# program; the test continues, so that one run shows all failures.
#
# No test depends on the speed of the machine. Time limits are far larger than needed and only end a test that hangs.
set -u
: "${ANTIPHON:?names the program}" "${ANTIPHON_ROOT:?names the source tree}"
export LC_ALL=C.UTF-8
unset COLUMNS NO_COLOR CLICOLOR CLICOLOR_FORCE TERM CC

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
export XDG_CACHE_HOME=$dir/cache
mkdir "$XDG_CACHE_HOME"
chmod 700 "$XDG_CACHE_HOME"

failures=0
title=                                     # the command line or a description, for failure messages
hang_s=200                                 # an operation that takes longer is considered hung
budgets=(--time 600 --shrink-time 300)     # for antiphon test; explicit options override them

# fail MESSAGE: reports a failure.
fail() {
    failures=$((failures + 1))
    printf 'FAIL: antiphon %s: %s\n' "$title" "$1"
    sed 's/^/    out: /' "$dir/out" | head -20
    sed 's/^/    err: /' "$dir/err" | head -20
}

# run CODE ARGUMENT...: runs the program; its output is in $dir/out and $dir/err, its exit code in $code. `antiphon test`
# gets the budgets above.
run() {
    local expected=$1
    shift
    title="$*"
    if [ "${1-}" = test ]; then
        shift
        set -- test "${budgets[@]}" "$@"
    fi
    "$ANTIPHON" "$@" >"$dir/out" 2>"$dir/err" </dev/null
    code=$?
    if [ $code -ne "$expected" ]; then fail "exit code $code, not $expected"; fi
}

# feed CODE FILE ARGUMENT...: like run, with FILE as standard input.
feed() {
    local expected=$1 input=$2
    shift 2
    title="$* < $input"
    "$ANTIPHON" "$@" >"$dir/out" 2>"$dir/err" <"$input"
    code=$?
    if [ $code -ne "$expected" ]; then fail "exit code $code, not $expected"; fi
}

# out TEXT, err TEXT: expects the text in stdout or stderr. no_out, no_err: expects that the text is absent.
# quiet_out, quiet_err: expect no output.
out() { grep -qF -e "$1" "$dir/out" || fail "not in stdout: $1"; }
err() { grep -qF -e "$1" "$dir/err" || fail "not in stderr: $1"; }
no_out() { if grep -qF -e "$1" "$dir/out"; then fail "unexpected in stdout: $1"; fi; }
no_err() { if grep -qF -e "$1" "$dir/err"; then fail "unexpected in stderr: $1"; fi; }
quiet_out() { if [ -s "$dir/out" ]; then fail 'stdout is not empty'; fi; }
quiet_err() { if [ -s "$dir/err" ]; then fail 'stderr is not empty'; fi; }

# check MESSAGE COMMAND...: reports the message if the command fails.
check() {
    local message=$1
    shift
    if ! "$@"; then fail "$message"; fi
}

# wait_until COMMAND...: repeats the command until it succeeds; returns 1 if it still fails after $hang_s seconds.
wait_until() {
    local end=$((SECONDS + hang_s))
    until "$@"; do
        if [ $SECONDS -ge $end ]; then return 1; fi
        sleep 0.02
    done
}

# has_ended PROCESS: succeeds if the process no longer runs; a zombie does not count as running.
has_ended() { ! kill -0 "$1" 2>/dev/null || [ "$(ps -o stat= -p "$1" | cut -c1)" = Z ]; }

# catches_sigint PROCESS: succeeds if the process is the program, no longer the shell that starts it, and handles SIGINT.
catches_sigint() {
    grep -qsx "$(basename "$ANTIPHON")" "/proc/$1/comm" && grep -qs '^SigCgt:.*[2367abef]$' "/proc/$1/status"
}

# wait_listening PROCESS: waits until the process has printed its address to $dir/out, and sets $port.
wait_listening() {
    is_listening_or_ended() { grep -q '^listening on ' "$dir/out" || has_ended "$1"; }
    wait_until is_listening_or_ended "$1"
    port=$(sed -n 's/^listening on .*:\([0-9]*\)$/\1/p' "$dir/out")
    check 'the process does not listen' [ -n "$port" ]
}

# milliseconds: prints the milliseconds since the epoch.
milliseconds() { date +%s%3N; }

# find_python: sets $python to the interpreter itself; python3 may be a wrapper script that starts slowly.
find_python() {
    python=$(python3 -c 'import sys; print(sys.executable)') && return
    echo 'this test needs python3'
    exit 1
}

# sanitized: succeeds if the program is built with the address sanitizer, which needs additional memory.
sanitized() { LC_ALL=C grep -qa __asan_init "$ANTIPHON"; }

finish() {
    if [ $failures -gt 0 ]; then
        echo "$failures failures"
        exit 1
    fi
}
