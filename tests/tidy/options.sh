#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# options.sh - every option and command that the program's help names is in the man page and in both completions.
set -eu
cd "$(dirname "$0")/../.."
antiphon=${ANTIPHON:-build/antiphon}
bad=0

# mentions FILE TEXT WORD: does the text hold the word as a word of its own?
mentions() {
    if ! printf '%s\n' "$2" | grep -qE -e "(^|[^a-z-])$3([^a-z-]|\$)"; then
        echo "$1 does not mention $3"
        bad=1
    fi
}

commands='check refine' # those whose options are looked at
help=$(for command in $commands; do "$antiphon" "$command" --help; done)
options=$(printf '%s\n' "$help" | grep -oE -e '(^|[^a-z-])-(-[a-z][a-z-]*|[a-z]([^a-z-]|$))' | grep -oE -e '-+[a-z-]*[a-z]' | sort -u)
if [ -z "$options" ]; then
    echo 'the help names no options'
    exit 1
fi

for file in docs/antiphon.1 tools/completion/antiphon.bash tools/completion/antiphon.zsh; do
    text=$(tr -d '\\' <$file) # the man page writes \- for a dash
    for word in $options $commands explain models help version; do
        mentions $file "$text" "$word"
    done
done
if [ $bad -eq 0 ]; then echo "$(echo "$options" | wc -l) options, each in the man page and the completions"; fi
exit $bad
