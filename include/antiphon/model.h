/* SPDX-License-Identifier: Apache-2.0
 *
 * model.h - a server as a small nondeterministic C program, and as an interaction tree.
 *
 * A model is a step: a plain C function, called repeatedly, that receives, decides and sends. It must be a pure
 * function of *state and of the values that the calls below return: no static variables, no clock, no I/O, and no data
 * kept between steps except *state. A step may be abandoned inside a call and run again from its start, so it must not
 * hold resources (memory, locks, files) across a call.
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

/* The number of a connection. A connection that is opened again has a new number. aph_model_load also compiles a model
 * with the structure, which has no use but as an argument of aph_send, to find out whether it uses the numbers in
 * another way. */
#ifdef APH_OPAQUE_CONNECTIONS
typedef struct aph_connection { int64_t number; } aph_connection;
#else
typedef int64_t aph_connection;
#endif

/* An origin is an address at which the tester takes the place of a server that the server calls (aph_model.origins).
 * Origins are numbered from 0. The number of a connection that the server opens determines its origin: -1 to -2^56 lead
 * to origin 0, and aph_to_origin(-7, 2) leads to origin 2. It is another connection than -7. */
#define APH_ORIGINS_MAX 16
static inline int64_t aph_to_origin(int64_t connection, int64_t origin)
{
    return connection - origin * (INT64_C(1) << 56);
}
/* Returns the origin of a connection that the server opened, numbered as above or as in observations (oracle.h). */
static inline int64_t aph_origin_of(int64_t connection)
{
    return connection < 0 ? -(connection + 1) >> 56 : (connection >> 32) - 1;
}
/* Returns the number that was given to aph_to_origin. */
static inline int64_t aph_without_origin(int64_t connection)
{
    return connection + aph_origin_of(connection) * (INT64_C(1) << 56);
}

typedef struct aph_request {
    aph_connection from; /* the connection on which it arrived */
    aph_value message;
} aph_request;

typedef void aph_step(aph *m, aph_value *state);

/* Messages that stand for the opening and the end of a connection, for models with aph_model.connections. A model
 * receives the first three from a client, each in its place in the order of the connection, and ends a connection by
 * sending APH_CLOSED. None of them is data: no codec encodes them, and no part of a message may contain them. */
#define APH_OPENED ((aph_value)(uintptr_t)12) /* the client opened the connection */
#define APH_CLOSED ((aph_value)(uintptr_t)20) /* the sender closed its side: nothing more arrives from it */
#define APH_BROKEN ((aph_value)(uintptr_t)28) /* the connection was reset: messages in flight, either way, are lost */
/* Only for observations (oracle.h): the client closed both sides. The model receives APH_CLOSED after the requests that
 * were sent before, or APH_BROKEN instead of any of them: a system resets a connection when data arrives for a client
 * that is gone. */
#define APH_LEFT ((aph_value)(uintptr_t)36)

/* ---- events of a step -------------------------------------------------------------------------------------------- */

aph_request aph_recv(aph *m);                                    /* the next request on any connection */
/* The message may contain symbols. A negative number denotes a connection that the server opens with its first message;
 * the model chooses the number, and receives responses from that number. The tester does not know these numbers: it
 * matches such connections by their origin and their messages. rpc models must not use them. */
void aph_send(aph *m, aph_connection to, aph_value message);
/* Closes a connection, after the messages that were sent on it: the same as to send APH_CLOSED. The model receives
 * nothing more from the connection, not even its end. Messages sent on a closed connection are lost. */
void aph_close(aph *m, aph_connection to);
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
/* Announces that the response of this step, an object, will have this value in this field, or will lack the field if
 * value is APH_NIL. This does not change the meaning of the step, but if the observed response is known and differs,
 * the search abandons the branch at once. In rpc models with many branches, call it as soon as the value is certain. */
void aph_foretell(aph *m, const char *field, aph_value value);
/* Like aph_choose and aph_choose_within, for a value that the response will contain in this field ("tag.opaque" is the
 * field "opaque" of the field "tag", and "path.1" the second item of the array "path"). If the observed response is
 * known, the value is taken from it. A response without the choice there is an error of the model. */
aph_value aph_choose_shown(aph *m, aph_kind sort, const char *field, const char *name);
aph_value aph_choose_within_shown(aph *m, int64_t low, int64_t high, const char *field, const char *name);
/* Like aph_either, but alternative i also announces values[i] for the field, as aph_foretell does. values[i] may be one
 * of the patterns below. With up to 64 alternatives, those that contradict a known response are not tried.
 *     aph_either_foretold(m, "status", APH_VALUES(aph_int(204), aph_int(200)), "204 for it", "200 for it") */
#define APH_VALUES(...) ((const aph_value[]){__VA_ARGS__})
#define APH_ANY ((aph_value)(uintptr_t)7)   /* any value, or no such field */
#define APH_SOME ((aph_value)(uintptr_t)15) /* any value, but the field exists */
#define APH_ELSE ((aph_value)(uintptr_t)31) /* none of the values of the earlier alternatives */
/* An integer from low to high, both from 0 to 65535. */
#define APH_WITHIN(low, high) ((aph_value)((uintptr_t)(low) << 32 | (uintptr_t)(high) << 16 | 23))
#define aph_either_foretold(m, field, values, ...) \
    __extension__({ \
        static const char *const names_[] = {__VA_ARGS__}; \
        aph_either_foretold_(m, field, values, sizeof names_ / sizeof *names_, names_); \
    })
int aph_either_foretold_(aph *m, const char *field, const aph_value *values, size_t n, const char *const *names);
/* Names the clause of the specification that governs the next choice, decision or message: "RFC 9110 13.1.2". */
void aph_clause(aph *m, const char *clause);
/* Marks a known violation, named by one of the model's waivers. Returns false, unless the user allows the waiver
 * (--waive): then the result is a free choice. */
bool aph_waive(aph *m, const char *name);
/* Like aph_waive. If the waiver is allowed, the results false and true announce the values `without` and `waived` for
 * the field, as in aph_either_foretold. */
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
    APH_CLOSES_NEVER,   /* never; if it does, the verdict is `dead` */
    /* When no request is pending on the connection. A request and the close may cross, so on a connection that has had
     * a response, the server may or may not have taken the requests that are pending at the close. */
    APH_CLOSES_SETTLED,
} aph_closing;

/* A violation that the user can allow by name: APH_WAIVER("if-none-match-strong", "a summary in one line") */
typedef struct aph_waiver {
    const char *name, *summary;
    const char *alternatives[2]; /* names for the free choice */
} aph_waiver;
#define APH_WAIVER(name_, summary_) {(name_), (summary_), {"without " name_, "waived: " name_}}

/* The state of a preamble; see aph_model.preamble. */
typedef struct aph_preamble {
    uint64_t step;           /* counts the calls on this connection, from 0 */
    aph_value answer;        /* the message that ended the previous step; APH_NIL in step 0 */
    aph_value earlier;       /* the last answer of the latest preamble that was completed on any connection of the run,
                              * such as a token for reconnecting; APH_NIL if there was none */
    uint64_t number;         /* counts the preambles of the run, from 0 */
} aph_preamble;
#define APH_AWAIT ((aph_value)(uintptr_t)44)

/* Formats a message in the notation of its protocol, for diagrams and reports. Returns an array; its strings are
 * printed as they are, its other values as JSON. A symbol in the message has the form {"?": 0, "sort": "string"}, and
 * is printed as ?0. If the result is APH_NIL, the whole message is printed as JSON. */
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

    /* Promises. All are optional, and reduce the search. A failure is judged again without them before it is reported;
     * --ignore-promises disables them. */

    /* Each step receives one request, sends one response on the connection of the request, and sends nothing else. */
    bool rpc;
    /* Returns the part of the state that the request uses, such as its key. Requests to different parts are
     * independent. */
    aph_value (*part)(aph_value request);
    /* Returns true if the requests commute: in every state, both orders give the same state and the same responses. */
    bool (*commute)(aph_value a, aph_value b);
    /* Returns true if the request is a read when it has this response. A read leaves the state unchanged, or only fixes
     * a choice that was still open: every behaviour after the read is also possible without it. */
    bool (*reads)(aph_value request, aph_value answer);
    /* If a history has an explanation in which a request is taken late, it also has one in which that request is taken
     * on arrival. */
    bool eager;
    /* Each message that the server sends on a connection that it opened is a separate call with one response, whether
     * or not connections are reused. The model chooses a number for each call, and can reuse it after the response. */
    bool calls_apart;

    /* Converts the end of a Jepsen operation to a response of this model. Returns false if the operation had no effect
     * and no response. NULL: the value of :ok is the response, and :fail had no effect. */
    bool (*jepsen)(aph_value request, aph_jepsen end, aph_value value, aph_value *answer);

    /* For `antiphon test` and `antiphon serve`. */

    const aph_codec *codec;          /* NULL: one JSON value per line */
    /* Returns the next request, a J-expression (generate.h). NULL: requests are generated from the shape. */
    aph_value (*generate)(aph_gen *g);
    /* Returns the tester's response to a message on a connection that the subject opened; number counts such messages
     * from 0. NULL: the tester does not respond. If the response is the value false, the tester closes the connection,
     * and the model receives false. With calls_apart, the tester may delay responses and send them out of order. */
    aph_value (*respond)(aph_value message, uint64_t number);
    const aph_function *functions;   /* for holes; an entry without a name ends the list */
    /* The requests, as the JSON text of an array of alternatives (docs/writing-models.md). */
    const char *shape;
    /* Returns the kind of a request, for statistics. NULL: the field "f" of the request if it is a string, else
     * "message". */
    const char *(*kind)(aph_value request);
    aph_words *words;                /* NULL: JSON */
    /* Returns true if the specification allows requests from other connections to take effect in the middle of this
     * one. The tester then never lets requests to the same part on other connections overlap with it. NULL: never. */
    bool (*alone)(aph_value request);
    /* Names of branches and alternatives that a campaign must reach, and of kinds of requests that must get a response;
     * otherwise the verdict is `vacuous`. The last is NULL. If the list is NULL, each kind that can be generated is
     * required. */
    const char *const *floors;
    aph_closing closes;
    /* The model explains a server in any initial state, because it chooses unknown parts of the state when they are
     * first used, or because `initial` returns symbols for them. A server that cannot be reset can then be tested
     * repeatedly, and failures can be shrunk. */
    bool begins_anywhere;
    /* Each request gets one response, on its own connection and in request order. The server may also send messages on
     * connections that it opened. Implied by rpc. */
    bool answers;
    /* For `antiphon serve`: computes a value for the named choice from a random number, if the codec restricts its
     * values. Returns APH_NIL if any value of the sort is allowed. NULL: any value is allowed for every choice. */
    aph_value (*draw)(const char *name, uint64_t random);
    const aph_waiver *waivers;       /* an entry without a name ends the list */
    uint64_t waived;                 /* bit i: the i-th of up to 64 waivers is allowed; set by the user */
    /* Models of faulty servers, for tests of a tester; the last is NULL. */
    const struct aph_model *const *mutants;

    /* For `antiphon reach`: a message-passing program instead of a server; see component.h. */
    const struct aph_program *program;

    /* For `antiphon test`: returns the time in milliseconds that the response to this request may take, if it is much
     * longer than usual; 0 for the default. Meanwhile the tester uses other connections. NULL: always 0. */
    int64_t (*patience_ms)(aph_value request);
    /* The step uses the number of a connection only as an argument of aph_send. Set by aph_model_load for a model in C,
     * if the model compiles with APH_OPAQUE_CONNECTIONS. If it is not set, the oracle runs each step of an rpc model on
     * all connections that use it. */
    bool ignores_connections;
    /* The model receives APH_OPENED, APH_CLOSED and APH_BROKEN, may send before the first request, and may close
     * connections. The tester opens and ends connections at any time. Such a model must not use the promises rpc, part,
     * commute, reads, eager and answers. If it is false, the model gets none of them, and aph_close is an error. */
    bool connections;
    /* For `antiphon test`: the messages that the tester sends on each new connection before any other, such as a
     * handshake or a login. Returns the next message, APH_AWAIT to wait for a message of the server without sending
     * one, or APH_NIL if the preamble is complete. After each message, the tester waits for one message on the
     * connection. NULL: there is no preamble. */
    aph_value (*preamble)(const aph_preamble *p);
    /* For `antiphon test`: the number of origins, at most APH_ORIGINS_MAX, of a model with `respond`. The tester
     * listens on a port for each. 0: one. */
    unsigned origins;
    /* If it is set, the tester calls it instead of `respond`, which must be set, too. origin: where the message
     * arrived. */
    aph_value (*respond_at)(int64_t origin, aph_value message, uint64_t number);
} aph_model;

/* Put APH_MODEL(my_model) at the end of a model's source file to make it loadable (aph_model_load in check.h). */
#ifdef APH_IGNORES_CONNECTIONS
#define APH_MODEL_FACTS_ const bool aph_model_ignores_connections = true;
#else
#define APH_MODEL_FACTS_
#endif
#define APH_MODEL(model) \
    const size_t aph_model_size = sizeof(aph_model); /* later versions of the structure may be larger */ \
    APH_MODEL_FACTS_ \
    const aph_model *aph_model_main(void) { return &(model); }

/* ---- trees ------------------------------------------------------------------------------------------------------- */

typedef enum aph_event_kind {
    APH_EVENT_RETURN,  /* the end of the tree; value is its result */
    APH_EVENT_RECV,    /* answered by [connection, message] */
    APH_EVENT_SEND,    /* to, value; answered by null */
    APH_EVENT_CHOOSE,  /* sort (low and high if bounded); answered by a value of that sort */
    APH_EVENT_DECIDE,  /* value is the condition; answered by a boolean */
    APH_EVENT_EITHER,  /* count, names; answered by an integer below count */
    APH_EVENT_NEVER,   /* no answer: the branch is abandoned */
    APH_EVENT_OTHER,   /* an event defined by the embedding program: name and value */
} aph_event_kind;

typedef struct aph_event {
    aph_event_kind kind;
    int64_t to;
    aph_value value;
    aph_kind sort;
    bool bounded;
    int64_t low, high;
    size_t count;
    const char *const *names; /* of the alternatives; valid as long as the model is */
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
typedef aph_tree *aph_state_handler(void *context, const aph_event *event, aph_value state);
/* Sets *answer to the i-th answer to the event, from 0. Returns false if there is none. */
typedef bool aph_answer_at(void *context, const aph_event *event, size_t i, aph_value *answer);

aph_tree *aph_tree_of(const aph_model *model);                      /* the model from its initial state */
aph_tree *aph_tree_at(const aph_model *model, aph_value state);
aph_event aph_tree_event(aph_tree *t);                              /* the event that t waits for */
aph_tree *aph_tree_answer(aph_tree *t, aph_value answer);           /* t after the answer */
aph_tree *aph_tree_return(aph_value result);
aph_tree *aph_tree_trigger(const aph_event *event);                 /* performs the event; its result is the answer */
/* Returns a tree that runs t, then the tree that `next` returns for the result of t. context must outlive the tree. */
aph_tree *aph_tree_bind(aph_tree *t, aph_continue *next, void *context);
/* Returns t with each event replaced by the tree that the handler returns for it. context must outlive the tree. */
aph_tree *aph_tree_interpret(aph_tree *t, aph_handler *handler, void *context);
/* Like aph_tree_interpret, with a state: the handler gets the state, and its tree returns [new state, answer]. The
 * result is [last state, result of t]. */
aph_tree *aph_tree_interpret_state(aph_tree *t, aph_state_handler *handler, aph_value state, void *context);
/* Returns a tree that runs t again and again. t must have an event, and its result is ignored. */
aph_tree *aph_tree_forever(aph_tree *t);
/* Returns true if both trees wait for the same event and, if depth is not 0, are equal up to depth - 1 after each of
 * these answers. answers may be NULL: then sends, decisions and alternatives have all of their answers, and other
 * events have none. */
bool aph_tree_equal_to(aph_tree *a, aph_tree *b, size_t depth, aph_answer_at *answers, void *context);
aph_tree *aph_tree_keep(aph_tree *t);
void aph_tree_drop(aph_tree *t);
/* Returns the state at the start of the current step of a tree made from a model; APH_NIL for other trees. */
aph_value aph_tree_state(aph_tree *t);

#ifdef __cplusplus
}
#endif
#endif
