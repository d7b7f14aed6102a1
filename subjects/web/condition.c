/* SPDX-License-Identifier: Apache-2.0
 *
 * condition.c - conditional requests.
 *
 * Idea:       the order of RFC 9110, section 13.2.2:
 *
 *                 If-Match, or else If-Unmodified-Since                  fails: 412
 *                 If-None-Match, or else (GET, HEAD) If-Modified-Since   fails: 304 to GET and HEAD, else 412
 *                 If-Range, for GET with Range                           fails: the whole representation
 *
 * Invalid dates are ignored, as sections 13.1.3 and 13.1.4 require. A request with an invalid list of tags is rejected,
 * since the intended condition is unknown. */
#include "condition.h"

#include "date.h"
#include "mutant.h"

#include <string.h>

/* ---- tags -------------------------------------------------------------------------------------------------------- */

typedef enum strength { STRONG, WEAK } strength;

/* Skips the tag at the start of a text; returns NULL if there is none. */
static const char *skip_tag(const char *text)
{
    if (!strncmp(text, "W/", 2))
        text += 2;
    if (*text++ != '"')
        return NULL;
    while (*text && *text != '"' && *text != ' ' && *text != '\t')
        text++;
    return *text == '"' ? text + 1 : NULL;
}

/* RFC 9110, section 8.8.3.2: compares a tag of the request with the current one. */
static bool same_tag(const char *tag, size_t length, const char *current, strength how)
{
    bool weak_tag = *tag == 'W', weak_current = *current == 'W';
    if (how == STRONG && (weak_tag || weak_current))
        return false;
    tag += weak_tag ? 2 : 0;
    length -= weak_tag ? 2 : 0;
    current += weak_current ? 2 : 0;
    return length == strlen(current) && !memcmp(tag, current, length);
}

/* The result of a search in a list of tags, or "*". */
typedef enum found { FOUND, MISSING, NO_LIST } found;

static found find_tag(const char *list, const char *current, strength how)
{
    found result = MISSING;
    size_t members = 0;
    for (list += strspn(list, ", \t"); *list; list += strspn(list, ", \t")) {
        const char *end = skip_tag(list);
        if (!end || (*end && !strchr(", \t", *end)))
            return NO_LIST;
        /* mutant 2, early return: only the first of a list of tags is compared */
        if (PICK(2, true, !members) && current && same_tag(list, (size_t)(end - list), current, how))
            result = FOUND;
        members++;
        end += strspn(end, " \t");
        if (*end && *end != ',')
            return NO_LIST;
        list = end;
    }
    return members ? result : NO_LIST;
}

/* Returns true if the field's list, or "*", contains the tag of the resource. */
static found matches(const char *value, const resource *r, const char *tag, strength how)
{
    if (!strcmp(value, "*"))
        return r ? FOUND : MISSING;
    return find_tag(value, r ? tag : NULL, how);
}

static outcome if_match(const char *value, const resource *r)
{
    /* mutant 8, weak comparison: If-Match compares weakly: W/"x" matches "x" */
    found f = matches(value, r, r ? r->tag : NULL, PICK(8, STRONG, WEAK));
    return f == NO_LIST ? ILL_FORMED : f == FOUND ? HOLDS : FAILS;
}

static outcome if_none_match(const char *value, const resource *r, bool reads)
{
    char tag[TAG_SIZE] = "";
    if (r)
        memcpy(tag, r->tag, TAG_SIZE);
    /* mutant 10, flipped bit: If-None-Match compares with a tag that has one wrong bit */
    if (PICK(10, false, r != NULL))
        tag[strlen(tag) - 2] ^= 1;
    /* mutant 9, strong comparison: If-None-Match compares strongly, a weak tag matches nothing */
    found f = matches(value, r, tag, PICK(9, WEAK, STRONG));
    return f == NO_LIST ? ILL_FORMED : f == MISSING ? HOLDS : reads ? UNMODIFIED : FAILS;
}

/* ---- dates ------------------------------------------------------------------------------------------------------- */

/* Returns 1 if the resource has changed since the date, else 0; -1 if there is no date or no resource. */
static int changed_since(const char *value, const resource *r)
{
    time_t date;
    /* mutant 20, Last-Modified ignored: If-Modified-Since and If-Unmodified-Since have no effect */
    if (PICK(20, !value, true) || !r || !date_read(value, store_now(), &date))
        return -1;
    return r->modified > date;
}

/* ---- all conditions ---------------------------------------------------------------------------------------------- */

static outcome first_part(const request *q, const resource *r)
{
    /* mutant 7, If-Match ignored: the field has no effect */
    if (PICK(7, q->field[IF_MATCH] != NULL, false))
        return if_match(q->field[IF_MATCH], r);
    return changed_since(q->field[IF_UNMODIFIED_SINCE], r) == 1 ? FAILS : HOLDS;
}

static outcome second_part(const request *q, const resource *r)
{
    bool reads = q->method == GET || q->method == HEAD;
    if (q->field[IF_NONE_MATCH])
        return if_none_match(q->field[IF_NONE_MATCH], r, reads);
    return reads && changed_since(q->field[IF_MODIFIED_SINCE], r) == 0 ? UNMODIFIED : HOLDS;
}

outcome condition_judge(const request *q, const resource *r)
{
    outcome first = first_part(q, r);
    return first == HOLDS ? second_part(q, r) : first;
}

bool condition_any(const request *q)
{
    return q->field[IF_MATCH] || q->field[IF_NONE_MATCH] || q->field[IF_MODIFIED_SINCE]
        || q->field[IF_UNMODIFIED_SINCE];
}

/* RFC 9110, section 13.1.5: a date matches only if there was certainly just one content in its second. */
bool condition_ranges(const request *q, const resource *r)
{
    const char *value = q->field[IF_RANGE], *end = value ? skip_tag(value) : NULL;
    time_t date;
    if (!value)
        return true;
    if (end)
        return !*end && same_tag(value, (size_t)(end - value), r->tag, STRONG);
    return date_read(value, store_now(), &date) && date == r->modified && date < store_now() && !r->twice;
}
