#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# style.sh - the common form of all source files.
#
# C files have the licence in the first line, then a comment "name.c - purpose"; at most 120 columns; no tabs; and, except in
# subjects/, a unique name. No file has marks of unfinished work.
set -eu
cd "$(dirname "$0")/../.."

folders=
for folder in include src models subjects examples tests bench tools docs .ci; do
    if [ -d $folder ]; then folders="$folders $folder"; fi
done
# shellcheck disable=SC2086 # one word per folder, and below, per file
sources=$(find $folders -name '*.[ch]' | LC_ALL=C sort)
bad=0

# Columns are characters, not bytes: continuation bytes of UTF-8 do not count.
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

# The marks are split so that this file does not match itself. Templates for mkstemp end in six X and are not marks.
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
