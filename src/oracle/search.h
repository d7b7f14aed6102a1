/* SPDX-License-Identifier: Apache-2.0
 *
 * search.h - the oracle from inside: what is remembered of the history, and the search over it. */
#ifndef APHI_ORACLE_SEARCH_H
#define APHI_ORACLE_SEARCH_H

#include "base/compiler.h"
#include "env/env.h"
#include "oracle/memo.h"
#include "oracle/transition.h"

#define APHI_NONE UINT32_MAX /* no request */

/* Observations that are remembered before it is worth trying to forget them; REST, where nothing is in flight. */
enum { APHI_WINDOW_REST = 16, APHI_WINDOW_MIN = 1024 };

enum { APHI_KINDS = 32 };

/* A request, by its place in aph_oracle.ops. */
typedef struct aphi_request {
    uint64_t id;
    int64_t connection;
    aph_value message, answer, part;
    uint64_t end_at;       /* the observation that ended it, counted from the first; UINT64_MAX while there is none */
    uint64_t rank;         /* of two requests, the one with the smaller rank is likely or known to end first */
    uint64_t shown;        /* the first answer known to show that it was taken; UINT64_MAX: none is. A guess */
    uint64_t sought;       /* the sending of the last request with such an answer. A guess */
    uint32_t slot;         /* its bit in a configuration's `taken`, while it is in flight */
    uint32_t before;       /* the request before it on the connection, if that is in flight; else APHI_NONE */
    uint32_t after;        /* the next that waits for an answer on the connection; APHI_NONE: none */
    aph_future future;
    uint64_t line;         /* where the caller has it from */
    bool reads;            /* with its known answer it leaves the state alone, or settles what was open in it */
    bool lost;
    bool alone;            /* nothing will be sent on its connection before its end */
    bool again;            /* the second of two that are one request: it may arrive twice */
    bool delivery;         /* not a request: a message that was seen where the environment keeps no order. To take it is
                            * to find something said that it can be. */
    bool quiet;            /* a delivery of nothing: after it, nothing that was in flight will arrive */
} aphi_request;

typedef enum aphi_observed {
    APHI_OBSERVED_REQUEST,
    APHI_OBSERVED_ANSWER,
    APHI_OBSERVED_LOSS,
    APHI_OBSERVED_QUIET
} aphi_observed;

typedef struct aphi_observed_event {
    aphi_observed kind;
    uint32_t asked;        /* APHI_NONE for an answer of a model that is not rpc */
    int64_t connection;
    aph_value message;     /* of an answer */
    uint64_t line;         /* where the caller has it from */
} aphi_observed_event;

/* One step of an explanation: the server took this request, and went this way. Or it began so; or a connection that it
 * opened to us is this one of the model's: then path is both numbers. */
typedef struct aphi_taken {
    uint64_t id;
    aph_value path;
} aphi_taken;
#define APHI_BEGUN  UINT64_MAX
#define APHI_OPENED (UINT64_MAX - 1)

/* A part of an explanation, older parts behind it. */
typedef struct aphi_segment {
    struct aphi_segment *older;
    unsigned count;        /* references */
    size_t n;
    aphi_taken taken[];
} aphi_segment;

/* A place where the search had a choice and has not tried everything. The bits of frame i stand in
 * aph_oracle.frame_bits. */
typedef struct aphi_frame {
    aphi_core core;
    uint32_t at;           /* observation, within the window */
    uint32_t target;       /* the request to be taken; APHI_NONE: anything that gives the connection an answer */
    uint32_t candidate, result; /* what to try next */
    uint32_t likely;       /* place in pending, plus 1, of the request to try first of those there; 0: none */
    uint32_t order_count;
    uint32_t memo;         /* its entry there, if noted */
    bool noted;
    bool eager;            /* the likely one is to be tried even before the target */
    bool only;             /* nothing but the target may be taken */
    aph_value part;        /* of the target */
    aphi_parts concerns;   /* parts that its possibilities are about: what it may try, and what that waits for */
    aphi_parts reason;     /* what was tried failed for these, too */
    aphi_parts passed;     /* frames above it that were not kept concerned these, and made one wait for another */
} aphi_frame;

typedef struct aphi_root {
    aphi_core core;
    aph_value path;        /* how the model came here, if this is where it starts */
    aphi_segment *past;
} aphi_root;

/* What an explanation allowed in place of an answer that none explains. */
typedef struct aphi_allowed {
    aph_value answer;      /* may hold symbols: unknowns of the server */
    aph_value state;       /* of the model after it */
    aph_value store;       /* what is known of the symbols in both */
    aphi_taken *order;     /* the requests taken since the window began */
    size_t order_count;
    size_t root;           /* where they begin */
} aphi_allowed;

enum { APHI_ALLOWED_MAX = 8 };

typedef struct aphi_open_queue {
    int64_t connection;
    uint32_t first, last;  /* of its requests in flight, through `after` */
    bool used;
} aphi_open_queue;

/* Where an oracle's arrays begin, so that one allocation does for a part of the state that little is asked of. An array
 * that grows moves out. */
typedef struct aphi_first {
    aphi_request ops[40];
    aphi_observed_event events[80];
    uint32_t pending[16];
    aphi_taken order[40];
    aphi_frame frames[8];
    uint64_t frame_bits[8];
    aphi_root root;
    uint64_t root_bits, used, optional, bits;
    aphi_open_queue lanes[16];
} aphi_first;

struct aph_oracle {
    const aph_model *model;
    aph_oracle_options options;
    aphi_env env;
    bool rpc, parts, eager; /* promises in use */
    bool pipelined;        /* some connection had two requests in flight: what is of one part may wait for another */
    aphi_machine *machine;
    bool own_machine;
    aph_verdict verdict;
    aph_limit limit;
    aph_fault fault;
    char message[320];
    uint64_t fault_line;   /* of the request or answer that it was about */
    bool armed;
    uint64_t configurations, requests, answers;
    uint64_t visit_max;    /* configurations; 0: no limit */
    uint64_t limits_at;    /* configurations at which to look at the limits, and at the heap */
    uint64_t line;         /* of the observation at hand, by the caller's count */
    size_t foretold;       /* answers that are known but not seen yet */

    /* the window: what has been observed since the past was forgotten */
    aphi_request *ops;
    size_t op_count, op_capacity;
    aphi_observed_event *events;
    size_t event_count, event_capacity;
    uint64_t event_base;   /* observations forgotten */
    size_t window_max;     /* try to forget when it is longer */
    size_t rest_at;        /* or when it has come to so many, and nothing is in flight */
    bool let_go;           /* explanations were given up untried */
    size_t base_count;     /* of ops, those that were in flight when the window began */

    /* bits: `words` of 64, one bit a request in flight */
    size_t words;
    uint64_t *used, *optional, *bits;

    /* connections with requests in flight: hash table, open addressing */
    aphi_open_queue *lanes;
    size_t lane_size, lane_count;

    /* kinds of requests that were tried in this round; see first_of_kind */
    struct aphi_kind_seen {
        uint32_t round, asked;
    } kinds[APHI_KINDS];
    uint32_t round;
    uint8_t *related;      /* by place in `pending`: may influence the target of the frame at hand */
    size_t related_capacity;

    /* cores that can be reached; see find_way */
    struct aphi_reached {
        aphi_core core;
        uint32_t place;
    } *reached;
    size_t reached_count, reached_capacity;

    /* the search: where it is, and what it has not tried */
    aphi_core core;
    aphi_successor same;       /* what comes of doing nothing */
    uint32_t at;
    uint32_t *pending;     /* requests in flight at `at`, soonest to end first */
    size_t pending_count, pending_capacity;
    aphi_taken *order;
    size_t order_count, order_capacity;
    aphi_frame *frames;
    size_t frame_count, frame_capacity;
    uint64_t *frame_bits;
    size_t frame_bits_capacity;
    aphi_memo memo;
    size_t lost_taken;     /* by the configuration at hand, of those that hold_back looks at */
    size_t lost_max;       /* that an explanation may take, for now */
    bool held_back;        /* some could not be tried for that */
    bool exhaustive;       /* looking for all configurations: causes do not matter */
    struct aphi_collecting *collecting; /* what that has found, and where it goes back to; or NULL */
    uint64_t budget_end;   /* of an exhaustive search, in configurations */

    /* where the window begins */
    aphi_root *roots;
    uint64_t *root_bits;
    size_t root_count, root_capacity, root_bits_capacity;
    size_t root_next;      /* to be tried when all else has failed */
    aphi_segment *past;    /* of the root that the search is in */
    uint32_t deepest;      /* observation that the search has reached in this window */
    uint64_t setbacks;     /* times that the search had to go back */
    uint64_t calm_since;   /* configurations visited when it got there, or when it looked far ahead in vain */

    /* in the wake of a failure: what would have been allowed at a wildcard, the last observation of the window */
    aphi_allowed *allowed;
    size_t allowed_count;

    aphi_first first;      /* the last field: of what is before it, all begins as zero */
};

/* As APHI_RESERVE and free, for an array of the oracle that may still be in `first`. */
APHI_COLD void aphi_oracle_grow(aph_oracle *o, void **p, size_t *capacity, size_t need, size_t size);
void aphi_oracle_free(aph_oracle *o, void *p);
#define APHI_GROW(o, array, capacity, need) \
    do { \
        if ((need) > (capacity)) { \
            void *grown_ = (array); \
            aphi_oracle_grow((o), &grown_, &(capacity), (need), sizeof *(array)); \
            (array) = grown_; \
        } \
    } while (0)

/* An answer that stands for any. */
#define APHI_WILDCARD APH_ANY

/* As aph_oracle_open, on a machine that several share (NULL: one of its own; else there is no deadline of its own
 * either). one_part: all requests will be of one part. */
aph_oracle *aphi_oracle_open_on(const aph_model *model, const aph_oracle_options *options, aphi_machine *machine,
                                bool one_part, char *error, size_t error_size);
/* An oracle just opened goes on from where another was with this core, one configuration and nothing in flight. */
void aphi_oracle_resume(aph_oracle *o, const aphi_core *core, bool let_go);
/* After a failure the oracle goes on to write down what it is told, as long as this holds: answers that it was
 * foretold, and that have a part in the failure, are still to come. */
bool aphi_oracle_wants_more(const aph_oracle *o);
/* Nothing will come any more that has not come: all that was sent has arrived or is lost. APH_FAIL if in every
 * explanation the server owes something. In a lossy environment it never does, and what was in flight is forgotten. */
aph_verdict aphi_oracle_quiet(aph_oracle *o);
/* The same, without forgetting. The model must not be rpc, or the environment lossy. */
aph_verdict aphi_oracle_silence(aph_oracle *o);
aph_verdict aphi_oracle_lost_oldest(aph_oracle *o, int64_t connection);
uint32_t aphi_oracle_ask(aph_oracle *o, int64_t connection, aph_value message, const aph_lookahead *known);
void aphi_oracle_note(aph_oracle *o, aphi_observed_event e);
/* The whole explanation at hand, oldest first; malloc'ed. Only with options.order, or before anything was forgotten. */
aphi_taken *aphi_oracle_order(const aph_oracle *o, size_t *n);

/* Begin with the first root. */
void aphi_search_begin(aph_oracle *o);
/* Begin a window with the roots and the requests in flight that there are: all of o->ops. */
void aphi_search_start_window(aph_oracle *o);
/* Drive the search to the end of the window. False if there is no explanation, or a limit or fault stopped it. */
bool aphi_search(aph_oracle *o);
/* The configuration at hand leads nowhere, for what is in these parts of the state: find another. */
bool aphi_search_backtrack(aph_oracle *o, aphi_parts reason);
bool aphi_search_next_root(aph_oracle *o);
/* What candidate k of the frame is: APHI_TARGET, or a place in `pending` as it is at the frame. */
enum { APHI_TARGET = -1 };
ptrdiff_t aphi_search_place(const aphi_frame *f, size_t k);
/* Nothing counts as refuted any more. */
void aphi_search_clear(aph_oracle *o);
/* Forget the past, now that the window is longer than window_max: for nothing, where one configuration is left; with
 * options.patient, by finding all that are left; else by letting go of the oldest explanations untried. Only after
 * aphi_search succeeded. */
APHI_COLD void aphi_search_trim_window(aph_oracle *o);
/* Nothing is in flight: begin a new window, if one configuration is left, or few, and that is soon found out. Only
 * after aphi_search succeeded. */
void aphi_search_rest(aph_oracle *o);
/* Find every configuration at the end of the window, at most `budget` visited: they become the roots of a new window.
 * False, and nothing changed, if the budget did not suffice. With a budget of 0 what was held back is let go of. */
APHI_COLD bool aphi_search_collect(aph_oracle *o, uint64_t budget);
APHI_COLD void aphi_search_widen(aph_oracle *o, size_t words);
size_t aphi_search_bytes(const aph_oracle *o);
void aphi_segment_drop(aphi_segment *s);
/* For a root. */
void aphi_segment_mark(const aphi_segment *s);
void aphi_taken_mark(size_t n, const aphi_taken *taken);
void aphi_frames_mark(size_t n, const aphi_frame *frames);
void aphi_search_collecting_mark(const struct aphi_collecting *c);

#endif
