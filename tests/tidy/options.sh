#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# options.sh - every command that the program's help names, and every option of theirs, is in the man page; and the bash
#              completion, which asks the program, offers them.
set -eu
cd "$(dirname "$0")/../.."
antiphon=${ANTIPHON:-build/antiphon}
bad=0

commands=$("$antiphon" help | sed -n '/^exit codes/q; s/^  \([a-z][a-z]*\) .*/\1/p')
page=$(tr -d '\\' <docs/antiphon.1) # it writes \- for a dash

# mentions WORD: does the man page hold the word as a word of its own?
mentions() {
    if ! printf '%s\n' "$page" | grep -qE -e "(^|[^a-z-])$1([^a-z-]|\$)"; then
        echo "docs/antiphon.1 does not mention $1"
        bad=1
    fi
}

# offered WORD...: what completion offers after these words.
offered() {
    COMP_WORDS=("$antiphon" "$@")
    COMP_CWORD=$#
    COMPREPLY=()
    _antiphon
    printf '%s\n' "${COMPREPLY[@]}"
}

complete() { :; }
compopt() { :; }
# shellcheck source=tools/completion/antiphon.bash
. tools/completion/antiphon.bash

count=0
for command in $commands; do
    mentions "$command"
    offered '' | grep -qx -e "$command" || { echo "completion does not offer $command"; bad=1; }
    [ "$command" != help ] && [ "$command" != version ] || continue
    for option in $("$antiphon" "$command" --help | grep -oE -e '(^|[[:space:]])--[a-z][a-z-]*' | sort -u); do
        count=$((count + 1))
        mentions "$option"
        offered "$command" -- | grep -qx -e "$option" || { echo "completion of $command does not offer $option"; bad=1; }
    done
done
if [ "$count" -lt 20 ]; then
    echo 'the help names hardly any options'
    exit 1
fi
if [ $bad -eq 0 ]; then echo "$count options, each in the man page and offered"; fi
exit $bad
