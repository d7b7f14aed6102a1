#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# threads-tsan.sh - the threads library under ThreadSanitizer: without control, under control, and with failing programs.
#
# The library and the programs are compiled here, because no build has this sanitizer. Its findings end a run with an exit
# code, which antiphon reports.
. "$ANTIPHON_ROOT/tests/cli/lib.sh"
cc=$(command -v gcc || command -v clang) || exit 77

compile() {
    "$cc" -std=gnu17 -D_GNU_SOURCE -g -O1 -fsanitize=thread -I"$ANTIPHON_ROOT/include" "$@" -pthread
}

printf '#include <pthread.h>\nstatic void *f(void *p) { return p; }\nint main(void) { pthread_t t; '\
'return pthread_create(&t, 0, f, 0) || pthread_join(t, 0); }\n' >"$dir/empty.c"
if ! compile "$dir/empty.c" -o "$dir/empty" 2>/dev/null || ! "$dir/empty"; then
    echo 'no thread sanitizer'
    exit 77
fi

for file in threads control control_client coroutines; do
    compile -c "$ANTIPHON_ROOT/src/threads/$file.c" -o "$dir/$file.o" || exit 1
done
for program in dp dme buffer commit scramble wrong; do
    compile "$ANTIPHON_ROOT/subjects/threads/$program.c" "$dir"/{threads,control,control_client,coroutines}.o -o "$dir/$program" || exit 1
done
cd "$dir" || exit 1

# The sanitizer finds the race when two threads share a variable.
sed -e 's/^static int seats = 3;/static int seats = 3, shared;/' -e 's/    tell(self, first, "get", number);/    shared++;\n&/' \
    "$ANTIPHON_ROOT/subjects/threads/dp.c" >racy.c
compile racy.c threads.o control.o control_client.o coroutines.o -o racy || exit 1
run 75 explore --random 5 ./racy 4
err 'data race'

# The unit tests of the library.
if compile "$ANTIPHON_ROOT/tests/unit/test_threads.c" threads.o control.o control_client.o coroutines.o -lcmocka -o tests 2>err; then
    timeout $((2 * hang_s)) ./tests >out 2>&1
    code=$?
    title='(unit tests)'
    check "exit code $code" [ $code -eq 0 ]
fi

# The program in the documentation.
sed -n '/^```c$/,/^```$/p' "$ANTIPHON_ROOT/docs/threads.md" | sed '/^```/d' >shown.c
compile shown.c threads.o control.o control_client.o coroutines.o -o shown || exit 1
run 0 explore --list - ./shown
out '{"op":"receive","sync":true,"port":"inbox","label":"done","peer":"A","peer_index":2,"open":[["inbox","*"]]},{"op":"local"'

for program in 'dp 5' 'dme 3' buffer 'commit 3'; do
    # shellcheck disable=SC2086 # a program and its argument
    timeout $hang_s ./$program >out 2>err
    code=$?
    title="(without control) $program"
    check "exit code $code" [ $code -eq 0 ]
    # shellcheck disable=SC2086
    run 0 explore --random 10 --twice ./$program
    quiet_err
done
run 0 explore ./dp 4
out 'all 14 sequences'
quiet_err
for n in 1 2 3 4 5 6 884; do
    "$ANTIPHON" explore --limit 30 ./scramble $n >out 2>err
    title="explore scramble $n"
    no_err ThreadSanitizer
done
run 73 explore ./wrong maybe
no_err ThreadSanitizer
run 75 explore ./wrong crash

finish
