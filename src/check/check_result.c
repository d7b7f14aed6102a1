/* SPDX-License-Identifier: Apache-2.0
 *
 * check_result.c - the result of a check: lifetime, JSON, transport between processes. */
#include "check/check_result.h"

#include "base/memory.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const verdict_names[] = {"pass", "fail", "unknown", "error", "vacuous"};
enum { VERDICTS = sizeof verdict_names / sizeof *verdict_names };
static const char *const limit_names[] = {[APH_LIMIT_NONE] = "none",     [APH_LIMIT_TIME] = "time",
                                          [APH_LIMIT_MEMORY] = "memory", [APH_LIMIT_SOLVER] = "solver",
                                          [APH_LIMIT_WINDOW] = "window", [APH_LIMIT_STOPPED] = "stop",
                                          [APH_LIMIT_BRANCHES] = "branches"};

/* The numbers of a result, by their names in JSON. */
static const struct number {
    const char *name;
    size_t offset;
} numbers[] = {
#define NUMBER(name) {#name, offsetof(aph_check_result, name)}
    NUMBER(operations), NUMBER(observations), NUMBER(configurations), NUMBER(steps), NUMBER(solver_calls),
    NUMBER(parts),      NUMBER(check_ns),     NUMBER(resident_kb),    NUMBER(responses),
#undef NUMBER
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static void mark_result(void *context)
{
    const aph_check_result *r = context;
    aph_mark(r->evidence);
    aph_mark(r->explanation);
}

aph_check_result *aphi_check_result_make(const char *file, const char *model)
{
    aph_check_result *r = aphi_alloc_zero(sizeof *r);
    r->file = aphi_copy_text(file, strlen(file));
    model = model ? model : "";
    r->model = aphi_copy_text(model, strlen(model));
    aph_root_add(mark_result, r);
    return r;
}

void aph_check_result_free(aph_check_result *r)
{
    if (!r)
        return;
    aph_root_remove(mark_result, r);
    free(r->file);
    free(r->model);
    free(r);
}

void aphi_check_result_error(aph_check_result *r, aph_check_error error, const char *message)
{
    r->verdict = APH_CHECK_ERROR;
    r->error = error;
    snprintf(r->message, sizeof r->message, "%s", message);
}

const char *aph_check_verdict_name(aph_check_verdict verdict)
{
    return verdict_names[verdict];
}

/* ---- as a value -------------------------------------------------------------------------------------------------- */

static aph_value error_value(const aph_check_result *r)
{
    aph_value error = aph_record("message", aph_str(r->message));
    if (r->line)
        error = aph_put(error, "line", aph_int((int64_t)r->line));
    if (r->column)
        error = aph_put(error, "column", aph_int((int64_t)r->column));
    return error;
}

static aph_value put_explanation(aph_value v, const aph_check_result *r)
{
    v = aph_put(v, "explanation", r->explanation);
    return aph_put(v, "replay", r->explanation_holds ? aph_str("holds") : aph_strf("does not hold: %s", r->message));
}

aph_value aph_check_result_value(const aph_check_result *r)
{
    aph_value v = aph_record("file", aph_str(r->file), "model", aph_str(r->model), "format",
                             aph_str(aph_trace_format_name(r->format)), "verdict", aph_str(verdict_names[r->verdict]));
    for (size_t i = 0; i < NUMBERS; i++)
        v = aph_put(v, numbers[i].name, aph_int(*(const int64_t *)((const char *)r + numbers[i].offset)));
    switch (r->verdict) {
    case APH_CHECK_PASS: return r->explanation ? put_explanation(v, r) : v;
    case APH_CHECK_VACUOUS:
        v = aph_put(v, "why", aph_str(r->message));
        return r->explanation ? put_explanation(v, r) : v;
    case APH_CHECK_FAIL: return aph_put(aph_put(v, "evidence", r->evidence), "evidence_ns", aph_int(r->evidence_ns));
    case APH_CHECK_UNKNOWN:
        v = aph_put(aph_put(v, "limit", aph_str(limit_names[r->limit])), "limit_line", aph_int((int64_t)r->line));
        return *r->message ? aph_put(v, "limit_message", aph_str(r->message)) : v;
    case APH_CHECK_ERROR: return aph_put(v, "error", error_value(r));
    }
    return v;
}

/* ---- between processes ------------------------------------------------------------------------------------------- */

aph_value aphi_check_result_pack(const aph_check_result *r)
{
    aph_value v = aph_record("result", aph_check_result_value(r), "message", aph_str(r->message));
    v = aph_put(v, "numbers", APH_ARRAY_OF(aph_int(r->verdict), aph_int(r->format), aph_int(r->error),
                                           aph_int(r->limit), aph_int((int64_t)r->line), aph_int((int64_t)r->column),
                                           aph_int(r->explanation_holds)));
    return v;
}

/* The caller frees the text. */
static char *text_in(aph_value object, const char *name)
{
    size_t n;
    aph_value v = aph_field(object, name);
    const char *bytes = aph_bytes_of(&v, &n);
    return aphi_copy_text(bytes, n);
}

static int64_t number_in(aph_value object, const char *name)
{
    aph_value v = aph_field(object, name);
    return v ? aph_int_of(v) : 0;
}

aph_check_result *aphi_check_result_unpack(aph_value packed)
{
    aph_value v = aph_field(packed, "result"), fixed = aph_field(packed, "numbers");
    if (!v || !fixed || aph_count(fixed) != 7)
        return NULL;
    char *file = text_in(v, "file"), *model = text_in(v, "model"), *message = text_in(packed, "message");
    aph_check_result *r = aphi_check_result_make(file, model);
    r->verdict = (aph_check_verdict)aph_int_of(aph_at(fixed, 0));
    r->format = (aph_trace_format)aph_int_of(aph_at(fixed, 1));
    r->error = (aph_check_error)aph_int_of(aph_at(fixed, 2));
    r->limit = (aph_limit)aph_int_of(aph_at(fixed, 3));
    r->line = (uint64_t)aph_int_of(aph_at(fixed, 4));
    r->column = (uint64_t)aph_int_of(aph_at(fixed, 5));
    r->explanation_holds = aph_int_of(aph_at(fixed, 6)) != 0;
    snprintf(r->message, sizeof r->message, "%s", message);
    r->evidence = aph_field(v, "evidence");
    r->explanation = aph_field(v, "explanation");
    r->evidence_ns = number_in(v, "evidence_ns");
    for (size_t i = 0; i < NUMBERS; i++)
        *(int64_t *)((char *)r + numbers[i].offset) = number_in(v, numbers[i].name);
    free(file);
    free(model);
    free(message);
    return r;
}
