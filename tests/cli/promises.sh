#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# promises.sh - false promises: no verdict that depends on one is reported; the message has the promise and two requests.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

# model NAME PROMISES: registers by key, and a total of all writes. "get" and "put" use the register of a key, "total"
# returns the total, "swap" returns the register and writes it.
model() {
    cat >"$dir/$1.c" <<END
#include <antiphon/model.h>
static const char shape[] = APH_SHAPE([
    {"f": {"one of": ["put", "swap"]}, "key": {"one of": ["x", "y"]}, "value": {"one of": [1, 2]}},
    {"f": {"one of": ["get", "total"]}, "key": {"one of": ["x", "y"]}}
]);
static bool is(aph_value q, const char *f) { return aph_str_is(aph_field(q, "f"), f); }
static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value key = aph_field(q.message, "key"), old = aph_get(*state, key), total = aph_field(*state, "total");
    if (!total)
        total = aph_int(0);
    if (is(q.message, "put") || is(q.message, "swap"))
        *state = aph_put(aph_set(*state, key, aph_field(q.message, "value")), "total", aph_add(total, aph_int(1)));
    aph_send(m, q.from, is(q.message, "put") ? aph_str("ok") : is(q.message, "total") ? total : old);
}
static aph_value part(aph_value q) { return aph_field(q, "key"); }
static bool commute(aph_value a, aph_value b) { return is(a, "put") && is(b, "put"); }
static bool reads(aph_value q, aph_value answer) { return answer != aph_str("ok"); }
static void late(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    if (is(q.message, "put"))
        *state = aph_field(q.message, "value");
    aph_send(m, q.from, is(q.message, "put") ? aph_str("ok") : *state);
}
static const aph_model model = {.version = APH_MODEL_VERSION, .name = "$1", .step = step, .shape = shape, $2};
APH_MODEL(model)
__attribute__((unused)) static const void *const all[] = {(void *)part, (void *)commute, (void *)reads, (void *)late};
END
}
model honest '.rpc = true'
model parts '.rpc = true, .part = part'
model commutes '.rpc = true, .commute = commute'
model reading '.rpc = true, .reads = reads'
model eager '.step = late, .eager = true'
model patient '.step = late'

# operations FILE CONNECTION REQUEST RESPONSE...: one after another.
operations() {
    local file=$1
    shift
    : >"$dir/$file"
    while [ $# -gt 0 ]; do
        printf '%s\n' "{\"conn\":$1,\"send\":$2}" "{\"conn\":$1,\"recv\":$3}" >>"$dir/$file"
        shift 3
    done
}

# The total is shared by all keys.
operations total-right 1 '{"f":"put","key":"x","value":1}' '"ok"' 2 '{"f":"total","key":"y"}' 1
operations total-wrong 1 '{"f":"put","key":"x","value":1}' '"ok"' 2 '{"f":"total","key":"y"}' 0
run 0 check "$dir/honest.c" "$dir/total-right"
run 1 check "$dir/honest.c" "$dir/total-wrong"
for trace in total-right total-wrong; do
    run 41 check "$dir/parts.c" "$dir/$trace"
    err 'the promise .part is false'
    err '{"f":"total","key":"y"} has other responses after {"f":"put","key":"x","value":1}'
done
run 0 check --ignore-promises "$dir/parts.c" "$dir/total-right"
run 1 check --ignore-promises "$dir/parts.c" "$dir/total-wrong"

# Only the last requests of a long pass show it.
for ((i = 0; i < 200; i++)); do
    printf '%s\n' '{"conn":1,"send":{"f":"get","key":"x"}}' '{"conn":1,"recv":null}'
done >"$dir/long"
cat "$dir/total-wrong" >>"$dir/long"
run 1 check "$dir/honest.c" "$dir/long"
run 41 check "$dir/parts.c" "$dir/long"
err '{"f":"total","key":"y"} has other responses after {"f":"put","key":"x","value":1}'

# The requests show it only after the choice that the response of the first one shows.
cat >"$dir/chosen.c" <<'END'
#include <antiphon/model.h>
static bool is(aph_value q, const char *f) { return aph_str_is(aph_field(q, "f"), f); }
static void step(aph *m, aph_value *counts)
{
    aph_request q = aph_recv(m);
    if (is(q.message, "choose")) {
        bool yes = aph_either(m, "do not count", "count") == 1;
        *counts = aph_put(*counts, "counts", aph_bool(yes));
        aph_send(m, q.from, aph_bool(yes));
        return;
    }
    aph_value total = aph_field(*counts, "total");
    if (is(q.message, "put") && aph_field(*counts, "counts") == aph_bool(true))
        *counts = aph_put(*counts, "total", aph_int(1));
    aph_send(m, q.from, is(q.message, "put") ? aph_str("ok") : total);
}
static aph_value part(aph_value q) { return is(q, "total") ? aph_field(q, "key") : aph_int(0); }
static const aph_model chosen = {.version = APH_MODEL_VERSION, .name = "chosen", .step = step, .rpc = true, .part = part};
APH_MODEL(chosen)
END
operations chosen 1 '{"f":"choose"}' true 1 '{"f":"put"}' '"ok"' 2 '{"f":"total","key":"y"}' null
run 41 check "$dir/chosen.c" "$dir/chosen"
err '{"f":"total","key":"y"} has other responses after {"f":"put"}'

# Two concurrent writes of a key, in the order against that of their responses.
printf '%s\n' '{"conn":1,"send":{"f":"put","key":"x","value":1}}' '{"conn":2,"send":{"f":"put","key":"x","value":2}}' \
    '{"conn":1,"recv":"ok"}' '{"conn":2,"recv":"ok"}' '{"conn":3,"send":{"f":"get","key":"x"}}' '{"conn":3,"recv":1}' \
    >"$dir/orders"
run 0 check "$dir/honest.c" "$dir/orders"
run 41 check "$dir/commutes.c" "$dir/orders"
err 'the promise .commute is false'
err '{"f":"put","key":"x","value":'

# A swap that is promised to be a read.
operations swap 1 '{"f":"swap","key":"x","value":1}' null 2 '{"f":"get","key":"x"}' 1
run 0 check "$dir/honest.c" "$dir/swap"
run 41 check "$dir/reading.c" "$dir/swap"
err read
run 0 check --ignore-promises "$dir/reading.c" "$dir/swap"

# A request that must be taken late.
printf '%s\n' '{"conn":1,"send":{"f":"get"}}' '{"conn":2,"send":{"f":"put","value":1}}' '{"conn":2,"recv":"ok"}' \
    '{"conn":1,"recv":1}' >"$dir/late"
run 0 check "$dir/patient.c" "$dir/late"
run 41 check "$dir/eager.c" "$dir/late"
err 'the promise .eager is false: without it, the model explains the history'

# True promises and real failures stay as they are.
operations stale 1 '{"f":"put","key":"x","value":1}' '"ok"' 2 '{"f":"get","key":"x"}' 2
for name in honest commutes reading; do
    run 1 check "$dir/$name.c" "$dir/stale"
    out 'expected 1'
done

# Live: a server that is right, and a model with a false promise, which its own server shows.
for name in parts commutes reading; do
    run 41 test "$dir/$name.c" --run "'$ANTIPHON' serve '$dir/honest.c' --port {port} --delay 0.1" --messages 3000 \
        --seed 5 --folder "$dir/live"
    err promise
    run 0 test "$dir/$name.c" --run "'$ANTIPHON' serve '$dir/honest.c' --port {port} --delay 0.1" --messages 300 \
        --seed 5 --folder "$dir/live" --ignore-promises
done
run 0 test "$dir/honest.c" --run "'$ANTIPHON' serve '$dir/honest.c' --port {port} --delay 0.1" --messages 300 --seed 5 \
    --folder "$dir/live"

# A lock whose acquire waits gets its response in a later step, so the model must not promise rpc.
lock() {
    cat >"$dir/$1.c" <<END
#include <antiphon/model.h>
static const char shape[] = APH_SHAPE([{"f": "acquire"}, {"f": "release"}, {"f": "ping"}]);
static void step(aph *m, aph_value *waiting) /* false: free; else the connections that wait */
{
    aph_request q = aph_recv(m);
    bool acquire = aph_str_is(aph_field(q.message, "f"), "acquire"), held = aph_kind_of(*waiting) == APH_ARRAY;
    if (acquire && held) {
        *waiting = aph_push(*waiting, aph_int(q.from));
        return;
    }
    aph_send(m, q.from, aph_str("ok"));
    if (acquire) {
        *waiting = aph_array(0, NULL);
    } else if (held && aph_str_is(aph_field(q.message, "f"), "release")) {
        bool handed = aph_count(*waiting) > 0;
        if (handed)
            aph_send(m, aph_int_of(aph_at(*waiting, 0)), aph_str("ok"));
        *waiting = handed ? aph_slice(*waiting, 1, aph_count(*waiting) - 1) : aph_bool(false);
    }
}
static aph_value initial(const aph_model *model) { (void)model; return aph_bool(false); }
static const aph_model model = {.version = APH_MODEL_VERSION, .name = "$1", .step = step, .shape = shape,
                                .initial = initial, $2};
APH_MODEL(model)
END
}
lock lock '.answers = true'
lock rpc-lock '.rpc = true'
run 41 test "$dir/rpc-lock.c" --run "'$ANTIPHON' serve '$dir/lock.c' --port {port}" --patience 0.4 --time 20 --seed 5 \
    --folder "$dir/live"
err 'the model promises rpc, but does not send one response'

finish
