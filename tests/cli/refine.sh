#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# refine.sh - antiphon refine: models that refine another, counterexamples for others, and models that cannot be compared.
. "$ANTIPHON_ROOT/tests/cli/lib.sh"

# ---- the implementation of the swap server ---------------------------------------------------------------------------

run 0 refine --random 100 --messages 1 --chunks 2 swap-impl swap
out 'swap-impl refines swap'
out 'different traces'
out 'random schedules'
quiet_err
run 0 refine --random 100 --messages 1 --chunks 2 swap-impl swap-connections
out 'swap-impl refines swap-connections'
quiet_err

# Every mutant has a counterexample, which antiphon check rejects, unless only the close of a connection is wrong.
variants='shared-request shared-answer early echo late-keep zero rewind misdirected accept-dirty accept-resets close-early
    close-completes close-keeps'
n=0
for variant in $variants; do
    n=$((n + 1))
    for spec in swap swap-connections; do
        run 1 refine --random 0 --messages 1 --mutate "$variant" --trace "$dir/trace.jsonl" swap-impl $spec
        out "does not refine $spec"
        out 'opens'
        run 1 refine --random 0 --messages 1 --mutate $n --json swap-impl $spec
        out "\"mutant\":\"$variant\""
        out '"verdict":"fail"'
        out '"trace":[{"conn":1,"open":true}'
        "$ANTIPHON" check $spec "$dir/trace.jsonl" >"$dir/out" 2>"$dir/err"
        case $? in
        1 | 14) ;; # not explained, or a response without a request
        *) fail "check $spec does not reject the counterexample of $variant" ;;
        esac
    done
done

# A close in the middle of a response; the rest of a response for another client.
run 1 refine --random 0 --mutate close-early swap-impl swap-connections
out 'the input ends in the middle of a message'
out 'closes its side'
run 1 refine --random 0 --mutate close-keeps --messages 1 swap-impl swap-connections
out 'resets'
# Without connections, the specification allows a close only after the client's.
run 1 refine --random 0 --mutate hangs-up swap-connections swap
out 'the server closes connection 1, which its client has not closed'

# Random schedules also find a counterexample; the same seed gives the same result.
run 1 refine --clients 1 --messages 1 --mutate late-keep --seed 3 --json swap-impl swap
sed 's/"milliseconds":[0-9]*//' "$dir/out" >"$dir/first"
run 1 refine --clients 1 --messages 1 --mutate late-keep --seed 3 --json swap-impl swap
sed 's/"milliseconds":[0-9]*//' "$dir/out" >"$dir/second"
check 'the same seed gives another result' cmp -s "$dir/first" "$dir/second"

# The reductions change the number of states, not the result.
run 0 refine --random 0 --clients 1 --messages 1 --json swap-impl swap
reduced=$(sed 's/.*"states":\([0-9]*\).*/\1/' "$dir/out")
run 0 refine --random 0 --clients 1 --messages 1 --json --unreduced swap-impl swap
unreduced=$(sed 's/.*"states":\([0-9]*\).*/\1/' "$dir/out")
check "$reduced states with reductions, $unreduced without" [ "$reduced" -lt $((unreduced / 2)) ]

# ---- models with the same messages -----------------------------------------------------------------------------------

for model in swap register kv queue etag-kv; do
    run 0 refine --random 50 $model $model
    out "$model refines $model"
done

# Servers that open and close connections.
for model in greeter limit chat login; do
    run 0 refine --random 20 --messages 1 "$ANTIPHON_ROOT/examples/connections/$model.c" \
        "$ANTIPHON_ROOT/examples/connections/$model.c"
    out "$model refines $model"
done
# wrong NAME MODEL PATTERN REPLACEMENT: a variant of the model does not refine it.
wrong() {
    sed "s/$3/$4/" "$ANTIPHON_ROOT/examples/connections/$2.c" >"$dir/$1.c"
    check "$1 equals $2" test "$(cmp -s "$dir/$1.c" "$ANTIPHON_ROOT/examples/connections/$2.c"; echo $?)" -eq 1
    run 1 refine --random 0 "$dir/$1.c" "$ANTIPHON_ROOT/examples/connections/$2.c"
    out "$2 does not refine $2"
}
wrong impolite greeter '"bye"' '"hello"'
wrong forgets-to-announce chat '"left"' '"joined"'
wrong counts-closed limit 'q.message == APH_CLOSED || q.message == APH_BROKEN' 'q.message == APH_BROKEN'

# The other direction: the implementation receives bytes in chunks of three.
run 0 refine --random 0 --messages 3 swap swap-impl
run 7 refine --random 10 --messages 2 swap swap-impl
out 'no schedule has a response to every request'

cat >"$dir/echo.c" <<'MODEL'
#include <antiphon/model.h>
static void step(aph *m, aph_value *state)
{
    (void)state;
    aph_request q = aph_recv(m);
    aph_send(m, q.from, q.message);
}
static const aph_codec codec = APH_CODEC_FIXED(3);
static const aph_model echo = {.version = APH_MODEL_VERSION, .name = "echo", .step = step, .codec = &codec};
APH_MODEL(echo)
MODEL
run 1 refine "$dir/echo.c" swap
out 'echo does not refine swap'
out 'expected "000"'

sed 's/aph_send.*/(void)q;/; s/"echo"/"silent"/' "$dir/echo.c" >"$dir/silent.c"
run 7 refine "$dir/silent.c" swap
out 'no schedule has a response to every request'

# ---- networks of users -----------------------------------------------------------------------------------------------

duplicate=$ANTIPHON_ROOT/examples/networks/duplicate.c
run 0 refine --env "$duplicate" --messages 1 --random 0 swap swap
out 'swap refines swap'
run 0 refine --env "$duplicate" --clients 1 --messages 1 --random 0 swap-connections swap-connections
out 'swap-connections refines swap-connections'
run 1 refine --env "$duplicate" --messages 1 --random 0 --mutate echo swap swap
out 'expected "000"'
run 1 refine --env "$duplicate" --clients 1 --messages 1 --random 0 --mutate hangs-up swap-connections swap-connections
out 'closes its side'
# All orders of two packets: over this network, the first response may be that to the later request.
cat >"$dir/reorder.c" <<'NETWORK'
#include <antiphon/network.h>
static void step(aph *m, aph_value *held)
{
    size_t n = aph_count(*held), at = aph_has_outgoing(m) ? n : aph_pick(m, n + 1);
    if (at == n) {
        *held = aph_push(*held, aph_packet_value(aph_absorb(m)));
        return;
    }
    aph_packet p = aph_packet_of(aph_at(*held, at));
    aph_value left = aph_slice(*held, 0, at);
    for (size_t i = at + 1; i < n; i++)
        left = aph_push(left, aph_at(*held, i));
    *held = left;
    aph_emit(m, p);
}
static const aph_network reorder = {.version = APH_NETWORK_VERSION, .name = "reorder", .step = step};
APH_NETWORK(reorder)
NETWORK
cat >"$dir/backwards.c" <<'MODEL'
#include <antiphon/model.h>
static void step(aph *m, aph_value *state)
{
    (void)state;
    aph_request a = aph_recv(m), b = aph_recv(m);
    aph_send(m, b.from, b.message);
    aph_send(m, a.from, a.message);
}
static const aph_model echo = {.version = APH_MODEL_VERSION, .name = "backwards", .step = step, .shape = "[1, 2, 3]"};
APH_MODEL(echo)
MODEL
sed 's/= aph_recv(m), b.*/= aph_recv(m);/; /b.from/d; s/"backwards"/"forwards"/' "$dir/backwards.c" >"$dir/forwards.c"
run 1 refine --clients 1 --random 0 "$dir/backwards.c" "$dir/forwards.c"
run 0 refine --clients 1 --random 0 --env "$dir/reorder.c" "$dir/backwards.c" "$dir/forwards.c"
run 2 refine --env udp swap swap
err '--env udp: not tcp, or a file'
cat >"$dir/idle.c" <<'NETWORK'
#include <antiphon/network.h>
static void step(aph *m, aph_value *state) { (void)m, (void)state; }
static const aph_network idle = {.version = APH_NETWORK_VERSION, .name = "idle", .step = step};
APH_NETWORK(idle)
NETWORK
run 39 refine --env "$dir/idle.c" swap swap
err 'network idle: its steps end repeatedly without an event; call aph_absorb'

# ---- incomparable models ---------------------------------------------------------------------------------------------

run 21 refine queue kv
err 'queue cannot be compared with kv'
run 2 refine swap
err 'too few operands'
run 2 refine --clients 0 swap swap
err '--clients 0: not a whole number from 1'
run 2 refine --frob swap swap
err '--frob: no such option'
run 2 refine --mutate 14 swap-impl swap
err '1 to 13'
run 30 refine swap no-such

# ---- limits ----------------------------------------------------------------------------------------------------------

run 3 refine --clients 4 --messages 6 --time 0.3 swap-impl swap
out 'the time limit was reached'
out '  reached '
out 'fewer --clients or --messages need fewer states'
title='refine, interrupted'
"$ANTIPHON" refine --clients 4 --messages 6 swap-impl swap >"$dir/out" 2>"$dir/err" &
check 'it catches SIGINT' wait_until catches_sigint $!
kill -INT $!
wait $!
check "exit code 5" [ $? -eq 5 ]
out 'not known to refine swap: stopped'
run 4 refine --random 0 --mutate echo --trace "$dir/no/such/folder" swap-impl swap
err 'No such file'
run 0 refine --help
out 'usage: antiphon refine'

finish
