/* SPDX-License-Identifier: Apache-2.0
 *
 * concrete.c - concrete runs of a model; see concrete.h.
 *
 * Idea:       aphi_step_run runs the step; its answerer calls the picker. A step that is abandoned at a receive runs
 *             again from its start, with the same answers and the next request. */
#include "concrete.h"

#include "tree/step.h"

#include <assert.h>

enum { EVENTS_MOST = 256, SYMBOLS_MOST = 8 };

typedef struct run {
    const subject *subject;
    concrete_pick *pick;
    void *context;
    aph_value replay;      /* earlier answers */
    size_t replayed;
    aph_value request;     /* [connection, message], until it is taken */
    aph_value log[EVENTS_MOST];
    size_t count;
    aph_value mail;
    bool waiting;          /* abandoned at a receive because no request is left */
} run;

/* ---- choices ----------------------------------------------------------------------------------------------------- */

size_t concrete_values(const subject *s, aph_kind sort, bool bounded, int64_t low, int64_t high)
{
    size_t n = 0;
    if (sort == APH_BOOL)
        return 2;
    if (sort == APH_INT) {
        assert(bounded);
        return (size_t)(high - low) + 1;
    }
    assert(sort == APH_STR && s->strings);
    while (s->strings[n])
        n++;
    return n;
}

aph_value concrete_value(const subject *s, aph_kind sort, bool bounded, int64_t low, size_t i)
{
    if (sort == APH_BOOL)
        return aph_bool(i != 0);
    if (sort == APH_INT) {
        assert(bounded);
        return aph_int(low + (int64_t)i);
    }
    return aph_str(s->strings[i]);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

/* Messages that are sent on a closed connection are lost. */
static aph_value posted(aph_value mail, int64_t to, aph_value message)
{
    aph_value waiting = aph_get(mail, aph_int(to));
    if (waiting && aph_at(waiting, aph_count(waiting) - 1) == APH_CLOSED)
        return mail;
    return aph_set(mail, aph_int(to), waiting ? aph_push(waiting, message) : APH_ARRAY_OF(message));
}

static bool answer_new(run *r, const aph_event *e, aph_value *answer)
{
    switch (e->kind) {
    case APH_EVENT_RECV:
        r->waiting = !r->request;
        *answer = r->request;
        r->request = APH_NIL;
        return !r->waiting;
    case APH_EVENT_SEND: r->mail = posted(r->mail, e->to, e->value); return true;
    case APH_EVENT_DECIDE: *answer = e->value; return aph_kind_of(e->value) == APH_BOOL; /* else undefined */
    case APH_EVENT_EITHER: *answer = aph_int((int64_t)r->pick(r->context, e->count)); return true;
    case APH_EVENT_CHOOSE: {
        size_t n = concrete_values(r->subject, e->sort, e->bounded, e->low, e->high);
        *answer = concrete_value(r->subject, e->sort, e->bounded, e->low, r->pick(r->context, n));
        return true;
    }
    default: return false;
    }
}

static bool answer_event(void *context, const aph_event *e, aph_value *answer)
{
    run *r = context;
    *answer = APH_NIL;
    if (r->replayed < aph_count(r->replay))
        *answer = aph_at(r->replay, r->replayed++);
    else if (!answer_new(r, e, answer))
        return false;
    assert(r->count < EVENTS_MOST);
    r->log[r->count++] = *answer;
    return true;
}

static bool run_on(concrete *x, run *r)
{
    aph_value state = x->state;
    r->replay = x->answers;
    r->mail = x->mail;
    for (;;) {
        aphi_ending ending = aphi_step_run(r->subject->model, &state, answer_event, r);
        if (ending == APHI_ENDED) {
            r->count = r->replayed = 0;
            r->replay = aph_array(0, NULL);
        } else if (ending == APHI_LEFT && r->waiting) {
            *x = (concrete){state, aph_array(r->count, r->log), r->mail};
            return true;
        } else {
            assert(ending == APHI_LEFT || ending == APHI_NEVER);
            return false;
        }
    }
}

/* ---- the initial state ------------------------------------------------------------------------------------------- */

typedef struct picked {
    const subject *subject;
    concrete_pick *pick;
    void *context;
    aph_value value[SYMBOLS_MOST];
    bool known[SYMBOLS_MOST];
} picked;

static aph_value filled(picked *p, aph_value v);

static aph_value filled_symbol(picked *p, aph_value v)
{
    uint32_t i = aph_symbol_number(v);
    assert(i < SYMBOLS_MOST);
    if (!p->known[i]) {
        aph_kind sort = aph_symbol_sort(v);
        size_t n = concrete_values(p->subject, sort, false, 0, 0);
        p->value[i] = concrete_value(p->subject, sort, false, 0, p->pick(p->context, n));
        p->known[i] = true;
    }
    return p->value[i];
}

static aph_value filled(picked *p, aph_value v)
{
    aph_value key, item, out = v;
    switch (aph_kind_of(v)) {
    case APH_SYMBOL: return filled_symbol(p, v);
    case APH_ARRAY:
        for (size_t i = 0; i < aph_count(v); i++)
            out = aph_replace(out, i, filled(p, aph_at(v, i)));
        return out;
    case APH_OBJECT:
        for (size_t i = 0; aph_pair_at(v, i, &key, &item); i++)
            out = aph_set(out, key, filled(p, item));
        return out;
    default: return v;
    }
}

/* ---- a server ---------------------------------------------------------------------------------------------------- */

bool concrete_begin(concrete *x, const subject *s, concrete_pick *pick, void *context)
{
    picked p = {.subject = s, .pick = pick, .context = context};
    run r = {.subject = s, .pick = pick, .context = context};
    aph_value state = s->model->initial ? s->model->initial(s->model) : aph_object();
    *x = (concrete){filled(&p, state), aph_array(0, NULL), aph_object()};
    return run_on(x, &r);
}

bool concrete_feed(concrete *x, const subject *s, int64_t from, aph_value message, concrete_pick *pick, void *context)
{
    run r = {.subject = s, .pick = pick, .context = context, .request = APH_ARRAY_OF(aph_int(from), message)};
    return run_on(x, &r);
}

bool concrete_mail(const concrete *x, int64_t connection, aph_value *message)
{
    aph_value waiting = aph_get(x->mail, aph_int(connection));
    if (aph_count(waiting) == 0)
        return false;
    *message = aph_at(waiting, 0);
    return true;
}

void concrete_take_mail(concrete *x, int64_t connection)
{
    aph_value key = aph_int(connection), waiting = aph_get(x->mail, key);
    x->mail = aph_count(waiting) > 1 ? aph_set(x->mail, key, aph_slice(waiting, 1, aph_count(waiting) - 1))
                                     : aph_remove(x->mail, key);
}
