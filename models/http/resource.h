/* SPDX-License-Identifier: Apache-2.0
 *
 * resource.h - what is at a target of an HTTP server: its content and its validators.
 *
 * A resource is {"body": ..., "tag": TAG or false, "modified": TIME or false}; a field that is missing is not decided
 * yet. "past" are the strong tags, with lengths, of what it replaced last, or false for one that was not shown;
 * "leaving" says that it will be deleted. */
#ifndef APH_MODELS_HTTP_RESOURCE_H
#define APH_MODELS_HTTP_RESOURCE_H

#include <antiphon/antiphon.h>

bool aphi_http_only_reads(aph_value request); /* GET and HEAD */
/* Here, so that a name that is a literal costs nothing. */
static inline bool aphi_http_is_method(aph_value request, const char *name)
{
    return aph_str_is(aph_field(request, "method"), name);
}

/* What is at the target, or APH_NIL: nothing. *past is what is to be kept for later. */
aph_value aphi_http_look(aph *m, aph_value state, aph_value target, aph_value *past);
/* The state with that at the target. */
aph_value aphi_http_keep(aph_value state, aph_value target, aph_value resource, aph_value past);
/* The state in which it is not known what is at the target. */
aph_value aphi_http_forget(aph_value state, aph_value target);

/* New content, or APH_NIL: none. The tag of the old one goes into *past. */
aph_value aphi_http_replace(aph_value was, aph_value body, aph_value *past);

/* The current tag, or APH_NIL if it has none; and whether it will be shown: if so, the answer has just that. */
aph_value aphi_http_tag(aph *m, aph_value *resource, bool shown);
/* When it was modified, or APH_NIL if the server does not know. */
aph_value aphi_http_modified(aph *m, aph_value *resource, bool shown);
bool aphi_http_has_no(aph_value resource, const char *validator);

/* ---- conditions: conditions.c ------------------------------------------------------------------------------------ */

typedef enum aphi_http_outcome {
    APHI_HTTP_HOLDS,
    APHI_HTTP_FAILS, /* If-Match or If-Unmodified-Since: 412, or success if it is already as it should be */
    APHI_HTTP_KNOWN, /* If-None-Match or If-Modified-Since: 304 to what only reads, else 412 */
} aphi_http_outcome;

/* In the order of RFC 9110 13.2.2, but for If-Range; *resource is APH_NIL if there is nothing. */
aphi_http_outcome aphi_http_judge(aph *m, aph_value request, aph_value *resource);
/* May a part be given to a request with Range, as If-Range has it? */
bool aphi_http_may_give_part(aph *m, aph_value request, aph_value *resource);

#endif
