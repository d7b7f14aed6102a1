#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# install.sh - the installed files: program, headers, manual and examples; an installed example compiles and is checked.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

told='make install'
build=$(dirname "$ANTIPHON")
[ -f "$build/build.ninja" ] || exit 77
DESTDIR=$dir/root meson install -C "$build" --no-rebuild --quiet >"$dir/out" 2>"$dir/err" </dev/null
check 'it ends without an error' [ $? -eq 0 ]
program=$(find "$dir/root" -name antiphon -type f -path '*/bin/*')
prefix=${program%/bin/antiphon}
for file in bin/antiphon-mutate include/antiphon/model.h share/man/man1/antiphon.1 share/doc/antiphon/README.md share/doc/antiphon/tutorial.md \
    share/antiphon/examples/kv.c; do
    check "$file is there" [ -s "$prefix/$file" ]
done
check 'the templates of antiphon init are not' [ ! -e "$prefix/share/antiphon/examples/init" ]

unset ANTIPHON_INCLUDE
XDG_CACHE_HOME=$dir/cache LD_LIBRARY_PATH=$(dirname "$(find "$prefix" -name 'libantiphon.so')") "$program" check \
    "$prefix/share/antiphon/examples/kv.c" "$prefix/share/antiphon/examples/kv-good.jsonl" >"$dir/out" 2>"$dir/err"
check 'an installed example is checked' [ $? -eq 0 ]
finish
