#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# mutate.sh - antiphon mutate: lists and diffs, verdicts on mutants, time limits, signals, and errors; no process or file is left.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
cd "$dir" || exit 1
mkdir tmp
export TMPDIR=$dir/tmp

same() { if [ "$1" != "$2" ]; then fail "$1, not $2"; fi; }
# count NAME: prints that number from the JSON output.
count() { grep -o "\"$1\":[0-9]*" "$dir/out" | tail -n 1 | sed 's/.*://'; }
nothing_left() { same "$(ls tmp)" ''; }

cat >small.c <<'END'
#include <assert.h>
#include <stdlib.h>

static int least(int a, int b)
{
    if (a < b)
        return a;
    return b;
}

int main(int words, char **word)
{
    assert(words == 3);
    return least(atoi(word[1]), atoi(word[2]));
}
END

# ---- printing --------------------------------------------------------------------------------------------------------

run 0 mutate small.c --function least
out '    1  small.c:6:5  delete least "if (a < b) return a;" ";" 1'
out '    2  small.c:6:9  variable least "a" "b" 1'
out '    3  small.c:6:11  relational least "<" "<=" 1'
no_out main
run 0 mutate small.c --operators return,relational --lines 6-7
same "$(cut -c 8- out)" 'small.c:6:11  relational least "<" "<=" 1
small.c:6:11  relational least "<" ">" 1
small.c:6:11  relational least "<" ">=" 1
small.c:6:11  relational least "<" "==" 1
small.c:6:11  relational least "<" "!=" 1
small.c:7:16  return least "a" "0" 1
small.c:7:16  return least "a" "1" 1
small.c:7:16  return least "a" "(-1)" 1'
run 0 mutate small.c --lines 6 --json
out '"identity":"relational least \"<\" \"<=\" 1"'
same "$(grep -o '"line":6' out | wc -l)" 8
# A sample depends only on the seed, and every mutant is in some sample.
run 0 mutate small.c --sample 3
same "$(wc -l <out)" 3
cp out drawn
run 0 mutate small.c --sample 3 --seed 1
check 'another sample with the same seed' cmp -s out drawn
for seed in $(seq 2 60); do
    run 0 mutate small.c --sample 3 --seed "$seed"
    cat out >>drawn
done
run 0 mutate small.c --sample 1000
same "$(sort -u drawn)" "$(sort out)"
run 0 mutate small.c --write 3
sed 's/a < b/a <= b/' small.c | cmp -s - out || fail 'the output is not the source of mutant 3'
run 0 mutate small.c --diff 3
cp out diff
cp small.c patched.c
check 'patch rejects the diff' patch -s patched.c diff
run 0 mutate small.c --write 3
check 'the patched source is not the mutant' cmp -s out patched.c

# ---- every mutant of a real source compiles or counts as broken --------------------------------------------------------

run 7 mutate "$ANTIPHON_ROOT/subjects/swap/swap.c" --lines 113-119 --json -j 2 \
    --build 'cc -fsyntax-only -w {source} && printf x >{program}' --test 'true {program}'
err 'no mutant to test'
same "$(($(count broken) + $(count equivalent)))" "$(grep -o '"number"' out | wc -l)"
check 'too few mutants compile' [ "$(count equivalent)" -gt 5 ]

# ---- running ---------------------------------------------------------------------------------------------------------

cc="cc -O0 -w {source} -o {program}"
# shellcheck disable=SC2016 # for the shell that runs it
printf '%s\n' 'p=$1' 'for t in "1 2 1" "2 1 1" "5 5 5" "3 4 3"; do set -- $t; $p $1 $2; [ $? = $3 ] || exit 1; done' >three.sh
run 1 mutate small.c --function least --build "$cc" --test 'sh three.sh {program}' -j 2
# With <=, the function least gives the same results, so no test can kill the mutant.
out 'relational least "<" "<=" 1'
out '-    if (a < b)'
out '+    if (a <= b)'
same "$(grep -c '^survived:$' out)" 1
out 'relational         5'
nothing_left
run 1 mutate small.c --function least --build "$cc" --test 'sh three.sh {program}' --json -j 2
same "$(count survived)" 1
same "$(count broken)" 0
same "$(($(count killed) + $(count duplicate)))" 15

# A listed survivor is accepted; a listed mutant that is killed is reported.
echo 'relational least "<" "<=" 1: equal numbers are the same number' >known
run 0 mutate small.c --function least --build "$cc" --test 'sh three.sh {program}' --equivalent known --json -j 2
same "$(count listed)" 1
same "$(count survived)" 0
echo 'relational least "<" ">" 1: it is not' >>known
run 1 mutate small.c --operators relational --function least --build "$cc" --test 'sh three.sh {program}' --equivalent known
out 'listed as equivalent, but killed:'
out 'relational least "<" ">" 1'

# Mutants with the same object code. __LINE__ and __FILE__, which assert uses, are those of the original.
cat >same.c <<'END'
#include <assert.h>
int main(void)
{
    int i = 0;
    while (i < 3)
        i++;
    assert(i == 3);
    assert(__FILE__[0] != '/');
    return 0;
}
END
run 0 mutate same.c --lines 5 --operators relational --build "$cc -O2 -g" --test '{program}' --json
same "$(count equivalent)" 1
out '"after":"!=","before":"<","column":14,"fate":"equivalent"'
# <= and > both end with an i that is not 3, which the compiler knows: one of them is tested for both.
out '"fate":"duplicate","function":"main"'
check 'no mutant is tested' [ "$(count killed)" -ge 1 ]

# A test that exceeds its time limit is killed together with all processes that it started.
cat >loop.c <<'END'
int main(void)
{
    int done = 0, steps = 1;
    while (!done)
        done = done + steps;
    return done - 1;
}
END
run 0 mutate loop.c --lines 5 --operators constant,variable,arithmetic --build "$cc" \
    --test 'sleep 1000 & echo $! >>sleepers; setsid sleep 1000 & echo $! >>sleepers; {program}' --time 2 --json -j 4
check 'no mutant timed out' [ "$(count timed_out)" -gt 0 ]
check 'too few processes were started' [ "$(wc -l <sleepers)" -gt 3 ]
while read -r pid; do
    if kill -0 "$pid" 2>/dev/null; then fail "process $pid is still running"; fi
done <sleepers
nothing_left
cat >broken.c <<'END'
int main(int words, char **word)
{
    return word[words] - word[words];
}
END
run 7 mutate broken.c --lines 3 --operators arithmetic --build "$cc" --test '{program}' --json
same "$(count broken)" 4

# Headers in the folder of the source are found.
mkdir beside
echo '#define THREE 3' >beside/three.h
printf '#include "three.h"\nint main(void) { return THREE - 3; }\n' >beside/main.c
run 0 mutate beside/main.c --operators constant --build "$cc" --test '{program}'

# After an interrupt, the results so far are printed, and no process or file is left.
title='mutate, interrupted'
"$ANTIPHON" mutate small.c --build "$cc" --test 'echo $$ >>begun; [ $(wc -l <begun) = 1 ] || exec sleep 1000; true {program}' \
    --time 1000 >out 2>err </dev/null &
mutator=$!
until [ -e begun ] && [ "$(wc -l <begun)" -ge 2 ]; do sleep 0.02; done
kill -TERM $mutator
wait $mutator
same $? 5
out 'were not run'
if kill -0 "$(tail -n 1 begun)" 2>/dev/null; then fail 'the test is still running'; fi
nothing_left
# After SIGKILL, the folder is left, but no process.
rm begun
"$ANTIPHON" mutate small.c --build "$cc" --test 'echo $$ >>begun; [ $(wc -l <begun) = 1 ] || exec sleep 1000; true {program}' \
    --time 1000 >out 2>err </dev/null &
mutator=$!
until [ -e begun ] && [ "$(wc -l <begun)" -ge 2 ]; do sleep 0.02; done
kill -KILL $mutator
wait $mutator 2>/dev/null
check 'the test is still running after SIGKILL' wait_until has_ended "$(tail -n 1 begun)"

# ---- errors ------------------------------------------------------------------------------------------------------------

run 80 mutate missing.c
err 'missing.c: cannot be read'
run 80 mutate "$dir"
printf 'int a;\n  "b\n' >string.c
run 81 mutate string.c
err 'string.c:2:3: unterminated string'
printf 'int f(void) {\n' >open.c
run 81 mutate open.c
err 'open.c:1:13: unclosed bracket'
run 82 mutate small.c --build "$cc -DNDEBUG -Dleast=" --test 'true {program}'
err 'small.c: the original does not build: status 1; output:'
err 'small.c:4:'
run 82 mutate small.c --build 'true {source} {program}' --test 'true {program}'
err 'the command does not create {program}'
run 83 mutate small.c --build "$cc" --test 'echo no; false {program}'
err 'small.c: the original fails the test: status 1; output:'
err no
run 83 mutate small.c --build "$cc" --test 'sleep 1000; {program}' --time 0.2
err 'it takes longer than 0.2 s'
run 83 mutate small.c --build "$cc" --test 'kill -9 $$; {program}'
err 'signal 9'
echo 'relational least "<" "<=" 9: no' >stale
run 84 mutate small.c --build "$cc" --test 'true {program}' --equivalent stale
err 'stale:1: unknown mutant'
run 84 mutate small.c --build "$cc" --test 'true {program}' --equivalent missing
for wrong in '--operators x' '--operators relational,' '--lines x' '--lines 0' '--lines 5-3' '--lines 3-x' '--write x' \
    '--write 1000' '--diff 1000' '--function nobody' '--time 0' '--time x' '-j x' '-j 257' '--nonsense' '--build' \
    '--build x' '--equivalent known' 'another.c'; do
    # shellcheck disable=SC2086 # words
    run 2 mutate small.c $wrong
done
run 2 mutate
err 'mutate: too few operands'
run 2 mutate small.c --build 'cc' --test '{program}'
err '{source}'
run 2 mutate small.c --build 'cc {source}' --test '{program}'
err '{program}'
run 2 mutate small.c --build "$cc" --test 'true'
err '{program}'
run 2 mutate small.c --build "$cc" --test '{program}' --write 1
TMPDIR="$dir/tmp with spaces" run 4 mutate small.c --build "$cc" --test '{program}'
err 'TMPDIR'
run 0 mutate --help
out 'usage: antiphon mutate'

# The command needs the program antiphon-mutate: beside antiphon, or in PATH.
mkdir alone
cp "$ANTIPHON" alone/antiphon
title='mutate, without antiphon-mutate'
alone/antiphon mutate small.c >out 2>err
same $? 70
err 'antiphon-mutate: cannot be executed'
PATH=$(dirname "$ANTIPHON"):$PATH alone/antiphon mutate small.c --write 3 >out 2>err
same $? 0

title='mutate >/dev/full'
"$ANTIPHON" mutate small.c >/dev/full 2>err
same $? 4
nothing_left_but_killed=$(find tmp -mindepth 1 -maxdepth 1 | wc -l)
same "$nothing_left_but_killed" 1

finish
