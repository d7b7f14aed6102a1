#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# conform.sh - antiphon conform: programs that conform to their models, as a whole and thread by thread, and others.
. "$ANTIPHON_ROOT/tests/cli/lib.sh"
: "${ANTIPHON_SUBJECTS:?names the folder of the programs under test}"
cd "$ANTIPHON_SUBJECTS" || exit 1
models=$ANTIPHON_ROOT/examples/programs

# number NAME FILE: prints the sum of that field in a JSON file.
number() { grep -o "\"$1\":[0-9]*" "$2" | awk -F: '{ sum += $2 } END { print sum + 0 }'; }

# conforms MODEL PROGRAM...: expects that the program conforms, as a whole and thread by thread. antiphon reach, which
# uses another algorithm, must find the same number of local sequences.
conforms() {
    local model=$1
    shift
    run 0 conform "$model" "$@"
    out 'M <= CP holds, M ~ CP holds'
    run 0 conform --local --json "$model" "$@"
    out '"at_least":"holds"'
    out '"equivalent":"holds"'
    "$ANTIPHON" reach --local --json "$model" >"$dir/reach"
    check 'another number of local sequences by events' [ "$(number by_events "$dir/out")" = "$(number local_events "$dir/reach")" ]
    check 'another number of local sequences with race sets' [ "$(number by_races "$dir/out")" = "$(number local_race_sets "$dir/reach")" ]
}

# ---- conforming programs -------------------------------------------------------------------------------------------

conforms dp-2 ./dp 2
conforms dp-3 ./dp 3
conforms dp-5 ./dp 5
conforms tdme ./tdme
conforms dme-2 ./dme 2
conforms "$models/bounded-buffer.c" ./buffer
conforms "$models/two-phase.c" ./commit 2
for figure in 4 5 6 8 9; do conforms "$models/figure$figure.alts" "./figure$figure"; done
run 0 conform --local dme-3 ./dme 3
out '315 local sequences of the model, 315 tests'
out 'C1: 54 sequences by events, 60 with race sets'
run 0 conform --local --thread H2 dme-3 ./dme 3
out '36 tests'
no_out 'H1:'
# The local sequences of dme-4 are found without its 1,455,667,200 global ones. Without race sets, only M <= CP is decided.
if ! sanitized; then
    run 0 conform --local --at-least -j 2 dme-4 ./dme 4
    out 'M <= CP holds, M ~ CP is not certain'
    out '7,126 local sequences of the model, 7,126 tests'
    run 3 conform --local --at-least --limit 20 --thread C1 dme-4 ./dme 4
    out 'not all: 1,050 local sequences of the model, 20 tests'
fi
if ! sanitized; then # half a minute with sanitizers
    run 0 conform dme-3 ./dme 3
    out '4,032 sequences of the model, 4,032 tests'
fi

# ---- the paper's examples ------------------------------------------------------------------------------------------

# more MODEL THREAD EVENT RIVAL: expects that the program has more behaviour than the model, found at this event both in
# tests of the whole program and in tests of the single thread.
more() {
    local program=./$1 model=$models/$1.alts
    for way in '' --local; do
        # shellcheck disable=SC2086 # no word, or one
        run 1 conform $way "$model" "$program"
        out 'M <= CP holds, M ~ CP fails'
        out "event $3 of $2: the race set of the program has more messages"
        out 'in the model, it could have received nothing else'
        out "in the program, it could have received instead: $4"
        # shellcheck disable=SC2086
        run 0 conform $way --at-least "$model" "$program"
    done
    run 1 conform --local --thread "$2" "$model" "$program"
    run 0 conform --local --thread L1 "$model" "$program"
}

more figure3 L3 1 'px m from L1'
more figure12 L4 2 'p2 m from L3'
more figure14 L2 3 'p2 m from L3'

# The diagram of both sides.
run 1 conform "$models/figure12.alts" ./figure12
cat >"$dir/wanted" <<'END'
      L1   L2   L3   L4
      ├────┼────┼───▶│   L1:1 passes p1 m to L4:1
 ✗    │    ├────┼───▶│   L2:1 passes p1 m to L4:2
      │    │    │    ╰─ in the model, it could have received nothing else
      │    │    │    ╰─ in the program, it could have received instead: p2 m from L3:1
      │    │    ├───▶│   L3:1 passes p2 m to L4:3
END
sed -n '/^ *L1 /,/^$/p' "$dir/out" | sed '/^$/d' >"$dir/picture"
check 'the diagram differs' diff "$dir/wanted" "$dir/picture"
LC_ALL=C run 1 conform "$models/figure12.alts" ./figure12
out '     |    |    |    `- in the model, it could have received nothing else'

# The result as JSON.
run 1 conform --json --local "$models/figure14.alts" ./figure14
out '"alone":"L2","breach":"more"'
out '"event":3,"model_race":[],"program_race":[{"index":0,"label":"m","port":"p2","thread":"L3"}],"relation":"CP <= M"'
out '"equivalent":"fails","exit":1'

# The model allows both orders, but the program only one; the report names the thread.
sed -e 's/^behaviour L3 .*/behaviour L3 states 4 initial 0/' -e 's/^0 -> 1 take py m/&\n0 -> 3 take px m\n3 -> 2 take py m/' \
    "$models/figure3.alts" >"$dir/either.alts"
conforms "$dir/either.alts" ./figure3
run 1 conform --local "$models/bounded-buffer.c" ./buffer 2 2 1
out 'M <= CP fails, M ~ CP fails'
out 'in the model: synchronous receive deposit put('
out 'in the program: it receives withdraw get'
run 1 conform --json "$models/bounded-buffer.c" ./buffer 2 2 1
out '"relation":"M <= CP"'

# ---- wrong programs ------------------------------------------------------------------------------------------------

# talk LABEL TAKES: a model in which A sends one message and B receives TAKES; C does nothing.
talk() {
    printf 'alts talk\ncomponent A\ncomponent B\ncomponent C\nport to_a of A\nport to_b of B\n'
    printf 'behaviour A states 2 initial 0\n0 -> 1 post to_b %s\nbehaviour B states %d initial 0\n' "$1" $(($2 + 1))
    for ((i = 0; i < $2; i++)); do printf '%d -> %d take to_b %s\n' "$i" $((i + 1)) "$1"; done
    printf 'behaviour C states 1 initial 0\n'
}
talk m 1 >"$dir/talk.alts"
conforms "$dir/talk.alts" ./wrong send 1 m
for way in '' --local; do
    # shellcheck disable=SC2086
    {
        run 1 conform $way "$dir/talk.alts" ./wrong send 2 m
        out 'M <= CP holds, M ~ CP fails'
        out 'the program continues where the model ends'
        run 1 conform $way "$dir/talk.alts" ./wrong send 1 n
        out 'M <= CP fails'
        out 'in the model: send to_b m to B'
        out 'in the program: it has send to_b n'
        run 1 conform $way "$dir/talk.alts" ./wrong short 1
        out 'in the program: it ends'
        run 75 conform $way "$dir/talk.alts" ./wrong crash
        out 'the program crashed or failed'
        run 75 conform $way "$dir/talk.alts" ./wrong fail
        out 'the program exited with code 3'
        run 75 conform $way "$dir/talk.alts" ./wrong leave
        run 74 conform $way --run-time 300 "$dir/talk.alts" ./wrong spin
        out 'the program does not terminate'
    }
done
talk m 2 >"$dir/waits.alts"
run 1 conform "$dir/waits.alts" ./wrong send 1 m
out 'the program ends where the model waits forever'
run 1 conform --local --thread B "$dir/waits.alts" ./wrong send 1 m
out 'the program ends where the model waits forever'
run 1 conform --local --thread B "$dir/talk.alts" ./wrong send 2 m
out 'the program waits forever where the model ends'

# A deadlock in both is not a difference.
sed 's/^0 -> 1 post .*/0 -> 1 take to_a m/' "$dir/talk.alts" >"$dir/deadlock.alts"
conforms "$dir/deadlock.alts" ./wrong deadlock
# Nor is a synchronous send without a receiver.
sed -e '/take px m/d' -e 's/^behaviour L3 .*/behaviour L3 states 2 initial 0/' "$models/figure3.alts" >"$dir/left.alts"
run 0 conform --local --thread L1 "$dir/left.alts" ./figure3
sed 's/pass px m/pass px n/' "$dir/left.alts" >"$dir/other.alts"
run 1 conform --local --thread L1 "$dir/other.alts" ./figure3
out 'in the model: synchronous send px n to L3'

# ---- random programs -----------------------------------------------------------------------------------------------

# relations: prints the verdicts on both relations.
relations() { grep -o '"at_least":"[a-z]*"\|"equivalent":"[a-z]*"' "$dir/out" | tr '\n' ' '; }

# Each program conforms to its own model. If one move of the model is changed, tests of the whole program and tests of
# its threads, which use different algorithms, have the same verdicts.
agreed=0
for n in $(seq 1 38) 159 215; do # 159: a thread waits for a shared queue
    ./scramble "$n" model >"$dir/random.alts"
    run 0 conform "$dir/random.alts" ./scramble "$n"
    run 0 conform --local "$dir/random.alts" ./scramble "$n"
    awk -v n="$n" '
        { line[NR] = $0 }
        / -> / { move[++moves] = NR }
        END {
            chosen = moves ? move[n * 7 % moves + 1] : 0
            for (i = 1; i <= NR; i++) {
                if (i == chosen && line[i] ~ / take /) continue
                if (i == chosen && n % 2) sub(/ a/, " b", line[i]) || sub(/ b/, " a", line[i])
                else if (i == chosen) sub(/ pass /, " post ", line[i]) || sub(/ post /, " pass ", line[i])
                print line[i]
            }
        }' "$dir/random.alts" >"$dir/changed.alts"
    "$ANTIPHON" conform --json "$dir/changed.alts" ./scramble "$n" >"$dir/out" 2>"$dir/err"
    whole=$(relations)
    "$ANTIPHON" conform --json --local "$dir/changed.alts" ./scramble "$n" >"$dir/out" 2>"$dir/err"
    title="conform --local (random program $n, its model changed)"
    check "verdicts differ: threads $(relations), whole program $whole" [ "$whole" = "$(relations)" ]
    case $whole in *fails*) agreed=$((agreed + 1)) ;; esac
done
title='conform (random programs)'
check "only $agreed of 40 changes were found" [ $agreed -ge 10 ]

# ---- several jobs --------------------------------------------------------------------------------------------------

for way in '' --local; do
    run 0 conform -j 3 $way tdme ./tdme
    out 'M <= CP holds, M ~ CP holds'
    run 1 conform -j 3 $way "$models/figure12.alts" ./figure12
    out 'in the program, it could have received instead: p2 m from L3'
    run 75 conform -j 3 $way "$dir/talk.alts" ./wrong crash
done
run 0 conform -j 2 --json dp-5 ./dp 5
out '"runs":30,"sequences":30,"tests":30'
run 0 conform -j 2 --json --local dme-2 ./dme 2
run 2 conform -j 0 tdme ./tdme

# ---- the page ------------------------------------------------------------------------------------------------------

# The page shows both sides, with the differing event and its race sets.
run 1 conform --report "$dir/page.html" "$models/figure12.alts" ./figure12
title='conform --report'
for text in 'CP &lt;= M fails' 'sequence 1, event 2 of L4' '>the model<' '>the program<' \
    'L4, event 2: could have received instead: nothing' 'L4, event 2: could have received instead: p2 m from L3:1'; do
    check "not on the page: $text" grep -q "$text" "$dir/page.html"
done
run 1 conform --local --report "$dir/page.html" "$models/bounded-buffer.c" ./buffer 2 2 1
check 'an event that the program does not have' grep -q 'B, event 2: the program receives withdraw get' "$dir/page.html"
run 0 conform --report "$dir/page.html" tdme ./tdme
check 'no verdict on the page' grep -q 'M ~ CP holds' "$dir/page.html"
run 4 conform --report "$dir/no/such/folder.html" tdme ./tdme
err 'cannot be written'

# ---- not certain ---------------------------------------------------------------------------------------------------

run 3 conform --limit 3 tdme ./tdme
out 'M <= CP is not certain, M ~ CP is not certain'
out 'not all: 3 sequences'
talk z 1 >"$dir/unseen.alts"
run 3 conform --local --thread B --captures 3 "$dir/unseen.alts" ./wrong send 1 m
out '1 not tested to the end: no message to_b z was seen'

# ---- mismatches and errors -----------------------------------------------------------------------------------------

run 76 conform tdme ./dp
err 'the model has a component U0, but the program has no thread of that name'
run 76 conform dp-2 ./dp 3
err 'the program has a thread P2, but the model has no component of that name'
sed 's/to_a of A/to_a of B/' "$dir/talk.alts" >"$dir/owner.alts"
run 76 conform "$dir/owner.alts" ./wrong
err 'port to_a belongs to B in the model, but to A in the program'
sed '/to_a/d' "$dir/talk.alts" >"$dir/port.alts"
run 76 conform "$dir/port.alts" ./wrong
err 'the program has a port to_a, but the model has none of that name'
sed 's/to_a of A/& unordered/' "$dir/talk.alts" >"$dir/medium.alts"
run 0 conform "$dir/medium.alts" ./wrong
run 76 conform --local "$dir/medium.alts" ./wrong
err 'port to_a is unordered with capacity 0 in the model, fifo-pair'
talk a-label-that-no-program-could-have-sent 1 >"$dir/long.alts"
run 76 conform "$dir/long.alts" ./wrong
err '1 to 31 printable characters'

run 70 conform dp-3 ./no-such-program
run 30 conform no-such-model ./dp
run 2 conform dp-3
err 'conform: too few operands'
run 2 conform --thread P0 dp-3 ./dp
err '--thread: only with --local'
run 2 conform --local --thread P7 dp-3 ./dp
err 'dp-3 has no component of that name'
run 2 conform --limit 0 dp-3 ./dp
err '--limit 0: not a whole number of at least 1'
run 2 conform --frob dp-3 ./dp
err '--frob: no such option'
run 2 conform --limit
err '--limit: N is missing'
run 0 conform --help
out 'usage: antiphon conform'
"$ANTIPHON" conform dp-2 ./dp 2 >/dev/full 2>"$dir/err"
code=$?
check "exit code $code for a full disk" [ $code -eq 4 ]

finish
