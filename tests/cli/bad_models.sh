#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# bad_models.sh - invalid models: each has its message and exit code, and none crashes or ends the program.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

printf '%s\n' '{"conn":1,"send":"x"}' '{"conn":1,"recv":"ok"}' >"$dir/trace"

# model NAME STATEMENTS: a model in C whose step executes the statements after it has received q.
model() {
    cat >"$dir/$1.c" <<END
#include <antiphon/model.h>
#include <stdlib.h>
static volatile long zero;
static int calls;
static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    (void)state, (void)calls;
    $2
}
static bool all_read(aph_value request, aph_value answer) { return request != answer; }
static const aph_model model = {.version = APH_MODEL_VERSION, .name = "$1", .step = step, ${3:-.rpc = true}};
APH_MODEL(model)
END
}

# A valid model, in C and as a library.
model good 'aph_send(m, q.from, aph_str("ok"));'
run 0 check "$dir/good.c" "$dir/trace"
out pass
cc -std=c17 -shared -fPIC -I"$ANTIPHON_ROOT/include" -o "$dir/good.so" "$dir/good.c" || fail 'cc'
run 0 check "$dir/good.so" "$dir/trace"

# Names.
run 30 check registr "$dir/trace"
err "did you mean 'register'"
run 30 check "$dir/trace" "$dir/trace"
run 31 check "$dir/missing.c" "$dir/trace"
run 31 check "$dir/missing.so" "$dir/trace"
run 31 check "$dir/missing.prog" "$dir/trace"
run 0 models
out register
out etag-kv
out 'dme-N       distributed mutual exclusion for N processes (Ricart and Agrawala); N from 2 to 6'
out 'tdme        mutual exclusion for three users with a token'

# Prog.
printf 'if !1 <= 0\nthen return\nelse !1 ::= 2; return\n' >"$dir/wrong.prog"
run 32 check "$dir/wrong.prog" "$dir/trace"
err "$dir/wrong.prog:3:9: "
: >"$dir/empty.prog"
run 32 check "$dir/empty.prog" "$dir/trace"
err "$dir/empty.prog:1:1: "

# C and libraries.
model broken 'this is no C'
run 33 check "$dir/broken.c" "$dir/trace"
err "$dir/broken.c:9:"
err 'does not compile'
CC=no-such-compiler run 34 check "$dir/good.c" "$dir/trace"
err no-such-compiler
ANTIPHON_INCLUDE=$dir run 34 check "$dir/good.c" "$dir/trace"
err ANTIPHON_INCLUDE
echo 'not a library' >"$dir/fake.so"
run 35 check "$dir/fake.so" "$dir/trace"
model missing 'extern int no_such_function(void); aph_send(m, q.from, aph_int(no_such_function()));'
run 35 check "$dir/missing.c" "$dir/trace"
err "$dir/missing.c uses 'no_such_function', which is defined neither there nor in antiphon"
err 'define it in the model'
no_err "$XDG_CACHE_HOME"
model misspelt 'extern void aph_sent(aph *, int64_t, aph_value); aph_sent(m, q.from, aph_str("ok"));'
run 35 check "$dir/misspelt.c" "$dir/trace"
err "uses 'aph_sent'"
err '<antiphon/model.h>'
echo 'int x;' >"$dir/nomain.c"
run 36 check "$dir/nomain.c" "$dir/trace"
err APH_MODEL
model old 'aph_send(m, q.from, aph_str("ok"));' '.rpc = true'
sed -i 's/= APH_MODEL_VERSION/= APH_MODEL_VERSION + 1/' "$dir/old.c"
run 37 check "$dir/old.c" "$dir/trace"
err version

# Crashes are reported with the model's name, with one worker and with two.
model crash '*(volatile int *)zero = 1; aph_send(m, q.from, aph_str("ok"));'
run 38 check "$dir/crash.c" "$dir/trace"
err 'model crash: invalid memory access (SIGSEGV); the step received "x" on connection 1, in the state {}'
run 38 check -j 2 "$dir/crash.c" "$dir/trace" "$dir/trace"
model aborts 'if (!zero) abort(); aph_send(m, q.from, aph_str("ok"));'
run 38 check "$dir/aborts.c" "$dir/trace"

# The message and the state that the step was given are reported, shortened, in live tests as well.
model crash 'if (aph_field(*state, "long")) *(volatile int *)zero = 1; *state = aph_put(*state, "long", q.message); aph_send(m, q.from, q.message);' \
    '.connections = false, .shape = "[\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\"]"'
model echo 'aph_send(m, q.from, q.message);'
run 38 test "$dir/crash.c" --run "'$ANTIPHON' serve --port {port} '$dir/echo.c'" --seed 1 --folder "$dir/folder"
err 'model crash: invalid memory access (SIGSEGV); the step received "aaaa'
err 'aaaa... on connection '
err ', in the state {"long":"aaaa'
printf '%s\n' '{"conn":1,"open":true}' >"$dir/opening"
model opening 'if (q.message == APH_OPENED) *(volatile int *)zero = 1; aph_send(m, q.from, aph_str("ok"));' '.connections = true'
printf '%s\n' '{"conn":1,"recv":"ok"}' >>"$dir/opening"
run 38 check "$dir/opening.c" "$dir/opening"
err 'the step received APH_OPENED on connection 1, in the state {}'

# Models that end the process, in a step and elsewhere.
for end in exit _exit _Exit quick_exit; do
    model "ends$end" "if (!zero) $end(0); aph_send(m, q.from, aph_str(\"ok\"));"
    sed -i '1i #include <unistd.h>' "$dir/ends$end.c"
    run 38 check "$dir/ends$end.c" "$dir/trace"
    err "model ends$end: a call of $end, which exits the program"
    run 38 check --json "$dir/ends$end.c" "$dir/trace"
    out '"exit":38'
    run 38 check -j 2 "$dir/ends$end.c" "$dir/trace" "$dir/trace"
    err "model ends$end: a call of $end"
    run 38 explain "$dir/ends$end.c" "$dir/trace"
    model parts 'aph_send(m, q.from, aph_str("ok"));' '.rpc = true, .part = part'
    sed -i "1i #include <unistd.h>\n#include <antiphon/model.h>\n#include <stdlib.h>\nstatic aph_value part(aph_value v) { if (v) $end(0); return v; }" "$dir/parts.c"
    run 38 check "$dir/parts.c" "$dir/trace"
    err "a call of $end"
    run 38 check -j 2 "$dir/parts.c" "$dir/trace" "$dir/trace"
    run 38 explain "$dir/parts.c" "$dir/trace"
done

# A loop is interrupted at the --time limit, or after five seconds in one step.
model loops 'for (volatile long i = 0;; i++) ; aph_send(m, q.from, aph_str("ok"));'
run 3 check --time 1 "$dir/loops.c" "$dir/trace"
out time
run 39 check "$dir/loops.c" "$dir/trace"
err 'does not end'

# A step with more branches than can be run, or that branches without end: the verdict is unknown.
model wide 'for (int i = 0; i < 64; i++) *state = aph_put(*state, "bits", aph_strf("%d%p", aph_either(m, "no", "yes"),
    (void *)aph_field(*state, "bits"))); aph_send(m, q.from, aph_str("ok"));'
run 3 check "$dir/wide.c" "$dir/trace"
out 'model wide: a step has too many branches; it begins with the request "x"'
model endless 'while (aph_either(m, "again", "done") == 0) ; aph_send(m, q.from, aph_str("ok"));' \
    '.rpc = true, .shape = APH_SHAPE([{"any": true}])'
run 3 check "$dir/endless.c" "$dir/trace"
out 'model endless: a step has too many branches'
run 3 check --json --ignore-promises "$dir/endless.c" "$dir/trace"
out '"limit":"branches"'
run 3 refine "$dir/good.c" "$dir/endless.c"
out 'model endless: a step has too many branches'
run 3 test --messages 100 --seed 1 --folder "$dir/folder" --run "'$ANTIPHON' serve --port {port} '$dir/endless.c'" \
    "$dir/endless.c"
out 'a step has too many branches'
model early 'aph_send(m, q.from, aph_str("ok"));' '.rpc = false'
sed -i 's/aph_request q/while (aph_either(m, "again", "done") == 0) ; aph_request q/' "$dir/early.c"
run 3 check "$dir/early.c" "$dir/trace"
out 'a step has too many branches; it begins before the first request'

# Impure models, and broken promises, which --ignore-promises allows.
model impure 'aph_send(m, q.from, calls++ % 2 ? aph_str("ok") : aph_str("no"));'
run 40 check "$dir/impure.c" "$dir/trace"
err 'pure function'
# A step that gives the same result with other decisions is also impure.
model wayward 'if (calls++ % 2) aph_decide(m, aph_bool(true), "odd"); aph_send(m, q.from, aph_str("ok"));'
run 40 check "$dir/wayward.c" "$dir/trace"
err 'pure function'

# Invalid calls.
model decides 'aph_decide(m, aph_int(5), "is five"); aph_send(m, q.from, aph_str("ok"));'
run 42 check "$dir/decides.c" "$dir/trace"
err 'model decides: aph_decide("is five"): 5 is not a boolean'
run 42 check --ignore-promises "$dir/decides.c" "$dir/trace"
model sums 'aph_decide(m, aph_add(aph_choose(m, APH_INT, "x"), aph_int(1)), "sum"); aph_send(m, q.from, aph_str("ok"));'
run 42 check "$dir/sums.c" "$dir/trace"
err 'not a boolean'
model within 'aph_choose_within(m, 5, 3, "die"); aph_send(m, q.from, aph_str("ok"));'
run 42 check "$dir/within.c" "$dir/trace"
err 'model within: aph_choose_within(5, 3, "die"): no integer in the range'
model sorts 'aph_choose(m, APH_ARRAY, "list"); aph_send(m, q.from, aph_str("ok"));'
run 42 check "$dir/sorts.c" "$dir/trace"
err APH_STR
# A choice that the response shows: in a field, or in an array in a field.
printf '%s\n' '{"conn":1,"send":"x"}' '{"conn":1,"recv":{"path":["x","17"]}}' >"$dir/path"
shows() { echo "aph_send(m, q.from, aph_record(\"path\", APH_ARRAY_OF(aph_str(\"x\"), aph_choose_shown(m, APH_STR, \"$1\", \"id\"))));"; }
model shows "$(shows path.1)"
run 0 check "$dir/shows.c" "$dir/path"
for path in path.0 path.2 path.x path id; do
    model hides "$(shows $path)"
    run 42 check "$dir/hides.c" "$dir/path"
    err "model hides: aph_choose_shown(\"$path\"): the response does not have the choice there"
done
# An undefined condition is valid.
model divides 'if (!aph_decide(m, aph_lt(aph_div(aph_int(1), aph_int(0)), aph_int(2)), "less")) (void)0; aph_send(m, q.from, aph_str("ok"));'
run 1 check "$dir/divides.c" "$dir/trace"
model twice 'aph_send(m, q.from, aph_str("ok")); aph_send(m, q.from, aph_str("again"));'
run 41 check "$dir/twice.c" "$dir/trace"
err rpc
run 0 check --ignore-promises "$dir/twice.c" "$dir/trace"
model grows '*state = aph_put(*state, "x", aph_int(1)); aph_send(m, q.from, aph_str("ok"));' '.rpc = true, .reads = all_read'
run 41 check "$dir/grows.c" "$dir/trace"
run 0 check --ignore-promises "$dir/grows.c" "$dir/trace"
model restless ';' ''
sed -i 's/aph_request q = aph_recv(m);/(void)m;/' "$dir/restless.c"
run 39 check "$dir/restless.c" "$dir/trace"
err 'never receives'
# A step that never leaves the library.
model grows 'for (int i = 0;; i++) *state = aph_set(*state, aph_int(i), aph_int(i));'
run 3 check --time 1 "$dir/grows.c" "$dir/trace"
run 3 check --memory 100 "$dir/grows.c" "$dir/trace"
model floods 'for (;;) aph_send(m, q.from, aph_str("ok"));'
run 39 check --memory 64 "$dir/floods.c" "$dir/trace"
err 'sends more than a million messages'

# Other functions of a model: one that crashes, or does not end, is reported in live tests as a step is.

# live CODE NAME HELPERS FIELDS: tests a model, whose function `wrong` fails, against a server of the model `right`.
live() {
    cat >"$dir/$2.c" <<END
#include <antiphon/model.h>
static volatile long zero;
static void wrong(void) { $bad }
static void step(aph *m, aph_value *state)
{
    (void)state, (void)wrong;
    aph_request q = aph_recv(m);
    aph_send(m, q.from, aph_str("${answer:-ok}"));
}
$3
static const aph_model model = {.version = APH_MODEL_VERSION, .name = "$2", .step = step, $4};
APH_MODEL(model)
END
    rm -rf "$dir/folder"
    run "$1" test "$dir/$2.c" --run "'$ANTIPHON' serve --port {port} '$dir/right.c'" --seed 1 --messages 200 \
        --folder "$dir/folder" --no-shrink
}
shape='.shape = "[\"x\"]"'
encode='static bool encode(const aph_codec *c, aph_side s, aph_value v, aph_sink *out) { (void)c, (void)s, (void)v;'
decode='static aph_decoded decode(const aph_codec *c, aph_wire *w) { (void)c;'
encoded='aph_sink_put(out, "\"x\"\n", 4); return true; }'
decoded='w->message = aph_str("ok"); w->used = w->count; return APH_DECODED; }'
codec='static const aph_codec codec = {.name = "c", .decode = decode, .encode = encode};'
bad='' live 0 right '' ".rpc = true, $shape"
for bad in '*(volatile int *)zero = 1;' 'for (volatile long i = 0;; i++) ;'; do
    case $bad in for*) code=39 text='it does not end' ;; *) code=38 text='invalid memory access (SIGSEGV)' ;; esac
    live $code preamble 'static aph_value preamble(const aph_preamble *p) { wrong(); return p->step ? APH_NIL : aph_str("x"); }' \
        ".preamble = preamble, $shape"
    err "model preamble: .preamble: $text"
    live $code generate 'static aph_value generate(aph_gen *g) { (void)g; wrong(); return aph_str("x"); }' '.rpc = true, .generate = generate'
    err "model generate: .generate: $text"
    live $code decode "$decode wrong(); $decoded $encode $encoded $codec" ".rpc = true, .codec = &codec, $shape"
    err "model decode: the codec's decode: $text"
    answer=no live $code words 'static aph_value words(aph_value q) { wrong(); return APH_ARRAY_OF(q); }' ".rpc = true, .words = words, $shape"
    out 'the model cannot explain the observations'
    err "the model: .words: $text"
done
bad='*(volatile int *)zero = 1;'
code=38 text='invalid memory access (SIGSEGV)'
live $code kind 'static const char *kind(aph_value q) { (void)q; wrong(); return "x"; }' ".rpc = true, .kind = kind, $shape"
err "model kind: .kind: $text"
live $code part 'static aph_value part(aph_value q) { wrong(); return q; }' ".rpc = true, .part = part, $shape"
err "model part: .part: $text"
live $code alone 'static bool alone(aph_value q) { (void)q; wrong(); return true; }' ".rpc = true, .alone = alone, $shape"
err "model alone: .alone: $text"
live $code reads 'static bool reads(aph_value q, aph_value a) { wrong(); return q == a; }' ".rpc = true, .reads = reads, $shape"
err "model reads: .reads: $text"
live $code commute 'static bool commute(aph_value a, aph_value b) { wrong(); return a == b; }' ".rpc = true, .commute = commute, $shape"
err "model commute: .commute: $text"
live $code initial 'static aph_value initial(const aph_model *m) { (void)m; wrong(); return aph_object(); }' ".rpc = true, .initial = initial, $shape"
err "model initial: .initial: $text"
live $code patience 'static int64_t patience(aph_value q) { (void)q; wrong(); return 0; }' ".rpc = true, .patience_ms = patience, $shape"
err "model patience: .patience_ms: $text"
live $code encode "$decode $decoded $encode wrong(); $encoded $codec" ".rpc = true, .codec = &codec, $shape"
err "model encode: the codec's encode: $text"
# In a check, and in a server.
run $code check "$dir/reads.c" "$dir/trace"
err "model reads: .reads: $text"
run $code check "$dir/initial.c" "$dir/trace"
err "model initial: .initial: $text"
run $code serve "$dir/initial.c" --port 0
err '.initial'

# A compiled model is kept in the home folder, if there is no other folder for it.
model kept 'aph_send(m, q.from, aph_str("ok"));'
mkdir "$dir/home"
HOME=$dir/home XDG_CACHE_HOME='' run 0 check "$dir/kept.c" "$dir/trace"
check 'the compiled model is not kept' test -n "$(ls "$dir/home/.cache/antiphon")"

finish
