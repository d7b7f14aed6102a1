#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# init.sh - antiphon init: the template is written completely or not at all, compiles without a warning, passes against its
# own server, and its mutants fail.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

cd "$dir" || exit 1
PATH=$(dirname "$ANTIPHON"):$PATH

# Names.
for name in '' 9lives -x a/b .. . 'a b' 'a.c' "$(printf '%064d' 0 | tr 0 a)" ä; do
    run 2 init "$name"
    quiet_out
done
run 2 init
run 2 init one two
err 'antiphon init NAME'
run 0 init --help
out 'usage: antiphon init NAME'
run 0 help init
check 'files were written' [ -z "$(find . -mindepth 1 -maxdepth 1 -type d ! -name cache)" ]

# Existing files are kept; after a write error, no file is left.
run 0 init fifo-2_x
out 'cd fifo-2_x && make'
for file in fifo-2_x.c Makefile README.md; do check "$file is missing" [ -s fifo-2_x/$file ]; done
check 'an @NAME@ is not replaced' test -z "$(grep -rl '@NAME@' fifo-2_x)"
echo mine >fifo-2_x/README.md
run 4 init fifo-2_x
err 'already exists'
check 'an existing file was overwritten' [ "$(cat fifo-2_x/README.md)" = mine ]
: >taken
run 4 init taken
err 'already exists'
(ulimit -f 1 && trap '' XFSZ && "$ANTIPHON" init cramped >out 2>err </dev/null)
check 'no message about a full disk' grep -q 'cannot be written' err
check 'files are left' [ ! -e cramped ]
title='init full >/dev/full'
"$ANTIPHON" init full >/dev/full 2>err </dev/null
check 'no error with a full standard output' [ $? -eq 4 ]

# The model.
title='init: the model'
check 'compiler warnings' \
    "${CC:-cc}" -std=gnu17 -Wall -Wextra -Wshadow -Werror -I"$ANTIPHON_INCLUDE" -c fifo-2_x/fifo-2_x.c -o model.o
run 0 models fifo-2_x/fifo-2_x.c
mutants=$(grep -c '^ *[0-9]* ' out)
check 'no mutants' [ "$mutants" -ge 1 ]
serve="$ANTIPHON serve fifo-2_x/fifo-2_x.c --port {port}"
run 0 test fifo-2_x/fifo-2_x.c --messages 2000 --seed 1 --run "$serve"
out 'pass  fifo-2_x'
for ((i = 1; i <= mutants; i++)); do
    run 1 test fifo-2_x/fifo-2_x.c --no-shrink --seed 1 --run "$serve --mutate $i"
    out 'the model cannot explain the observations'
done
check 'no script in .antiphon' [ -n "$(ls .antiphon/fifo*.script)" ]

# Its codec: lines of words, strict.
: >served
"$ANTIPHON" serve fifo-2_x/fifo-2_x.c --env sync >served 2>err </dev/null &
server=$!
wait_until grep -q '^listening' served
port=$(sed -n 's/^listening on .*:\([0-9]*\)$/\1/p' served)
exec 3<>"/dev/tcp/127.0.0.1/$port"
printf 'take a\ntake a\ngive a 0\ngive a\n' >&3
timeout $hang_s head -n 3 <&3 | sed 's/[0-9][0-9]*/N/' >responses
check 'not granted, busy, stale' [ "$(tr '\n' ' ' <responses)" = 'granted N busy stale ' ]
exec 3>&-
exec 3<>"/dev/tcp/127.0.0.1/$port"
printf 'take  a\n' >&3
check 'two spaces are accepted' [ -z "$(timeout $hang_s cat <&3)" ]
exec 3>&-
kill $server
wait $server
check 'no message with the reason' grep -q 'words are separated by single spaces' err

# Its Makefile.
title='init: make'
make -s -C fifo-2_x SECONDS=1 model >out 2>err </dev/null
check 'make model fails' [ $? -eq 0 ]

finish
