#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# options.sh - the option tables are complete: the manual page and the bash completion have every command and option, and
#              the documents name only options that exist.
set -eu
cd "$(dirname "$0")/../.."
antiphon=${ANTIPHON:-build/antiphon}
bad=0
wrong() {
    echo "$*"
    bad=1
}

commands=$("$antiphon" help | sed -n '/^exit codes/q; s/^  \([a-z][a-z]*\) .*/\1/p')
page=$("$antiphon" help --man | tr -d '\\') # the page has \- for each dash

# mentions WORD: succeeds if WORD is in the manual page.
mentions() {
    printf '%s\n' "$page" | grep -qE -e "(^|[^a-z-])$1([^a-z-]|\$)" || wrong "the manual page lacks $1"
}

# offered WORD...: prints the words that completion offers after these.
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
all=' --version '
for command in $commands; do
    mentions "$command"
    offered '' | grep -qx -e "$command" || wrong "completion does not offer $command"
    [ "$command" != help ] && [ "$command" != version ] || continue
    help=$("$antiphon" "$command" --help)
    offers=$(offered "$command" --)
    for option in $("$antiphon" "$command" --print-completion | cut -f 1); do
        count=$((count + 1))
        all="$all$option "
        mentions "$option"
        printf '%s\n' "$help" | grep -qE -e "^  (-[a-z], )?$option( |\$)" || wrong "antiphon $command --help lacks $option"
        printf '%s\n' "$offers" | grep -qx -e "$option" || wrong "completion of $command does not offer $option"
    done
    "$antiphon" "$command" --no-such-option >/dev/null 2>&1 && wrong "antiphon $command accepts --no-such-option"
done
[ "$count" -ge 100 ] || wrong "only $count options"
offered check --format '' | grep -qx jepsen-log || wrong 'completion does not offer the choices of --format'
offered check --junit tests/ti | grep -qx tests/tidy || wrong 'completion does not offer files after --junit'

# Options of other programs that the documents name.
others=' --allow-run-as-root --hostfile --oversubscribe --cflags --libs --bug '
for file in README.md docs/*.md; do
    for option in $(grep -oE -e '(^|[^a-z-])--[a-z][a-z-]*' "$file" | sed 's/^[^-]*//' | sort -u); do
        case $all$others in *" $option "*) ;; *) wrong "$file: no command has $option" ;; esac
    done
done

# The table of exit codes in the documents.
sed -n 's/.*X(\([A-Z_]*\), \([0-9]*\), "\(.*\)").*/| \2 | \1 | \3 |/p' src/cli/exit_codes.h | while IFS= read -r row; do
    grep -qxF -e "$row" docs/verdicts.md || echo "docs/verdicts.md lacks: $row"
done >"${TMPDIR:-/tmp}/rows.$$"
[ ! -s "${TMPDIR:-/tmp}/rows.$$" ] || wrong "$(cat "${TMPDIR:-/tmp}/rows.$$")"
rm -f "${TMPDIR:-/tmp}/rows.$$"
if [ $bad -eq 0 ]; then echo "$count options, each in the manual page and offered"; fi
exit $bad
