/* SPDX-License-Identifier: Apache-2.0
 *
 * search.h - the internals of the oracle: the window of observations, and the search over it. */
#ifndef APHI_ORACLE_SEARCH_H
#define APHI_ORACLE_SEARCH_H

#include "base/compiler.h"
#include "base/int_map.h"
#include "env/env.h"
#include "oracle/memo.h"
#include "oracle/transition.h"

#define APHI_NONE UINT32_MAX /* no request */

/* Observations in the window before it is trimmed; IDLE: if no request is pending. */
enum { APHI_WINDOW_IDLE = 16, APHI_WINDOW_MIN = 1024 };

enum { APHI_KINDS = 32 };

/* A request; others refer to it by its index in aph_oracle.ops. */
typedef struct aphi_request {
    uint64_t id;
    int64_t connection;
    aph_value message, answer, part;
    uint64_t end_at;       /* number of the observation that ended it; UINT64_MAX while it is pending */
    uint64_t rank;         /* requests with a smaller rank are known or likely to end earlier */
    uint64_t shown;        /* hint, see aph_lookahead; UINT64_MAX: unknown */
    uint64_t sought;       /* hint, see aph_lookahead */
    uint32_t slot;         /* its bit in a configuration, while it is pending */
    uint32_t previous;     /* the previous request on the connection if it is pending; else APHI_NONE */
    uint32_t next;         /* the next request on the connection that waits for a response; APHI_NONE: none */
    aph_future future;
    uint64_t line;         /* of the caller's trace */
    bool reads;            /* a read with its known response (aph_model.reads) */
    bool lost;
    bool alone;            /* nothing else is sent on its connection before it ends */
    bool duplicate;        /* the second arrival of a request that may arrive twice */
    bool delivery;         /* not a request, but an observed message where order is not preserved: to take it is to
                            * match it with a message in the outbox */
    bool quiet;            /* a delivery without a message: all messages in flight are lost */
    bool signal;           /* the opening or an end of the connection; see connections.h */
} aphi_request;

/* A connection of a model with connections: the numbers of observations, UINT64_MAX if there was none. */
typedef struct aphi_connection_state {
    int64_t connection;
    uint64_t opened_at;
    uint64_t shut_at;      /* the client has closed its side */
    uint64_t left_at;      /* the client has closed both sides, or broken the connection */
    uint64_t closed_at;    /* the server has closed the connection */
} aphi_connection_state;

typedef enum aphi_observed {
    APHI_OBSERVED_REQUEST,
    APHI_OBSERVED_ANSWER,
    APHI_OBSERVED_LOSS,
    APHI_OBSERVED_QUIET
} aphi_observed;

typedef struct aphi_observed_event {
    aphi_observed kind;
    uint32_t request;      /* APHI_NONE for a response without rpc */
    int64_t connection;
    aph_value message;     /* of a response */
    uint64_t line;         /* of the caller's trace */
} aphi_observed_event;

/* One step of an explanation: a taken request with its path through the model; or APHI_BEGUN with the path before the
 * first request; or APHI_ACCEPTED with an array of the numbers of a connection for the tester and for the model.
 * APHI_TAKEN_BROKEN is added to the number of a departure that was taken as a break. */
typedef struct aphi_taken {
    uint64_t id;
    aph_value path;
} aphi_taken;
#define APHI_BEGUN  UINT64_MAX
#define APHI_ACCEPTED (UINT64_MAX - 1)
#define APHI_TAKEN_BROKEN (UINT64_C(1) << 62)

/* A part of an explanation: a list, newest part first. */
typedef struct aphi_segment {
    struct aphi_segment *older;
    unsigned count;        /* references */
    size_t n;
    aphi_taken taken[];
} aphi_segment;

/* A choice point of the search, with untried candidates. The bits of frame i are in aph_oracle.frame_bits. */
typedef struct aphi_frame {
    aphi_core core;
    uint32_t at;           /* observation, within the window */
    uint32_t target;       /* the request to take; APHI_NONE: any that leads to a response on the connection */
    uint32_t candidate, result; /* to try next */
    uint32_t likely;       /* place in pending, plus 1, of the request to try before the others; 0: none */
    uint32_t order_count;
    uint32_t memo;         /* index of its entry, if memoized */
    bool memoized;
    bool likely_first;     /* try the likely request even before the target */
    bool target_only;      /* take no other request */
    bool early;            /* the target is taken at once, or else left pending */
    aph_value part;        /* of the target */
    aphi_parts concerns;   /* parts of its candidates, and of the requests that these wait for */
    aphi_parts reason;     /* parts for which its candidates have failed so far */
    aphi_parts dropped_parts; /* parts of dropped frames above this one in which one part waits for another */
} aphi_frame;

typedef struct aphi_root {
    aphi_core core;
    aph_value path;        /* path of the model before its first request, if this is its start */
    aphi_segment *past;
} aphi_root;

/* A response that an explanation allows in place of the unexplained one. */
typedef struct aphi_allowed {
    aph_value answer;      /* may contain symbols */
    aph_value state;       /* of the model after the response */
    aph_value store;       /* constraints on the symbols in both */
    aphi_taken *order;     /* the requests taken since the start of the window */
    size_t order_count;
    size_t root;           /* index of the root from which these requests start */
    int64_t origin;        /* the response is the observed one, but at this origin; -1: at that of the observation */
} aphi_allowed;

enum { APHI_ALLOWED_MAX = 8 };

typedef struct aphi_request_queue {
    int64_t connection;
    uint32_t first, last;  /* its pending requests, linked by `next` */
    bool used;
} aphi_request_queue;

/* Initial storage of an oracle's arrays, so that a part of the state with few requests needs one allocation. */
typedef struct aphi_inline_arrays {
    aphi_request ops[40];
    aphi_observed_event events[80];
    uint32_t pending[16];
    aphi_taken order[40];
    aphi_frame frames[8];
    uint64_t frame_bits[8];
    aphi_root root;
    uint64_t root_bits, used, optional, bits;
    aphi_request_queue queues[16];
} aphi_inline_arrays;

struct aph_oracle {
    const aph_model *model;
    aph_oracle_options options;
    aphi_env env;
    bool rpc, parts, eager; /* promises in use */
    bool tells_apart;      /* the model distinguishes connections, as far as the search has taken this into account */
    bool skipped_alike;    /* in this window, a request was skipped because of one on another connection */
    bool trimmed_alike;    /* the same, in a trimmed window that left pending requests */
    bool held;             /* observations wait until there are several, or until aphi_oracle_settle */
    bool pipelined;        /* some connection had two pending requests, so one part may wait for another */
    aphi_machine *machine;
    bool own_machine;
    aph_verdict verdict;
    aph_limit limit;
    aph_fault fault;
    char message[APHI_FAULT_BYTES];
    uint64_t fault_line;   /* of the request or response that caused it */
    bool armed;
    uint64_t configurations, requests, answers;
    uint64_t visit_max;    /* configurations; 0: no limit */
    uint64_t limits_at;    /* configurations at which to check the limits and the heap next */
    uint64_t line;         /* of the current observation, in the caller's trace */
    size_t known_answers;  /* responses that are known but not observed yet */

    /* the window: the observations since the last trim */
    aphi_request *ops;
    size_t op_count, op_capacity;
    aphi_observed_event *events;
    size_t event_count, event_capacity;
    uint64_t event_base;   /* number of trimmed observations */
    size_t window_max;     /* trim when the window is longer */
    size_t idle_trim_at;   /* trim when the window has this length and no request is pending */
    bool dropped;          /* explanations were dropped untried, so a failure is not certain */
    uint64_t quiet_line, quiet_base; /* the line of a silence, if the window with this event_base begins after it */
    size_t base_count;     /* number of requests in ops that were pending at the start of the window */

    /* rows of bits: `words` of 64, one bit per pending request */
    size_t words;
    uint64_t *used, *optional, *bits;

    /* connections with pending requests: hash table, open addressing */
    aphi_request_queue *queues;
    size_t queue_capacity, queue_count;

    /* with aph_model.connections; see connections.c */
    bool connections;
    aphi_int_map connection_index; /* to connection_states */
    aphi_connection_state *connection_states;
    size_t connection_count, connection_capacity;
    aphi_successor *end_results; /* of aphi_connections_run: first those of a close, then those of a break */
    size_t end_count, closing_count, end_capacity;

    /* kinds of requests tried in this round; see first_of_kind */
    struct aphi_kind_seen {
        uint32_t round, request;
    } kinds[APHI_KINDS];
    uint32_t round;
    uint8_t *related;      /* by place in `pending`: may influence the target of the current frame */
    size_t related_capacity;

    /* reachable cores; see find_path */
    struct aphi_reached {
        aphi_core core;
        uint32_t place;
    } *reached;
    size_t reached_count, reached_capacity;

    /* the search: the current configuration, and the frames */
    aphi_core core;
    aphi_successor unchanged; /* the result of a delivery without a message */
    uint32_t at;           /* index of the observation */
    uint32_t *pending;     /* requests pending at `at`, soonest to end first */
    size_t pending_count, pending_capacity;
    aphi_taken *order;
    size_t order_count, order_capacity;
    aphi_frame *frames;
    size_t frame_count, frame_capacity;
    uint64_t *frame_bits;
    size_t frame_bits_capacity;
    aphi_memo memo;
    size_t lost_taken;     /* unplaced lost requests taken by the current configuration */
    size_t lost_max;       /* limit of lost_taken; see skip_lost */
    bool skipped_lost;     /* a candidate was skipped because of that limit */
    bool exhaustive;       /* the search looks for all configurations; causes do not matter */
    struct aphi_find_all *finding_all; /* state of that search, or NULL */
    uint64_t budget_end;   /* of an exhaustive search, in configurations */

    /* configurations at the start of the window */
    aphi_root *roots;
    uint64_t *root_bits;
    size_t root_count, root_capacity, root_bits_capacity;
    size_t root_next;      /* the root to try next, when the current one has failed */
    aphi_segment *past;    /* of the current root */
    uint32_t deepest;      /* last observation that the search has reached in this window */
    uint64_t backtracks;   /* number of backtracks */
    uint32_t left_pending; /* observation, plus 1, of an opening or end that is not to be taken at once; 0: none */
    uint64_t progress_at;  /* configurations visited when `deepest` was reached, or when find_path last failed */

    /* after a failure: the responses allowed at a wildcard, the last observation of the window */
    aphi_allowed *allowed;
    size_t allowed_count;
    aph_value unexplained; /* the message that was observed there, if the server opened the connection; else APH_NIL */

    /* after a quiet mark failed: the messages due, as in aphi_core.outbox, in the explanation with the fewest */
    aph_value due;

    aphi_inline_arrays inline_arrays; /* the last field: all fields before it are zeroed */
};

/* Like APHI_RESERVE and free, for an array of the oracle that may be in inline storage. */
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

/* Matches any response. */
#define APHI_WILDCARD APH_ANY

/* Like aph_oracle_open, with a shared machine, whose owner sets the deadline. If the machine is NULL, the oracle has
 * its own machine and deadline. one_part: all requests will belong to one part. */
aph_oracle *aphi_oracle_open_on(const aph_model *model, const aph_oracle_options *options, aphi_machine *machine,
                                bool one_part, char *error, size_t error_size);
/* Makes a new oracle continue from one that had this core as its only configuration and no pending request. */
void aphi_oracle_resume(aph_oracle *o, const aphi_core *core, bool dropped);
/* Returns true if observations should still be added after a failure, because responses that were known in advance have
 * not arrived yet, and the failure may depend on them. */
bool aphi_oracle_wants_more(const aph_oracle *o);
/* Without rpc, and in an environment that keeps the order of responses, an order is found much faster if later
 * responses are known. So the oracle then stores observations and searches over several at a time; the verdict may be
 * late. aphi_oracle_settle searches over the rest and returns the verdict. */
void aphi_oracle_hold(aph_oracle *o);
aph_verdict aphi_oracle_settle(aph_oracle *o);
/* Adds the observation that no message is in flight. Returns APH_FAIL if every explanation has an unsent or undelivered
 * message. In a lossy environment, messages in flight are lost, and it never returns APH_FAIL. */
aph_verdict aphi_oracle_quiet(aph_oracle *o);
/* Like aphi_oracle_quiet, but without trimming. */
aph_verdict aphi_oracle_observe_quiet(aph_oracle *o);
/* Returns the verdict that aphi_oracle_quiet would return, without adding the observation: APH_FAIL if a message is due
 * in every explanation, APH_UNKNOWN if this is too expensive to decide. For an rpc model, returns APH_UNKNOWN with a
 * fault if a pending request would get no response, else APH_PASS. */
aph_verdict aphi_oracle_may_be_quiet(aph_oracle *o);
aph_verdict aphi_oracle_lost_oldest(aph_oracle *o, int64_t connection);
uint32_t aphi_oracle_add_request(aph_oracle *o, int64_t connection, aph_value message, const aph_lookahead *known);
/* Returns the current explanation, oldest step first; the caller frees it. Requires options.order, or a window that was
 * never trimmed. */
aphi_taken *aphi_oracle_order(const aph_oracle *o, size_t *n);

void aphi_search_begin(aph_oracle *o);
/* Starts a window with the existing roots and with all of o->ops pending. */
void aphi_search_start_window(aph_oracle *o);
/* Searches to the end of the window. Returns false if there is no explanation, or if a limit or fault stopped it. */
bool aphi_search(aph_oracle *o);
/* Returns true if the model was found to distinguish connections, but the search has interchanged requests on different
 * ones. The next aphi_search starts the window again. */
bool aphi_search_is_outdated(const aph_oracle *o);
/* Abandons the current configuration, which has failed in these parts of the state. Returns false if no other is
 * left. */
bool aphi_search_backtrack(aph_oracle *o, aphi_parts reason);
bool aphi_search_next_root(aph_oracle *o);
/* Returns candidate k of the frame: APHI_TARGET, or a place in `pending` at the frame. */
enum { APHI_TARGET = -1 };
ptrdiff_t aphi_search_place(const aphi_frame *f, size_t k);
void aphi_search_clear(aph_oracle *o);
/* Trims a window longer than window_max: at no cost if one configuration is left; with options.patient by finding all
 * that are left; otherwise by dropping the oldest frames untried. Call it only after aphi_search succeeded. */
APHI_COLD void aphi_search_trim_window(aph_oracle *o);
/* Trims a window without pending requests, if few configurations are left and finding them is cheap. Call it only after
 * aphi_search succeeded. */
void aphi_search_trim_idle(aph_oracle *o);
/* Finds all configurations at the end of the window, which become the roots of a new window. Returns false and changes
 * nothing if more than `budget` configurations would be visited. With a budget of 0, skipped candidates are dropped. */
APHI_COLD bool aphi_search_find_all(aph_oracle *o, uint64_t budget);
APHI_COLD void aphi_search_widen(aph_oracle *o, size_t words);
size_t aphi_search_bytes(const aph_oracle *o);
void aphi_segment_drop(aphi_segment *s);
void aphi_segment_mark(const aphi_segment *s);
void aphi_taken_mark(size_t n, const aphi_taken *taken);
void aphi_frames_mark(size_t n, const aphi_frame *frames);
void aphi_search_find_all_mark(const struct aphi_find_all *c);

#endif
