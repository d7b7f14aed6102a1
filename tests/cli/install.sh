#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# install.sh - the installed files: program, headers, manual and examples; an installed model compiles and is checked;
# a program that embeds the library compiles with pkg-config and checks a history.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

title='make install'
build=$(dirname "$ANTIPHON")
[ -f "$build/build.ninja" ] || exit 77
DESTDIR=$dir/root meson install -C "$build" --no-rebuild --quiet >"$dir/out" 2>"$dir/err" </dev/null
check 'the installation fails' [ $? -eq 0 ]
program=$(find "$dir/root" -name antiphon -type f -path '*/bin/*')
prefix=${program%/bin/antiphon}
for file in bin/antiphon-mutate include/antiphon/model.h include/antiphon/http.h include/antiphon/resp.h share/man/man1/antiphon.1 share/doc/antiphon/README.md \
    share/doc/antiphon/docs/tutorial.md share/doc/antiphon/examples/kv.c; do
    check "$file is missing" [ -s "$prefix/$file" ]
done
check 'the templates of antiphon init are installed' [ ! -e "$prefix/share/doc/antiphon/examples/init" ]

unset ANTIPHON_INCLUDE
XDG_CACHE_HOME=$dir/cache LD_LIBRARY_PATH=$(dirname "$(find "$prefix" -name 'libantiphon.so')") "$program" check \
    "$prefix/share/doc/antiphon/examples/kv.c" "$prefix/share/doc/antiphon/examples/kv-good.jsonl" >"$dir/out" 2>"$dir/err"
check 'an installed example does not pass' [ $? -eq 0 ]

title='an installed example with the codec of HTTP'
for file in rest.c server.py; do
    check "rest/$file is missing" [ -s "$prefix/share/doc/antiphon/examples/rest/$file" ]
done
printf '%s\n' '{"conn":1,"send":{"method":"GET","path":["items","a"]}}' \
    '{"conn":1,"recv":{"status":401,"json":{"error":"failed"}}}' >"$dir/rest.jsonl"
XDG_CACHE_HOME=$dir/cache LD_LIBRARY_PATH=$(dirname "$(find "$prefix" -name 'libantiphon.so')") "$program" check \
    "$prefix/share/doc/antiphon/examples/rest/rest.c" "$dir/rest.jsonl" >"$dir/out" 2>"$dir/err"
check 'it does not pass' [ $? -eq 0 ]

title='the installed manual'
dead=0
for page in "$prefix"/share/doc/antiphon/docs/*.md; do
    for link in $(grep -oE '\]\(\.\./(README|CHANGELOG|examples|docs)[^)#]*' "$page" | sed 's/^](//'); do
        [ -e "$(dirname "$page")/$link" ] || { echo "$page: $link"; dead=$((dead + 1)); }
    done
done
check "$dead links lead to files that are not installed" [ $dead -eq 0 ]

title='check_history'
library=$(dirname "$(find "$prefix" -name 'libantiphon.so')")
examples=$prefix/share/doc/antiphon/examples
export PKG_CONFIG_PATH=$library/pkgconfig PKG_CONFIG_SYSROOT_DIR=$dir/root LD_LIBRARY_PATH=$library
sanitizers= # a program that loads a sanitized library must be sanitized, too
if ldd "$library/libantiphon.so" | grep -q libasan; then sanitizers=-fsanitize=address,undefined; fi
# shellcheck disable=SC2046,SC2086 # one word an option
"${CC:-cc}" -std=c17 -Wall -Wextra -Werror "$examples/check_history.c" $(pkg-config --cflags --libs antiphon) \
    $sanitizers -o "$dir/check_history" >"$dir/out" 2>"$dir/err"
check 'the embedding program does not compile' [ $? -eq 0 ]
"$dir/check_history" register "$examples/histories/stale-read.log" >"$dir/out" 2>"$dir/err"
check 'a stale read does not fail' [ $? -eq 1 ]
out 'stale-read.log: fail'
out '"line":20'
out '"observed":2'
out '"allowed":[{"answer":4'
"$dir/check_history" register "$examples/histories/five-clients.log" >"$dir/out" 2>"$dir/err"
check 'a valid history does not pass' [ $? -eq 0 ]
out 'five-clients.log: pass'
"$dir/check_history" "$examples/kv.c" "$examples/kv-good.jsonl" >"$dir/out" 2>"$dir/err"
check 'a model does not compile with the installed headers' [ $? -eq 0 ]
# shellcheck disable=SC2046,SC2086 # one word an option
"${CC:-cc}" -std=c17 -Wall -Wextra -Werror "$examples/echo-tester.c" $(pkg-config --cflags --libs antiphon) \
    $sanitizers -o "$dir/echo-tester" >"$dir/out" 2>"$dir/err"
check 'the derived tester does not compile' [ $? -eq 0 ]
"$dir/echo-tester" >"$dir/out" 2>"$dir/err"
check 'the derived tester fails' [ $? -eq 0 ]
check 'the derived tester accepts a wrong echo' \
    [ "$(sed -n 3p "$dir/out") $(sed -n 6p "$dir/out")" = 'continues throws' ]
"$dir/check_history" nothing "$examples/kv-good.jsonl" >"$dir/out" 2>"$dir/err"
check 'a missing model is not reported' [ $? -eq 2 ]
err "no model named 'nothing'"
finish
