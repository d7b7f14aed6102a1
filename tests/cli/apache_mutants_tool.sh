#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# apache_mutants_tool.sh - tools/mutants-apache checks its arguments and the programs it needs before it changes a file, tests each
# selected mutant once, and keeps the results of a selection apart.
#
# The tool runs in a copy of the tree in which all servers are already built and a script takes the place of antiphon, so that
# the test needs neither the source of Apache nor its libraries.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

find_python
root=$dir/root
mkdir -p "$root/subjects" "$root/build/apache" "$dir/bin"
cp -r "$ANTIPHON_ROOT/tools" "$root/tools"
cp -r "$ANTIPHON_ROOT/subjects/apache" "$root/subjects/apache"
ln -s "$python" "$dir/bin/python3"

# tool CODE ARGUMENT...: runs the tool.
tool() {
    local expected=$1
    shift
    title="(mutants-apache) $*"
    PATH=$dir/bin:$PATH "$root/tools/mutants-apache" "$@" >"$dir/out" 2>"$dir/err" </dev/null
    code=$?
    if [ $code -ne "$expected" ]; then fail "exit code $code, not $expected"; fi
}

# untouched: fails if the tool has changed the folder of Apache.
untouched() { check 'build/apache was changed' [ -z "$(ls -A "$root/build/apache")" ]; }

# script FILE: makes stdin an executable script.
script() {
    cat >"$1"
    chmod +x "$1"
}

# ---- arguments --------------------------------------------------------------------------------------------------------

for words in 'core-tag-bit nosuch' 'nosuch core-tag-bit' nosuch core-tag-bit.patch cor not; do
    # shellcheck disable=SC2086 # several arguments
    tool 2 $words
    err ': not a mutant or module; tools/mutants-apache --list prints the names'
done
tool 2 ''
err 'mutants-apache: the empty string: not a mutant or module'
tool 2 --nosuch
err 'mutants-apache: --nosuch: unknown option'
for value in x 0 -1 1.5 ' 2'; do
    REPETITIONS=$value tool 2 core-tag-bit
    err "mutants-apache: REPETITIONS=$value: not a number from 1 to 999999"
    LIMIT=$value tool 2 core-tag-bit
    err "mutants-apache: LIMIT=$value: not a number from 1 to 999999"
done
for option in -h --help; do
    tool 0 $option
    out 'usage: tools/mutants-apache [NAME]...'
    quiet_err
done
untouched

# selects NAMES ARGUMENT...: expects that the arguments select exactly these names.
selects() {
    local expected=$1
    shift
    tool 0 --list "$@"
    check "the selection is not $expected" [ "$(tr '\n' ' ' <"$dir/out")" = "$expected " ]
}

selects 'core-tag-bit' core-tag-bit core-tag-bit
selects 'fixed not-fixed core-tag-bit' core-tag-bit not-fixed fixed
patches=$(basename -s .patch "$root"/subjects/apache/proxy-*.patch | tr '\n' ' ')
selects "${patches% }" proxy-method proxy
tool 0 --list
check 'not all patches are listed' [ "$(grep -cvx not-fixed "$dir/out")" -eq "$(ls "$root"/subjects/apache/*.patch | wc -l)" ]

# ---- missing programs -------------------------------------------------------------------------------------------------

tool 5 core-tag-bit
err 'mutants-apache: build/antiphon: missing; run make'
untouched

# The script rejects each server but `fixed` and `core-404-skipped`, and counts its calls.
script "$root/build/antiphon" <<'END'
#!/bin/sh
echo "${ANTIPHON_SERVERS##*/} $*" >>"$CALLS"
case $ANTIPHON_SERVERS in
*/fixed | */core-404-skipped) echo '{"verdict":"pass","messages":50000,"seconds":1.5}' ;;
*) echo '{"verdict":"fail","messages":7,"seconds":1.5,"seconds_to_reject":0.25}' ;;
esac
END
export CALLS=$dir/calls
for program in bash dirname mktemp rm basename mkdir; do ln -s "$(command -v $program)" "$dir/bin/"; done
title='(mutants-apache) without the libraries'
PATH=$dir/bin "$dir/bin/bash" "$root/tools/mutants-apache" core-tag-bit >"$dir/out" 2>"$dir/err"
check 'the exit code is not 5' [ $? -eq 5 ]
err 'apr-1-config apu-1-config pcre2-config; run tools/setup apache'
untouched

# ---- results ----------------------------------------------------------------------------------------------------------

for program in cc make patch dpkg-source apt-get apr-1-config apu-1-config pcre2-config; do
    script "$dir/bin/$program" <<<'#!/bin/false'
done
apache=$root/build/apache
mkdir -p "$apache/download" "$apache/unchanged" "$apache/tree"
touch "$apache/download/apache2.dsc" "$apache/tree/configured" "$apache/tree/apache2"
for name in unchanged fixed core-404-skipped core-tag-bit http-body-short; do
    mkdir -p "$apache/servers/$name"
    { ls "$apache/download" && { [ $name = unchanged ] || cksum <"$root/subjects/apache/$name.patch"; }; } >"$apache/servers/$name/identity"
done
script "$apache/servers/unchanged/apache2" <<<'#!/bin/sh
echo "Server version: Apache/0"'
echo 'a whole campaign' | tee "$apache/runs" "$apache/figure.txt" >"$apache/figure.svg"

# expect_runs LINE...: expects exactly these results of the selection.
expect_runs() { check 'wrong results' [ "$(cat "$apache/selection/runs")" = "$(printf '%s\n' "$@")" ]; }

export REPETITIONS=2
tool 0 core-tag-bit http-body-short core-tag-bit
out '2 mutants: the median is below 1 s for 2'
err 'mutants-apache: the results are in build/apache/selection'
expect_runs 'core-tag-bit fail 0.25 7' 'core-tag-bit fail 0.25 7' 'http-body-short fail 0.25 7' 'http-body-short fail 0.25 7'
check 'the figure is missing' [ -s "$apache/selection/figure.svg" ]

# Servers that must pass have no row, and without rows there is no figure, also none of an earlier selection.
tool 0 core-404-skipped fixed
out 'core-404-skipped, equivalent'
out 'fixed: If-None-Match not waived'
no_err quartiles
check 'there are results' [ ! -s "$apache/selection/runs" ]
check 'an old figure remains' [ ! -e "$apache/selection/figure.svg" ]

tool 0 not-fixed
expect_runs 'not-fixed fail 0.25 7' 'not-fixed fail 0.25 7'
check 'not-fixed is not tested as the papers do' grep -q '^unchanged test http .*--waive head-range' "$CALLS"
check 'the results of the whole campaign changed' \
    [ "$(sort -u "$apache/runs" "$apache/figure.txt" "$apache/figure.svg")" = 'a whole campaign' ]
finish
