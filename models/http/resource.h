/* SPDX-License-Identifier: Apache-2.0
 *
 * resource.h - what is at a target of an HTTP server: its content and its validators.
 *
 * In the state it is {"body": ..., "tag": TAG or false, "modified": TIME or false, ...}. */
#ifndef APH_MODELS_HTTP_RESOURCE_H
#define APH_MODELS_HTTP_RESOURCE_H

#include <antiphon/antiphon.h>

bool aphi_http_only_reads(aph_value request); /* GET and HEAD */
/* Here, so that a name that is a literal costs nothing. */
static inline bool aphi_http_is_method(aph_value request, const char *name)
{
    return aph_str_is(aph_field(request, "method"), name);
}

/* APH_NIL where it is not decided, or not there. */
typedef struct aphi_http_resource {
    aph_value body;     /* APH_NIL: there is nothing */
    aph_value tag;      /* TAG, perhaps without "weak" if that is not decided; or aphi_http_none() */
    aph_value modified; /* TIME; or aphi_http_none() */
    aph_value past;     /* strong tags, with lengths, of what it replaced last; false for one that was not shown */
    aph_value leaving;  /* true: it will be deleted */
    aph_value unseen;   /* true: the content is one that was there before, and has not been shown yet */
} aphi_http_resource;

/* Of a validator: the resource has none. */
static inline aph_value aphi_http_none(void) { return aph_bool(false); }

/* Is the content known? It is not while the answer that shows it is still on its way. */
static inline bool aphi_http_is_seen(const aphi_http_resource *r) { return !r->unseen && aph_is_str(r->body); }

/* What is at the target. */
aphi_http_resource aphi_http_look(aph *m, aph_value state, aph_value target);
/* The state with that at the target. */
aph_value aphi_http_keep(aph_value state, aph_value target, const aphi_http_resource *r);
/* The state in which it is not known what is at the target. */
aph_value aphi_http_forget(aph_value state, aph_value target);

/* New content, or APH_NIL: none. */
void aphi_http_replace(aphi_http_resource *r, aph_value body);

/* The current tag, or APH_NIL if it has none: the answer has just that. */
aph_value aphi_http_show_tag(aph *m, aphi_http_resource *r);
/* What is between the quotes of the current tag, weak or strong; APH_NIL if there is none. */
aph_value aphi_http_opaque(aph *m, aphi_http_resource *r);
/* Is the current tag strong, and this between its quotes? */
bool aphi_http_is_strong_tag(aph *m, aphi_http_resource *r, aph_value asked, const char *name);
/* When it was modified, or APH_NIL if the server does not know; and whether it will be shown: if so, the answer has
 * just that. */
aph_value aphi_http_modified(aph *m, aphi_http_resource *r, bool shown);

/* ---- conditions: conditions.c ------------------------------------------------------------------------------------ */

typedef enum aphi_http_outcome {
    APHI_HTTP_HOLDS,
    APHI_HTTP_FAILS, /* If-Match or If-Unmodified-Since: 412, or success if it is already as it should be */
    APHI_HTTP_KNOWN, /* If-None-Match or If-Modified-Since: 304 to what only reads, else 412 */
} aphi_http_outcome;

/* In the order of RFC 9110 13.2.2, but for If-Range. */
aphi_http_outcome aphi_http_judge(aph *m, aph_value request, aphi_http_resource *r);
/* May a part be given to a request with Range, as If-Range has it? */
bool aphi_http_may_give_part(aph *m, aph_value request, aphi_http_resource *r);

#endif
