/* SPDX-License-Identifier: Apache-2.0
 *
 * cdeclare.c - declarations: which names are in scope, and of which types; see walker.h.
 *
 * A type is known by the words that declare it, without storage and qualifiers: "connection", "struct pollfd *". Words
 * that differ and mean the same are taken for two types, so a mutant is missed, and no harm is done. */
#include "mutate/walker.h"

#include "base/memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const char storage[] = "static extern register auto inline __inline __inline__ _Noreturn _Thread_local __thread "
                              "thread_local __extension__ constexpr volatile restrict";
static const char builtin[] = "void char short int long float double signed unsigned _Bool bool _Complex";
static const char grouped[] = "__attribute__ _Alignas alignas asm __asm__";
static const char opening[] = "typedef const _Atomic struct union enum typeof __typeof__";

/* ---- names ------------------------------------------------------------------------------------------------------- */

const aphi_cvariable *aphi_walk_variable(const aphi_walker *w, size_t word)
{
    for (size_t i = w->variable_count; i > 0; i--)
        if (aphi_csource_same(w->s, w->variables[i - 1].word, word))
            return &w->variables[i - 1];
    return NULL;
}

bool aphi_walk_is_type(const aphi_walker *w, size_t word)
{
    for (size_t i = 0; i < w->type_count; i++)
        if (aphi_csource_same(w->s, w->types[i], word))
            return true;
    return false;
}

bool aphi_walk_is_enumerator(const aphi_walker *w, size_t word)
{
    for (size_t i = 0; i < w->enumerator_count; i++)
        if (aphi_csource_same(w->s, w->enumerators[i].word, word))
            return true;
    return false;
}

void aphi_walk_leave(aphi_walker *w, size_t variable_count)
{
    while (w->variable_count > variable_count)
        free(w->variables[--w->variable_count].type);
}

static void note_type(aphi_walker *w, size_t word)
{
    if (aphi_walk_is_type(w, word))
        return;
    APHI_RESERVE(w->types, w->type_capacity, w->type_count + 1);
    w->types[w->type_count++] = word;
}

static void note_struct(aphi_walker *w, size_t word, size_t group)
{
    APHI_RESERVE(w->structs, w->struct_capacity, w->struct_count + 1);
    w->structs[w->struct_count++] = (aphi_cmember){word, group, NULL};
}

/* Takes the type. */
static void declare(aphi_walker *w, size_t word, char *type, aphi_cplace place, size_t group)
{
    if (place == APHI_C_STRUCT) {
        APHI_RESERVE(w->fields, w->field_capacity, w->field_count + 1);
        w->fields[w->field_count++] = (aphi_cmember){word, group, type};
        return;
    }
    APHI_RESERVE(w->variables, w->variable_capacity, w->variable_count + 1);
    w->variables[w->variable_count++] = (aphi_cvariable){word, type, place != APHI_C_FILE};
}

/* ---- specifiers -------------------------------------------------------------------------------------------------- */

typedef struct specifiers {
    aphi_buffer type;
    bool seen, constant, is_typedef;
    size_t group; /* of fields, if it is inside a struct */
    size_t made;  /* the group of fields that it defines; 0: none */
} specifiers;

static void add_word(const aphi_walker *w, specifiers *t, size_t word)
{
    const aphi_ctoken *token = aphi_csource_token(w->s, word);
    if (t->type.n > 0)
        aphi_buffer_byte(&t->type, ' ');
    aphi_buffer_add(&t->type, w->s->text + token->begin, token->end - token->begin);
}

static void enumerators(aphi_walker *w, size_t from, size_t to)
{
    size_t group = ++w->groups;
    while (from < to) {
        size_t comma = aphi_walk_next(w, from, to, ",");
        if (aphi_csource_is_name(w->s, from)) {
            APHI_RESERVE(w->enumerators, w->enumerator_capacity, w->enumerator_count + 1);
            w->enumerators[w->enumerator_count++] = (aphi_cmember){from, group, NULL};
            if (aphi_csource_is(w->s, from + 1, "="))
                aphi_walk_expression(w, from + 2, comma);
        }
        from = comma + 1;
    }
}

/* Their group. */
static size_t fields(aphi_walker *w, size_t from, size_t to);

/* struct, union or enum, from that word on. */
static size_t tagged(aphi_walker *w, size_t i, size_t end, specifiers *t)
{
    const aphi_csource *s = w->s;
    bool is_enum = aphi_csource_is(s, i, "enum");
    size_t tag = SIZE_MAX;
    add_word(w, t, i++);
    while (aphi_csource_among(s, i, grouped) && aphi_csource_is(s, i + 1, "("))
        i = s->match[i + 1] + 1;
    if (aphi_csource_is_name(s, i))
        add_word(w, t, tag = i++);
    if (i >= end || !aphi_csource_is(s, i, "{"))
        return i;
    if (is_enum)
        enumerators(w, i + 1, s->match[i]);
    else
        t->made = fields(w, i + 1, s->match[i]);
    if (tag == SIZE_MAX) /* a type of its own */
        aphi_buffer_format(&t->type, " %zu", i);
    else if (!is_enum)
        note_struct(w, tag, t->made);
    return s->match[i] + 1;
}

/* Is the name a type's, being what stands behind it? */
static bool name_is_type(const aphi_walker *w, size_t i)
{
    const aphi_csource *s = w->s;
    size_t next = i + 1;
    if (!aphi_csource_is_name(s, i))
        return false;
    while (aphi_csource_among(s, next, "* const volatile restrict"))
        next++;
    return aphi_csource_is_name(s, next) || aphi_csource_is(s, next, "(") || aphi_walk_is_type(w, i) ||
           aphi_csource_among(s, next, ", )") || aphi_csource_among(s, next, grouped);
}

/* One of them; i itself if there is none. */
static size_t specifier(aphi_walker *w, size_t i, size_t end, specifiers *t)
{
    const aphi_csource *s = w->s;
    bool group = aphi_csource_is(s, i + 1, "(");
    if (aphi_csource_among(s, i, storage))
        return i + 1;
    if (aphi_csource_among(s, i, grouped) && group)
        return s->match[i + 1] + 1;
    if (aphi_csource_is(s, i, "typedef") || aphi_csource_is(s, i, "const")) {
        t->is_typedef |= aphi_csource_is(s, i, "typedef");
        t->constant |= aphi_csource_is(s, i, "const");
        return i + 1;
    }
    if (aphi_csource_among(s, i, "_Atomic typeof __typeof__")) {
        add_word(w, t, i);
        t->seen |= group;
        if (group)
            aphi_walk_text(w, i + 1, s->match[i + 1] + 1, &t->type);
        return group ? s->match[i + 1] + 1 : i + 1;
    }
    if (!t->seen && aphi_csource_among(s, i, "struct union enum")) {
        t->seen = true;
        return tagged(w, i, end, t);
    }
    if (aphi_csource_among(s, i, builtin)) {
        t->seen = true;
        add_word(w, t, i);
        return i + 1;
    }
    if (t->seen || !name_is_type(w, i))
        return i;
    t->seen = true;
    note_type(w, i);
    add_word(w, t, i);
    return i + 1;
}

/* ---- declarators ------------------------------------------------------------------------------------------------- */

typedef struct declarator {
    size_t name, parameters; /* words; SIZE_MAX: none */
    size_t stars;
    bool opaque; /* not understood */
    aphi_buffer arrays;
} declarator;

static char *type_of(const specifiers *t, const declarator *d)
{
    aphi_buffer type = {0};
    if (d->opaque)
        return NULL;
    if (d->stars > 0 && t->constant)
        aphi_buffer_str(&type, "const ");
    aphi_buffer_add(&type, t->type.data, t->type.n);
    for (size_t i = 0; i < d->stars; i++)
        aphi_buffer_str(&type, i == 0 ? " *" : "*");
    aphi_buffer_add(&type, d->arrays.data, d->arrays.n);
    return aphi_buffer_text(&type);
}

static size_t suffixes(aphi_walker *w, size_t i, size_t end, aphi_cplace place, declarator *d)
{
    const aphi_csource *s = w->s;
    for (; i < end; i = s->match[i] + 1) {
        if (aphi_csource_is(s, i, "[")) {
            aphi_walk_expression(w, i + 1, s->match[i]);
            if (place == APHI_C_PARAMETER && d->arrays.n == 0)
                d->stars++;
            else
                aphi_walk_text(w, i, s->match[i] + 1, &d->arrays);
        } else if (aphi_csource_is(s, i, "(")) {
            d->parameters = d->parameters == SIZE_MAX ? i : d->parameters;
        } else if (aphi_csource_among(s, i, grouped) && aphi_csource_is(s, i + 1, "(")) {
            i++;
        } else {
            break;
        }
    }
    return i;
}

static size_t declarator_at(aphi_walker *w, size_t i, size_t end, aphi_cplace place, declarator *d)
{
    const aphi_csource *s = w->s;
    *d = (declarator){.name = SIZE_MAX, .parameters = SIZE_MAX};
    for (; aphi_csource_among(s, i, "* const volatile restrict _Atomic"); i++)
        d->stars += aphi_csource_is(s, i, "*");
    if (aphi_csource_is(s, i, "(")) { /* a pointer to a function or to an array */
        d->opaque = true;
        for (size_t k = i; k < s->match[i] && d->name == SIZE_MAX; k++)
            if (aphi_csource_is_name(s, k))
                d->name = k;
        i = suffixes(w, s->match[i] + 1, end, place, d);
        d->parameters = SIZE_MAX;
        return i;
    }
    if (i < end && aphi_csource_is_name(s, i)) {
        d->name = i;
        i = suffixes(w, i + 1, end, place, d);
    }
    return i < end && aphi_csource_is(s, i, ":") ? aphi_walk_next(w, i, end, ", ;") : i;
}

/* One declarator with its initial value; the word behind. */
static size_t declared(aphi_walker *w, size_t i, size_t end, aphi_cplace place, const specifiers *t, aphi_chead *head)
{
    declarator d;
    i = declarator_at(w, i, end, place, &d);
    if (i < end && aphi_csource_is(w->s, i, "=")) {
        size_t after = aphi_walk_next(w, i, end, ", ;");
        aphi_walk_expression(w, i + 1, after);
        i = after;
    }
    bool is_function = d.parameters != SIZE_MAX;
    if (d.name != SIZE_MAX && t->is_typedef && t->made && d.stars == 0)
        note_struct(w, d.name, t->made);
    if (d.name != SIZE_MAX && t->is_typedef)
        note_type(w, d.name);
    else if (d.name != SIZE_MAX && (!is_function || d.opaque))
        declare(w, d.name, type_of(t, &d), place, t->group);
    if (is_function && place == APHI_C_FILE && !t->is_typedef && i < end && aphi_csource_is(w->s, i, "{"))
        *head = (aphi_chead){d.name, d.parameters, type_of(t, &d)};
    aphi_buffer_free(&d.arrays);
    return i;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static size_t declare_all(aphi_walker *w, size_t i, size_t end, aphi_cplace place, specifiers *t, aphi_chead *head)
{
    for (size_t next; i < end && (next = specifier(w, i, end, t)) != i;)
        i = next;
    while (i < end && !aphi_csource_is(w->s, i, ";")) {
        i = declared(w, i, end, place, t, head);
        if (i >= end || !aphi_csource_is(w->s, i, ",") || place == APHI_C_PARAMETER)
            break;
        i++;
    }
    return i < end && aphi_csource_is(w->s, i, ";") ? i + 1 : i;
}

static size_t declaration(aphi_walker *w, size_t i, size_t end, aphi_cplace place, size_t group, aphi_chead *head)
{
    specifiers t = {.group = group};
    *head = (aphi_chead){SIZE_MAX, SIZE_MAX, NULL};
    if (w->depth >= APHI_WALK_DEPTH)
        return end;
    w->depth++;
    size_t next = declare_all(w, i, end, place, &t, head);
    w->depth--;
    aphi_buffer_free(&t.type);
    return next > i ? next : w->s->match[i] > i ? w->s->match[i] + 1 : i + 1;
}

size_t aphi_walk_declaration(aphi_walker *w, size_t i, size_t end, aphi_cplace place, aphi_chead *head)
{
    return declaration(w, i, end, place, 0, head);
}

static size_t fields(aphi_walker *w, size_t from, size_t to)
{
    aphi_chead none;
    size_t group = ++w->groups;
    while (from < to)
        from = declaration(w, from, to, APHI_C_STRUCT, group, &none);
    return group;
}

bool aphi_walk_is_declaration(const aphi_walker *w, size_t i)
{
    const aphi_csource *s = w->s;
    if (aphi_csource_among(s, i, storage) || aphi_csource_among(s, i, builtin) || aphi_csource_among(s, i, opening) ||
        aphi_csource_among(s, i, "_Alignas alignas"))
        return true;
    if (!aphi_csource_is_name(s, i) || aphi_walk_variable(w, i))
        return false;
    size_t next = i + 1;
    while (aphi_csource_among(s, next, "* const volatile restrict"))
        next++;
    return aphi_csource_is_name(s, next) &&
           (next == i + 1 || aphi_walk_is_type(w, i) || aphi_csource_among(s, next + 1, "= ; , ["));
}
