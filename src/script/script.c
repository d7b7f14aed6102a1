/* SPDX-License-Identifier: Apache-2.0
 *
 * script.c - scripts in memory and on disk, where each line is a JSON object (docs/testing.md).
 *
 * Idea:       a line is parsed as a value, and its fields are read by name. Unknown fields are errors with a line
 *             number, so that a typo does not change the meaning of a script.
 * Invariants: (1) labels are odd and increase. (2) An action waits only for responses to requests with smaller labels,
 *             so no script waits for itself. (3) Messages are not null and their holes are well-formed; their functions
 *             are checked when the model is known.
 * Cost:       linear; the whole file is in memory. */
#include "script/script.h"

#include <antiphon/check.h>

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"
#include "env/env.h"
#include "base/memory.h"
#include "script/expression.h"
#include "value/heap.h"

void aphi_script_mark(const aphi_script *s)
{
    for (size_t i = 0; i < s->count; i++)
        aph_mark(s->actions[i].send);
}

void aphi_script_free(aphi_script *s)
{
    free(s->actions);
    *s = (aphi_script){0};
}

void aphi_script_add(aphi_script *s, const aphi_action *action)
{
    APHI_RESERVE(s->actions, s->capacity, s->count + 1);
    s->actions[s->count++] = *action;
}

size_t aphi_script_index(const aphi_script *script, int64_t label)
{
    int64_t request = label % 2 == 0 ? label - 1 : label;
    size_t low = 0, high = script->count; /* labels increase */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (script->actions[middle].label < request)
            low = middle + 1;
        else
            high = middle;
    }
    return low < script->count && script->actions[low].label == request ? low : script->count;
}

aphi_script aphi_script_copy(const aphi_script *s)
{
    aphi_script copy = *s;
    copy.actions = aphi_copy(s->actions, s->count * sizeof *s->actions);
    copy.capacity = s->count;
    return copy;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static aph_value wait_value(const aphi_action *a)
{
    switch (a->wait) {
    case APHI_WAIT_ANSWER: return aph_record("answer", aph_int(a->waits_for));
    case APHI_WAIT_QUIET: return aph_str("quiet");
    case APHI_WAIT_SILENCE: return aph_str("silence");
    case APHI_WAIT_PAUSE: return aph_record("pause_us", aph_int(a->waits_for));
    case APHI_WAIT_NOTHING: break;
    }
    return APH_NIL;
}

/* The actions that open and end a connection. */
static const struct signal_action {
    const char *name;
    aph_value send;
} signal_actions[] = {{"close", APH_NIL}, {"open", APH_OPENED}, {"shut", APH_CLOSED}, {"abort", APH_BROKEN}};
enum { SIGNAL_ACTIONS = sizeof signal_actions / sizeof *signal_actions };

static const char *signal_name(aph_value send)
{
    size_t i = 0;
    while (signal_actions[i].send != send)
        i++;
    return signal_actions[i].name;
}

aph_value aphi_action_value(const aphi_action *a)
{
    aph_value v = aph_record("label", aph_int(a->label), "conn", aph_int(a->connection));
    v = aphi_is_signal(a->send) ? aph_put(v, signal_name(a->send), aph_bool(true))
        : a->send               ? aph_put(v, "send", a->send)
                                : aph_put(v, "close", aph_bool(true));
    if (a->chunk)
        v = aph_put(v, "chunk", aph_int(a->chunk));
    if (a->wait != APHI_WAIT_NOTHING)
        v = aph_put(v, "wait", wait_value(a));
    return v;
}

/* Writes the fields in the order of names, which is easier to read than the key order of objects. */
static void add_line(aphi_buffer *b, aph_value object, const char *const *names)
{
    const char *before = "{";
    for (; *names; names++) {
        if (!aph_has(object, aph_str(*names)))
            continue;
        char *text = aph_json_text(aph_field(object, *names), NULL);
        aphi_buffer_format(b, "%s\"%s\":", before, *names);
        aphi_buffer_str(b, text);
        free(text);
        before = ",";
    }
    aphi_buffer_str(b, "}\n");
}

static const char *const header_names[] = {"antiphon", "script", "environment", "seed", NULL};
static const char *const action_names[] = {"label", "conn",  "send",  "open", "shut",
                                           "close", "abort", "chunk", "wait", NULL};

char *aphi_script_text(const aphi_script *s, size_t *n)
{
    aphi_buffer b = {0};
    add_line(&b, aph_record("antiphon", aph_int(1), "script", aph_str(s->model), "environment", aph_str(s->environment),
                            "seed", aph_int((int64_t)s->seed)), header_names);
    for (size_t i = 0; i < s->count; i++)
        add_line(&b, aphi_action_value(&s->actions[i]), action_names);
    if (n)
        *n = b.n;
    return aphi_buffer_text(&b);
}

bool aphi_script_write(const char *path, const aphi_script *s, char *error, size_t error_size)
{
    aphi_file file;
    size_t n;
    char *text = aphi_script_text(s, &n);
    bool written = aphi_file_create(&file, path);
    if (written) {
        fwrite(text, 1, n, file.stream); /* a failure is observed by commit */
        fflush(file.stream);
        fsync(fileno(file.stream));
        written = aphi_file_commit(&file);
    }
    free(text);
    return written || aphi_fail(error, error_size, "%s: cannot write the script: %s", path, strerror(errno));
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

typedef struct reading {
    const char *name;
    size_t line;
    int64_t last; /* label */
    char *error;
    size_t error_size;
} reading;

__attribute__((format(printf, 2, 3))) static bool fail_line(reading *r, const char *format, ...)
{
    char what[400];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    snprintf(r->error, r->error_size, "%s:%zu: %s", r->name, r->line, what);
    return false;
}

static bool is_named(aph_value key, const char *const *names)
{
    while (*names && !aph_str_is(key, *names))
        names++;
    return *names;
}

static bool only_known_fields(reading *r, aph_value object, const char *const *names, const char *known)
{
    aph_value key, item;
    for (size_t i = 0; aph_pair_at(object, i, &key, &item); i++) {
        if (is_named(key, names))
            continue;
        char *text = aph_json_text(key, NULL);
        fail_line(r, "unknown field %.60s; the fields are %s", text, known);
        free(text);
        return false;
    }
    return true;
}

static bool read_int(reading *r, aph_value object, const char *name, int64_t low, int64_t high, int64_t *i)
{
    aph_value v = aph_field(object, name);
    if (!aph_is_int(v) || aph_int_of(v) < low || aph_int_of(v) > high)
        return fail_line(r, "\"%s\" must be an integer from %" PRId64 " to %" PRId64, name, low, high);
    *i = aph_int_of(v);
    return true;
}

static bool read_name(reading *r, aph_value object, const char *name, char *to, size_t size)
{
    aph_value v = aph_field(object, name);
    size_t n;
    const char *bytes = aph_is_str(v) ? aph_bytes_of(&v, &n) : NULL;
    if (!bytes || n >= size || memchr(bytes, 0, n))
        return fail_line(r, "\"%s\" must be a string of at most %zu bytes", name, size - 1);
    memcpy(to, bytes, n);
    to[n] = 0;
    return true;
}

static bool read_header(reading *r, aph_value v, aphi_script *s)
{
    int64_t seed = 0;
    if (!aph_has(v, aph_str("antiphon")) || !aph_has(v, aph_str("script")))
        return fail_line(r, "not a script: the first line must be {\"antiphon\":1,\"script\":\"MODEL\",...}");
    if (!only_known_fields(r, v, header_names, "\"antiphon\", \"script\", \"environment\" and \"seed\""))
        return false;
    if (aph_field(v, "antiphon") != aph_int(1))
        return fail_line(r, "\"antiphon\" is the version of the format: only 1 is supported");
    if (aph_has(v, aph_str("seed")) && !read_int(r, v, "seed", INT64_MIN, INT64_MAX, &seed))
        return false;
    s->seed = (uint64_t)seed;
    strcpy(s->environment, "tcp");
    aphi_env env;
    if (!read_name(r, v, "script", s->model, sizeof s->model) ||
        (aph_has(v, aph_str("environment")) &&
         !read_name(r, v, "environment", s->environment, sizeof s->environment)))
        return false;
    return aphi_env_named(s->environment, &env) || aph_network_is_file(s->environment) ||
           fail_line(r, "no environment named \"%s\"; use tcp, tcp:N, sync, udp, or a file: ./mine.c", s->environment);
}

static bool read_wait(reading *r, aph_value v, aphi_action *a)
{
    bool one = aph_kind_of(v) == APH_OBJECT && aph_count(v) == 1;
    if (aph_str_is(v, "quiet") || aph_str_is(v, "silence")) {
        a->wait = aph_str_is(v, "quiet") ? APHI_WAIT_QUIET : APHI_WAIT_SILENCE;
        return true;
    }
    if (one && aph_has(v, aph_str("pause_us"))) {
        a->wait = APHI_WAIT_PAUSE;
        return read_int(r, v, "pause_us", 0, INT64_C(3600000000), &a->waits_for);
    }
    if (!one || !aph_has(v, aph_str("answer")))
        return fail_line(r, "\"wait\" must be {\"answer\": LABEL}, \"quiet\", \"silence\" or "
                         "{\"pause_us\": MICROSECONDS}");
    a->wait = APHI_WAIT_ANSWER;
    if (!read_int(r, v, "answer", 2, INT64_MAX - 1, &a->waits_for))
        return false;
    if (a->waits_for % 2 != 0)
        return fail_line(r, "responses have even labels: the response to request %" PRId64 " is %" PRId64, a->waits_for,
                     a->waits_for + 1);
    if (a->waits_for > a->label)
        return fail_line(r, "the wait never ends: request %" PRId64 " comes after this action", a->waits_for - 1);
    return true;
}

static bool read_send(reading *r, aph_value v, aphi_action *a)
{
    char why[300];
    bool sends = aph_has(v, aph_str("send"));
    int kinds = sends;
    a->send = aph_field(v, "send");
    if (sends && !a->send)
        return fail_line(r, "null cannot be sent");
    for (size_t i = 0; i < SIGNAL_ACTIONS; i++) {
        if (!aph_truth(aph_field(v, signal_actions[i].name)))
            continue;
        kinds++;
        a->send = sends ? a->send : signal_actions[i].send;
    }
    if (kinds != 1)
        return fail_line(r, "an action needs one of \"send\":MESSAGE, \"open\":true, \"shut\":true, \"close\":true and "
                         "\"abort\":true");
    if (!aphi_expression_is_sound(a->send, why, sizeof why))
        return fail_line(r, "%s", why);
    return true;
}

static bool read_action(reading *r, aph_value v, aphi_action *a)
{
    int64_t chunk = 0;
    if (!only_known_fields(r, v, action_names, "\"label\", \"conn\", \"send\", \"open\", \"shut\", \"close\", "
                           "\"abort\", \"chunk\" and \"wait\"") ||
        !read_int(r, v, "label", 1, INT64_MAX - 1, &a->label) ||
        !read_int(r, v, "conn", 0, APHI_SCRIPT_CONNECTION_MAX, &a->connection))
        return false;
    if (a->label % 2 == 0)
        return fail_line(r, "label %" PRId64 " is even: requests have odd labels", a->label);
    if (a->label <= r->last)
        return fail_line(r, "label %" PRId64 " comes after %" PRId64 ": labels must rise", a->label, r->last);
    if (!read_send(r, v, a))
        return false;
    if (aph_has(v, aph_str("chunk")) && !read_int(r, v, "chunk", 1, UINT32_MAX, &chunk))
        return false;
    if (chunk && (!a->send || aphi_is_signal(a->send)))
        return fail_line(r, "\"chunk\" needs a \"send\"");
    a->chunk = (uint32_t)chunk;
    r->last = a->label;
    return !aph_has(v, aph_str("wait")) || read_wait(r, aph_field(v, "wait"), a);
}

static bool read_line(reading *r, const char *text, size_t n, aphi_script *s)
{
    aph_value v;
    aph_json_error json;
    if (!aph_json_read(text, n, &v, &json))
        return fail_line(r, "column %zu: %s", json.offset + 1, json.message);
    if (aph_kind_of(v) != APH_OBJECT)
        return fail_line(r, "a line of a script must be a JSON object");
    if (r->line == 1)
        return read_header(r, v, s);
    aphi_action a = {0};
    if (!read_action(r, v, &a))
        return false;
    aphi_script_add(s, &a);
    return true;
}

bool aphi_script_parse(const char *name, const char *text, size_t n, aphi_script *s, char *error, size_t error_size)
{
    reading r = {.name = name, .error = error, .error_size = error_size};
    *s = (aphi_script){0};
    for (size_t at = 0; at < n || r.line == 0;) {
        const char *end = n > at ? memchr(text + at, '\n', n - at) : NULL;
        size_t length = end ? (size_t)(end - text) - at : n - at;
        r.line++;
        if (!read_line(&r, text + at, length, s)) {
            aphi_script_free(s);
            return false;
        }
        at += length + 1;
    }
    return true;
}

bool aphi_script_check(const char *name, const aphi_script *s, const aph_function *functions, char *error,
                       size_t error_size)
{
    char why[300];
    for (size_t i = 0; i < s->count; i++) {
        const aphi_action *a = &s->actions[i];
        if (a->send && !aphi_expression_check(a->send, functions, why, sizeof why))
            return aphi_fail(error, error_size, "%s: request %" PRId64 ": %s", name, a->label, why);
    }
    return true;
}

bool aphi_script_read(const char *path, aphi_script *s, char *error, size_t error_size)
{
    *s = (aphi_script){0};
    aphi_buffer b = {0};
    bool ok = aphi_buffer_load(&b, path, SIZE_MAX);
    if (!ok)
        snprintf(error, error_size, "%s: cannot read the script: %s", path, strerror(errno));
    else
        ok = aphi_script_parse(path, aphi_buffer_text(&b), b.n, s, error, error_size);
    aphi_buffer_free(&b);
    return ok;
}
