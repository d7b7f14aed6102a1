/* SPDX-License-Identifier: Apache-2.0
 *
 * odd_models.c - subjects for the comparison of deciders; see odd_models.h.
 *
 * The domains are small, so that values collide often: histories with distinct values are too easy to decide. */
#include "odd_models.h"

#include "models/models.h"

#include <string.h>

static aph_value one_of(aphi_choice *c, size_t n, const char *const *texts)
{
    return aph_str(texts[aphi_choice_below(c, n)]);
}

#define ONE_OF(c, ...) \
    one_of(c, sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), (const char *const[]){__VA_ARGS__})

static aph_value small(aphi_choice *c, int64_t low, int64_t high)
{
    return aph_int(aphi_choice_within(c, low, high));
}

static bool is(aph_value request, const char *f)
{
    return aph_str_is(aph_field(request, "f"), f);
}

/* ---- the built-in models ----------------------------------------------------------------------------------------- */

static aph_value register_value(aphi_choice *c)
{
    return aphi_choice_chance(c, 1, 6) ? APH_NIL : small(c, 1, 2);
}

static aph_value register_request(aphi_choice *c)
{
    aph_value q = aph_record("f", ONE_OF(c, "read", "read", "write", "cas"));
    if (is(q, "write"))
        q = aph_put(q, "value", register_value(c));
    if (is(q, "cas"))
        q = aph_put(q, "value", APH_ARRAY_OF(register_value(c), register_value(c)));
    return aphi_choice_chance(c, 1, 3) ? aph_put(q, "key", small(c, 1, 2)) : q;
}

static aph_value register_answer(aphi_choice *c)
{
    uint64_t at = aphi_choice_below(c, 8);
    return at == 0 ? aph_str("ok") : at == 1 ? aph_bool(false) : at == 2 ? aph_bool(true) : register_value(c);
}

const subject subject_register = {&aph_model_register, NULL, register_request, register_answer, 0, NULL};

static aph_value kv_request(aphi_choice *c)
{
    aph_value q = aph_record("f", ONE_OF(c, "get", "get", "put", "append", "append", "delete"));
    if (is(q, "put") || is(q, "append"))
        q = aph_put(q, "value", ONE_OF(c, "", "a", "b"));
    return aph_put(q, "key", ONE_OF(c, "x", "x", "y", "z"));
}

static aph_value kv_answer(aphi_choice *c)
{
    return ONE_OF(c, "", "a", "b", "aa", "ab", "ba", "ok");
}

const subject subject_kv = {&aph_model_kv, NULL, kv_request, kv_answer, 0, NULL};

static aph_value swap_request(aphi_choice *c)
{
    return small(c, 1, 3);
}

static aph_value swap_answer(aphi_choice *c)
{
    return aphi_choice_chance(c, 1, 4) ? aph_str("000") : small(c, 1, 3);
}

const subject subject_swap = {&aph_model_swap, NULL, swap_request, swap_answer, 0, NULL};

static aph_value queue_request(aphi_choice *c)
{
    return aphi_choice_chance(c, 1, 2) ? aph_record("f", aph_str("dequeue"))
                                       : aph_record("f", aph_str("enqueue"), "value", small(c, 1, 2));
}

static aph_value queue_answer(aphi_choice *c)
{
    uint64_t at = aphi_choice_below(c, 6);
    return at == 0 ? aph_str("ok") : at == 1 ? APH_NIL : small(c, 1, 2);
}

const subject subject_queue = {&aph_model_queue, NULL, queue_request, queue_answer, 0, NULL};

static aph_value tag(aphi_choice *c)
{
    return aph_record("opaque", ONE_OF(c, "s", "t"), "weak", aph_bool(aphi_choice_chance(c, 1, 4)));
}

static aph_value etag_kv_request(aphi_choice *c)
{
    aph_value q = aph_record("f", ONE_OF(c, "get", "put"), "key", ONE_OF(c, "x", "x", "x", "y"));
    if (is(q, "put"))
        q = aph_put(q, "value", small(c, 1, 2));
    if (aphi_choice_chance(c, 1, 2))
        q = aph_put(q, is(q, "put") ? "if_match" : "if_none_match", tag(c));
    return q;
}

static aph_value etag_kv_answer(aphi_choice *c)
{
    static const int codes[] = {200, 200, 201, 204, 304, 404, 412};
    int code = codes[aphi_choice_below(c, sizeof codes / sizeof *codes)];
    aph_value a = aph_record("code", aph_int(code));
    if (code == 200)
        a = aph_put(a, "value", small(c, 1, 2));
    return code == 304 || (code == 200 && aphi_choice_chance(c, 1, 2)) ? aph_put(a, "tag", tag(c)) : a;
}

/* Requests compare tags with s and t only; u, v and w remain for the server. */
const subject subject_etag_kv = {&aph_model_etag_kv, (const char *const[]){"s", "t", "u", "v", "w", NULL},
                                 etag_kv_request, etag_kv_answer, 0, NULL};

/* ---- http -------------------------------------------------------------------------------------------------------- */

static const char *const http_strings[] = {"x", "y", "z", NULL};

static aph_value http_string(aphi_choice *c)
{
    return aph_str(http_strings[aphi_choice_below(c, 3)]);
}

static aph_value http_tag(aphi_choice *c)
{
    return aph_record("opaque", http_string(c), "weak", aph_bool(aphi_choice_chance(c, 1, 2)));
}

static aph_value http_tags(aphi_choice *c)
{
    if (aphi_choice_chance(c, 1, 6))
        return aph_str("*");
    aph_value tag = http_tag(c);
    return aphi_choice_chance(c, 1, 2) ? APH_ARRAY_OF(tag) : APH_ARRAY_OF(tag, http_tag(c));
}

static aph_value with_conditions(aph_value request, aphi_choice *c)
{
    static const char *const tags[] = {"if-match", "if-none-match"};
    static const char *const dates[] = {"if-unmodified-since", "if-modified-since"};
    for (int i = 0; i < 2; i++) {
        if (aphi_choice_chance(c, 1, 3))
            request = aph_put(request, tags[i], http_tags(c));
        if (aphi_choice_chance(c, 1, 8))
            request = aph_put(request, dates[i], aph_int((int64_t)aphi_choice_below(c, 2)));
    }
    return request;
}

static aph_value http_request(aphi_choice *c)
{
    static const char *const methods[] = {"GET", "GET", "HEAD", "PUT", "PUT", "PUT", "DELETE", "POST"};
    const char *method = methods[aphi_choice_below(c, 8)];
    aph_value request = aph_record("method", aph_str(method), "target",
                                   aph_str(aphi_choice_chance(c, 1, 4) ? "/b" : "/a"));
    if (!strcmp(method, "PUT") || !strcmp(method, "POST"))
        request = aph_put(request, "body", aph_str(aphi_choice_chance(c, 1, 2) ? "ab" : "abc"));
    if (!strcmp(method, "GET") && aphi_choice_chance(c, 1, 4))
        request = aph_put(request, "range", APH_ARRAY_OF(aph_int(1), aph_int(2)));
    return with_conditions(request, c);
}

static aph_value http_answer(aphi_choice *c)
{
    static const int statuses[] = {200, 201, 204, 304, 404, 412, 412, 500};
    aph_value answer = aph_record("status", aph_int(statuses[aphi_choice_below(c, 8)]), "body",
                                  aph_str(aphi_choice_chance(c, 1, 2) ? "" : "ab"));
    if (aphi_choice_chance(c, 1, 2))
        answer = aph_put(answer, "tag", http_tag(c));
    return aphi_choice_chance(c, 1, 4) ? aph_put(answer, "modified", aph_int(1)) : answer;
}

const subject subject_http = {&aph_model_http, http_strings, http_request, http_answer, .requests_most = 4};

/* ---- swap-bytes -------------------------------------------------------------------------------------------------- */

/* The swap server with a message for each byte; it sends the bytes of its responses when it likes. The state is
 * {"kept": bytes, "to": {CONNECTION: {"number", "request": bytes, "answer": bytes}}}. */
static void swap_bytes_step(aph *m, aph_value *state)
{
    aph_value all = aph_field(*state, "to"), name, c;
    for (size_t i = 0; aph_pair_at(all, i, &name, &c); i++) {
        aph_value answer = aph_field(c, "answer");
        if (!aph_count(answer) || aph_either(m, "send a byte", "wait"))
            continue;
        aph_send(m, aph_int_of(aph_field(c, "number")), aph_substr(answer, 0, 1));
        c = aph_put(c, "answer", aph_substr(answer, 1, aph_count(answer) - 1));
        *state = aph_put(*state, "to", aph_set(all, name, c));
        return;
    }
    aph_request q = aph_recv(m);
    name = aph_int(q.from);
    c = aph_get(all, name);
    if (!c)
        c = aph_record("number", name, "request", aph_str(""), "answer", aph_str(""));
    aph_value request = aph_concat(aph_field(c, "request"), q.message);
    if (aph_count(request) == 3) {
        c = aph_put(c, "answer", aph_concat(aph_field(c, "answer"), aph_field(*state, "kept")));
        *state = aph_put(*state, "kept", request);
        request = aph_str("");
    }
    *state = aph_put(*state, "to", aph_set(all, name, aph_put(c, "request", request)));
}

static aph_value swap_bytes_initial(const aph_model *model)
{
    (void)model;
    return aph_record("kept", aph_str("000"), "to", aph_object());
}

static const aph_model swap_bytes = {.version = APH_MODEL_VERSION, .name = "swap-bytes", .step = swap_bytes_step,
                                     .initial = swap_bytes_initial};

static aph_value byte(aphi_choice *c)
{
    return ONE_OF(c, "a", "b");
}

static aph_value swap_bytes_answer(aphi_choice *c)
{
    return ONE_OF(c, "a", "b", "0");
}

/* Three requests make a message. */
const subject subject_swap_bytes = {&swap_bytes, NULL, byte, swap_bytes_answer, .requests_most = 9};

/* ---- relay ------------------------------------------------------------------------------------------------------- */

/* {"to": CONNECTION, "text": TEXT}: sends TEXT to CONNECTION, with the number of messages relayed before. */
static void relay_step(aph *m, aph_value *count)
{
    aph_request q = aph_recv(m);
    aph_send(m, aph_int_of(aph_field(q.message, "to")), APH_ARRAY_OF(*count, aph_field(q.message, "text")));
    *count = aph_add(*count, aph_int(1));
}

static aph_value zero(const aph_model *model)
{
    (void)model;
    return aph_int(0);
}

static const aph_model relay = {.version = APH_MODEL_VERSION, .name = "relay", .summary = "answers somewhere else",
                                .step = relay_step, .initial = zero};

static aph_value relay_request(aphi_choice *c)
{
    return aph_record("to", small(c, 1, 3), "text", ONE_OF(c, "a", "b"));
}

static aph_value relay_answer(aphi_choice *c)
{
    return APH_ARRAY_OF(small(c, 0, 3), ONE_OF(c, "a", "b"));
}

const subject subject_relay = {&relay, NULL, relay_request, relay_answer, 0, NULL};

/* ---- lock -------------------------------------------------------------------------------------------------------- */

/* "lock" returns [turn, connection] once the sender has the lock, "unlock" returns "ok" or "not yours". One step lasts
 * from a lock until no connection waits, so it receives many times. */
static void lock_step(aph *m, aph_value *turns)
{
    aph_request q = aph_recv(m);
    aph_value waiting = aph_array(0, NULL);
    if (!aph_str_is(q.message, "lock")) {
        aph_send(m, q.from, aph_str("not yours"));
        return;
    }
    for (int64_t holder = q.from;;) {
        *turns = aph_add(*turns, aph_int(1));
        aph_send(m, holder, APH_ARRAY_OF(*turns, aph_int(holder)));
        for (bool held = true; held;) {
            q = aph_recv(m);
            if (aph_str_is(q.message, "lock"))
                waiting = aph_push(waiting, aph_int(q.from));
            else
                held = q.from != holder;
            if (!aph_str_is(q.message, "lock"))
                aph_send(m, q.from, aph_str(held ? "not yours" : "ok"));
        }
        if (aph_count(waiting) == 0)
            return;
        holder = aph_int_of(aph_at(waiting, 0));
        waiting = aph_slice(waiting, 1, aph_count(waiting) - 1);
    }
}

static const aph_model lock = {.version = APH_MODEL_VERSION, .name = "lock", .summary = "answers when the lock is free",
                               .step = lock_step, .initial = zero};

static aph_value lock_request(aphi_choice *c)
{
    return ONE_OF(c, "lock", "lock", "unlock");
}

static aph_value lock_answer(aphi_choice *c)
{
    uint64_t at = aphi_choice_below(c, 3);
    return at == 0 ? aph_str("ok") : at == 1 ? aph_str("not yours") : APH_ARRAY_OF(small(c, 1, 3), small(c, 1, 3));
}

const subject subject_lock = {&lock, NULL, lock_request, lock_answer, 0, NULL};

/* ---- greeter ----------------------------------------------------------------------------------------------------- */

/* Greets connections 1 and 2 without a request. Then returns the running sum for each number, and greets again at 5. */
static void greeter_step(aph *m, aph_value *sum)
{
    if (*sum == APH_NIL || aph_int_of(*sum) >= 5) {
        aph_send(m, 1, aph_str("hello"));
        if (*sum == APH_NIL)
            aph_send(m, 2, aph_str(aph_either(m, "polite", "plain") ? "hi" : "good day"));
        *sum = aph_int(0);
        return;
    }
    aph_request q = aph_recv(m);
    *sum = aph_add(*sum, q.message);
    aph_send(m, q.from, *sum);
}

static aph_value null(const aph_model *model)
{
    (void)model;
    return APH_NIL;
}

static const aph_model greeter = {.version = APH_MODEL_VERSION, .name = "greeter", .summary = "speaks first",
                                  .step = greeter_step, .initial = null};

static aph_value greeter_request(aphi_choice *c)
{
    return small(c, 1, 3);
}

static aph_value greeter_answer(aphi_choice *c)
{
    return aphi_choice_chance(c, 1, 3) ? ONE_OF(c, "hello", "hi", "good day") : small(c, 1, 6);
}

const subject subject_greeter = {&greeter, NULL, greeter_request, greeter_answer, 0, NULL};

/* ---- chatty ------------------------------------------------------------------------------------------------------ */

/* The server has a word that was not observed yet. For "a" or "b" it may send the word, nothing, or the word and "more"
 * to all; it adopts the requested word if that differs, or never sends its own. */
static void chatty_step(aph *m, aph_value *word)
{
    aph_request q = aph_recv(m);
    bool same = aph_decide(m, aph_eq(*word, q.message), "the same word");
    switch (aph_either(m, "says nothing", "says it", "says more")) {
    case 1: aph_send(m, q.from, aph_record("word", *word)); break;
    case 2:
        aph_send(m, q.from, aph_record("word", *word));
        aph_send(m, 1, aph_str("more"));
        if (same)
            aph_never(m);
        break;
    default: break;
    }
    if (!same)
        *word = aph_either(m, "takes the word", "takes a new one") ? aph_choose(m, APH_STR, "word") : q.message;
}

static aph_value unknown_word(const aph_model *model)
{
    (void)model;
    return aph_symbol(APH_STR, 0);
}

static const aph_model chatty = {.version = APH_MODEL_VERSION, .name = "chatty",
                                 .summary = "answers as often as it likes",
                                 .step = chatty_step, .initial = unknown_word};

static aph_value chatty_request(aphi_choice *c)
{
    return ONE_OF(c, "a", "b");
}

static aph_value chatty_answer(aphi_choice *c)
{
    return aphi_choice_chance(c, 1, 4) ? aph_str("more") : aph_record("word", ONE_OF(c, "a", "b", "c"));
}

/* Words are compared with a and b only, so c or d always remains. */
const subject subject_chatty = {&chatty, (const char *const[]){"a", "b", "c", "d", NULL}, chatty_request, chatty_answer,
                                .requests_most = 4};

/* ---- fickle ------------------------------------------------------------------------------------------------------ */

/* Two cells, [0] and [1], and a flag, all unknown at first.
 *     {"f": "read", "cell": i}             returns the cell
 *     {"f": "same"}                        returns whether the cells are equal
 *     {"f": "guess", "cell": i, "word": w} returns whether the cell is w; if not, the cell may become w
 *     {"f": "stir"}                        swaps the cells, copies one, or refills one: returns "ok", or the flag */
static void fickle_step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value cell = aph_field(q.message, "cell"), word = aph_field(q.message, "word"), flag = aph_at(*state, 2);
    size_t i = cell ? (size_t)aph_int_of(cell) : 0;
    if (is(q.message, "read")) {
        aph_send(m, q.from, aph_at(*state, i));
    } else if (is(q.message, "same")) {
        aph_send(m, q.from, aph_bool(aph_decide(m, aph_eq(aph_at(*state, 0), aph_at(*state, 1)), "cells are equal")));
    } else if (is(q.message, "guess")) {
        bool right = aph_decide(m, aph_eq(aph_at(*state, i), word), "right");
        if (!right && aph_either(m, "keeps", "takes"))
            *state = aph_replace(*state, i, word);
        aph_send(m, q.from, aph_bool(right));
    } else {
        switch (aph_either(m, "swap", "copy", "fill")) {
        case 0: *state = APH_ARRAY_OF(aph_at(*state, 1), aph_at(*state, 0), flag); break;
        case 1: *state = aph_replace(*state, 0, aph_at(*state, 1)); break;
        default: *state = aph_replace(*state, 1, aph_choose(m, APH_STR, "cell")); break;
        }
        aph_send(m, q.from, aph_decide(m, flag, "flag shown") ? flag : aph_str("ok"));
    }
}

static aph_value fickle_initial(const aph_model *model)
{
    (void)model;
    return APH_ARRAY_OF(aph_symbol(APH_STR, 0), aph_symbol(APH_STR, 1), aph_symbol(APH_BOOL, 2));
}

static bool fickle_reads(aph_value request, aph_value answer)
{
    return is(request, "read") || is(request, "same") || (is(request, "guess") && aph_truth(answer));
}

static const aph_model fickle = {.version = APH_MODEL_VERSION, .name = "fickle",
                                 .summary = "unknown state, free choices",
                                 .step = fickle_step, .initial = fickle_initial, .rpc = true, .reads = fickle_reads};

static aph_value fickle_request(aphi_choice *c)
{
    aph_value q = aph_record("f", ONE_OF(c, "read", "same", "guess", "stir"));
    if (is(q, "read") || is(q, "guess"))
        q = aph_put(q, "cell", small(c, 0, 1));
    return is(q, "guess") ? aph_put(q, "word", ONE_OF(c, "a", "b")) : q;
}

static aph_value fickle_answer(aphi_choice *c)
{
    uint64_t at = aphi_choice_below(c, 6);
    return at == 0 ? aph_str("ok") : at < 3 ? aph_bool(at == 1) : ONE_OF(c, "a", "b", "c");
}

/* An observed value may be any of these, so none is certainly new. A symbol is only known to differ from a, from b (by
 * a guess), or from the other cell (by "same", and again only after a stir). Five requests therefore exclude fewer than
 * six values. */
const subject subject_fickle = {&fickle, (const char *const[]){"a", "b", "c", "d", "e", "ok", NULL}, fickle_request,
                                fickle_answer, .requests_most = 5};

/* ---- counters ---------------------------------------------------------------------------------------------------- */

/* {"f": "add", "key": k} returns "ok"; {"f": "get", "key": k} returns the number of adds. */
static void counters_step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value key = aph_field(q.message, "key"), old = aph_get(*state, key);
    if (is(q.message, "add"))
        *state = aph_set(*state, key, aph_add(old ? old : aph_int(0), aph_int(1)));
    aph_send(m, q.from, is(q.message, "add") ? aph_str("ok") : old ? old : aph_int(0));
}

static bool counters_commute(aph_value a, aph_value b)
{
    return aph_field(a, "key") != aph_field(b, "key") || aph_field(a, "f") == aph_field(b, "f");
}

static const aph_model counters = {.version = APH_MODEL_VERSION, .name = "counters", .summary = "promises commute",
                                   .step = counters_step, .rpc = true, .commute = counters_commute};

static aph_value counters_request(aphi_choice *c)
{
    return aph_record("f", ONE_OF(c, "add", "get"), "key", ONE_OF(c, "x", "x", "y", "z"));
}

static aph_value counters_answer(aphi_choice *c)
{
    return aphi_choice_chance(c, 1, 6) ? aph_str("ok") : small(c, 0, 3);
}

const subject subject_counters = {&counters, NULL, counters_request, counters_answer, 0, NULL};

/* ---- dice -------------------------------------------------------------------------------------------------------- */

/* "roll" adds a hidden die of 0 to 2, and returns whether the sum is above 2; a number n returns whether the sum is at
 * least n, and subtracts n if so; "show" returns the sum times the last die, and resets both. */
static void dice_step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value sum = aph_at(*state, 0), last = aph_at(*state, 1);
    if (aph_str_is(q.message, "roll")) {
        last = aph_choose_within(m, 0, 2, "die");
        sum = aph_add(sum, last);
        aph_send(m, q.from, aph_bool(aph_decide(m, aph_lt(aph_int(2), sum), "above 2")));
    } else if (aph_str_is(q.message, "show")) {
        aph_send(m, q.from, APH_ARRAY_OF(sum, aph_mul(sum, last)));
        sum = aph_int(0);
    } else {
        bool enough = aph_decide(m, aph_le(q.message, sum), "enough");
        sum = enough ? aph_sub(sum, q.message) : sum;
        aph_send(m, q.from, aph_bool(enough));
    }
    *state = APH_ARRAY_OF(sum, last);
}

static aph_value dice_initial(const aph_model *model)
{
    (void)model;
    return APH_ARRAY_OF(aph_int(0), aph_int(0));
}

static const aph_model dice = {.version = APH_MODEL_VERSION, .name = "dice", .summary = "bounded choices, sums of them",
                               .step = dice_step, .initial = dice_initial, .rpc = true};

static aph_value dice_request(aphi_choice *c)
{
    uint64_t at = aphi_choice_below(c, 5);
    return at < 2 ? aph_str("roll") : at == 2 ? aph_str("show") : small(c, 1, 3);
}

static aph_value dice_answer(aphi_choice *c)
{
    uint64_t at = aphi_choice_below(c, 4);
    return at < 2 ? aph_bool(at == 0) : APH_ARRAY_OF(small(c, 0, 4), small(c, 0, 6));
}

const subject subject_dice = {&dice, NULL, dice_request, dice_answer, 0, NULL};

/* ---- sessions ---------------------------------------------------------------------------------------------------- */

/* Each connection has a value, and one of them has the lock.
 *     {"f": "set", "value": v}   returns "ok"
 *     {"f": "get"}               returns the value of the connection
 *     {"f": "lock"}              returns whether the connection has the lock now
 *     {"f": "unlock"}            returns whether it had the lock */
static void sessions_step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value name = aph_int(q.from), holder = aph_field(*state, "holder"), own = aph_get(*state, name);
    if (is(q.message, "set")) {
        *state = aph_set(*state, name, aph_field(q.message, "value"));
        aph_send(m, q.from, aph_str("ok"));
    } else if (is(q.message, "get")) {
        aph_send(m, q.from, own);
    } else if (is(q.message, "lock")) {
        *state = holder ? *state : aph_put(*state, "holder", name);
        aph_send(m, q.from, aph_bool(!holder || holder == name));
    } else {
        *state = holder == name ? aph_remove(*state, aph_str("holder")) : *state;
        aph_send(m, q.from, aph_bool(holder == name));
    }
}

static bool sessions_reads(aph_value request, aph_value answer)
{
    (void)answer;
    return is(request, "get");
}

static const aph_model sessions = {.version = APH_MODEL_VERSION, .name = "sessions",
                                   .summary = "a state per connection", .step = sessions_step, .rpc = true,
                                   .reads = sessions_reads};

static aph_value sessions_request(aphi_choice *c)
{
    aph_value q = aph_record("f", ONE_OF(c, "set", "get", "lock", "unlock"));
    return is(q, "set") ? aph_put(q, "value", small(c, 1, 2)) : q;
}

static aph_value sessions_answer(aphi_choice *c)
{
    uint64_t at = aphi_choice_below(c, 5);
    return at == 0 ? APH_NIL : at < 3 ? aph_bool(at == 1) : small(c, 1, 2);
}

const subject subject_sessions = {&sessions, NULL, sessions_request, sessions_answer, 0, NULL};
