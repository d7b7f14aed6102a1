/* SPDX-License-Identifier: Apache-2.0
 *
 * alts_text.c - text formats of models: .alts, Aldebaran .aut, Graphviz.
 *
 * Idea:       an .alts file has lines of words: a header, components, ports and behaviours. A behaviour is a list of
 *             moves, or the name of an Aldebaran file. In an Aldebaran file, label p!m sends m to p asynchronously,
 *             p!!m sends it synchronously, p?m receives it, and any other label is a local event. As CADP writes them,
 *             there may be blanks and several values: p !m !1 !2 is the message m(1,2). The labels i and tau are hidden
 *             steps, which are refused unless they are removed by name (hidden_steps.c).
 * Invariants: a model that is written and read again is unchanged
 * Cost:       names are found by linear search, fast enough for written models and unfolded built-in programs. */
#include "alts/alts.h"

#include "alts/hidden_steps.h"

#include "base/buffer.h"
#include "base/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { STATES_MAX = 4 << 20, NAME_BYTES = 200, WORDS = 16, FILE_BYTES = 256 << 20 };

static const char *const mediums[] = {[APHI_MEDIUM_PAIR] = "fifo-pair", [APHI_MEDIUM_PORT] = "fifo-port",
                                      [APHI_MEDIUM_UNORDERED] = "unordered"};

/* ---- lines and words --------------------------------------------------------------------------------------------- */

typedef struct reader {
    const char *name, *at, *end;
    size_t line;
    char words[WORDS][NAME_BYTES + 1];
    size_t count;
    char (*hidden)[NAME_BYTES + 1]; /* labels to remove */
    size_t hidden_count;
    const char *folder;  /* folder of the files that the text names; NULL: it must not name files */
    aphi_alts *alts;
    uint32_t *from;      /* moves of the current behaviour */
    aphi_alts_move *moves;
    size_t move_count, from_capacity, move_capacity;
    size_t component;    /* of the current behaviour; SIZE_MAX: none */
    uint32_t states, initial;
    bool *has_behaviour; /* by component */
    aphi_alts_problem problem;
    char *why;
    size_t why_size;
} reader;

__attribute__((format(printf, 2, 3))) static bool fail(reader *t, const char *format, ...)
{
    va_list args;
    size_t used = (size_t)snprintf(t->why, t->why_size, "%s:%zu: ", t->name, t->line);
    va_start(args, format);
    if (used < t->why_size)
        vsnprintf(t->why + used, t->why_size - used, format, args);
    va_end(args);
    t->problem = t->problem ? t->problem : APHI_ALTS_MALFORMED;
    return false;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t';
}

static const char not_in_names[] = "a control character, a blank, one of \" \\ ! ?, or a # at its beginning";

/* Returns true if all formats can represent the name. */
static bool is_name(const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((unsigned char)bytes[i] <= ' ' || bytes[i] == 0x7f || strchr("\"\\!?", bytes[i]))
            return false;
    return n > 0 && *bytes != '#';
}

static bool read_word(reader *t, const char **at, const char *end)
{
    const char *begin = *at;
    while (*at < end && !is_space(**at))
        ++*at;
    size_t n = (size_t)(*at - begin);
    if (t->count == WORDS)
        return fail(t, "more than %d words in a line", WORDS);
    if (n > NAME_BYTES)
        return fail(t, "a word of more than %d bytes", NAME_BYTES);
    memcpy(t->words[t->count], begin, n);
    t->words[t->count++][n] = '\0';
    return is_name(begin, n) || fail(t, "a name contains a forbidden character: %s", not_in_names);
}

/* Reads the words of the next line that is not empty; count is 0 at the end of the file. A word that begins with #
 * starts a comment. */
static bool read_line(reader *t)
{
    t->count = 0;
    while (t->at < t->end && t->count == 0) {
        const char *end = memchr(t->at, '\n', (size_t)(t->end - t->at)), *at = t->at;
        end = end ? end : t->end;
        t->line++;
        t->at = end < t->end ? end + 1 : end;
        for (;;) {
            while (at < end && is_space(*at))
                at++;
            if (at == end || *at == '#')
                break;
            if (!read_word(t, &at, end))
                return false;
        }
    }
    return true;
}

static bool is_number(const char *word, uint32_t max, uint32_t *number)
{
    char *end;
    if (*word < '0' || *word > '9' || strlen(word) > 9)
        return false;
    unsigned long value = strtoul(word, &end, 10);
    *number = (uint32_t)value;
    return !*end && value <= max;
}

/* ---- behaviours -------------------------------------------------------------------------------------------------- */

static bool add_move(reader *t, uint32_t from, aphi_alts_op op, bool sync, const char *port, const char *label,
                     uint32_t target)
{
    size_t p = op == APHI_ALTS_LOCAL ? 0 : aphi_alts_port_named(t->alts, port);
    if (p == SIZE_MAX)
        return fail(t, "unknown port %s; declare it before the behaviours: port NAME of COMPONENT", port);
    size_t l = aphi_alts_add_label(t->alts, label);
    if (l == SIZE_MAX)
        return fail(t, "more than %d labels", APHI_ALTS_LABELS_MAX);
    APHI_RESERVE(t->from, t->from_capacity, t->move_count + 1);
    APHI_RESERVE(t->moves, t->move_capacity, t->move_count + 1);
    t->from[t->move_count] = from;
    t->moves[t->move_count++] = (aphi_alts_move){.target = target, .port = (uint16_t)p, .label = (uint16_t)l,
                                                 .op = (uint8_t)op, .sync = sync};
    return true;
}

/* 0 -> 1 post p m */
static bool read_move(reader *t)
{
    static const struct {
        const char *name;
        aphi_alts_op op;
        bool sync;
    } verbs[] = {{"post", APHI_ALTS_SEND, false}, {"pass", APHI_ALTS_SEND, true}, {"take", APHI_ALTS_RECEIVE, false},
                 {"note", APHI_ALTS_LOCAL, false}};
    uint32_t from, target;
    size_t verb = 0;
    if (t->component == SIZE_MAX)
        return fail(t, "a move outside a behaviour; write this first: behaviour COMPONENT states N initial S");
    if (t->count < 5 || strcmp(t->words[1], "->") != 0)
        return fail(t, "a move must be STATE -> STATE post|pass|take PORT LABEL, or STATE -> STATE note LABEL");
    if (!is_number(t->words[0], t->states - 1, &from) || !is_number(t->words[2], t->states - 1, &target))
        return fail(t, "a state of this behaviour must be a number from 0 to %" PRIu32, t->states - 1);
    while (verb < 4 && strcmp(verbs[verb].name, t->words[3]) != 0)
        verb++;
    bool local = verb < 4 && verbs[verb].op == APHI_ALTS_LOCAL;
    if (verb == 4 || t->count != (local ? 5u : 6u))
        return fail(t, "after the states: post, pass or take with a port and a label, or note with a label");
    return add_move(t, from, verbs[verb].op, verbs[verb].sync, t->words[4], t->words[local ? 4 : 5], target);
}

static void finish_behaviour(reader *t)
{
    if (t->component != SIZE_MAX)
        aphi_alts_fill(t->alts, t->component, t->initial, t->states, t->move_count, t->from, t->moves);
    t->component = SIZE_MAX;
    t->move_count = 0;
}

/* ---- Aldebaran --------------------------------------------------------------------------------------------------- */

static void skip_blanks(reader *t)
{
    while (t->at < t->end && is_space(*t->at))
        t->at++;
}

static bool expect(reader *t, char c)
{
    skip_blanks(t);
    if (t->at == t->end || *t->at != c)
        return fail(t, "missing '%c'", c);
    t->at++;
    return true;
}

static bool read_number(reader *t, uint32_t max, uint32_t *number)
{
    char digits[10];
    size_t n = 0;
    skip_blanks(t);
    while (t->at < t->end && *t->at >= '0' && *t->at <= '9' && n < sizeof digits - 1)
        digits[n++] = *t->at++;
    digits[n] = '\0';
    return is_number(digits, max, number) || fail(t, "expected a number from 0 to %" PRIu32, max);
}

static bool end_line(reader *t)
{
    skip_blanks(t);
    if (t->at < t->end && *t->at == '\r')
        t->at++;
    if (t->at < t->end && *t->at != '\n')
        return fail(t, "unexpected text after ')'");
    t->at += t->at < t->end;
    t->line++;
    return true;
}

/* Reads a label, in quotes or up to the comma. */
static bool read_label(reader *t, char *label)
{
    size_t n = 0;
    skip_blanks(t);
    bool quoted = t->at < t->end && *t->at == '"';
    t->at += quoted;
    for (; t->at < t->end && *t->at != '\n' && *t->at != (quoted ? '"' : ','); t->at++) {
        if (n == NAME_BYTES || !*t->at)
            return fail(t, n == NAME_BYTES ? "a label of more than 200 bytes" : "a NUL byte");
        label[n++] = *t->at;
    }
    while (!quoted && n && is_space(label[n - 1]))
        n--;
    label[n] = '\0';
    if (quoted && !expect(t, '"'))
        return false;
    return n || fail(t, "a label is empty");
}

/* Appends text without blanks to a name of up to NAME_BYTES. Returns the new length. */
static size_t append_name(char *name, size_t n, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!is_space(text[i]) && n < NAME_BYTES)
            name[n++] = text[i];
    name[n] = '\0';
    return n;
}

/* Reads the values of a label, from the first ! or ?. One value is the message; several are m(1,2). Returns false if
 * they are not all sent, or all received. */
static bool read_values(const char *at, char *message)
{
    const char mark = *at;
    size_t n = 0;
    *message = '\0';
    at += at[0] == '!' && at[1] == '!';
    for (size_t values = 0; *at; values++) {
        if (*at++ != mark)
            return false;
        size_t length = strcspn(at, "!?");
        n = append_name(message, n, values == 1 ? "(" : ",", values > 0);
        n = append_name(message, n, at, length);
        at += length;
        if (!*at && values)
            n = append_name(message, n, ")", 1);
    }
    return true;
}

static bool is_hidden(const reader *t, const char *label)
{
    for (size_t i = 0; i < t->hidden_count; i++)
        if (!strcmp(t->hidden[i], label))
            return true;
    return false;
}

static bool add_event(reader *t, uint32_t from, const char *label, uint32_t target)
{
    if (is_hidden(t, label)) {
        if (!add_move(t, from, APHI_ALTS_LOCAL, false, "", label, target))
            return false;
        t->moves[t->move_count - 1].port = APHI_ALTS_HIDDEN;
        return true;
    }
    if (!strcmp(label, "i") || !strcmp(label, "tau"))
        return fail(t, "%s is a hidden step, which a model must not have; to remove it, write hide %s after the name "
                    "of the file", label, label);
    if (aphi_alts_port_named(t->alts, label) != SIZE_MAX)
        return fail(t, "the label %s names a port; a label must be %s!MESSAGE or %s?MESSAGE", label, label, label);
    return add_move(t, from, APHI_ALTS_LOCAL, false, "", label, target);
}

/* p!m, p!!m, p?m, or a local event. */
static bool add_aut_move(reader *t, uint32_t from, const char *label, uint32_t target)
{
    const char *mark = strpbrk(label, "!?");
    char port[NAME_BYTES + 1], message[NAME_BYTES + 1];
    append_name(port, 0, label, mark ? (size_t)(mark - label) : 0);
    if ((mark && !read_values(mark, message)) || !is_name(mark ? message : label, strlen(mark ? message : label)) ||
        (mark && !is_name(port, strlen(port))))
        return fail(t, "a label must be PORT!MESSAGE, PORT!!MESSAGE, PORT?MESSAGE or EVENT; a name cannot contain %s",
                    not_in_names);
    if (!mark)
        return add_event(t, from, label, target);
    return add_move(t, from, *mark == '?' ? APHI_ALTS_RECEIVE : APHI_ALTS_SEND, mark[0] == '!' && mark[1] == '!', port,
                    message, target);
}

static bool read_aut(reader *t)
{
    char label[NAME_BYTES + 1];
    uint32_t moves, from, target;
    t->line = 1;
    if (t->end - t->at < 3 || memcmp(t->at, "des", 3) != 0)
        return fail(t, "the first line must be: des (INITIAL, TRANSITIONS, STATES)");
    t->at += 3;
    if (!expect(t, '(') || !read_number(t, STATES_MAX, &t->initial) || !expect(t, ',') ||
        !read_number(t, 999999999, &moves) || !expect(t, ',') || !read_number(t, STATES_MAX, &t->states) ||
        !expect(t, ')'))
        return false;
    if (t->initial >= t->states)
        return fail(t, "the initial state is not one of the %" PRIu32 " states", t->states);
    if (!end_line(t))
        return false;
    for (skip_blanks(t); t->at < t->end; skip_blanks(t)) {
        if (*t->at == '\n') {
            t->at++;
            t->line++;
            continue;
        }
        if (!expect(t, '(') || !read_number(t, t->states - 1, &from) || !expect(t, ',') || !read_label(t, label) ||
            !expect(t, ',') || !read_number(t, t->states - 1, &target) || !expect(t, ')') ||
            !add_aut_move(t, from, label, target) || !end_line(t))
            return false;
    }
    return t->move_count == moves ||
           fail(t, "%zu transitions, but the first line declares %" PRIu32, t->move_count, moves);
}

static bool remove_hidden(reader *t)
{
    char why[200];
    return aphi_alts_remove_hidden(t->states, &t->initial, t->from, t->moves, &t->move_count, why, sizeof why) ||
           fail(t, "%s", why);
}

static bool read_aut_behaviour(reader *t)
{
    bool read = read_aut(t) && remove_hidden(t);
    if (read)
        finish_behaviour(t);
    APHI_FREE_ALL(t->from, t->moves);
    return read;
}

bool aphi_aut_read(const char *name, const char *bytes, size_t n, aphi_alts *a, size_t component, char *why,
                   size_t size)
{
    reader t = {.name = name, .at = bytes, .end = bytes + n, .alts = a, .component = component, .why = why,
                .why_size = size};
    return read_aut_behaviour(&t);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static char *read_file(const char *name, size_t *n)
{
    aphi_buffer bytes = {0};
    if (!aphi_buffer_load(&bytes, name, FILE_BYTES)) {
        aphi_buffer_free(&bytes);
        return NULL;
    }
    *n = bytes.n;
    return aphi_buffer_text(&bytes);
}

/* behaviour D from d.aut [hide NAME...] */
static bool read_behaviour_file(reader *t, size_t component)
{
    const char *name = t->words[3];
    char *path;
    size_t n = 0;
    if (!t->folder)
        return fail(t, "a behaviour file cannot be named here");
    if (asprintf(&path, "%s%s", *name == '/' ? "" : t->folder, name) < 0)
        aphi_memory_exhausted("the name of a file");
    char *bytes = read_file(path, &n);
    reader file = {.name = path, .at = bytes, .end = bytes + n, .alts = t->alts, .component = component,
                   .hidden = t->words + 5, .hidden_count = t->count > 5 ? t->count - 5 : 0, .why = t->why,
                   .why_size = t->why_size};
    bool read = bytes && read_aut_behaviour(&file);
    if (!bytes) {
        t->problem = APHI_ALTS_UNREADABLE;
        fail(t, "%s cannot be read: %s", path, strerror(errno));
    } else if (!read) {
        t->problem = APHI_ALTS_MALFORMED;
    }
    free(bytes);
    free(path);
    return read;
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

static bool read_component(reader *t)
{
    if (t->count != 2)
        return fail(t, "a component line must be: component NAME");
    if (aphi_alts_component_named(t->alts, t->words[1]) != SIZE_MAX)
        return fail(t, "duplicate component %s", t->words[1]);
    if (aphi_alts_add_component(t->alts, t->words[1]) == SIZE_MAX)
        return fail(t, "more than %d components", APHI_ALTS_COMPONENTS_MAX);
    return true;
}

/* port P of D [fifo-pair|fifo-port|unordered] [capacity N] */
static bool read_port(reader *t)
{
    uint32_t capacity = 0;
    size_t medium = 0, owner = t->count > 3 ? aphi_alts_component_named(t->alts, t->words[3]) : 0, at = 4;
    if (t->count < 4 || strcmp(t->words[2], "of") != 0)
        return fail(t, "a port line must be: port NAME of COMPONENT [fifo-pair|fifo-port|unordered] [capacity N]");
    if (owner == SIZE_MAX)
        return fail(t, "unknown component %s; declare components before ports", t->words[3]);
    if (aphi_alts_port_named(t->alts, t->words[1]) != SIZE_MAX)
        return fail(t, "duplicate port %s", t->words[1]);
    if (at < t->count && strcmp(t->words[at], "capacity") != 0) {
        while (medium < 3 && strcmp(mediums[medium], t->words[at]) != 0)
            medium++;
        at++;
    }
    if (medium == 3)
        return fail(t, "a medium must be fifo-pair, fifo-port or unordered, not %s", t->words[at - 1]);
    if (at + 2 == t->count && !strcmp(t->words[at], "capacity") && is_number(t->words[at + 1], 1000000, &capacity) &&
        capacity)
        at += 2;
    if (at != t->count)
        return fail(t, "unexpected word after the medium; only capacity N may follow, N from 1 to 1000000");
    if (aphi_alts_add_port(t->alts, t->words[1], owner, (aphi_medium)medium, capacity) == SIZE_MAX)
        return fail(t, "more than %d ports", APHI_ALTS_PORTS_MAX);
    return true;
}

/* behaviour D states N initial S, or behaviour D from FILE [hide NAME...] */
static bool read_behaviour(reader *t)
{
    size_t component = t->count > 1 ? aphi_alts_component_named(t->alts, t->words[1]) : 0;
    finish_behaviour(t);
    if (component == SIZE_MAX)
        return fail(t, "unknown component %s", t->words[1]);
    if (t->count > 1 && t->has_behaviour[component])
        return fail(t, "duplicate behaviour of %s", t->words[1]);
    if (t->count > 1)
        t->has_behaviour[component] = true;
    if (t->count >= 4 && !strcmp(t->words[2], "from") &&
        (t->count == 4 || (t->count > 5 && !strcmp(t->words[4], "hide"))))
        return read_behaviour_file(t, component);
    if (t->count != 6 || strcmp(t->words[2], "states") != 0 || strcmp(t->words[4], "initial") != 0)
        return fail(t, "expected behaviour COMPONENT states N initial S, or behaviour COMPONENT from FILE "
                    "[hide NAME...]");
    if (!is_number(t->words[3], STATES_MAX, &t->states) || !t->states ||
        !is_number(t->words[5], t->states - 1, &t->initial))
        return fail(t, "N must be from 1 to %d, and S from 0 to N - 1", STATES_MAX);
    t->component = component;
    return true;
}

static bool read_declarations(reader *t)
{
    while (read_line(t)) {
        const char *keyword = t->words[0];
        bool read;
        if (t->count == 0)
            return true;
        if (!strcmp(keyword, "component"))
            read = t->component == SIZE_MAX ? read_component(t) : fail(t, "components must come before behaviours");
        else if (!strcmp(keyword, "port"))
            read = t->component == SIZE_MAX ? read_port(t) : fail(t, "ports must come before behaviours");
        else if (!strcmp(keyword, "behaviour"))
            read = read_behaviour(t);
        else if (*keyword >= '0' && *keyword <= '9')
            read = read_move(t);
        else
            read = fail(t, "unknown keyword %s; a line must begin with component, port, behaviour or a state", keyword);
        if (!read)
            return false;
    }
    return false;
}

static bool read_model(reader *t)
{
    if (!read_line(t))
        return false;
    if (t->count != 2 || strcmp(t->words[0], "alts") != 0) {
        aphi_alts_init(t->alts, "");
        return fail(t, "the first line must be: alts NAME");
    }
    aphi_alts_init(t->alts, t->words[1]);
    if (!read_declarations(t))
        return false;
    finish_behaviour(t);
    for (size_t i = 0; i < t->alts->component_count; i++)
        if (!t->has_behaviour[i])
            return fail(t, "component %s has no behaviour; add behaviour %s states N initial S",
                        t->alts->components[i].name, t->alts->components[i].name);
    return t->alts->component_count > 0 || fail(t, "the model has no component");
}

static aphi_alts_problem read_alts(reader *t)
{
    *t->alts = (aphi_alts){0};
    t->has_behaviour = aphi_alloc_zero(APHI_ALTS_COMPONENTS_MAX * sizeof *t->has_behaviour);
    t->component = SIZE_MAX;
    if (!read_model(t))
        aphi_alts_free(t->alts);
    APHI_FREE_ALL(t->has_behaviour, t->from, t->moves);
    return t->problem;
}

bool aphi_alts_read(const char *name, const char *bytes, size_t n, aphi_alts *a, char *why, size_t size)
{
    reader t = {.name = name, .at = bytes, .end = bytes + n, .alts = a, .why = why, .why_size = size};
    return read_alts(&t) == APHI_ALTS_READ;
}

aphi_alts_problem aphi_alts_read_file(const char *name, aphi_alts *a, char *why, size_t size)
{
    size_t n = 0;
    char *bytes = read_file(name, &n), *folder = aphi_copy(name, strlen(name) + 1), *slash = strrchr(folder, '/');
    folder[slash ? slash - folder + 1 : 0] = '\0';
    reader t = {.name = name, .at = bytes, .end = bytes + n, .alts = a, .folder = folder, .why = why, .why_size = size};
    if (bytes) {
        read_alts(&t);
    } else {
        snprintf(why, size, "%s cannot be read: %s", name, strerror(errno));
        t.problem = APHI_ALTS_UNREADABLE;
    }
    free(bytes);
    free(folder);
    return t.problem;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void write_port(const aphi_alts *a, const aphi_alts_port *p, FILE *out)
{
    fprintf(out, "port %s of %s %s", p->name, a->components[p->owner].name, mediums[p->medium]);
    if (p->capacity)
        fprintf(out, " capacity %" PRIu32, p->capacity);
    putc('\n', out);
}

static void write_behaviour(const aphi_alts *a, const aphi_alts_component *c, FILE *out)
{
    fprintf(out, "\nbehaviour %s states %" PRIu32 " initial %" PRIu32 "\n", c->name, c->states, c->initial);
    for (uint32_t s = 0; s < c->states; s++)
        for (uint32_t i = c->first[s]; i < c->first[s + 1]; i++) {
            const aphi_alts_move *m = &c->moves[i];
            const char *verb = m->op == APHI_ALTS_RECEIVE ? "take" : m->sync ? "pass" : "post";
            fprintf(out, "%" PRIu32 " -> %" PRIu32 " ", s, m->target);
            if (m->op == APHI_ALTS_LOCAL)
                fprintf(out, "note %s\n", a->labels[m->label]);
            else
                fprintf(out, "%s %s %s\n", verb, a->ports[m->port].name, a->labels[m->label]);
        }
}

void aphi_alts_write(const aphi_alts *a, FILE *out)
{
    fprintf(out, "alts %s\n\n", a->name);
    for (size_t i = 0; i < a->component_count; i++)
        fprintf(out, "component %s\n", a->components[i].name);
    for (size_t i = 0; i < a->port_count; i++)
        write_port(a, &a->ports[i], out);
    for (size_t i = 0; i < a->component_count; i++)
        write_behaviour(a, &a->components[i], out);
}

static void write_label(const aphi_alts *a, const aphi_alts_move *m, FILE *out)
{
    if (m->op != APHI_ALTS_LOCAL)
        fprintf(out, "%s%s", a->ports[m->port].name, m->op == APHI_ALTS_RECEIVE ? "?" : m->sync ? "!!" : "!");
    fputs(a->labels[m->label], out);
}

void aphi_aut_write(const aphi_alts *a, size_t component, FILE *out)
{
    const aphi_alts_component *c = &a->components[component];
    fprintf(out, "des (%" PRIu32 ", %" PRIu32 ", %" PRIu32 ")\n", c->initial, c->first[c->states], c->states);
    for (uint32_t s = 0; s < c->states; s++)
        for (uint32_t i = c->first[s]; i < c->first[s + 1]; i++) {
            fprintf(out, "(%" PRIu32 ", \"", s);
            write_label(a, &c->moves[i], out);
            fprintf(out, "\", %" PRIu32 ")\n", c->moves[i].target);
        }
}

void aphi_dot_write(const aphi_alts *a, FILE *out)
{
    fprintf(out, "digraph \"%s\" {\n    node [shape=circle];\n", a->name);
    for (size_t t = 0; t < a->component_count; t++) {
        const aphi_alts_component *c = &a->components[t];
        fprintf(out, "    subgraph cluster_%zu {\n        label=\"%s\";\n", t, c->name);
        for (uint32_t s = 0; s < c->states; s++)
            fprintf(out, "        s%zu_%" PRIu32 " [label=\"%" PRIu32 "\"%s];\n", t, s, s,
                    s == c->initial ? ", penwidth=2" : c->first[s] == c->first[s + 1] ? ", shape=doublecircle" : "");
        for (uint32_t s = 0; s < c->states; s++)
            for (uint32_t i = c->first[s]; i < c->first[s + 1]; i++) {
                fprintf(out, "        s%zu_%" PRIu32 " -> s%zu_%" PRIu32 " [label=\"", t, s, t, c->moves[i].target);
                write_label(a, &c->moves[i], out);
                fputs("\"];\n", out);
            }
        fputs("    }\n", out);
    }
    fputs("}\n", out);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static void add_field(aphi_buffer *out, const char *name, const char *text)
{
    aphi_buffer_format(out, ",\"%s\":", name);
    aphi_buffer_json_text(out, text);
}

void aphi_alts_event_json(aphi_buffer *out, aphi_alts_op op, bool sync, const char *port, const char *label,
                          const char *peer)
{
    static const char *const ops[] = {
        [APHI_ALTS_SEND] = "send", [APHI_ALTS_RECEIVE] = "receive", [APHI_ALTS_LOCAL] = "local"};
    aphi_buffer_format(out, "{\"op\":\"%s\"", ops[op]);
    if (op != APHI_ALTS_LOCAL) {
        aphi_buffer_str(out, sync ? ",\"sync\":true" : ",\"sync\":false");
        add_field(out, "port", port);
    }
    add_field(out, "label", label);
    if (op != APHI_ALTS_LOCAL)
        add_field(out, "peer", peer);
}

void aphi_alts_message_json(aphi_buffer *out, bool first, const char *port, const char *label, const char *sender)
{
    aphi_buffer_str(out, first ? "[" : ",[");
    aphi_buffer_json_text(out, port);
    aphi_buffer_byte(out, ',');
    aphi_buffer_json_text(out, label);
    aphi_buffer_str(out, sender ? "," : "");
    if (sender)
        aphi_buffer_json_text(out, sender);
    aphi_buffer_byte(out, ']');
}
