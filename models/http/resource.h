/* SPDX-License-Identifier: Apache-2.0
 *
 * resource.h - a resource of an HTTP server: its content and validators.
 *
 * Stored in the state as {"body": ..., "tag": TAG or false, "modified": TIME or false, ...}. */
#ifndef APH_MODELS_HTTP_RESOURCE_H
#define APH_MODELS_HTTP_RESOURCE_H

#include <antiphon/antiphon.h>

bool aphi_http_only_reads(aph_value request); /* GET and HEAD */
/* Inline, so that the length of a literal name is a constant. */
static inline bool aphi_http_is_method(aph_value request, const char *name)
{
    return aph_str_is(aph_field(request, "method"), name);
}

/* A field is APH_NIL if it is undecided or absent. */
typedef struct aphi_http_resource {
    aph_value body;     /* APH_NIL: no resource */
    aph_value tag;      /* TAG, without "weak" if that is undecided; or aphi_http_none() */
    aph_value modified; /* TIME; or aphi_http_none() */
    aph_value past;     /* strong tags and lengths of the last replaced contents; false if not seen */
    aph_value leaving;  /* true: a deletion is pending (202) */
    aph_value unseen;   /* true: content from before the test, not seen yet */
} aphi_http_resource;

/* The value of a validator that the resource does not have. */
static inline aph_value aphi_http_none(void) { return aph_bool(false); }

/* Returns true if the content is known. Content is unknown until a response contains it. */
static inline bool aphi_http_is_seen(const aphi_http_resource *r) { return !r->unseen && aph_is_str(r->body); }

/* Returns the resource at the target. */
aphi_http_resource aphi_http_look(aph *m, aph_value state, aph_value target);
/* Returns the state with the resource stored at the target. */
aph_value aphi_http_keep(aph_value state, aph_value target, const aphi_http_resource *r);
/* Returns the state with an unknown resource at the target. */
aph_value aphi_http_forget(aph_value state, aph_value target);

/* Replaces the content; APH_NIL deletes the resource. */
void aphi_http_replace(aphi_http_resource *r, aph_value body);

/* Returns the current tag, or APH_NIL if there is none; foretells that the response contains it. */
aph_value aphi_http_show_tag(aph *m, aphi_http_resource *r);
/* Returns the opaque part of the current tag, weak or strong; APH_NIL if there is none. */
aph_value aphi_http_opaque(aph *m, aphi_http_resource *r);
/* Returns true if the current tag is strong and has this opaque part. */
bool aphi_http_is_strong_tag(aph *m, aphi_http_resource *r, aph_value requested, const char *name);
/* Returns the modification date, or APH_NIL if there is none. With `shown`, foretells that the response contains it. */
aph_value aphi_http_modified(aph *m, aphi_http_resource *r, bool shown);

/* ---- conditions: conditions.c ------------------------------------------------------------------------------------ */

typedef enum aphi_http_outcome {
    APHI_HTTP_HOLDS,
    APHI_HTTP_FAILS, /* If-Match or If-Unmodified-Since: 412, or success if the write is already applied */
    APHI_HTTP_KNOWN, /* If-None-Match or If-Modified-Since: 304 for GET and HEAD, else 412 */
} aphi_http_outcome;

/* Evaluates the conditions of a request in the order of RFC 9110 13.2.2, except If-Range. */
aphi_http_outcome aphi_http_evaluate(aph *m, aph_value request, aphi_http_resource *r);
/* Returns true if If-Range allows a partial response. */
bool aphi_http_may_give_part(aph *m, aph_value request, aphi_http_resource *r);

#endif
