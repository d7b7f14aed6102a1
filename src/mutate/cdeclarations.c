/* SPDX-License-Identifier: Apache-2.0
 *
 * cdeclarations.c - parsing of declarations: the names in scope and their types; see cparser.h.
 *
 * A type is represented by the words of its declaration, without storage classes and qualifiers: "connection", "struct
 * pollfd *". Two spellings of the same type count as two types, so mutants may be missed. */
#include "mutate/cparser.h"

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

const aphi_cvariable *aphi_cparse_find_variable(const aphi_cparser *p, size_t word)
{
    for (size_t i = p->variable_count; i > 0; i--)
        if (aphi_csource_same(p->s, p->variables[i - 1].word, word))
            return &p->variables[i - 1];
    return NULL;
}

static bool is_among(const aphi_cparser *p, const aphi_cmembers *all, size_t word)
{
    for (size_t i = 0; i < all->n; i++)
        if (aphi_csource_same(p->s, all->items[i].word, word))
            return true;
    return false;
}

bool aphi_cparse_is_type(const aphi_cparser *p, size_t word) { return is_among(p, &p->types, word); }
bool aphi_cparse_is_enumerator(const aphi_cparser *p, size_t word) { return is_among(p, &p->enumerators, word); }

void aphi_cparse_leave_scope(aphi_cparser *p, size_t variable_count)
{
    while (p->variable_count > variable_count)
        free(p->variables[--p->variable_count].type);
}

static void add_member(aphi_cmembers *all, size_t word, size_t group, char *type)
{
    APHI_RESERVE(all->items, all->capacity, all->n + 1);
    all->items[all->n++] = (aphi_cmember){word, group, type};
}

static void add_type(aphi_cparser *p, size_t word)
{
    if (!aphi_cparse_is_type(p, word))
        add_member(&p->types, word, 0, NULL);
}

/* Takes ownership of the type. */
static void declare_name(aphi_cparser *p, size_t word, char *type, aphi_cplace place)
{
    if (place == APHI_C_STRUCT) {
        add_member(&p->fields, word, p->group, type);
        return;
    }
    APHI_RESERVE(p->variables, p->variable_capacity, p->variable_count + 1);
    p->variables[p->variable_count++] = (aphi_cvariable){word, type, place != APHI_C_FILE};
}

/* ---- specifiers -------------------------------------------------------------------------------------------------- */

typedef struct specifiers {
    aphi_buffer type;
    bool seen, constant, is_typedef;
    size_t defined; /* the group of fields that the specifiers define; 0: none */
} specifiers;

static void add_word(const aphi_cparser *p, specifiers *t, size_t word)
{
    const aphi_ctoken *token = aphi_csource_token(p->s, word);
    if (t->type.n > 0)
        aphi_buffer_byte(&t->type, ' ');
    aphi_buffer_add(&t->type, p->s->text + token->begin, token->end - token->begin);
}

static void parse_enumerators(aphi_cparser *p, size_t from, size_t to)
{
    size_t group = ++p->groups;
    while (from < to) {
        size_t comma = aphi_cparse_find(p, from, to, ",");
        if (aphi_csource_is_name(p->s, from)) {
            add_member(&p->enumerators, from, group, NULL);
            if (aphi_csource_is(p->s, from + 1, "="))
                aphi_cparse_expression(p, from + 2, comma);
        }
        from = comma + 1;
    }
}

/* Returns the group of the fields. */
static size_t parse_fields(aphi_cparser *p, size_t from, size_t to);

/* Parses a struct, union or enum; i is that keyword. */
static size_t parse_tagged(aphi_cparser *p, size_t i, size_t end, specifiers *t)
{
    const aphi_csource *s = p->s;
    bool is_enum = aphi_csource_is(s, i, "enum");
    size_t tag = SIZE_MAX;
    add_word(p, t, i++);
    while (aphi_csource_among(s, i, grouped) && aphi_csource_is(s, i + 1, "("))
        i = s->match[i + 1] + 1;
    if (aphi_csource_is_name(s, i))
        add_word(p, t, tag = i++);
    if (i >= end || !aphi_csource_is(s, i, "{"))
        return i;
    if (is_enum)
        parse_enumerators(p, i + 1, s->match[i]);
    else
        t->defined = parse_fields(p, i + 1, s->match[i]);
    if (tag == SIZE_MAX) /* an anonymous type is distinct from all others */
        aphi_buffer_format(&t->type, " %zu", i);
    else if (!is_enum)
        add_member(&p->structs, tag, t->defined, NULL);
    return s->match[i] + 1;
}

/* Returns true if the words after a name show that it is a type. */
static bool name_is_type(const aphi_cparser *p, size_t i)
{
    const aphi_csource *s = p->s;
    size_t next = i + 1;
    if (!aphi_csource_is_name(s, i))
        return false;
    while (aphi_csource_among(s, next, "* const volatile restrict"))
        next++;
    return aphi_csource_is_name(s, next) || aphi_csource_is(s, next, "(") || aphi_cparse_is_type(p, i) ||
           aphi_csource_among(s, next, ", )") || aphi_csource_among(s, next, grouped);
}

/* Parses one specifier. Returns i if there is none. */
static size_t parse_specifier(aphi_cparser *p, size_t i, size_t end, specifiers *t)
{
    const aphi_csource *s = p->s;
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
        add_word(p, t, i);
        t->seen |= group;
        if (group)
            aphi_cparse_add_text(p, i + 1, s->match[i + 1] + 1, &t->type);
        return group ? s->match[i + 1] + 1 : i + 1;
    }
    if (!t->seen && aphi_csource_among(s, i, "struct union enum")) {
        t->seen = true;
        return parse_tagged(p, i, end, t);
    }
    if (aphi_csource_among(s, i, builtin)) {
        t->seen = true;
        add_word(p, t, i);
        return i + 1;
    }
    if (t->seen || !name_is_type(p, i))
        return i;
    t->seen = true;
    add_type(p, i);
    add_word(p, t, i);
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

static size_t parse_suffixes(aphi_cparser *p, size_t i, size_t end, aphi_cplace place, declarator *d)
{
    const aphi_csource *s = p->s;
    for (; i < end; i = s->match[i] + 1) {
        if (aphi_csource_is(s, i, "[")) {
            aphi_cparse_expression(p, i + 1, s->match[i]);
            if (place == APHI_C_PARAMETER && d->arrays.n == 0)
                d->stars++;
            else
                aphi_cparse_add_text(p, i, s->match[i] + 1, &d->arrays);
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

static size_t parse_declarator(aphi_cparser *p, size_t i, size_t end, aphi_cplace place, declarator *d)
{
    const aphi_csource *s = p->s;
    *d = (declarator){.name = SIZE_MAX, .parameters = SIZE_MAX};
    for (; aphi_csource_among(s, i, "* const volatile restrict _Atomic"); i++)
        d->stars += aphi_csource_is(s, i, "*");
    if (aphi_csource_is(s, i, "(")) { /* a pointer to a function or to an array */
        d->opaque = true;
        for (size_t k = i; k < s->match[i] && d->name == SIZE_MAX; k++)
            if (aphi_csource_is_name(s, k))
                d->name = k;
        i = parse_suffixes(p, s->match[i] + 1, end, place, d);
        d->parameters = SIZE_MAX;
        return i;
    }
    if (i < end && aphi_csource_is_name(s, i)) {
        d->name = i;
        i = parse_suffixes(p, i + 1, end, place, d);
    }
    return i < end && aphi_csource_is(s, i, ":") ? aphi_cparse_find(p, i, end, ", ;") : i;
}

/* Parses a declarator with its initializer. Returns the word after it. */
static size_t parse_init_declarator(aphi_cparser *p, size_t i, size_t end, aphi_cplace place, const specifiers *t,
                                    aphi_chead *head)
{
    declarator d;
    i = parse_declarator(p, i, end, place, &d);
    if (i < end && aphi_csource_is(p->s, i, "=")) {
        size_t after = aphi_cparse_find(p, i, end, ", ;");
        aphi_cparse_expression(p, i + 1, after);
        i = after;
    }
    bool is_function = d.parameters != SIZE_MAX;
    if (d.name != SIZE_MAX && t->is_typedef && t->defined && d.stars == 0)
        add_member(&p->structs, d.name, t->defined, NULL);
    if (d.name != SIZE_MAX && t->is_typedef)
        add_type(p, d.name);
    else if (d.name != SIZE_MAX && (!is_function || d.opaque))
        declare_name(p, d.name, type_of(t, &d), place);
    if (head && is_function && !t->is_typedef && i < end && aphi_csource_is(p->s, i, "{"))
        *head = (aphi_chead){d.name, d.parameters, type_of(t, &d)};
    aphi_buffer_free(&d.arrays);
    return i;
}

/* ---- declarations ------------------------------------------------------------------------------------------------ */

static size_t parse_declarators(aphi_cparser *p, size_t i, size_t end, aphi_cplace place, specifiers *t,
                                aphi_chead *head)
{
    for (size_t next; i < end && (next = parse_specifier(p, i, end, t)) != i;)
        i = next;
    while (i < end && !aphi_csource_is(p->s, i, ";")) {
        i = parse_init_declarator(p, i, end, place, t, head);
        if (i >= end || !aphi_csource_is(p->s, i, ",") || place == APHI_C_PARAMETER)
            break;
        i++;
    }
    return i < end && aphi_csource_is(p->s, i, ";") ? i + 1 : i;
}

size_t aphi_cparse_declaration(aphi_cparser *p, size_t i, size_t end, aphi_cplace place, aphi_chead *head)
{
    specifiers t = {0};
    if (head)
        *head = (aphi_chead){SIZE_MAX, SIZE_MAX, NULL};
    if (p->depth >= APHI_CPARSE_DEPTH_MAX)
        return end;
    p->depth++;
    size_t next = parse_declarators(p, i, end, place, &t, head);
    p->depth--;
    aphi_buffer_free(&t.type);
    return next > i ? next : p->s->match[i] > i ? p->s->match[i] + 1 : i + 1;
}

static size_t parse_fields(aphi_cparser *p, size_t from, size_t to)
{
    size_t group = ++p->groups, outer = p->group;
    p->group = group;
    while (from < to)
        from = aphi_cparse_declaration(p, from, to, APHI_C_STRUCT, NULL);
    p->group = outer;
    return group;
}

bool aphi_cparse_is_declaration(const aphi_cparser *p, size_t i)
{
    const aphi_csource *s = p->s;
    if (aphi_csource_among(s, i, storage) || aphi_csource_among(s, i, builtin) || aphi_csource_among(s, i, opening) ||
        aphi_csource_among(s, i, "_Alignas alignas"))
        return true;
    if (!aphi_csource_is_name(s, i) || aphi_cparse_find_variable(p, i))
        return false;
    size_t next = i + 1;
    while (aphi_csource_among(s, next, "* const volatile restrict"))
        next++;
    return aphi_csource_is_name(s, next) &&
           (next == i + 1 || aphi_cparse_is_type(p, i) || aphi_csource_among(s, next + 1, "= ; , ["));
}
