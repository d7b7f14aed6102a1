/* SPDX-License-Identifier: Apache-2.0
 *
 * jepsen.c - readers of Jepsen histories: logs, EDN and JSON.
 *
 * Idea:       each format finds the same members of an operation as slices of text. They are interpreted in one place,
 *             and only the members in use are converted to values, so a fraction in the :value of a nemesis is not an
 *             error.
 * Picture:    {:process 3, :type :invoke, :f :cas, :value [1 2]}   SENT     {"f":"cas","value":[1,2]}
 *             {:process 3, :type :ok,     :f :cas, :value [1 2]}   RECEIVED the result of the model's jepsen hook
 *             {:process 3, :type :fail,   ...}                     RECEIVED, or UNDONE without a response
 *             {:process 3, :type :info,   ...}                     LOST; process 3 then becomes another connection
 * Invariants: a process has at most one open operation.
 */
#include <string.h>
#include <antiphon/oracle.h>
#include "trace/json_scan.h"
#include "trace/reader.h"
#include "tree/model_calls.h"

enum { PROCESS, TYPE, F, VALUE, KEY, ERROR, TIME, INDEX, KEYS };
static const char *const keys[KEYS] = {"process", "type", "f", "value", "key", "error", "time", "index"};

enum { INVOKE, OK, FAIL, INFO, TYPES };
static const char *const types[TYPES] = {"invoke", "ok", "fail", "info"};

typedef struct operation {
    aphi_slice member[KEYS];
    aphi_slice all;      /* the text of the operation */
    bool json;
    const char *end;     /* of the text around it */
} operation;

/* ---- members ----------------------------------------------------------------------------------------------------- */

static bool build_form(aphi_trace *t, const operation *op, aphi_slice s, aph_value *v, aphi_cursor *c)
{
    *v = APH_NIL;
    *c = (aphi_cursor){.at = s.at, .end = op->end, .whole = true};
    return !s.at || (op->json ? aphi_json_build(c, s, v) : aphi_edn_build(&t->edn, c, v));
}

static int build_member(aphi_trace *t, const operation *op, aphi_slice s, aph_value *v)
{
    aphi_cursor c;
    return build_form(t, op, s, v, &c) ? 1 : aphi_trace_fail_cursor(t, &c);
}

/* Removes the colon or the surrounding quotes. */
static aphi_slice strip_quotes(aphi_slice s)
{
    if (s.n >= 2 && *s.at == '"')
        s = (aphi_slice){s.at + 1, s.n - 2};
    if (s.n >= 1 && *s.at == ':')
        s = (aphi_slice){s.at + 1, s.n - 1};
    return s;
}

static int shown_length(aphi_slice s)
{
    return s.n < 40 ? (int)s.n : 40;
}

/* Returns the reason of a failed operation. Text that cannot be converted to a value is kept as a string. */
static aph_value build_reason(aphi_trace *t, const operation *op)
{
    aph_value v;
    aphi_cursor c;
    return build_form(t, op, op->member[ERROR], &v, &c) ? v : aph_bytes(op->member[ERROR].at, op->member[ERROR].n);
}

/* Builds the value, and the key if the value is a tuple of jepsen.independent. */
static int build_value(aphi_trace *t, const operation *op, aph_value *value, aph_value *key, bool *keyed)
{
    static const char tuple[] = "#jepsen.independent/tuple";
    aphi_slice s = op->member[VALUE];
    *keyed = op->member[KEY].at != NULL;
    if (build_member(t, op, s, value) < 0 || build_member(t, op, op->member[KEY], key) < 0)
        return -1;
    if (op->json || s.n <= sizeof tuple || memcmp(s.at, tuple, sizeof tuple - 1) != 0)
        return 1;
    if (aph_kind_of(*value) != APH_ARRAY || aph_count(*value) != 2)
        return aphi_trace_fail(t, APHI_TRACE_MALFORMED, s.at, "an independent tuple must have two items: [key value]");
    *keyed = true;
    *key = aph_at(*value, 0);
    *value = aph_at(*value, 1);
    return 1;
}

/* ---- the meaning of an operation --------------------------------------------------------------------------------- */

static int read_note(const operation *op, aphi_observation *o)
{
    o->kind = APHI_NOTE;
    o->message = aph_bytes(op->all.at, op->all.n);
    return 1;
}

static aph_value request_of(aph_value f, aph_value value, aph_value key, bool keyed)
{
    if (keyed)
        return value ? aph_record("f", f, "key", key, "value", value) : aph_record("f", f, "key", key);
    return value ? aph_record("f", f, "value", value) : aph_record("f", f);
}

/* Gives a process a new connection after a crash: its new operations are not ordered after its old ones. */
static void start_connection(aphi_trace *t, aphi_open_queue *queue)
{
    queue->crashed = false;
    queue->lasting = true;
    queue->connection = -++t->connections;
}

static int read_invoke(aphi_trace *t, const operation *op, aphi_open_queue *queue, aphi_observation *o)
{
    aph_value f, value, key;
    bool keyed;
    if (queue->count > 0)
        return aphi_trace_fail(t, APHI_TRACE_OVERLAP, op->all.at,
                               "process %lld invokes again while its operation of line %llu is open; "
                               "use different processes for overlapping operations",
                               (long long)queue->process, (unsigned long long)queue->line);
    if (!op->member[F].at)
        return aphi_trace_fail(t, APHI_TRACE_MALFORMED, op->all.at, "the operation has no :f; add one");
    if (build_member(t, op, op->member[F], &f) < 0 || build_value(t, op, &value, &key, &keyed) < 0)
        return -1;
    if (queue->crashed)
        start_connection(t, queue);
    queue->request = request_of(f, value, key, keyed);
    queue->function = f;
    queue->line = o->line;
    aphi_open_queue_push(queue, o->number);
    o->kind = APHI_SENT;
    o->message = queue->request;
    return 1;
}

static bool answer_of(const aphi_trace *t, aph_value request, aph_jepsen end, aph_value value, aph_value *answer)
{
    if (t->model && t->model->jepsen)
        return aphi_model_jepsen(t->model, request, end, value, answer);
    *answer = value;
    return end == APH_JEPSEN_OK;
}

static void lose_request(aphi_open_queue *queue, aphi_observation *o)
{
    o->kind = APHI_LOST;
    queue->crashed = true;
    queue->lasting = true;
}

/* Reads an :ok or a :fail. The :error of a failure replaces its :value, which usually repeats the request. */
static int read_completion(aphi_trace *t, const operation *op, aphi_open_queue *queue, int type, aphi_observation *o)
{
    aph_value value, key, answer = APH_NIL;
    bool keyed;
    if (build_value(t, op, &value, &key, &keyed) < 0)
        return -1;
    aph_value reason = type == FAIL ? build_reason(t, op) : APH_NIL;
    if (reason)
        value = reason;
    if (answer_of(t, queue->request, type == OK ? APH_JEPSEN_OK : APH_JEPSEN_FAIL, value, &answer)) {
        o->kind = APHI_RECEIVED;
        o->message = answer;
    } else if (o->number - o->ends < APHI_TRACE_REACH) {
        o->kind = APHI_UNDONE;
    } else {
        lose_request(queue, o);
    }
    return 1;
}

static int check_function(aphi_trace *t, const operation *op, const aphi_open_queue *queue)
{
    aph_value f;
    if (build_member(t, op, op->member[F], &f) < 0)
        return -1;
    if (!op->member[F].at || f == queue->function)
        return 1;
    return aphi_trace_fail(t, APHI_TRACE_MALFORMED, op->member[F].at,
                           "process %lld ends %.*s, but line %llu started another operation; give each process its "
                           "own number",
                           (long long)queue->process, shown_length(op->member[F]), op->member[F].at,
                           (unsigned long long)queue->line);
}

static int read_end(aphi_trace *t, const operation *op, aphi_open_queue *queue, int type, aphi_observation *o)
{
    if (queue->count == 0)
        return aphi_trace_fail(t, APHI_TRACE_ORPHAN, op->all.at,
                               "process %lld has no open operation for this :%s; add the missing :invoke",
                               (long long)queue->process, types[type]);
    if (check_function(t, op, queue) < 0)
        return -1;
    o->ends = aphi_open_queue_pop(queue);
    if (type != INFO)
        return read_completion(t, op, queue, type, o);
    lose_request(queue, o);
    return 1;
}

/* Reads a process number, or a name such as :nemesis, for which *named is set. */
static int get_process(aphi_trace *t, const operation *op, int64_t *process, bool *named)
{
    aph_value v;
    size_t n;
    int64_t i;
    aphi_slice s = op->member[PROCESS];
    if (!s.at)
        return aphi_trace_fail(t, APHI_TRACE_MALFORMED, op->all.at, "the operation has no :process; add one");
    if (build_member(t, op, s, &v) < 0)
        return -1;
    *named = aph_is_str(v);
    if (*named) {
        const char *name = aph_bytes_of(&v, &n);
        if (aphi_slice_int((aphi_slice){name, n}, &i) == APHI_TRACE_MALFORMED)
            return 1;
    }
    if (!aph_is_int(v) || aph_int_of(v) < 0)
        return aphi_trace_fail(t, APHI_TRACE_MALFORMED, s.at,
                               "a :process must be an integer from 0, without quotes, or a name such as :nemesis");
    *process = aph_int_of(v);
    if (*process >= APH_ACCEPTED)
        return aphi_trace_fail(t, APHI_TRACE_MALFORMED, s.at, "a :process must be below %lld; use smaller numbers",
                               (long long)APH_ACCEPTED);
    return 1;
}

static int get_type(aphi_trace *t, const operation *op, int *type)
{
    aphi_slice name = strip_quotes(op->member[TYPE]);
    if (!name.at)
        return aphi_trace_fail(t, APHI_TRACE_TYPE, op->all.at,
                               "the operation has no :type; add :invoke, :ok, :fail or :info");
    *type = (int)aphi_slice_find(name, types, TYPES);
    if (*type < TYPES)
        return 1;
    return aphi_trace_fail(t, APHI_TRACE_TYPE, op->member[TYPE].at,
                           "the :type of an operation must be :invoke, :ok, :fail or :info, not %.*s",
                           shown_length(name), name.at);
}

/* The index is the position in the history. Clients may read the clock before they append, so that times can be out of
 * order although the operations are not. */
static int check_order(aphi_trace *t, const operation *op)
{
    return op->member[INDEX].at ? aphi_trace_check_order(t, &t->index, op->member[INDEX], "index")
                                : aphi_trace_check_order(t, &t->time, op->member[TIME], "time");
}

static int read_operation(aphi_trace *t, const operation *op, aphi_observation *o)
{
    bool named = false;
    int type = TYPES;
    if (get_process(t, op, &o->process, &named) < 0)
        return -1;
    if (named)
        return read_note(op, o);
    if (check_order(t, op) < 0 || get_type(t, op, &type) < 0)
        return -1;
    aphi_open_queue *queue = aphi_open_requests_at(&t->open_requests, o->process);
    int status = type == INVOKE ? read_invoke(t, op, queue, o) : read_end(t, op, queue, type, o);
    o->connection = queue->connection;
    return status;
}

/* ---- EDN --------------------------------------------------------------------------------------------------------- */

/* Returns 1 at an operation, 0 at the end of the text, 2 after a bracket. */
static int find_edn_operation(aphi_trace *t, aphi_cursor *c)
{
    if (!aphi_edn_blank(c))
        return -1;
    if (c->at == c->end && !t->bracket)
        return 0;
    if (c->at == c->end) {
        aphi_cursor_fail(c, APHI_TRACE_TRUNCATED, c->end, "the vector of operations is not closed");
        return -1;
    }
    bool opens = !t->bracket && (*c->at == '[' || *c->at == '(');
    if (!opens && (!t->bracket || *c->at != t->bracket))
        return 1;
    t->bracket = !opens ? '\0' : *c->at == '[' ? ']' : ')';
    c->at++;
    return 2;
}

/* Calls `read` until it returns an observation, the end or an error; 2 means to continue. If the window ends inside a
 * form, widens it and reads the form again. */
static int read_form(aphi_trace *t, aphi_observation *o, int (*read)(aphi_trace *, aphi_cursor *, aphi_observation *))
{
    for (;;) {
        aphi_cursor c = aphi_trace_cursor(t);
        int status = read(t, &c, o);
        if (c.starved) {
            if (aphi_trace_widen(t) < 0)
                return -1;
            continue;
        }
        if (status < 0)
            return aphi_trace_fail_cursor(t, &c);
        aphi_byte_source_advance(&t->source, c.at);
        if (status != 2)
            return status;
    }
}

/* Reads the operation at c: an EDN map or a JSON object. */
static int read_map(aphi_trace *t, aphi_cursor *c, bool json, aphi_observation *o)
{
    operation op = {.end = c->end, .json = json};
    const char *from = c->at;
    if (!(json ? aphi_json_members : aphi_edn_members)(c, keys, op.member, KEYS))
        return -1;
    op.all = (aphi_slice){from, (size_t)(c->at - from)};
    aphi_byte_source_advance(&t->source, from);
    o->line = t->source.line;
    return read_operation(t, &op, o);
}

static int read_edn(aphi_trace *t, aphi_cursor *c, aphi_observation *o)
{
    int status = find_edn_operation(t, c);
    return status == 1 ? read_map(t, c, false, o) : status;
}

int aphi_read_edn(aphi_trace *t, aphi_observation *o)
{
    return read_form(t, o, read_edn);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static int fail_expected(aphi_cursor *c, const char *message)
{
    aphi_cursor_fail_here(c, message);
    return -1;
}

/* In an array: moves past the comma to an operation (1), or past the bracket (2). */
static int find_array_item(aphi_trace *t, aphi_cursor *c)
{
    if (*c->at == ']') {
        c->at++;
        t->bracket = '\0';
        t->closed = true;
        return 2;
    }
    if (t->objects == 0)
        return 1;
    if (*c->at != ',')
        return fail_expected(c, "expected a comma or ]");
    c->at++;
    aphi_json_blank(c);
    return 1;
}

/* Outside an array: stops at an operation (1), at the end of the text (0), or past the bracket (2). */
static int find_json_operation(aphi_trace *t, aphi_cursor *c)
{
    if (c->at == c->end && c->whole)
        return 0;
    if (t->closed)
        return fail_expected(c, "text after the array of operations");
    if (*c->at == '[' && t->objects == 0) {
        c->at++;
        t->bracket = ']';
        return 2;
    }
    return *c->at == '{' ? 1 : fail_expected(c, "expected an operation map in JSON");
}

static int read_json(aphi_trace *t, aphi_cursor *c, aphi_observation *o)
{
    aphi_json_blank(c);
    int status = t->bracket ? find_array_item(t, c) : find_json_operation(t, c);
    if (status != 1)
        return status;
    status = read_map(t, c, true, o);
    t->objects += status > 0;
    return status;
}

int aphi_read_json(aphi_trace *t, aphi_observation *o)
{
    return read_form(t, o, read_json);
}

/* ---- logs -------------------------------------------------------------------------------------------------------- */

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

/* Reads the next word of a line from *p on. */
static aphi_slice next_word(const char **p, const char *line_end)
{
    while (*p < line_end && is_blank(**p))
        ++*p;
    const char *from = *p;
    while (*p < line_end && !is_blank(**p))
        ++*p;
    return (aphi_slice){from, (size_t)(*p - from)};
}

/* Finds the first keyword and the word before it. Returns false if the line has none. */
static bool find_type(const char **p, const char *line_end, aphi_slice *before, aphi_slice *type)
{
    *before = (aphi_slice){0};
    for (;;) {
        *type = next_word(p, line_end);
        if (type->n == 0)
            return false;
        if (type->n > 1 && *type->at == ':')
            return true;
        *before = *type;
    }
}

/* Reads the forms after the type: :f, the value, and optionally a reason. */
static int read_forms(aphi_trace *t, aphi_cursor *c, bool complete_line, operation *op)
{
    static const int order[] = {F, VALUE, ERROR};
    for (int i = 0; i < 3; i++) {
        if (!aphi_edn_blank(c))
            return aphi_trace_fail_cursor(t, c);
        if (c->at == c->end && i == 2)
            return 1;
        const char *from = c->at;
        if (!aphi_edn_skip(c)) {
            if (order[i] == ERROR)
                return 1; /* free text */
            if (complete_line && c->fault == APHI_TRACE_TRUNCATED)
                return aphi_trace_fail(t, APHI_TRACE_MALFORMED, c->where,
                                       "the line ends too early; expected PROCESS :invoke :OP VALUE");
            return aphi_trace_fail_cursor(t, c);
        }
        op->member[order[i]] = (aphi_slice){from, (size_t)(c->at - from)};
    }
    return 1;
}

static int read_log(aphi_trace *t, aphi_cursor *c, bool complete_line, aphi_observation *o)
{
    operation op = {.end = c->end, .all = {c->at, (size_t)(c->end - c->at)}};
    const char *p = c->at, *nul = memchr(c->at, '\0', op.all.n);
    int64_t process;
    aphi_slice before, type;
    o->line = t->source.line;
    if (nul)
        return aphi_trace_fail(t, APHI_TRACE_NUL, nul, "raw NUL byte; restore the damaged file");
    bool found = find_type(&p, c->end, &before, &type);
    if (!found && !complete_line)
        return aphi_trace_fail(t, APHI_TRACE_TRUNCATED, c->end, "the last line is cut off; remove or complete it");
    bool numbered = found && aphi_slice_int(before, &process) != APHI_TRACE_MALFORMED;
    if (found && !numbered && aphi_slice_find(strip_quotes(type), types, TYPES) < TYPES)
        return aphi_trace_fail(t, APHI_TRACE_MALFORMED, type.at, "expected a process number before :%s",
                               types[aphi_slice_find(strip_quotes(type), types, TYPES)]);
    if (!numbered)
        return read_note(&op, o);
    op.member[PROCESS] = before;
    op.member[TYPE] = type;
    c->at = p;
    if (read_forms(t, c, complete_line, &op) < 0)
        return -1;
    return read_operation(t, &op, o);
}

int aphi_read_log(aphi_trace *t, aphi_observation *o)
{
    aphi_cursor c;
    bool complete_line;
    int status = aphi_trace_line(t, &c, &complete_line);
    if (status <= 0)
        return status;
    status = read_log(t, &c, complete_line, o);
    aphi_byte_source_line_done(&t->source, c.end);
    return status;
}
