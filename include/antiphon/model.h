/* SPDX-License-Identifier: Apache-2.0
 *
 * model.h - a server as a small nondeterministic C program, and as an interaction tree.
 *
 * A model is a step: a plain C function, called forever, that receives, decides and sends. It must be a pure function
 * of *state and of the values that the calls below return: no static variables, no clock, no I/O, and nothing kept
 * between steps but *state. A step may be abandoned inside a call and run again from its start, so it must not hold
 * resources (memory, locks, files) across a call.
 */
#ifndef ANTIPHON_MODEL_H
#define ANTIPHON_MODEL_H

#include <antiphon/codec.h>
#include <antiphon/generate.h>
#include <antiphon/value.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aph aph; /* a running step */

typedef struct aph_request {
    int64_t from;      /* its connection */
    aph_value message;
} aph_request;

typedef void aph_step(aph *m, aph_value *state);

/* ---- events of a step -------------------------------------------------------------------------------------------- */

aph_request aph_recv(aph *m);                                    /* the next request on any connection */
/* message may contain symbols. A negative connection is one that the server opens, with its first message on it; the
 * model chooses the number, and receives responses from that number. The tester does not know the number: it matches
 * connections by their messages. Not for models with rpc. */
void aph_send(aph *m, int64_t to, aph_value message);
aph_value aph_choose(aph *m, aph_kind sort, const char *name);   /* an internal choice: a new symbol of that sort */
aph_value aph_choose_within(aph *m, int64_t low, int64_t high, const char *name); /* both inclusive; low <= high */
bool aph_decide(aph *m, aph_value condition, const char *name);  /* a branch on a boolean that may be symbolic */
/* A free choice among named alternatives; returns the index: aph_either(m, "strong tag", "weak tag") is 0 or 1. */
#define aph_either(m, ...) \
    __extension__({ \
        static const char *const names_[] = {__VA_ARGS__}; /* events outlive the step */ \
        aph_either_(m, sizeof names_ / sizeof *names_, names_); \
    })
int aph_either_(aph *m, size_t n, const char *const *names);
/* Announces that the response of this step, an object, will have this value in this field, or not have the field if
 * value is APH_NIL. It does not change the meaning of the step: if the observed response is known and differs, the
 * search abandons the branch at once. For rpc models with many branches: call it as soon as the value is certain. */
void aph_foretell(aph *m, const char *field, aph_value value);
/* As aph_choose and aph_choose_within, for a choice that the response will contain in this field ("tag.opaque" is the
 * field "opaque" of the field "tag"): if the observed response is known, its value is the choice. */
aph_value aph_choose_shown(aph *m, aph_kind sort, const char *field, const char *name);
aph_value aph_choose_within_shown(aph *m, int64_t low, int64_t high, const char *field, const char *name);
/* As aph_either; alternative i also announces values[i] for the field, as aph_foretell does, or one of the patterns
 * below. With up to 64 alternatives, those that contradict a known response are not tried.
 *     aph_either_foretold(m, "status", APH_VALUES(aph_int(204), aph_int(200)), "204 for it", "200 for it") */
#define APH_VALUES(...) ((const aph_value[]){__VA_ARGS__})
#define APH_ANY ((aph_value)(uintptr_t)7)   /* with or without the field, any value */
#define APH_SOME ((aph_value)(uintptr_t)15) /* with the field, any value */
#define APH_ELSE ((aph_value)(uintptr_t)31) /* none of the values of the alternatives before it */
/* An integer from low to high, both from 0 to 65535. */
#define APH_WITHIN(low, high) ((aph_value)((uintptr_t)(low) << 32 | (uintptr_t)(high) << 16 | 23))
#define aph_either_foretold(m, field, values, ...) \
    __extension__({ \
        static const char *const names_[] = {__VA_ARGS__}; \
        aph_either_foretold_(m, field, values, sizeof names_ / sizeof *names_, names_); \
    })
int aph_either_foretold_(aph *m, const char *field, const aph_value *values, size_t n, const char *const *names);
/* Names the clause of the specification for the next choice, decision or message: "RFC 9110 13.1.2". */
void aph_clause(aph *m, const char *clause);
/* Marks a known violation, one of the model's waivers. Returns false, unless the user allows the waiver (--waive): then
 * it is a free choice. */
bool aph_waive(aph *m, const char *name);
/* As aph_waive; if there is a choice, its two sides announce these values for the field, as in aph_either_foretold. */
bool aph_waive_foretold(aph *m, const char *name, const char *field, aph_value without, aph_value waived);
/* Returns true if the waiver is allowed. The model must then not rely on the absence of the violation. */
bool aph_is_allowed(aph *m, const char *name);
/* Abandons the branch: it is not a behaviour of the server. */
void aph_never(aph *m) __attribute__((noreturn));
/* Reports the request as invalid input (APH_FAULT_REQUEST), with the reason. */
void aph_unknown_request(aph *m, const char *reason) __attribute__((noreturn));
/* Returns aph_model.data. */
const void *aph_data(aph *m);

/* ---- a model ----------------------------------------------------------------------------------------------------- */

/* When the subject may close a connection that the tester opened. */
typedef enum aph_closing {
    APH_CLOSES_NEVER,   /* never: the verdict is `dead` */
    /* When no request is pending on it. A request and the close may cross: on a connection that has had a response,
     * requests that are pending at the close may have been taken or not. */
    APH_CLOSES_SETTLED,
} aph_closing;

/* A violation that the user can allow by name: APH_WAIVER("if-none-match-strong", "a summary in one line") */
typedef struct aph_waiver {
    const char *name, *summary;
    const char *alternatives[2]; /* names for the free choice */
} aph_waiver;
#define APH_WAIVER(name_, summary_) {(name_), (summary_), {"without " name_, "waived: " name_}}

/* Formats a message in the notation of its protocol, for diagrams and reports. Returns an array: strings are copied,
 * other values are written as JSON. A symbol is {"?": 0, "sort": "string"}, and is written as ?0. APH_NIL: the whole
 * message is written as JSON. */
typedef aph_value aph_words(aph_value message);

typedef enum aph_jepsen { APH_JEPSEN_OK, APH_JEPSEN_FAIL } aph_jepsen;

#define APH_MODEL_VERSION 1

typedef struct aph_model {
    int version;             /* APH_MODEL_VERSION */
    const char *name;
    const char *summary;     /* one line */
    aph_step *step;
    /* Returns the state before the first step; may contain symbols, numbered from 0. NULL: the empty object. */
    aph_value (*initial)(const struct aph_model *model);
    const void *data;        /* for aph_data */

    /* Promises, all optional: they reduce the search. They are not verified; --ignore-promises disables them. */

    /* Each step receives one request, sends one response on the connection of the request, and sends nothing else. */
    bool rpc;
    /* Returns the part of the state that the request uses, such as its key. Requests of different parts are
     * independent. */
    aph_value (*part)(aph_value request);
    /* Returns true if the requests commute: in every state, both orders give the same state and the same responses. */
    bool (*commute)(aph_value a, aph_value b);
    /* True if this request is a read with this response. A read leaves the state unchanged, or only fixes a choice that
     * was still open: every behaviour after it is also possible without it. */
    bool (*reads)(aph_value request, aph_value answer);
    /* If a request that is taken late explains a history, it also explains the history when it is taken on arrival. */
    bool eager;
    /* Each message of the server on a connection that it opened is a separate call with one response, whether
     * connections are reused or not. The model uses a number for each call, which is free again after the response. */
    bool calls_apart;

    /* Converts the end of a Jepsen operation to a response of this model. Returns false if the operation had no effect
     * and no response. NULL: the response of :ok is its value, and :fail had no effect. */
    bool (*jepsen)(aph_value request, aph_jepsen end, aph_value value, aph_value *answer);

    /* For `antiphon test` and `antiphon serve`. */

    const aph_codec *codec;          /* NULL: one JSON value per line */
    /* Returns the next request, a J-expression (generate.h). NULL: generated from the shape. */
    aph_value (*generate)(aph_gen *g);
    /* Returns the tester's response to a message on a connection that the subject opened; number counts such messages
     * from 0. NULL: no response. If the value is false, the tester closes the connection, and the model receives false.
     * With calls_apart, the tester may delay responses and send them out of order. */
    aph_value (*respond)(aph_value message, uint64_t number);
    const aph_function *functions;   /* for holes; the last has no name */
    /* The requests, as the JSON text of an array of alternatives (docs/writing-models.md). */
    const char *shape;
    /* Returns the kind of a request, for statistics. NULL: its field "f" if that is a string, else "message". */
    const char *(*kind)(aph_value request);
    aph_words *words;                /* NULL: JSON */
    /* Returns true if the specification allows requests of other connections to take effect in the middle of this one.
     * The tester keeps such a request and requests of its part on other connections from overlapping. NULL: none. */
    bool (*alone)(aph_value request);
    /* Names of branches and alternatives that a campaign must reach, and of kinds of requests that must get a response;
     * else the verdict is `vacuous`. The last is NULL. A NULL list: each kind that can be generated. */
    const char *const *floors;
    aph_closing closes;
    /* The model explains a server in any initial state, because it chooses unknown parts of the state when they are
     * first used, as symbols in `initial` do. A server that cannot be reset can then be tested repeatedly, and failures
     * can be shrunk. */
    bool begins_anywhere;
    /* Each request gets one response, on its connection and in its order, whatever the server sends on connections that
     * it opened. Implied by rpc. */
    bool answers;
    /* For `antiphon serve`: returns a value for the named choice, from a random number, where the codec restricts the
     * values; APH_NIL: any value of the sort. NULL: any value for each choice. */
    aph_value (*draw)(const char *name, uint64_t random);
    const aph_waiver *waivers;       /* the last has no name */
    uint64_t waived;                 /* bit i: the i-th of up to 64 waivers is allowed; set by the user */
    /* Models of wrong servers, to test testers with; the last is NULL. */
    const struct aph_model *const *mutants;

    /* For `antiphon reach`: a message-passing program instead of a server; see component.h. */
    const struct aph_program *program;
} aph_model;

/* A model in a file ends with APH_MODEL(my_model), which makes it loadable (aph_model_load in check.h). */
#define APH_MODEL(model) const aph_model *aph_model_main(void) { return &(model); }

/* ---- trees ------------------------------------------------------------------------------------------------------- */

typedef enum aph_event_kind {
    APH_EVENT_RETURN,  /* the end of the tree; value is its result */
    APH_EVENT_RECV,    /* answered by [connection, message] */
    APH_EVENT_SEND,    /* to, value; answered by null */
    APH_EVENT_CHOOSE,  /* sort (low and high if bounded); answered by a value of that sort */
    APH_EVENT_DECIDE,  /* value is the condition; answered by a boolean */
    APH_EVENT_EITHER,  /* count, names; answered by an integer below count */
    APH_EVENT_NEVER,   /* no answer: the branch is abandoned */
    APH_EVENT_OTHER,   /* an event of the embedder: name and value */
} aph_event_kind;

typedef struct aph_event {
    aph_event_kind kind;
    int64_t to;
    aph_value value;
    aph_kind sort;
    bool bounded;
    int64_t low, high;
    size_t count;
    const char *const *names; /* of alternatives; valid as long as the model */
    uint64_t ruled_out;       /* bit i: alternative i contradicts the known response */
    const char *shown;        /* the field of the response that will contain the choice, or NULL */
    const char *name, *clause;
} aph_event;

/* An interaction tree: a suspended program. It is immutable, and can be answered many times with different answers.
 * Trees are reference counted: the caller owns each returned tree and releases it with aph_tree_drop. Functions do not
 * take ownership of their arguments. */
typedef struct aph_tree aph_tree;

typedef aph_tree *aph_continue(void *context, aph_value answer);
typedef aph_tree *aph_handler(void *context, const aph_event *event);

aph_tree *aph_tree_of(const aph_model *model);                      /* the model from its initial state */
aph_tree *aph_tree_at(const aph_model *model, aph_value state);
aph_event aph_tree_event(aph_tree *t);                              /* the event that it waits for */
aph_tree *aph_tree_answer(aph_tree *t, aph_value answer);           /* the tree after the answer */
aph_tree *aph_tree_return(aph_value result);
aph_tree *aph_tree_trigger(const aph_event *event);                 /* performs the event and returns its answer */
/* First t, then the tree that next returns for its result. context is not owned; it must outlive the tree. */
aph_tree *aph_tree_bind(aph_tree *t, aph_continue *next, void *context);
/* t with each event replaced by the tree that the handler returns for it. context as above. */
aph_tree *aph_tree_interpret(aph_tree *t, aph_handler *handler, void *context);
aph_tree *aph_tree_keep(aph_tree *t);
void aph_tree_drop(aph_tree *t);
/* Returns the state at the start of the current step of a tree made from a model; APH_NIL for other trees. */
aph_value aph_tree_state(aph_tree *t);

#ifdef __cplusplus
}
#endif
#endif
