#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# networks.sh - check --env ./mine.c: each example explains a trace that tcp rejects, or rejects one that tcp explains;
# the named networks decide as their programs do; serve --env ./mine.c behaves as the network; errors of networks.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
examples=$ANTIPHON_ROOT/examples/networks
greeter=$ANTIPHON_ROOT/examples/connections/greeter.c

# trace NAME LINE...
trace() {
    local name=$1
    shift
    printf '%s\n' "$@" >"$dir/$name"
}
write() { echo "{\"conn\":$1,\"send\":{\"f\":\"write\",\"value\":$2}}"; }
read_() { echo "{\"conn\":$1,\"send\":{\"f\":\"read\"}}"; }
recv() { echo "{\"conn\":$1,\"recv\":$2}"; }

# Two writes on one connection, in the other order.
trace overtaken "$(write 1 1)" "$(write 1 2)" "$(recv 1 '"ok"')" "$(recv 1 '"ok"')" "$(read_ 2)" "$(recv 2 1)"
# Two writes on two connections, in the other order.
trace crossed "$(write 1 1)" "$(write 2 2)" "$(recv 1 '"ok"')" "$(recv 2 '"ok"')" "$(read_ 2)" "$(recv 2 1)"
# A write that arrives again after a later one.
trace repeated "$(write 1 1)" "$(recv 1 '"ok"')" "$(write 2 2)" "$(recv 2 '"ok"')" "$(read_ 3)" "$(recv 3 2)" \
    "$(read_ 3)" "$(recv 3 1)"
# A third client is closed at once, or greeted.
trace refused '{"conn":1,"open":true}' "$(recv 1 '"hello"')" '{"conn":2,"open":true}' "$(recv 2 '"hello"')" \
    '{"conn":3,"open":true}' '{"conn":3,"closed":true}'
trace greeted '{"conn":1,"open":true}' "$(recv 1 '"hello"')" '{"conn":2,"open":true}' "$(recv 2 '"hello"')" \
    '{"conn":3,"open":true}' "$(recv 3 '"hello"')"

# The greeting is overtaken by the server's close, so the client does not see it.
trace ungreeted '{"conn":1,"open":true}' '{"conn":1,"send":"quit"}' "$(recv 1 '"bye"')" '{"conn":1,"closed":true}'
# The server closes with an unread request, so its system resets the connection, over any network.
trace reset '{"conn":1,"open":true}' "$(recv 1 '"hello"')" '{"conn":1,"send":"quit"}' '{"conn":1,"send":"ping"}' \
    '{"conn":1,"reset":true}'

# judge CODE NETWORK MODEL TRACE
judge() { local trace=$4; [ -e "$trace" ] || trace=$dir/$4; run "$1" check --env "$2" "$3" "$trace"; }

judge 0 "$examples/datagrams.c" register overtaken
judge 1 tcp register overtaken
judge 1 "$examples/one-upstream.c" register crossed
judge 0 tcp register crossed
judge 0 "$examples/duplicate.c" register repeated
judge 1 tcp register repeated
judge 0 "$examples/two-clients.c" "$greeter" refused
judge 0 "$examples/datagrams.c" "$greeter" reset
judge 0 "$examples/one-upstream.c" "$greeter" reset
judge 0 tcp "$greeter" reset
trace twice '{"conn":1,"open":true}' "$(recv 1 '"hello"')" '{"conn":1,"open":true}'
judge 14 "$examples/datagrams.c" "$greeter" twice
err 'twice:3: connection 1: opened twice'
# A client aborts: its latest requests may be lost, but not the first alone.
cat >"$dir/sum.c" <<'END'
#include <antiphon/model.h>
static aph_value zero(const aph_model *m) { (void)m; return aph_int(0); }
static void step(aph *m, aph_value *sum)
{
    aph_request q = aph_recv(m);
    if (aph_kind_of(q.message) == APH_INT)
        *sum = aph_int(aph_int_of(*sum) + aph_int_of(q.message));
    else if (aph_str_is(q.message, "get"))
        aph_send(m, q.from, *sum);
}
static const aph_model sum = {
    .version = APH_MODEL_VERSION, .name = "sum", .step = step, .initial = zero, .connections = true,
};
APH_MODEL(sum)
END
for got in '0 0' '0 1' '0 3' '1 2'; do
    trace aborted '{"conn":1,"open":true}' '{"conn":1,"send":1}' '{"conn":1,"send":2}' '{"conn":1,"abort":true}' \
        '{"conn":2,"open":true}' '{"conn":2,"send":"get"}' "$(recv 2 "${got#* }")"
    judge "${got% *}" "$examples/one-upstream.c" "$dir/sum.c" aborted
done
judge 1 tcp "$greeter" refused
judge 1 "$examples/two-clients.c" "$greeter" greeted
out 'no explanation for this response: "hello", to client 3'
judge 0 tcp "$greeter" greeted
judge 0 "$examples/datagrams.c" "$greeter" ungreeted
judge 1 tcp "$greeter" ungreeted

# The derivation over a named network agrees with the oracle.
for network in tcp tcp:1 sync udp; do
    for t in overtaken crossed repeated; do
        "$ANTIPHON" check --env $network register "$dir/$t" >"$dir/out" 2>&1
        code=$?
        run $code check --derive --env $network register "$dir/$t"
    done
done
# The named networks can be loaded from their files, too, and decide alike.
for network in tcp tcp_buffered sync udp; do
    for t in overtaken crossed repeated; do
        name=${network/_buffered/:1}
        "$ANTIPHON" check --derive --env "$name" register "$dir/$t" >"$dir/out" 2>&1
        judge $? "$ANTIPHON_ROOT/models/networks/$network.c" register $t
    done
done
cp "$ANTIPHON_ROOT"/models/networks/*.[ch] "$dir"
sed 's/take_way(m, .*;/aph_never(m);/' "$ANTIPHON_ROOT/models/networks/tcp.c" >"$dir/tcp.c"
judge 1 "$dir/tcp.c" register crossed
out 'it never delivers a packet'
for history in five-clients.log stale-read.log; do
    "$ANTIPHON" check register "$ANTIPHON_ROOT/examples/histories/$history" >"$dir/out" 2>&1
    code=$?
    run $code check --derive register "$ANTIPHON_ROOT/examples/histories/$history"
done

# A live server is judged over the network, too; a mutant is found, shrunk, and found again by its script.
cd "$dir" || exit 1
serve="$ANTIPHON serve kv --port {port}"
run 0 test kv --env "$examples/datagrams.c" --run "$serve" --messages 600 --seed 1
run 1 test kv --env "$examples/datagrams.c" --run "$serve --mutate 1" --time 60 --shrink-time 20 --seed 1
out 'the model cannot explain the observations'
out 'The model allows instead'
title='replay over a network'
for script in .antiphon/*.script; do run 1 replay --run "$serve --mutate 1" "$script"; done
# Runs over a network are narrow and short, so that they can be judged.
run 0 test kv --env "$examples/duplicate.c" --run "$serve" --messages 900 --seed 1
check 'the runs are long' [ "$(sed -n 's/.* in \([0-9]*\) runs.*/\1/p' "$dir/out")" -ge 6 ]
check 'there are many connections' [ "$(grep -o '"conn":[0-9]*' .antiphon/trace.jsonl | sort -u | wc -l)" -le 2 ]
# A server that does not limit its clients passes with two clients, and fails with more.
serve="$ANTIPHON serve $greeter --port {port}"
run 0 test "$greeter" --env "$examples/two-clients.c" --connections 2 --run "$serve" --messages 60 --seed 3
run 1 test "$greeter" --env "$examples/two-clients.c" --connections 4 --run "$serve" --time 60 --shrink-time 5 --seed 3
out 'expected closes its side'
run 31 test kv --env "$dir/missing.c" --run "$serve" --messages 10

# A model that is served behind a network passes over it. Over tcp it fails, because the network does what tcp does not.
# behind CONNECTIONS NETWORK MODEL MESSAGES
behind() {
    run 0 test "$3" --env "$examples/$2.c" --connections "$1" --messages "$4" --seed 5 \
        --run "$ANTIPHON serve $3 --env $examples/$2.c --port {port} --seed 5"
}
behind 2 datagrams kv 60
behind 2 duplicate kv 60
behind 1 one-upstream kv 60
behind 2 two-clients kv 60
behind 1 datagrams "$greeter" 12
behind 1 duplicate "$greeter" 12
behind 1 one-upstream "$greeter" 12
behind 2 two-clients "$greeter" 12
for network in datagrams duplicate; do
    run 1 test kv --time 60 --no-shrink --seed 5 --run "$ANTIPHON serve kv --env $examples/$network.c --port {port}"
done
run 1 test "$greeter" --connections 4 --time 60 --no-shrink --seed 5 \
    --run "$ANTIPHON serve $greeter --env $examples/two-clients.c --port {port}"
out 'closes its side'

# network NAME STATEMENT: a network with this step.
network() {
    cat >"$dir/$1.c" <<END
#include <antiphon/network.h>
static void step(aph *m, aph_value *state)
{
    (void)state;
    $2
}
static const aph_network network = {.version = ${3:-APH_NETWORK_VERSION}, .name = "$1", .step = step};
APH_NETWORK(network)
END
}
network mute '*state = aph_push(*state, aph_packet_value(aph_absorb(m)));'
judge 1 "$dir/mute.c" register crossed
out 'network mute: it never delivers a packet; call aph_emit'
trace unanswered "$(write 1 1)"
judge 7 "$dir/mute.c" register unanswered
out 'network mute: it delivers no packet'
network picks 'aph_pick(m, 2);'
judge 39 "$dir/picks.c" register crossed
err 'network picks: the step never absorbs a packet; call aph_absorb'
network idle '(void)m;'
judge 39 "$dir/idle.c" register crossed
err 'network idle: the step ends again and again without an event'
network endless 'for (volatile int i = 1; i;) aph_data(m);'
judge 39 "$dir/endless.c" register crossed
err 'network endless: a step does not end'
network segv 'aph_absorb(m); *(volatile int *)0 = 1;'
judge 38 "$dir/segv.c" register crossed
err 'network segv: invalid memory access'
# A network must not deliver on a connection that does not exist, and it answers for requests that it makes up.
network astray 'aph_packet p = aph_absorb(m); p.connection = -77; aph_emit(m, p);'
network inventor 'aph_emit(m, (aph_packet){.to_server = true, .connection = 1, .message = aph_str("x")});'
network late 'aph_packet p = aph_absorb(m); if (!p.to_server) p.connection += 1000; aph_emit(m, p);'
wrong='which does not exist'
made='network inventor: it delivers the request "x", which no client has sent and the model'
for name in astray late inventor; do
    [ $name = inventor ] && wrong=$made
    judge 42 "$dir/$name.c" kv "$ANTIPHON_ROOT/examples/kv-good.jsonl"
    err "$wrong"
    run 42 test kv --env "$dir/$name.c" --messages 60 --run "$ANTIPHON serve kv --port {port}"
    err "$wrong"
    run 42 refine kv kv --clients 1 --messages 1 --random 0 --env "$dir/$name.c"
    err "$wrong"
done
# A network that copies packets without bound: few copies are tried first, and the rest ends with a cause.
network copies 'aph_value old = aph_packets_oldest(*state);
    size_t n = aph_has_outgoing(m) ? 0 : aph_count(old), i = aph_pick(m, n + 1), at = 0;
    if (i < n) {
        at = (size_t)aph_int_of(aph_at(old, i));
        aph_emit(m, aph_packet_of(aph_at(*state, at)));
    }
    if (i < n && aph_pick(m, 2) == 0)
        *state = aph_packets_remove(*state, at);
    if (i == n)
        *state = aph_push(*state, aph_packet_value(aph_absorb(m)));'
judge 0 "$dir/copies.c" "$ANTIPHON_ROOT/examples/kv.c" "$ANTIPHON_ROOT/examples/kv-good.jsonl"
trace wrong "$(write 1 1)" "$(recv 1 2)"
judge 3 "$dir/copies.c" register wrong
out 'network copies: it copies packets without bound'
trace wrong2 "$(write 1 1)" "$(write 2 2)" "$(recv 1 '"ok"')" "$(recv 2 3)"
run 3 check --env "$dir/copies.c" --branches 100000 register "$dir/wrong2"
out 'network copies: more than 100000 branches; it may copy packets without bound'
network floods 'aph_emit(m, (aph_packet){.to_server = true, .connection = 1, .message = aph_record("f", aph_str("read"))});'
judge 39 "$dir/floods.c" register crossed
err 'network floods: it never absorbs a packet; call aph_absorb'
# A network that responds itself: the response to a lost request is not observed.
network busy 'aph_packet p = aph_absorb(m); p.to_server = false; p.message = aph_str("busy"); aph_emit(m, p);'
trace given-up "$(write 1 1)" '{"conn":1,"lost":true}' "$(write 2 1)" "$(recv 2 '"busy"')"
judge 0 "$dir/busy.c" register given-up
network receives 'aph_recv(m);'
judge 42 "$dir/receives.c" register crossed
err 'aph_recv: only for models of servers; a network calls aph_absorb and aph_emit'
# Behind such a network, the server ends.
for seed in 1 2 3 4; do run 39 serve kv --env "$dir/picks.c" --seed $seed; done
run 39 serve kv --env "$dir/idle.c"
err 'network idle: the step ends again and again without an event'
run 36 serve kv --env "$ANTIPHON_ROOT/examples/kv.c"
err 'no network, but a model'
run 31 serve kv --env "$dir/missing.c"
run 2 serve kv --env wifi
err 'not one of tcp, sync, udp, or a file'
run 2 serve kv --env "$examples/datagrams.c" --loss 5
run 2 serve "$ANTIPHON_ROOT/examples/relay.c" --calls 127.0.0.1:1 --env "$examples/datagrams.c"
err 'relay: calls other servers; --env'
network none 'aph_pick(m, 0);'
judge 42 "$dir/none.c" register crossed
err 'aph_pick(0)'
network newer 'aph_absorb(m);' 2
judge 37 "$dir/newer.c" register crossed
err 'written for network version 2, not 1'
judge 36 "$ANTIPHON_ROOT/examples/kv.c" register crossed
err 'no network, but a model'
judge 31 "$dir/missing.c" register crossed
judge 2 wifi register crossed
run 36 check "$examples/datagrams.c" "$dir/crossed"
run 2 check --explain --derive register "$dir/crossed"
run 3 check --env "$examples/datagrams.c" --branches 3 register "$dir/crossed"
out 'network datagrams: more than 3 branches'

# A model that absorbs.
cat >"$dir/model.c" <<'END'
#include <antiphon/network.h>
static void step(aph *m, aph_value *state) { (void)state; aph_absorb(m); }
static const aph_model model = {.version = APH_MODEL_VERSION, .name = "absorber", .step = step};
APH_MODEL(model)
END
run 38 check "$dir/model.c" "$dir/crossed"
run 42 check --derive "$dir/model.c" "$dir/crossed"
err 'aph_absorb: only for networks'
finish
