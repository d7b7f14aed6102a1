#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# style.sh - what every source file has in common.
#
# C: the licence in the first line, then a comment that opens with the file's name and says what it is for; at most 120
# columns; no tabs; a name that no other C file of the tree has, but for the subjects, which are programs of their own.
# Everything we wrote: no marks of unfinished work.
set -eu
cd "$(dirname "$0")/../.."

folders=
for folder in include src models subjects examples tests bench tools docs .ci; do
    if [ -d $folder ]; then folders="$folders $folder"; fi
done
# shellcheck disable=SC2086 # one word a folder, and below, a file
sources=$(find $folders -name '*.[ch]' | LC_ALL=C sort)
bad=0

# Columns are characters, not bytes: the bytes that continue a UTF-8 character do not count.
# shellcheck disable=SC2086
LC_ALL=C awk '
function wrong(why) {
    printf "%s:%d: %s\n", FILENAME, FNR, why
    bad = 1
}
function finish() {
    if (name != "" && !said) {
        printf "%s: no header comment that opens with \"%s - \"\n", file, name
        bad = 1
    }
}
FNR == 1 {
    finish()
    file = name = FILENAME
    sub(/.*\//, "", name)
    said = 0
    if ($0 !~ /^\/\* SPDX-License-Identifier: Apache-2\.0( \*\/)?$/) wrong("the first line is not the licence")
}
FNR <= 6 && index($0, name " - ") { said = 1 }
/\t/ { wrong("a tab") }
/[ \r]$/ { wrong("a space at the end") }
{
    line = $0
    gsub(/[\200-\277]/, "", line)
    if (length(line) > 120) wrong(length(line) " columns")
}
END { finish(); exit bad }' $sources </dev/null || bad=1

twice=$(echo "$sources" | grep -v '^subjects/' | sed 's|.*/||' | LC_ALL=C sort | uniq -d)
for name in $twice; do
    echo "two files are called $name:"
    echo "$sources" | grep "/$name\$"
    bad=1
done

# Written in pieces, so that this file does not find itself. Templates of mkstemp end in six X and are not marks.
marks="TO""DO|FIX""ME|HA""CK|TB""D|(^|[^X])X""XX([^X]|\$)"
# shellcheck disable=SC2086
ours="$(find $folders -type f \( -name '*.[ch1]' -o -name '*.sh' -o -name '*.md' -o -name '*.bash' -o -name '*.zsh' \) -o \
    -type f -path 'tools/*') $(ls -- *.md Makefile meson.build meson_options.txt)"
# shellcheck disable=SC2086
if grep -nE "(^|[^A-Za-z])($marks)([^A-Za-z]|\$)" $ours; then
    echo 'marks of unfinished work'
    bad=1
fi

if [ $bad -eq 0 ]; then echo "$(echo "$sources" | wc -l) C files"; fi
exit $bad
