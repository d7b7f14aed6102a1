/* SPDX-License-Identifier: Apache-2.0
 *
 * unreadable.c - messages that a model allows, but that its codec could never read.
 *
 * Idea:       a message that was received from a server is always encoded and decoded to the same message. If this is
 *             not true of a message that the model sends, no server can send it: a misspelt member, a header in upper
 *             case, a body where the protocol has none. If all allowed messages are such, the failure is an error of
 *             the model. A codec may depend on the request of a response, so a response counts as unreadable only if it
 *             is not read back for any request that it may belong to.
 * Not done:   messages with unknowns, for which the codec needs values. */
#include "check/unreadable.h"

#include <antiphon/oracle.h>

#include <stdio.h>
#include <stdlib.h>

enum { REQUESTS_MAX = 16, WHY = 240 };

typedef struct conversation {
    const aph_codec *codec;
    aph_side side;
    aph_value requests[REQUESTS_MAX]; /* that the message may respond to */
    size_t count;
} conversation;

/* The unexplained message belongs to its request, if this is known, or else to one of those on its connection, or to
 * none. */
static conversation conversation_of(const aph_model *model, aph_value evidence)
{
    aph_value connection = aph_field(evidence, "connection"), window = aph_field(evidence, "window");
    bool accepted = aph_is_int(connection) && aph_int_of(connection) >= APH_ACCEPTED;
    conversation c = {.codec = model->codec, .side = accepted ? APH_TO_SERVER : APH_FROM_SERVER,
                      .requests = {aph_field(evidence, "request")}, .count = 1};
    for (size_t i = 0; !c.requests[0] && i < aph_count(window) && c.count < REQUESTS_MAX; i++)
        if (aph_field(aph_at(window, i), "connection") == connection && aph_has(aph_at(window, i), aph_str("request")))
            c.requests[c.count++] = aph_field(aph_at(window, i), "request");
    return c;
}

/* Returns true if the codec reads the message for some request; otherwise, `why` has the reason for the last one. */
static bool is_read(const conversation *c, aph_value message, char why[WHY])
{
    for (size_t i = 0; i < c->count; i++)
        if (aph_reads_back(c->codec, c->side, c->requests[i], message, why, WHY))
            return true;
    return false;
}

/* Returns true if the value has a symbol, in the form of evidence: {"?": 0, "sort": "string"}. */
static bool has_unknown(aph_value v)
{
    aph_value name, item;
    if (aph_kind_of(v) == APH_ARRAY)
        for (size_t i = 0; i < aph_count(v); i++)
            if (has_unknown(aph_at(v, i)))
                return true;
    if (aph_kind_of(v) == APH_OBJECT)
        for (size_t i = 0; aph_pair_at(v, i, &name, &item); i++)
            if (aph_str_is(name, "?") || has_unknown(item))
                return true;
    return false;
}

/* The opening and the end of a connection are signals, or texts in evidence that was written and read. */
static bool is_signal(const aph_model *model, aph_value message)
{
    static const char *const texts[] = {"<opened>", "<closed>", "<broken>", "<left>"};
    bool signal = aph_kind_of(message) == APH_SIGNAL;
    for (size_t i = 0; model->connections && i < sizeof texts / sizeof *texts; i++)
        signal |= aph_str_is(message, texts[i]);
    return signal;
}

static bool is_unreadable(const aph_model *model, const conversation *c, aph_value message, char why[WHY])
{
    return !has_unknown(message) && !is_signal(model, message) && !is_read(c, message, why);
}

static void describe(const conversation *c, aph_value message, const char *why, char *text, size_t size)
{
    char *json = aph_json_text(message, NULL);
    snprintf(text, size, "it sends %.160s%s; its codec, %s, %s", json, strlen(json) > 160 ? "..." : "",
             c->codec->name ? c->codec->name : "without a name", why);
    free(json);
}

bool aphi_unreadable_find(const aph_model *model, aph_value *evidence, char *text, size_t size)
{
    char why[WHY];
    aph_value allowed = aph_field(*evidence, "allowed"), marked = aph_array(0, NULL);
    conversation c = conversation_of(model, *evidence);
    size_t found = 0, n = aph_count(allowed);
    aph_value observed = aph_field(*evidence, "observed");
    if (!model->codec || !aph_has(*evidence, aph_str("observed")) || !is_read(&c, observed, why))
        return false;
    for (size_t i = 0; i < n; i++) {
        aph_value one = aph_at(allowed, i), message = aph_field(one, "answer");
        bool unreadable = is_unreadable(model, &c, message, why);
        if (unreadable && !found++)
            describe(&c, message, why, text, size);
        marked = aph_push(marked, unreadable ? aph_put(one, "unreadable", aph_str(why)) : one);
    }
    if (found)
        *evidence = aph_put(*evidence, "allowed", marked);
    return found && found == n && aph_truth(aph_field(*evidence, "all_allowed")) &&
           aph_truth(aph_field(*evidence, "exact"));
}
