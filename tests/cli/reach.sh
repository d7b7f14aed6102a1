#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# reach.sh - antiphon reach: known counts, lists, properties, threads, checkpoints, pictures, signals, and invalid models.
. "$ANTIPHON_ROOT/tests/cli/lib.sh"

# ---- numbers ---------------------------------------------------------------------------------------------------------

# numbers MODEL PO STATES TRANSITIONS TOTAL_ORDERS
numbers() {
    run 0 reach "$1" --states --total-orders --json
    out "\"model\":\"$1\",\"complete\":true,\"po\":$2,\"deadlocks\":0,"
    out "\"states\":$3,\"transitions\":$4,\"total_orders\":$5,"
}
numbers dp-2 2 18 20 4
numbers dp-3 6 76 126 238
numbers dp-4 14 322 712 94526
numbers dp-5 30 1364 3770 108549484
numbers dp-6 62 5778 19164 217113360382
numbers dp-7 126 24476 94710 914369733963612
numbers dp-8 254 103682 458512 6904140714122889870
numbers dp-9 510 439204 2185074 82353853284452516565900
run 0 reach tdme --json
out '"po":30,'
run 0 reach -j 3 dme-3 --json
out '"po":4032,"deadlocks":0,'

# Sequences are counted without visiting each one.
counted() {
    run 0 reach --count "$1" --json
    out "\"model\":\"$1\",\"complete\":true,\"po\":$2,\"deadlocks\":0,"
}
counted dp-9 510
counted tdme 30
counted dme-3 4032
run 0 reach --count dme-3
out 'dme-3: 4,032 sequences, 0 of them deadlock; '
for more in '-j 2' --list '--sample 3' '--limit 3' --deadlock-free --states --local; do
    # shellcheck disable=SC2086 # one word, or two
    run 2 reach --count $more dme-3
    err 'can be combined only with'
done
run 3 reach --count --memory 1 dme-4
out 'the memory limit was reached'
# Five messages in any order have 120 sequences; 18 such pairs have 120 ^ 18, and 120 ^ 19 exceeds 2 ^ 128.
pairs() {
    echo 'alts pairs'
    for i in $(seq "$1"); do printf 'component S%s\ncomponent R%s\n' "$i" "$i"; done
    for i in $(seq "$1"); do echo "port p$i of R$i unordered"; done
    for i in $(seq "$1"); do
        echo "behaviour S$i states 6 initial 0"
        for n in 0 1 2 3 4; do echo "$n -> $((n + 1)) post p$i m"; done
        echo "behaviour R$i states 6 initial 0"
        for n in 0 1 2 3 4; do echo "$n -> $((n + 1)) take p$i m"; done
    done
}
pairs 18 >"$dir/pairs.alts"
run 0 reach --count --json "$dir/pairs.alts"
out '"po":26623333280885243904000000000000000000,'
pairs 19 >"$dir/pairs.alts"
run 3 reach --count --json "$dir/pairs.alts"
out '"complete":false,"situations":'
run 3 reach --count "$dir/pairs.alts"
out 'the number of sequences exceeds 128 bits'

# ---- sequences -------------------------------------------------------------------------------------------------------

# Each sequence is found once. The lists from one thread and from four differ only in order and numbers.
run 0 reach --list --races dme-3
sed 's/"sequence":[0-9]*//' "$dir/out" | sort >"$dir/one"
check 'a sequence is missing' test "$(wc -l <"$dir/one")" -eq 4032
check 'a sequence occurs twice' test "$(uniq "$dir/one" | wc -l)" -eq 4032
run 0 reach --list --races -j 4 dme-3
sed 's/"sequence":[0-9]*//' "$dir/out" | sort >"$dir/four"
check 'four threads find other sequences' cmp -s "$dir/one" "$dir/four"

run 0 reach --list --races dp-2
out '{"sequence":1,"deadlock":false,"threads":{"P0":[{"op":"send","sync":true,"port":"fork1","label":"get(0)","peer":"F1",'
out '"open":[["fork1","get(0)"],["fork1","get(1)"]],"race":[["P1",1]],"clock":[1,0,0,1]}'
run 0 reach --list dp-2
no_out '"race"'
no_out '"clock"'

# A sample consists of sequences of the model, and the same seed draws the same sample.
run 0 reach --list --races --sample 50 --seed 7 dme-3
sed 's/"sequence":[0-9]*//' "$dir/out" >"$dir/sample"
check 'a sample is too small' test "$(wc -l <"$dir/sample")" -eq 50
check 'a sample is not one of the sequences' test -z "$(sort -u "$dir/sample" | comm -23 - "$dir/one")"
run 0 reach --list --races --sample 50 --seed 7 dme-3
sed 's/"sequence":[0-9]*//' "$dir/out" >"$dir/again"
check 'the same seed draws another sample' cmp -s "$dir/sample" "$dir/again"

# ---- properties ------------------------------------------------------------------------------------------------------

run 0 reach --exclusive enter --deadlock-free dme-3
out 'no sequence fails'
run 0 reach --exclusive enter tdme
run 2 reach --exclusive nothing tdme
err '--exclusive nothing: tdme has no local event of that name'
run 2 reach --exclusive choose dme-3 # a message of that name
err '--exclusive choose: dme-3 has no local event of that name'

# Two components that enter without exclusion and end in a deadlock.
cat >"$dir/careless.alts" <<'EOF'
alts careless
component A
component B
port a of A
port b of B
behaviour A states 4 initial 0
0 -> 1 note enter
1 -> 2 note leave
2 -> 3 take a token
behaviour B states 4 initial 0
0 -> 1 note enter
1 -> 2 note leave
2 -> 3 take b token
EOF
run 0 reach "$dir/careless.alts"
out 'careless: 1 sequence, 1 of them deadlocks'
err 'component A, state 2: it receives from a, but no component sends to that port'
run 1 reach --exclusive enter "$dir/careless.alts"
out 'sequence 1 fails: A and B can both be after enter at the same time'
err '"label":"enter"'
run 1 reach --forbid A=1,B=1 "$dir/careless.alts"
out 'sequence 1 fails: A=1,B=1 can hold at the same time'
run 1 reach --forbid A=0,B=3 --forbid B=2,A=2 "$dir/careless.alts"
out 'sequence 1 fails: B=2,A=2 can hold at the same time'
run 0 reach --forbid A=3 --forbid A=0,B=3 "$dir/careless.alts" # the token is never received
out 'no sequence fails'
run 2 reach --forbid A=1,C=1 "$dir/careless.alts"
err '--forbid A=1,C=1: careless has no component C'
run 2 reach --forbid A=4 "$dir/careless.alts"
err '--forbid A=4: the states of A are numbers from 0 to 3'
run 2 reach --forbid A=1,A=2 "$dir/careless.alts"
err '--forbid A=1,A=2: A is named twice'
run 2 reach --forbid A "$dir/careless.alts"
err '--forbid A: A is not COMPONENT=STATE'
run 1 reach --deadlock-free "$dir/careless.alts"
out 'it ends in a deadlock: component A waits in state 2, component B waits in state 2'
run 1 reach --deadlock-free --json "$dir/careless.alts"
out '"holds":false'

# ---- checkpoints -----------------------------------------------------------------------------------------------------

# A search that is stopped and resumed several times finds each sequence once.
rm -f "$dir/all"
options=
for _ in 1 2 3 4 5 6 7 8; do
    # shellcheck disable=SC2086 # nothing, or one word
    "$ANTIPHON" reach -j 2 --list --limit 600 --checkpoint "$dir/left" $options dme-3 >>"$dir/all" 2>"$dir/err"
    code=$?
    options=--resume
    [ $code -eq 3 ] || break
done
title='reach --limit, resumed'
check 'the search does not end' test $code -eq 0
check 'other sequences after stopping and resuming' test "$(sed 's/"sequence":[0-9]*//' "$dir/all" | sort -u | wc -l)" -eq 4032
check 'a sequence was found twice' test "$(wc -l <"$dir/all")" -eq 4032
run 0 reach --checkpoint "$dir/left" --resume --json dme-3
out '"po":4032,'

run 66 reach --checkpoint "$dir/left" --resume dp-3
err 'belongs to another model'
run 66 reach --checkpoint "$dir/none" --resume dp-3
err 'cannot be read'
run 3 reach --limit 1 --checkpoint "$dir/damaged" dme-4
sed -i '$s/$/ 60000/' "$dir/damaged"
run 66 reach --checkpoint "$dir/damaged" --resume dme-4
err 'is damaged at branch'
echo nonsense >"$dir/damaged"
run 66 reach --checkpoint "$dir/damaged" --resume dme-3
err 'is not a checkpoint'
run 4 reach --checkpoint "$dir/no/such/folder" dp-3
err 'cannot be written'

# ---- memory ----------------------------------------------------------------------------------------------------------

# peak ARGUMENT...: prints the peak memory of the program in KB.
find_python
peak() {
    "$python" -S -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$ANTIPHON" "$@"
}
# A hundred times as many sequences need no more memory; the test would detect one byte per sequence.
if ! sanitized; then
    title='reach --limit, its memory'
    few=$(peak reach --limit 20000 dme-4)
    many=$(peak reach --limit 2000000 dme-4)
    check "memory grows with the number of sequences: $few, then $many kB" test "$many" -lt $((few + 1024))
fi

# Long runs with much pending work, which spills to a file. (test_spill_queue.c checks the counts.)
awk 'BEGIN {
    print "alts long\ncomponent R\ncomponent S0\ncomponent S1\ncomponent S2\nport p of R\nbehaviour R states 12001 initial 0"
    for (i = 0; i < 12000; i++) print i, "->", i + 1, "take p x"
    for (t = 0; t < 3; t++) {
        print "behaviour S" t " states 4001 initial 0"
        for (i = 0; i < 4000; i++) print i, "->", i + 1, "post p x"
    }
}' >"$dir/long.alts"
run 3 reach --limit 100 --memory 1 "$dir/long.alts"
out 'sequences so far'
if ! sanitized; then
    title='reach --memory'
    few=$(peak reach --limit 100 --memory 1 "$dir/long.alts")
    many=$(peak reach --limit 100 "$dir/long.alts")
    check "memory is not bounded: $few kB, without a bound $many" test $((4 * few)) -lt "$many"
fi
TMPDIR=$dir/none run 68 reach --memory 1 "$dir/long.alts"
err 'a file for them cannot be used: No such file or directory'
bash -c 'trap "" XFSZ; ulimit -f 200; exec "$@"' - "$ANTIPHON" reach --memory 1 "$dir/long.alts" >"$dir/out" 2>"$dir/err"
code=$?
title='reach --memory, full disk'
check "exit code $code, not 68" test $code -eq 68
err 'a file for them cannot be used: File too large'
run 2 reach --memory 1 --sample 2 dp-2

# ---- pictures --------------------------------------------------------------------------------------------------------

run 0 reach --draw 2 dp-2
check 'the drawing differs' cmp <(sed '$d' "$dir/out") "$ANTIPHON_ROOT/tests/cli/reach-draw.txt"
LC_ALL=C run 0 reach --draw 1 dp-2
check 'the drawing is not ASCII' test -z "$(LC_ALL=C tr -d '\n -~' <"$dir/out")"
run 0 reach --draw 3 --sample 3 dme-3
check 'not three drawn samples' test "$(grep -c '^sequence ' "$dir/out")" -eq 3
run 0 reach --draw 1 "$dir/careless.alts"
out 'sequence 1: deadlock'
out 'A waits in state 2: receiving token'
run 1 reach --draw 1 --exclusive enter "$dir/careless.alts"
out '✗ 1'
run 3 reach --draw 1 --deadlock-free dme-3
run 2 reach --draw 1 --list dp-2
err '--list: not with'
run 2 reach --draw 0 dp-2
run 2 reach --draw 1 --local dp-2

run 0 reach --report "$dir/page.html" dme-3
out 'dme-3: 4,032 sequences'
check 'not ten pictures on the page' test "$(grep -c '<svg' "$dir/page.html")" -eq 10
check 'no event is marked as changed' grep -q 'class="event changed"' "$dir/page.html"
check 'the page has a script' test "$(grep -c '<script' "$dir/page.html")" -eq 0
run 0 reach --report "$dir/page.html" --draw 2 dp-3
check 'not two pictures on the page' test "$(grep -c '<svg' "$dir/page.html")" -eq 2
run 1 reach --deadlock-free --report "$dir/page.html" "$dir/careless.alts"
check 'the violation is not on the page' grep -q 'it ends in a deadlock' "$dir/page.html"
sed 's/note enter/note <script>alert(1)<\/script>/' "$dir/careless.alts" >"$dir/hostile.alts"
run 0 reach --report "$dir/page.html" "$dir/hostile.alts"
check 'a label became markup' test "$(grep -c '<script' "$dir/page.html")" -eq 0
run 4 reach --report "$dir/no/such/folder.html" dp-2
err 'cannot be written'

# ---- models as text --------------------------------------------------------------------------------------------------

run 0 reach --print alts tdme
cp "$dir/out" "$dir/tdme.alts"
run 0 reach --print alts "$dir/tdme.alts"
check 'a model that was written and read differs' cmp -s "$dir/out" "$dir/tdme.alts"
run 0 reach --json "$dir/tdme.alts"
out '"po":30,'

# One component is in a separate file.
run 0 reach --print aut --component C tdme
cp "$dir/out" "$dir/c.aut"
sed '/^behaviour C /,$d' "$dir/tdme.alts" >"$dir/split.alts"
echo 'behaviour C from c.aut' >>"$dir/split.alts"
run 0 reach --json "$dir/split.alts"
out '"po":30,'
sed -i 's/?request/?!request/' "$dir/c.aut"
run 60 reach "$dir/split.alts"
err 'c.aut:2: a label must be PORT!MESSAGE'
rm "$dir/c.aut"

# Labels as CADP writes them, and hidden steps.
printf '%s\n' 'alts cadp' 'component A' 'component B' 'port b of B' 'behaviour A from a.aut' 'behaviour B from b.aut hide i pause' >"$dir/cadp.alts"
printf '%s\n' 'des (0, 1, 2)' '(0, "b !req !2 !TRUE", 1)' >"$dir/a.aut"
printf '%s\n' 'des (0, 4, 5)' '(0, i, 1)' '(1, "b ?req ?2 ?TRUE", 2)' '(2, "pause", 3)' '(3, "done", 4)' >"$dir/b.aut"
run 0 reach --list "$dir/cadp.alts"
out '"op":"receive","sync":false,"port":"b","label":"req(2,TRUE)"'
out '"label":"done"'
no_out pause
sed -i 's/ hide i pause//' "$dir/cadp.alts"
run 60 reach "$dir/cadp.alts"
err 'b.aut:2: i is a hidden step, which a model must not have; to remove it, write hide i after the name of the file'
sed -i 's/b.aut$/b.aut hide i/' "$dir/cadp.alts"
printf '%s\n' 'des (0, 2, 2)' '(0, i, 1)' '(1, i, 0)' >"$dir/b.aut"
run 60 reach "$dir/cadp.alts"
err 'the hidden steps form a cycle'
printf '%s\n' 'des (0, 2, 2)' '(0, i, 1)' '(0, "b ?req", 1)' >"$dir/b.aut"
run 60 reach "$dir/cadp.alts"
err 'a hidden step and another step leave state 0'
run 31 reach "$dir/split.alts"
err 'split.alts:'
run 0 reach --print dot dp-2
out 'digraph "dp-2"'

# ---- programs in C ---------------------------------------------------------------------------------------------------

cat >"$dir/greeting.c" <<'EOF'
#include <antiphon/component.h>

enum { HOST, ANN, BEN };

static void host(aph *m, aph_value *state)
{
    int64_t greeted = aph_is_int(*state) ? aph_int_of(*state) : 0;
    if (greeted == 2)
        aph_halt(m);
    aph_select(m, 2, (aph_alternative[]){{0, aph_str("ann"), true}, {1, aph_str("ben"), greeted == 1 || OPEN}});
    *state = aph_int(greeted + 1);
}

static void guest(aph *m, aph_value *state)
{
    const char *name = aph_data(m);
    (void)state;
    aph_pass(m, name[0] == 'b', aph_str(name));
    aph_note(m, "greeted");
    aph_halt(m);
}

static const aph_component components[] = {
    {.name = "host", .step = host}, {.name = "ann", .step = guest, .data = "ann"},
    {.name = "ben", .step = guest, .data = "ben"}};
static const aph_port ports[] = {{.name = "a", .owner = HOST}, {.name = "b", .owner = HOST}};
static const aph_program program = {.name = "greeting", .summary = "two guests", .components = components,
                                    .ports = ports, .component_count = 3, .port_count = 2};
APH_PROGRAM(program)
EOF
sed 's/OPEN/true/' "$dir/greeting.c" >"$dir/open.c"
sed 's/OPEN/false/' "$dir/greeting.c" >"$dir/guarded.c"
run 0 reach "$dir/open.c"
out 'greeting: 2 sequences, 0 of them deadlock'
run 0 reach "$dir/guarded.c"
out 'greeting: 1 sequence, 0 of them deadlock'
sed 's/aph_halt(m);$/aph_post(m, 7, aph_str("x"));/' "$dir/open.c" >"$dir/astray.c"
run 42 reach "$dir/astray.c"
err 'it names a port that the program does not have'
sed 's/aph_note(m, "greeted");/*(volatile int *)0 = 1;/' "$dir/open.c" >"$dir/crashing.c"
run 38 reach "$dir/crashing.c"
err 'component ann of greeting: '
sed 's/aph_note(m, "greeted");/for (volatile int i = 0;; i++) {}/' "$dir/open.c" >"$dir/stuck.c"
run 39 reach "$dir/stuck.c"
err 'its step does not end'
sed 's/aph_note(m, "greeted");/for (;;) aph_note(m, "greeted");/' "$dir/open.c" >"$dir/tireless.c"
run 39 reach "$dir/tireless.c"
err 'its step does not return'
echo '{"f":"x"}' >"$dir/history.jsonl"
"$ANTIPHON" check "$dir/open.c" "$dir/history.jsonl" >"$dir/out" 2>"$dir/err"
check 'a program is accepted as a server' test $? -ne 0
printf '#include <antiphon/model.h>\nstatic void s(aph *m, aph_value *v) { (void)v; aph_recv(m); }\n' >"$dir/server.c"
printf 'static const aph_model x = {.version = APH_MODEL_VERSION, .name = "x", .step = s};\nAPH_MODEL(x)\n' >>"$dir/server.c"
run 36 reach "$dir/server.c"
err 'a model of a server, not of a program'

# ---- signals ---------------------------------------------------------------------------------------------------------

interrupted() {
    title="$*"
    "$ANTIPHON" "$@" >"$dir/out" 2>"$dir/err" </dev/null &
    local job=$!
    wait_until catches_sigint $job
    kill -INT $job
    wait $job
    code=$?
    check "exit code $code, not 5" test $code -eq 5
}
interrupted reach dme-4
out 'so far'
interrupted reach --states dme-4
err 'interrupted before all interleavings were composed'
interrupted reach --local -j 2 dme-5
err 'interrupted before all local sequences were found'
quiet_out
interrupted reach --local --by-projection dme-4
err 'interrupted before all local sequences were found'

# ---- invalid models --------------------------------------------------------------------------------------------------

# wrong CODE MESSAGE MOVES-OF-A: expects a message that names the component and the state.
wrong() {
    printf 'alts m\ncomponent A\ncomponent B\nport p of A\nport q of B\nbehaviour A states 3 initial 0\n%b' "$3" >"$dir/m.alts"
    printf 'behaviour B states 1 initial 0\n' >>"$dir/m.alts"
    run "$1" reach "$dir/m.alts"
    err "$2"
}
wrong 61 'component A, state 0: a send and a receive leave it' '0 -> 1 post q x\n0 -> 2 take p x\n'
wrong 61 'component A, state 0: a send and another one leave it' '0 -> 1 post q x\n0 -> 2 post q y\n'
wrong 62 'component A, state 0: two receives of x from p leave it' '0 -> 1 take p x\n0 -> 2 take p x\n'
wrong 63 'component A, state 1: it receives from q, a port of B' '0 -> 1 post q x\n1 -> 2 take q x\n'
wrong 63 'component A, state 0: it sends to p, its own port' '0 -> 1 post p x\n'
wrong 64 'component A, state 0: it is on a cycle' '0 -> 1 post q x\n1 -> 0 note again\n'
run 0 reach --unroll 2 --list "$dir/m.alts"
check 'not two sends in two rounds' test "$(grep -o '"op":"send"' "$dir/out" | wc -l)" -eq 2
# Two paths through a cycle join again: both can be taken, in either order.
cat >"$dir/met.alts" <<'END'
alts met
component A
component B
component C
port p of A
behaviour A states 4 initial 0
0 -> 1 take p x
0 -> 2 take p y
1 -> 3 note met
2 -> 3 note met
3 -> 0 note again
behaviour B states 2 initial 0
0 -> 1 post p x
behaviour C states 2 initial 0
0 -> 1 post p y
END
run 0 reach --unroll 2 --list "$dir/met.alts"
check 'a round is not completed' test "$(grep -o '"label":"met"' "$dir/out" | wc -l)" -eq 4
wrong 60 'm.alts:7: a move must be' '0 1 post q x\n'
run 30 reach nothing
err 'nothing: no such program'
run 30 reach dp-1
run 31 reach "$dir/nothing.alts"

run 2 reach
run 2 reach --races dp-2
err '--races: only with --list'
run 2 reach --resume dp-2
run 2 reach -j 0 dp-2
run 2 reach --print aut dp-2
run 0 reach --help

finish
