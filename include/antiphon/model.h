/* SPDX-License-Identifier: Apache-2.0
 *
 * model.h - write a server as a small nondeterministic C program, and look at it as an interaction tree.
 *
 * A model is a step: a plain C function, run for ever, that receives, decides and sends. It must be a pure function of
 * *state and of what the calls below return: no statics, no clock, no I/O, nothing kept between steps but *state.
 * A step may be left half-way and run again from its head, so it must not hold resources across a call.
 */
#ifndef ANTIPHON_MODEL_H
#define ANTIPHON_MODEL_H

#include <antiphon/codec.h>
#include <antiphon/generate.h>
#include <antiphon/value.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct aph aph; /* a step that runs */

typedef struct aph_request {
    int64_t from;      /* the connection that it came on */
    aph_value message;
} aph_request;

typedef void aph_step(aph *m, aph_value *state);

/* ---- what a step may do ------------------------------------------------------------------------------------------ */

aph_request aph_recv(aph *m);                                    /* the next request of any connection */
/* message may hold symbolic parts. A negative connection is one that the server opens itself, by its first message on
 * it; the number is the model's own, and what comes back on it comes from that number. The tester, who does not know
 * the number, matches its connections to the model's by what is said on them. Not with rpc. */
void aph_send(aph *m, int64_t to, aph_value message);
aph_value aph_choose(aph *m, aph_kind sort, const char *name);   /* an internal choice: a fresh unknown of that sort */
aph_value aph_choose_within(aph *m, int64_t low, int64_t high, const char *name); /* low <= high; both are possible */
bool aph_decide(aph *m, aph_value condition, const char *name);  /* branch on a boolean that may be symbolic */
/* A free choice among n alternatives, which have names: aph_either(m, "strong tag", "weak tag") is 0 or 1. */
#define aph_either(m, ...) \
    __extension__({ \
        static const char *const names_[] = {__VA_ARGS__}; /* events keep them longer than the step runs */ \
        aph_either_(m, sizeof names_ / sizeof *names_, names_); \
    })
int aph_either_(aph *m, size_t n, const char *const *names);
/* The answer of this step, an object, will have this value in this field; APH_NIL: it will not have the field. That
 * changes nothing of what the step may do; but where the answer is known already and has it otherwise, this way is left
 * at once. For models with rpc that have many ways: say it as soon as it is certain. */
void aph_foretell(aph *m, const char *field, aph_value value);
/* As aph_choose and aph_choose_within, of what the answer will have in this field, or with "tag.opaque" in the field
 * "opaque" of its field "tag": where the answer is known already, that is what was chosen. */
aph_value aph_choose_shown(aph *m, aph_kind sort, const char *field, const char *name);
aph_value aph_choose_within_shown(aph *m, int64_t low, int64_t high, const char *field, const char *name);
/* As aph_either, and alternative i, if taken, foretells values[i] of the field, or APH_SOME, APH_ANY, APH_ELSE...
 * Of up to 64 alternatives, those that an answer known already contradicts are not even tried.
 *     aph_either_foretold(m, "status", APH_VALUES(aph_int(204), aph_int(200)), "204 for it", "200 for it") */
#define APH_VALUES(...) ((const aph_value[]){__VA_ARGS__})
#define APH_ANY ((aph_value)(uintptr_t)7)   /* it will have the field or not, whatever it is */
#define APH_SOME ((aph_value)(uintptr_t)15) /* it will have the field, whatever it is */
#define APH_ELSE ((aph_value)(uintptr_t)31) /* it will be none of the values of the alternatives before */
/* It will be an integer from low to high, both from 0 to 65535. */
#define APH_WITHIN(low, high) ((aph_value)((uintptr_t)(low) << 32 | (uintptr_t)(high) << 16 | 23))
#define aph_either_foretold(m, field, values, ...) \
    __extension__({ \
        static const char *const names_[] = {__VA_ARGS__}; \
        aph_either_foretold_(m, field, values, sizeof names_ / sizeof *names_, names_); \
    })
int aph_either_foretold_(aph *m, const char *field, const aph_value *values, size_t n, const char *const *names);
/* The clause of the specification that the next choice, decision or message is about: "RFC 9110 13.1.2". */
void aph_clause(aph *m, const char *clause);
/* Here is a violation that servers are known for, one of the model's waivers. False, unless the user allows it by name
 * (--waive): then it is a free choice whether this server has it. */
bool aph_waive(aph *m, const char *name);
/* As aph_waive; and where there is a choice, either side of it foretells that value of the field, as
 * aph_either_foretold does. */
bool aph_waive_foretold(aph *m, const char *name, const char *field, aph_value without, aph_value waived);
/* Does the user allow it? Then what would follow from a server that has not this violation does not. */
bool aph_is_allowed(aph *m, const char *name);
/* This branch is not to be taken: the model does not describe it. */
void aph_never(aph *m) __attribute__((noreturn));
/* The request is not one that this model knows: reported as bad input, with the reason. */
void aph_unknown_request(aph *m, const char *reason) __attribute__((noreturn));
/* The model's own data (aph_model.data). */
const void *aph_data(aph *m);

/* ---- a model ----------------------------------------------------------------------------------------------------- */

/* What the subject may do with a connection that the tester opened. */
typedef enum aph_closing {
    APH_CLOSES_NEVER,   /* a connection that it closes is a violation: `dead` */
    /* It may close one on which it owes nothing. What was sent when it did so may have crossed: on a connection on
     * which something was answered, requests without an answer then may have been taken, or not. */
    APH_CLOSES_SETTLED,
} aph_closing;

/* A violation that can be allowed by name: APH_WAIVER("if-none-match-strong", "one line that says what it is") */
typedef struct aph_waiver {
    const char *name, *summary;
    const char *alternatives[2]; /* for the choice */
} aph_waiver;
#define APH_WAIVER(name_, summary_) {(name_), (summary_), {"without " name_, "waived: " name_}}

/* A message as people of its protocol write it, for diagrams and reports: an array of pieces. Strings in it are text;
 * other values are shown as JSON. An unknown comes as results spell it, {"?": 0, "sort": "string"}, and is shown as ?0.
 * APH_NIL: all of it as JSON. */
typedef aph_value aph_words(aph_value message);

typedef enum aph_jepsen { APH_JEPSEN_OK, APH_JEPSEN_FAIL } aph_jepsen;

#define APH_MODEL_VERSION 1

typedef struct aph_model {
    int version;             /* APH_MODEL_VERSION */
    const char *name;
    const char *summary;     /* one line */
    aph_step *step;
    /* The state before the first step; may hold symbols (number them from 0). NULL: the empty object. */
    aph_value (*initial)(const struct aph_model *model);
    const void *data;

    /* What follows is optional: promises that let the oracle search less. They are believed; `antiphon check
     * --ignore-promises` uses none of them. */

    /* Each step receives one request and answers it once, on its own connection, and does nothing else. */
    bool rpc;
    /* The part of the state that a request is about. Requests of different parts do not influence each other. */
    aph_value (*part)(aph_value request);
    /* Do the two requests commute: in every state, either order gives the same state and the same answers? */
    bool (*commute)(aph_value a, aph_value b);
    /* Wherever this request gets this answer, it leaves the state as it is; or it settles what the server was free to
     * choose, and no more: what can be seen after it could be seen without it, too. */
    bool (*reads)(aph_value request, aph_value answer);
    /* Whatever a request explains that is taken later, it explains as well if it is taken the moment it comes. */
    bool eager;
    /* Each message of the server's on a connection that it opened is a call of its own, which is answered once: to open
     * a connection for each or to use one again makes no difference. The model then has a number of its own for each
     * call, and may use it again after the answer. */
    bool calls_apart;

    /* How the end of a Jepsen operation reads as an answer of this model. Returns false if the operation told nothing
     * and did nothing. NULL: an :ok answers its value, a :fail did not happen. */
    bool (*jepsen)(aph_value request, aph_jepsen end, aph_value value, aph_value *answer);

    /* What follows is for `antiphon test` and `antiphon serve`. */

    const aph_codec *codec;          /* NULL: one JSON value a line */
    /* What to send next: a J-expression. NULL: made from the shape. */
    aph_value (*generate)(aph_gen *g);
    /* What the tester answers to a message on a connection that the subject opened to it; called with how many such
     * messages came before. NULL: nothing. The value false in place of an answer: the tester hangs up, and false is
     * what the model receives. If calls are apart, the tester may let some wait and answer others first. */
    aph_value (*respond)(aph_value message, uint64_t number);
    const aph_function *functions;   /* for its holes; the last has no name */
    /* Requests as a JSON text, an array of alternatives (docs/generating.md). */
    const char *shape;
    /* What kind of request is this? NULL: its field "f" if that is a string, else "message". */
    const char *(*kind)(aph_value request);
    aph_words *words;                /* for people; NULL: JSON */
    /* What the server does with this request takes time in which others of its part could come in between, and the
     * specification allows that: none of another connection is in flight with it. NULL: no such request. */
    bool (*alone)(aph_value request);
    /* Names of branches and alternatives that a run must have reached, and of kinds of requests that it must have had
     * answered, or it is `vacuous`; the last is NULL. NULL: every kind of request that can be made was answered. */
    const char *const *floors;
    aph_closing closes;
    /* It explains a server that was used before, since it chooses what it has not met yet; as with symbols in
     * `initial`. So a server that cannot be reset can be tested again and again, and what fails is made small. */
    bool begins_anywhere;
    /* Each request is answered once, on its connection and in its connection's order, whatever else the server says on
     * connections of its own. So it always is with rpc. */
    bool answers;
    /* For `antiphon serve`: a value for the choice of that name, from a random number; APH_NIL: any of its sort. NULL:
     * so it is for all. For choices that must suit the codec. */
    aph_value (*draw)(const char *name, uint64_t random);
    const aph_waiver *waivers;       /* the last has no name */
    uint64_t waived;                 /* bit i: the i-th waiver is allowed; at most 64. For the program to set */
    /* Servers that are wrong, to test testers with; the last is NULL. */
    const struct aph_model *const *mutants;

    /* For `antiphon reach`: this is no server but a message-passing program. component.h says how to make one. */
    const struct aph_program *program;
} aph_model;

/* A model in a file of its own ends with APH_MODEL(my_model), which makes it known to `antiphon`. */
#define APH_MODEL(model) const aph_model *aph_model_main(void) { return &(model); }

/* ---- trees ------------------------------------------------------------------------------------------------------- */

typedef enum aph_event_kind {
    APH_EVENT_RETURN,  /* the tree is over; value is its result */
    APH_EVENT_RECV,    /* answered by [connection, message] */
    APH_EVENT_SEND,    /* to, value; answered by null */
    APH_EVENT_CHOOSE,  /* sort (low and high if bounded); answered by a value of that sort */
    APH_EVENT_DECIDE,  /* value is the condition; answered by a boolean */
    APH_EVENT_EITHER,  /* count, names; answered by an integer below count */
    APH_EVENT_NEVER,   /* no answer: the branch is not to be taken */
    APH_EVENT_OTHER,   /* an event of the embedder's own: name and value */
} aph_event_kind;

typedef struct aph_event {
    aph_event_kind kind;
    int64_t to;
    aph_value value;
    aph_kind sort;
    bool bounded;
    int64_t low, high;
    size_t count;
    const char *const *names; /* of alternatives; valid while the model is */
    uint64_t ruled_out;       /* alternatives, a bit each, that the answer contradicts, if it is known already */
    const char *shown;        /* the field of the answer that will have what is chosen, or NULL */
    const char *name, *clause;
} aph_event;

/* An interaction tree: a suspended program. Immutable; it can be answered many times, differently. Trees are reference
 * counted: each function below that returns one gives it to the caller, who ends with aph_tree_drop. Functions borrow
 * the trees given to them unless they say "takes". */
typedef struct aph_tree aph_tree;

typedef aph_tree *aph_continue(void *context, aph_value answer);
typedef aph_tree *aph_handler(void *context, const aph_event *event);

aph_tree *aph_tree_of(const aph_model *model);                      /* the model from its initial state, for ever */
aph_tree *aph_tree_at(const aph_model *model, aph_value state);
aph_event aph_tree_event(aph_tree *t);                              /* what it waits on */
aph_tree *aph_tree_answer(aph_tree *t, aph_value answer);           /* the tree after that answer */
aph_tree *aph_tree_return(aph_value result);
aph_tree *aph_tree_trigger(const aph_event *event);                 /* performs the event and returns its answer */
/* First t, then what next makes of its result. context is shared, not owned; it must outlive the tree. */
aph_tree *aph_tree_bind(aph_tree *t, aph_continue *next, void *context);
/* t with each event replaced by the tree that the handler makes of it. */
aph_tree *aph_tree_interpret(aph_tree *t, aph_handler *handler, void *context);
aph_tree *aph_tree_keep(aph_tree *t);
void aph_tree_drop(aph_tree *t);
/* The state at the head of the running step of a tree made from a model; APH_NIL for others. */
aph_value aph_tree_state(aph_tree *t);

#ifdef __cplusplus
}
#endif
#endif
