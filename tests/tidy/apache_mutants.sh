#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# apache_mutants.sh - the patches in subjects/apache are well-formed: each has a header and changes one file in the module that its
# name begins with; the table in the README has each mutant with the same words.
set -eu
cd "$(dirname "$0")/../../subjects/apache"
command -v git >/dev/null || exit 77
folder=$PWD
bad=0

# wrong FILE PROBLEM
wrong() {
    echo "subjects/apache/$1: $2"
    bad=1
}

# place_of MODULE: prints a pattern for the files of the module.
place_of() {
    case $1 in
    core) echo 'server/' ;;
    http | fixed) echo 'modules/http/' ;;
    dav) echo 'modules/dav/' ;;
    proxy) echo 'modules/proxy/' ;;
    *) echo 'no such module' ;;
    esac
}

head_of() { sed '/^--- /,$d' "$1"; }
entry() { head_of "$1" | sed -n "s/^$2: //p"; }

count=0
for file in *.patch; do
    name=${file%.patch}
    count=$((count + 1))
    head -n 1 "$file" | grep -qx 'SPDX-License-Identifier: Apache-2.0' || wrong "$file" 'the first line is not the licence'
    [ "$(entry "$file" Papers)" ] || wrong "$file" 'no line "Papers: ..."'
    # git parses the whole patch: the numbers of lines in each hunk must fit. Within the repository, it would prepend the folder.
    changed=$(cd / && git apply --numstat "$folder/$file" 2>/dev/null | cut -f 3) || changed=
    case $changed in
    "$(place_of "${name%%-*}")"*) [ "$(echo "$changed" | wc -l)" -eq 1 ] || wrong "$file" 'changes more than one file' ;;
    *) wrong "$file" "not a patch of this module: ${changed:-not well-formed}" ;;
    esac
    [ "$name" = fixed ] && continue
    fault=$(entry "$file" Fault)
    [ "$fault" ] || wrong "$file" 'no line "Fault: ..."'
    grep -qF "| \`$name\` | $fault | $(entry "$file" Papers) |" README.md ||
        wrong README.md "no row \"| \`$name\` | $fault | $(entry "$file" Papers) |\""
done
[ $count -ge 21 ] || wrong README.md "$count patches; the papers have 20 mutants"
[ "$(grep -c '^| `' README.md)" -eq $((count - 1)) ] || wrong README.md 'the table has mutants without a patch'
exit $bad
