/* SPDX-License-Identifier: Apache-2.0
 *
 * http_fields.c - lines with the same name as one field, and names with values as an object.
 *
 * Cost:       a message with n names is sorted, so n names that are all equal cost no more than n that differ. */
#include "codec/http_fields.h"

#include "base/memory.h"

#include <stdlib.h>

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static bool same_name(const aphi_http_line *a, const aphi_http_line *b)
{
    return a->name.n == b->name.n && memcmp(a->name.text, b->name.text, a->name.n) == 0;
}

int aphi_http_by_name(const void *a, const void *b)
{
    const aphi_http_line *x = *(const aphi_http_line *const *)a, *y = *(const aphi_http_line *const *)b;
    size_t n = x->name.n < y->name.n ? x->name.n : y->name.n;
    int order = memcmp(x->name.text, y->name.text, n);
    if (order == 0)
        order = (x->name.n > y->name.n) - (x->name.n < y->name.n);
    return order ? order : (x > y) - (x < y);
}

aphi_http_group aphi_http_group_at(const aphi_http_line *const *lines, size_t count)
{
    aphi_http_group g = {lines, 1};
    while (g.count < count && same_name(lines[0], lines[g.count]))
        g.count++;
    return g;
}

aph_value aphi_http_join(aphi_http_group g)
{
    const aphi_http_line *const *l = g.lines;
    if (g.count == 1)
        return aph_bytes(l[0]->value.text, l[0]->value.n);
    size_t n = 0, size = 0;
    for (size_t i = 0; i < g.count; i++)
        size += l[i]->value.n + 2;
    char *text = aphi_http_allocate(size);
    for (size_t i = 0; i < g.count; i++) {
        if (i)
            n = (size_t)(stpcpy(text + n, ", ") - text);
        if (l[i]->value.n)
            memcpy(text + n, l[i]->value.text, l[i]->value.n);
        n += l[i]->value.n;
    }
    aphi_span joined = aphi_trim((aphi_span){text, n});
    aph_value value = aph_bytes(joined.text, joined.n);
    free(text);
    return value;
}

/* ---- pairs ------------------------------------------------------------------------------------------------------- */

struct aphi_http_pair {
    aph_value name, item;
    size_t at;
};

void aphi_http_pairs_add(aphi_http_pairs *p, aph_value name, aph_value item)
{
    APHI_PUSH(p->items, p->count, p->capacity, (struct aphi_http_pair){name, item, p->count});
}

static int by_name(const void *a, const void *b)
{
    const struct aphi_http_pair *x = a, *y = b;
    int order = aph_compare(x->name, y->name);
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

/* The items of the n pairs, which have the same name. */
static aph_value items_of(const struct aphi_http_pair *pairs, size_t n)
{
    aph_value *items = aphi_alloc(n * sizeof *items);
    for (size_t i = 0; i < n; i++)
        items[i] = pairs[i].item;
    aph_value all = n == 1 ? items[0] : aph_array(n, items);
    free(items);
    return all;
}

aph_value aphi_http_pairs_take(aphi_http_pairs *p)
{
    aph_value object = aph_object();
    if (p->count)
        qsort(p->items, p->count, sizeof *p->items, by_name);
    for (size_t i = 0, n; i < p->count; i += n) {
        for (n = 1; i + n < p->count && p->items[i + n].name == p->items[i].name; n++)
            ;
        object = aph_set(object, p->items[i].name, items_of(p->items + i, n));
    }
    free(p->items);
    *p = (aphi_http_pairs){0};
    return aph_count(object) ? object : APH_NIL;
}

bool aphi_http_pairs_each(aph_value object, aphi_http_write_pair *write, void *context)
{
    aph_value name, item;
    if (object != APH_NIL && aph_kind_of(object) != APH_OBJECT)
        return false;
    for (size_t i = 0; aph_pair_at(object, i, &name, &item); i++) {
        bool several = aph_kind_of(item) == APH_ARRAY;
        size_t n = several ? aph_count(item) : item != APH_NIL;
        if (several && n < 2)
            return false;
        for (size_t k = 0; k < n; k++)
            if (!write(context, name, several ? aph_at(item, k) : item))
                return false;
    }
    return true;
}
