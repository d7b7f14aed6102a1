#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# connections.sh - rpc models that distinguish connections: a register for each connection, and steps that compare the
# number of the connection in C.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

# model NAME EXPRESSION: a register for each value of the expression.
model() {
    cat >"$dir/$1.c" <<END
#include <antiphon/model.h>
static const char shape[] = APH_SHAPE([{"f": "read"}, {"f": "write", "value": {"one of": [1, 2]}}]);
static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value name = $2, f = aph_field(q.message, "f"), own = aph_get(*state, name);
    if (aph_str_is(f, "write"))
        *state = aph_set(*state, name, aph_field(q.message, "value"));
    aph_send(m, q.from, aph_str_is(f, "write") ? aph_str("ok") : own);
}
static const aph_model model = {.version = APH_MODEL_VERSION, .name = "$1", .step = step, .rpc = true,
                                .shape = shape};
APH_MODEL(model)
END
}

# trace NAME CONNECTION VALUE: connection 1 writes 5, then CONNECTION reads VALUE.
trace() {
    printf '%s\n' '{"conn":1,"send":{"f":"write","value":5}}' '{"conn":1,"recv":"ok"}' \
        "{\"conn\":$2,\"send\":{\"f\":\"read\"}}" "{\"conn\":$2,\"recv\":$3}" >"$dir/$1"
}
trace own 1 5
trace lost-own 1 null
trace other 2 null
trace leak 2 5

model number 'aph_int(q.from)'
model text 'aph_strf("session-%lld", (long long)q.from)'
model int 'aph_int((int)q.from)'
model first 'aph_str(q.from == 1 ? "first" : "other")'
model index 'aph_str((const char *const[]){"zero", "one", "two"}[q.from])'
for name in number text int first index; do
    for option in '' --whole --ignore-promises; do
        run 0 check ${option:+"$option"} "$dir/$name.c" "$dir/own" "$dir/other" --explain
        out 'the replay of the explanation holds'
        run 1 check ${option:+"$option"} "$dir/$name.c" "$dir/lost-own"
        out 'expected 5'
        run 1 check ${option:+"$option"} "$dir/$name.c" "$dir/leak"
        out 'expected null'
    done
done

# From a pipe; large and negative numbers.
mkfifo "$dir/pipe"
cat "$dir/other" >"$dir/pipe" &
run 0 check "$dir/first.c" "$dir/pipe"
cat "$dir/leak" >"$dir/pipe" &
run 1 check "$dir/first.c" "$dir/pipe"
for connection in -3 4294967295; do
    sed "s/:2,/:$connection,/" "$dir/other" >"$dir/far"
    run 0 check "$dir/number.c" "$dir/far"
    sed "s/:2,/:$connection,/" "$dir/leak" >"$dir/far"
    run 1 check "$dir/number.c" "$dir/far"
done

# A comparison that only a rare request makes, after many others: the verdict is still right.
cat >"$dir/late.c" <<END
#include <antiphon/model.h>
static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    if (aph_is_int(q.message))
        *state = q.message;
    aph_send(m, q.from, aph_is_int(q.message) ? aph_str("ok") : aph_str(q.from == 1 ? "first" : "other"));
}
static const aph_model model = {.version = APH_MODEL_VERSION, .name = "late", .step = step, .rpc = true};
APH_MODEL(model)
END
seq 20000 | sed 's/.*/{"conn":2,"send":&}\n{"conn":2,"recv":"ok"}/' >"$dir/many"
late() {
    { cat "$dir/many"; printf '%s\n' '{"conn":1,"send":"who"}' "{\"conn\":1,\"recv\":\"$1\"}"; } >"$dir/late"
}
late first
run 0 check "$dir/late.c" "$dir/late"
late other
run 1 check "$dir/late.c" "$dir/late"

# A comparison that only one of many connections shows, in a history of two different steps. The copy of the number prevents
# the proof by the compiler; a shared library has none.
cat >"$dir/admin.c" <<'END'
#include <antiphon/model.h>
static void step(aph *m, aph_value *state)
{
    (void)state;
    aph_request q = aph_recv(m);
    int64_t from = q.from;
    aph_send(m, from, aph_str(from == 57 ? "admin" : "user"));
}
static const aph_model model = {.version = APH_MODEL_VERSION, .name = "admin", .step = step, .rpc = true};
APH_MODEL(model)
END
"${CC:-cc}" -shared -fPIC -I"$ANTIPHON_INCLUDE" -o "$dir/admin.so" "$dir/admin.c"
for n in 31 100 3000; do
    seq "$n" | awk '{ c = $1 % 50; printf "{\"conn\":%d,\"send\":0}\n{\"conn\":%d,\"recv\":\"user\"}\n", c, c }' >"$dir/users"
    for name in admin user; do
        { cat "$dir/users"; printf '%s\n' '{"conn":57,"send":0}' "{\"conn\":57,\"recv\":\"$name\"}"; } >"$dir/$name"
    done
    for spec in "$dir/admin.c" "$dir/admin.so"; do
        run 0 check --explain "$spec" "$dir/admin"
        out 'the replay of the explanation holds'
        run 1 check "$spec" "$dir/user"
    done
done

# A library without the facts about the model, as it was compiled before they existed.
sed 's/^APH_MODEL(model)/const aph_model *aph_model_main(void) { return \&model; }/' "$dir/admin.c" >"$dir/older.c"
run 0 check "$dir/older.c" "$dir/admin"
run 1 check "$dir/older.c" "$dir/user"

# The compiler proves that the built-in models with this field use connections only in aph_send; swap.c has a mutant that
# does not.
title='ignores_connections'
proved=0
for source in $(grep -l 'ignores_connections = true' "$ANTIPHON_ROOT"/models/*.c "$ANTIPHON_ROOT"/models/*/*.c); do
    [ "${source##*/}" != swap.c ] || continue
    check "$source" "${CC:-cc}" -std=gnu17 -w -fsyntax-only -DAPH_OPAQUE_CONNECTIONS -D_GNU_SOURCE -I"$ANTIPHON_INCLUDE" \
        -I"$ANTIPHON_ROOT" -I"$ANTIPHON_ROOT/src" "$source"
    proved=$((proved + 1))
done
check 'six models' test "$proved" -eq 6

# Live: the registers of sessions, and a server with one register for all.
model shared 'aph_str("all")'
for name in number text; do
    run 0 test "$dir/$name.c" --run "'$ANTIPHON' serve '$dir/$name.c' --port {port}" --messages 2000 --seed 3 \
        --folder "$dir/live"
    run 1 test "$dir/$name.c" --run "'$ANTIPHON' serve '$dir/shared.c' --port {port}" --messages 2000 --seed 3 \
        --folder "$dir/live"
done

finish
