/* SPDX-License-Identifier: Apache-2.0
 *
 * script.h - scripts of a tester: lists of actions, each with a condition that it waits for.
 *
 * On disk (docs/testing.md) each line is one JSON object:
 *
 *     {"antiphon":1,"script":"kv","environment":"tcp","seed":7}
 *     {"label":1,"conn":0,"send":{"f":"put","key":"a","value":1}}
 *     {"label":3,"conn":1,"send":{"f":"get","key":{"$":[1,["key"],"id"]}},"wait":{"answer":2}}
 *     {"label":5,"conn":1,"close":true,"wait":"quiet"}      or "open", "shut" (half-close) or "abort" (reset)
 *     {"label":7,"conn":0,"send":"abc","chunk":1,"wait":{"pause_us":500}}
 *     {"label":9,"conn":1,"open":true,"wait":"silence"}
 */
#ifndef APHI_SCRIPT_SCRIPT_H
#define APHI_SCRIPT_SCRIPT_H

#include <antiphon/generate.h>

typedef enum aphi_wait {
    APHI_WAIT_NOTHING,
    APHI_WAIT_ANSWER, /* for the response with this even label; no wait if its request is not in the script */
    APHI_WAIT_QUIET,  /* until no request is outstanding and nothing has arrived for a while */
    APHI_WAIT_PAUSE,
    APHI_WAIT_SILENCE, /* as for quiet, until the server has received everything; this is recorded as an observation */
} aphi_wait;

/* Actions are performed in order: an action that waits delays all later ones. */
enum { APHI_SCRIPT_CONNECTION_MAX = 65535 }; /* a run keeps an entry for each number up to the largest */

typedef struct aphi_action {
    int64_t label;      /* odd, increasing */
    int64_t connection; /* opened by its first action, and by the first after a close */
    /* A J-expression, not null. APH_NIL: close the connection. APH_OPENED: open it. APH_CLOSED: close our side.
     * APH_BROKEN: reset it. */
    aph_value send;
    uint32_t chunk;     /* bytes per write; 0: all at once */
    aphi_wait wait;
    int64_t waits_for;  /* the label, or microseconds */
} aphi_action;

typedef struct aphi_script {
    char model[64];        /* a model's name, or "" */
    char environment[256]; /* a name, or the path of a network */
    uint64_t seed;         /* seed of random choices that are not recorded in the actions */
    aphi_action *actions;
    size_t count, capacity;
} aphi_script;

/* The owner of a script marks its values. */
void aphi_script_mark(const aphi_script *s);
void aphi_script_free(aphi_script *s);
void aphi_script_add(aphi_script *s, const aphi_action *action);
aphi_script aphi_script_copy(const aphi_script *s);
/* Returns the index of the action with this label, or of the request whose response has it; count if there is none. */
size_t aphi_script_index(const aphi_script *s, int64_t label);

/* Read a file or a text, strictly. Return false with a message (NAME:LINE: ...) and an empty *s on failure. */
bool aphi_script_read(const char *path, aphi_script *s, char *error, size_t error_size);
/* Checks the functions in holes, which the model defines. Returns false with a message. */
bool aphi_script_check(const char *name, const aphi_script *s, const aph_function *functions, char *error,
                       size_t error_size);
bool aphi_script_parse(const char *name, const char *text, size_t n, aphi_script *s, char *error, size_t error_size);
/* Writes the file atomically. Returns false with a message on failure; an existing file is then unchanged. */
bool aphi_script_write(const char *path, const aphi_script *s, char *error, size_t error_size);
/* Returns the text of the file, malloc'ed and NUL-terminated; *n, if n is not NULL, receives its length. */
char *aphi_script_text(const aphi_script *s, size_t *n);
aph_value aphi_action_value(const aphi_action *a);

#endif
