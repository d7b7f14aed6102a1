#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# mpirun.sh - antiphon reach in several processes: the same sequences, properties, checkpoints, signals, and errors.
. "$ANTIPHON_ROOT/tests/cli/lib.sh"

if ! command -v mpirun >/dev/null || [ ! -e "$(dirname "$ANTIPHON")/libantiphon-mpi.so" ]; then
    echo 'MPI is not installed'
    exit 77
fi
# Allow root, and more processes than processors. MPI itself leaks memory.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_plm=isolated
export ASAN_OPTIONS=detect_leaks=0

# together RANKS CODE ARGUMENT...: like run, in RANKS processes.
together() {
    local ranks=$1 expected=$2
    shift 2
    title="$* in $ranks processes"
    timeout $hang_s mpirun -n "$ranks" "$ANTIPHON" "$@" >"$dir/out" 2>"$dir/err" </dev/null
    code=$?
    if [ $code -ne "$expected" ]; then fail "exit code $code, not $expected"; fi
}

# ---- the same as one process -----------------------------------------------------------------------------------------

run 0 reach --list --races dme-3
sed 's/"sequence":[0-9]*//' "$dir/out" | sort >"$dir/one"
together 3 0 reach --list --races -j 2 dme-3
sed 's/"sequence":[0-9]*//' "$dir/out" | sort >"$dir/three"
check 'three processes find other sequences' cmp -s "$dir/one" "$dir/three"
check 'the numbers are not consecutive' test "$(sed 's/{"sequence":\([0-9]*\),.*/\1/' "$dir/out" | sort -n | uniq | tail -n 1)" -eq 4032
together 2 0 reach --json --states dp-4
out '"po":14,"deadlocks":0,'
out '"states":322,'
check 'more than one process prints' test "$(wc -l <"$dir/out")" -eq 1

# ---- properties ------------------------------------------------------------------------------------------------------

together 2 0 reach --exclusive enter --deadlock-free dme-3
out 'no sequence fails'
cat >"$dir/careless.alts" <<'END'
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
END
run 1 reach --deadlock-free "$dir/careless.alts"
together 3 1 reach --deadlock-free "$dir/careless.alts"
out 'fails: it ends in a deadlock: component A waits in state 2, component B waits in state 2'
check 'the sequence is not printed once' test "$(grep -c '{"sequence":1,"deadlock":true' "$dir/err")" -eq 1

# ---- checkpoints -----------------------------------------------------------------------------------------------------

rm -f "$dir/all"
options=
for ranks in 2 3 2 3 2 3 2 3 2; do
    # shellcheck disable=SC2086 # nothing, or one word
    timeout $hang_s mpirun -n $ranks "$ANTIPHON" reach --list --limit 600 --checkpoint "$dir/left" $options dme-3 \
        >>"$dir/all" 2>"$dir/err" </dev/null
    code=$?
    options=--resume
    [ $code -eq 3 ] || break
done
title='reach --limit, resumed by other numbers of processes'
check 'the search does not end' test $code -eq 0
check 'other sequences after stopping and resuming' test "$(sed 's/"sequence":[0-9]*//' "$dir/all" | sort -u | wc -l)" -eq 4032
check 'a sequence was found twice' test "$(wc -l <"$dir/all")" -eq 4032
run 0 reach --checkpoint "$dir/left" --resume --json dme-3
out '"po":4032,'
together 2 66 reach --checkpoint "$dir/left" --resume dp-3
err 'belongs to another model'

# ---- signals ---------------------------------------------------------------------------------------------------------

# begin ARGUMENT...: starts the search in the background and waits for the first checkpoint.
begin() {
    rm -f "$dir/left"
    title="$*"
    mpirun -n 2 "$ANTIPHON" "$@" >"$dir/out" 2>"$dir/err" </dev/null &
    job=$!
    check 'no checkpoint is written' wait_until [ -s "$dir/left" ]
}

# If one process is interrupted, all stop, and the checkpoint has the remaining work.
begin reach dme-4 --checkpoint "$dir/left" --every 1
kill -INT "$(pgrep -P "$job" -x antiphon | head -n 1)"
wait "$job"
code=$?
check 'the exit code of an interrupt is not 5' test $code -eq 5
out 'so far'
run 3 reach dme-4 --checkpoint "$dir/left" --resume --limit 1
out 'so far'

# If one process is killed, all end, and the last checkpoint is complete.
begin reach dme-4 --checkpoint "$dir/left" --every 1
kill -KILL "$(pgrep -P "$job" -x antiphon | tail -n 1)"
wait "$job"
code=$?
check 'the exit code is 0 although a process was killed' test $code -ne 0
err 'rank'
run 3 reach dme-4 --checkpoint "$dir/left" --resume --limit 1

# ---- errors ----------------------------------------------------------------------------------------------------------

together 2 30 reach no-such-program
check 'not exactly one message' test "$(grep -c 'no such program' "$dir/err")" -eq 1
together 2 2 reach dp-3 --exclusive nothing
check 'not exactly one message' test "$(grep -c 'no local event of that name' "$dir/err")" -eq 1
together 2 2 reach dp-3 --draw 1
err 'not with mpirun'

# One process has another model of the same name, as on another machine.
mkdir "$dir/here" "$dir/there"
cp "$dir/careless.alts" "$dir/here/m.alts"
sed 's/take b token/note out/' "$dir/careless.alts" >"$dir/there/m.alts"
title='reach m.alts, which differs'
timeout $hang_s mpirun -n 1 -wdir "$dir/here" "$ANTIPHON" reach m.alts : -n 1 -wdir "$dir/there" "$ANTIPHON" reach m.alts \
    >"$dir/out" 2>"$dir/err" </dev/null
code=$?
check 'the other model is accepted' test $code -eq 67
err 'rank 1 has a different model'

# The MPI library is missing.
mkdir "$dir/alone"
cp "$ANTIPHON" "$dir/alone/antiphon"
if ! ldconfig -p | grep -q libantiphon-mpi; then
    title='reach without libantiphon-mpi'
    # LD_LIBRARY_PATH may contain the build folder.
    env -u LD_LIBRARY_PATH timeout $hang_s mpirun -n 2 "$dir/alone/antiphon" reach dp-3 >"$dir/out" 2>"$dir/err" </dev/null
    code=$?
    check 'the search runs without the library' test $code -eq 67
    err 'libantiphon-mpi.so cannot be loaded'
fi
run 0 reach dp-3
finish
