/* SPDX-License-Identifier: Apache-2.0
 *
 * conformance.h - conformance of a program on the threads library to its model, decided by tests.
 *
 * There are two relations. M <= CP: the program has all SR-sequences of the model M. CP <= M: the model has all
 * SR-sequences of the program, and its OpenLists include those of the program. M ~ CP means both. The tests are the
 * SR-sequences of the model (conformance.c), or the local sequences of each component (conformance_local.c). */
#ifndef APHI_EXECUTE_CONFORMANCE_H
#define APHI_EXECUTE_CONFORMANCE_H

#include "execute/program_run.h"
#include "explore/sequence.h"
#include "local/sequence_search.h"

typedef enum aphi_violation {
    APHI_VIOLATION_NONE,
    APHI_VIOLATION_MISSING,      /* the program cannot do an event of the model */
    APHI_VIOLATION_ENDLESS,      /* a run takes too long */
    APHI_VIOLATION_CRASHED,      /* a run was killed by a signal, or failed */
    APHI_VIOLATION_RACE_MISSING, /* a message is missing from a race set of the program */
    APHI_VIOLATION_EXTRA,        /* the model ends or waits forever, the program continues */
    APHI_VIOLATION_STUCK,        /* the model ends, the program waits forever */
    APHI_VIOLATION_ENDS,         /* the model waits forever, the program ends */
    APHI_VIOLATION_WAITS,        /* the model waits forever, the program waits for something else */
    APHI_VIOLATION_RACE_EXTRA,   /* a race set of the program has an extra message */
} aphi_violation;

/* Returns true for a violation of M <= CP; all others violate CP <= M. */
static inline bool aphi_violation_is_missing(aphi_violation b) { return b < APHI_VIOLATION_EXTRA; }

typedef struct aphi_race_message { /* of a race set */
    aphi_event_id send;        /* index 0: unknown */
    uint16_t port;
    uint32_t label;
} aphi_race_message;

typedef struct aphi_race_set {
    aphi_race_message *items;
    size_t count, capacity;
} aphi_race_set;

typedef struct aphi_difference { /* between model and program; numbers refer to the program's layout */
    aphi_violation violation;
    int local_thread;             /* the thread that was tested alone, or -1 */
    uint64_t sequence;            /* number of the sequence in the model or the thread, from 1 */
    aphi_event_id id;             /* the first event that differs; index 0: none */
    aphi_recorded_event *forced;  /* the model's events: of all threads in turn, or of the one tested */
    size_t forced_count;
    const aphi_recorded_event *expected; /* the model's event at that point, or NULL */
    char detail[480];
    aphi_recording run;           /* of the program */
    aphi_race_set model, program; /* the race sets of the event, sorted */
} aphi_difference;

typedef struct aphi_conformance {
    const aphi_compiled_model *model;
    aphi_program *program;
    uint16_t *threads, *ports;      /* by component and port: number in the layout */
    uint32_t *labels;
    uint64_t time_ms, events_max;
    uint64_t sequence;              /* number of the current one, from 1 */
    uint64_t tests, runs;
    aphi_difference missing, extra; /* the first violation of M <= CP, and of CP <= M */
    bool program_lost;              /* the program has ended; see error */
    char error[512];
    aphi_recorded_event *forced;
    size_t forced_count, forced_capacity;
    aphi_recording recording;
    aphi_races races;
    aphi_race_set model_races, program_races;
} aphi_conformance;

/* Threads, ports and owners of ports must have the same names in model and program; with `same_ports`, mediums and
 * capacities must be equal, too. Otherwise returns false with a message, and there is nothing to close. */
bool aphi_conformance_open(aphi_conformance *c, const aphi_compiled_model *model, aphi_program *program,
                           bool same_ports, char *error, size_t size);
void aphi_conformance_close(aphi_conformance *c);
/* Tests the program with one sequence. Returns false if no further test is needed, or the program has ended. */
bool aphi_conformance_test(aphi_conformance *c, aphi_sequence *s);

/* ---- single threads ---------------------------------------------------------------------------------------------- */

typedef struct aphi_conformance_local_result {
    uint64_t by_events, by_races; /* number of tested sequences: without and with race sets */
    uint64_t untested;            /* sequences not tested to the end, because a payload is unknown */
    char unknown[100];            /* port and label of such a message */
} aphi_conformance_local_result;

typedef struct aphi_conformance_local aphi_conformance_local; /* local sequences of each component */

/* With races, the tests compare race sets, too. Otherwise they decide only M <= CP. */
aphi_conformance_local *aphi_conformance_local_open(aphi_conformance *c, bool races);
void aphi_conformance_local_close(aphi_conformance_local *a);
/* Finds the local sequences of a component. May be called concurrently for different components. */
aphi_sequence_search_status aphi_conformance_local_find(aphi_conformance_local *a, size_t component,
                                                        const volatile sig_atomic_t *stop);
/* Returns the number of local sequences of a component that differ in their events. */
uint64_t aphi_conformance_local_count(const aphi_conformance_local *a, size_t component);
/* Lists the messages that are received in the sequences that were found. */
void aphi_conformance_local_list_messages(aphi_conformance_local *a);
/* Keeps the sequence to capture those messages that no earlier sequence receives. Returns true if it has a sequence for
 * each message. */
bool aphi_conformance_local_add_witness(aphi_conformance_local *a, const aphi_sequence *s);
/* Captures the payloads of messages in runs of the whole program, including up to random_runs random runs. */
void aphi_conformance_local_capture(aphi_conformance_local *a, uint64_t random_runs);
/* Tests the thread of a component with its local sequences, at most `limit` unless that is 0, until a violation of
 * M <= CP. `c` is the one passed to aphi_conformance_local_open, or was opened in the same way. May be called
 * concurrently for different components. */
aphi_conformance_local_result aphi_conformance_local_test(aphi_conformance_local *a, aphi_conformance *c,
                                                          size_t component, uint64_t limit);

/* If there is no violation, reports a crash or a timeout of the whole program while payloads were captured. */
void aphi_conformance_local_report_crash(aphi_conformance_local *a);

/* ---- internal ---------------------------------------------------------------------------------------------------- */

/* Forces all events of the sequence in the next run. */
void aphi_conformance_force(aphi_conformance *c, const aphi_sequence *s);
/* Runs all threads with the forced events. With `replay`, no other events may follow; otherwise free choices follow,
 * drawn from the seed. Returns false if the program has ended. */
bool aphi_conformance_run(aphi_conformance *c, bool replay, uint64_t seed);
/* Stores the first violation of each relation. Takes ownership of the recording. */
void aphi_conformance_report(aphi_conformance *c, aphi_violation violation, int local_thread, aphi_event_id id,
                             const char *detail);
/* Compares model_races and program_races of an event; returns true if they are equal. */
bool aphi_conformance_compare_races(aphi_conformance *c, int local_thread, aphi_event_id id);
void aphi_race_set_add(aphi_race_set *r, aphi_race_message message);

/* ---- campaigns --------------------------------------------------------------------------------------------------- */

/* Several testers in parallel test a program with all sequences of a model. */

typedef struct aphi_conformance_options {
    const aphi_compiled_model *model;
    const aphi_alts *alts;       /* of the model */
    char **words;                /* command line of the program, NULL-terminated */
    bool local;                  /* test each thread alone */
    bool at_least;               /* local: test only M <= CP, without race sets */
    const char *thread;          /* local: only this thread; NULL: all */
    uint64_t captures;           /* local: maximum number of random runs to capture messages */
    uint64_t limit;              /* sequences, or local: of each thread; 0: no limit */
    uint64_t time_ms;            /* of a run */
    size_t jobs;                 /* testers, each with a program of its own */
    const volatile sig_atomic_t *stop;
} aphi_conformance_options;

typedef enum aphi_conformance_status {
    APHI_CONFORMANCE_DONE,
    APHI_CONFORMANCE_NO_PROGRAM, /* the program cannot be started, or was lost */
    APHI_CONFORMANCE_MISMATCH,   /* threads or ports differ from the model's */
    APHI_CONFORMANCE_TOO_LARGE,  /* a component has too many local sequences */
} aphi_conformance_status;

typedef struct aphi_conformance_finding {
    const aphi_difference *difference; /* NULL: none */
    const aphi_layout *layout;         /* the layout to which its numbers refer */
} aphi_conformance_finding;

typedef struct aphi_conformance_campaign {
    aphi_conformance_options options;
    aphi_conformance_status status;
    char error[700];                   /* unless DONE */
    aphi_conformance_finding missing, extra; /* the first violation of M <= CP, and of CP <= M */
    aphi_conformance_local_result *threads;  /* local: by component; else NULL */
    uint64_t sequences;                /* number of sequences of the model; local: of its components, by events */
    bool all_visited;                  /* these are all, and they were tested */
    bool complete;                     /* all_visited, and all tests were finished */
    uint64_t tests, runs;
    int64_t ns;
    struct aphi_conformance_testers *testers; /* private */
} aphi_conformance_campaign;

typedef enum aphi_relation { APHI_RELATION_HOLDS, APHI_RELATION_FAILS, APHI_RELATION_UNKNOWN } aphi_relation;

/* Runs the tests. The caller closes the run. */
aphi_conformance_campaign *aphi_conformance_campaign_open(const aphi_conformance_options *options);
void aphi_conformance_campaign_close(aphi_conformance_campaign *r);
/* M <= CP: the program can do everything that the model can. M ~ CP: it can also do nothing else. */
aphi_relation aphi_conformance_at_least(const aphi_conformance_campaign *r);
aphi_relation aphi_conformance_equivalent(const aphi_conformance_campaign *r);

#endif
