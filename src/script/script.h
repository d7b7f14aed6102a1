/* SPDX-License-Identifier: Apache-2.0
 *
 * script.h - what a tester does: a list of actions, each with what it waits for.
 *
 * On disk (docs/testing.md) it is one JSON object a line:
 *
 *     {"antiphon":1,"script":"kv","environment":"tcp","seed":7}
 *     {"label":1,"conn":0,"send":{"f":"put","key":"a","value":1}}
 *     {"label":3,"conn":1,"send":{"f":"get","key":{"$":[1,["key"],"id"]}},"wait":{"answer":2}}
 *     {"label":5,"conn":1,"close":true,"wait":"quiet"}
 *     {"label":7,"conn":0,"send":"abc","chunk":1,"wait":{"pause_us":500}}
 */
#ifndef APHI_SCRIPT_SCRIPT_H
#define APHI_SCRIPT_SCRIPT_H

#include <antiphon/value.h>

typedef enum aphi_wait {
    APHI_WAIT_NOTHING,
    APHI_WAIT_ANSWER, /* to the message with that label, which is even; at once if its request is not in the script */
    APHI_WAIT_QUIET,  /* until everything was answered and nothing has come for a while */
    APHI_WAIT_PAUSE,  /* for a time */
} aphi_wait;

/* Actions are taken in the order of the script: one that waits holds up all that follow. */
typedef struct aphi_action {
    int64_t label;      /* odd, rising */
    int64_t connection; /* opened when it is first used, and again after it was closed */
    aph_value send;     /* a J-expression, not null; APH_NIL: close the connection */
    uint32_t chunk;     /* bytes in one write, 0: all */
    aphi_wait wait;
    int64_t waits_for;  /* the label, or microseconds */
} aphi_action;

typedef struct aphi_script {
    char model[64];        /* a model's name, or "" */
    char environment[16];
    uint64_t seed;         /* for what chance decides beside the actions */
    aphi_action *actions;
    size_t count, capacity;
} aphi_script;

/* Scripts hold values: aphi_script_mark belongs in a root of their owner. */
void aphi_script_mark(const aphi_script *s);
void aphi_script_free(aphi_script *s);
void aphi_script_add(aphi_script *s, const aphi_action *action);
aphi_script aphi_script_copy(const aphi_script *s);
/* The index of the action with that label, or of the request with that answer; count if there is none. */
size_t aphi_script_index(const aphi_script *s, int64_t label);

/* Reads a whole file, or a text; strict. On failure says what, where (name:line) and what to do, and *s is empty. */
bool aphi_script_read(const char *path, aphi_script *s, char *error, size_t error_size);
bool aphi_script_parse(const char *name, const char *text, size_t n, aphi_script *s, char *error, size_t error_size);
/* Writes a whole file, which appears complete or not at all. On failure says what to do; an earlier file stays. */
bool aphi_script_write(const char *path, const aphi_script *s, char *error, size_t error_size);
/* The same as text in malloc'ed memory, NUL-terminated; *n, if given, receives its length. */
char *aphi_script_text(const aphi_script *s, size_t *n);
/* One action as a value, as on disk. */
aph_value aphi_action_value(const aphi_action *a);

#endif
