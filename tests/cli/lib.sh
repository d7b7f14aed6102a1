# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# lib.sh - what the tests of the program share: a scratch folder, a way to run it, and ways to look at what it said.
#
# A test reads this file, runs, and ends with `finish`. Each failure is reported with what the program was told and what it
# said; the test goes on, so that one run shows them all.
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
told=

fault() {
    failures=$((failures + 1))
    printf 'FAULT: antiphon %s: %s\n' "$told" "$1"
    sed 's/^/    out: /' "$dir/out" | head -20
    sed 's/^/    err: /' "$dir/err" | head -20
}

# run CODE ARGUMENT...: runs the program; what it says is in $dir/out and $dir/err, its exit code in $code.
run() {
    local expected=$1
    shift
    told="$*"
    "$ANTIPHON" "$@" >"$dir/out" 2>"$dir/err" </dev/null
    code=$?
    if [ $code -ne "$expected" ]; then fault "exit code $code, not $expected"; fi
}

# feed CODE FILE ARGUMENT...: as run, with FILE as standard input.
feed() {
    local expected=$1 input=$2
    shift 2
    told="$* < $input"
    "$ANTIPHON" "$@" >"$dir/out" 2>"$dir/err" <"$input"
    code=$?
    if [ $code -ne "$expected" ]; then fault "exit code $code, not $expected"; fi
}

# out TEXT, err TEXT: the text occurs there. no_out, no_err: it does not. quiet_out: there is nothing at all.
out() { grep -qF -e "$1" "$dir/out" || fault "stdout does not say: $1"; }
err() { grep -qF -e "$1" "$dir/err" || fault "stderr does not say: $1"; }
no_out() { if grep -qF -e "$1" "$dir/out"; then fault "stdout says: $1"; fi; }
no_err() { if grep -qF -e "$1" "$dir/err"; then fault "stderr says: $1"; fi; }
quiet_out() { if [ -s "$dir/out" ]; then fault 'stdout is not empty'; fi; }
quiet_err() { if [ -s "$dir/err" ]; then fault 'stderr is not empty'; fi; }

# check WHAT COMMAND...: the command succeeds.
check() {
    local what=$1
    shift
    if ! "$@"; then fault "$what"; fi
}

# sanitized: the program is built with the address sanitizer, which takes memory for itself.
sanitized() { LC_ALL=C grep -qa __asan_init "$ANTIPHON"; }

finish() {
    if [ $failures -gt 0 ]; then
        echo "$failures failures"
        exit 1
    fi
}
