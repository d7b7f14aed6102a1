#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# histories.sh - verdicts on recorded histories of real systems, if they are installed beside the source tree.
#
# Each line of EXPECTED has a file name and ok or bad. Files in etcd/ record registers; files in kv/ record a key-value
# server.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

histories=${ANTIPHON_HISTORIES:-$ANTIPHON_ROOT/../shared/data/histories}
if ! [ -r "$histories/EXPECTED" ]; then
    echo "skipped: no histories in $histories"
    exit 77
fi

# verdicts_match MODEL FOLDER OPTION...: expects the listed verdict on every file.
verdicts_match() {
    local model=$1 folder=$2 files
    shift 2
    files=$(sed -n "s|^\($folder/[^ ]*\) .*|$histories/\1|p" "$histories/EXPECTED")
    # shellcheck disable=SC2086 # one word a file
    run 1 check --json "$@" "$model" $files
    sed -n 's|.*"file":"\([^"]*\)".*"verdict":"\([a-z]*\)".*|\1 \2|p' "$dir/out" | sed "s|^$histories/||" |
        sed 's/ pass$/ ok/; s/ fail$/ bad/' | LC_ALL=C sort >"$dir/verdicts"
    grep "^$folder/" "$histories/EXPECTED" | LC_ALL=C sort >"$dir/expected"
    if ! diff "$dir/expected" "$dir/verdicts" >"$dir/diff"; then
        cat "$dir/diff"
        fail 'verdicts differ'
    fi
    check 'no histories' [ -s "$dir/expected" ]
}

verdicts_match register etcd
verdicts_match register etcd -j 2
verdicts_match kv kv
verdicts_match kv kv --whole
verdicts_match register etcd --env tcp --whole

# Passing histories are explained, and the explanations hold.
good=$(sed -n "s|^\(kv/[^ ]*\) ok|$histories/\1|p" "$histories/EXPECTED")
for file in $good; do
    run 0 check --explain kv "$file"
    out 'the replay of the explanation holds'
    run 0 check --explain --whole kv "$file"
    out 'the replay of the explanation holds'
done
good=$(sed -n "s|^\(etcd/[^ ]*\) ok|$histories/\1|p" "$histories/EXPECTED")
for file in $good; do
    run 0 check --explain register "$file"
    out 'the replay of the explanation holds'
done
finish
