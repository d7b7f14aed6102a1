/* SPDX-License-Identifier: Apache-2.0
 *
 * conformance.h - does a program on the threads library do what a model of it says, and nothing else?
 *
 * Two relations are decided by tests. M <= CP: all that the model can do, the program can. CP <= M: all that the
 * program can do, the model can; to wait for something more counts as doing it. Both together are M ~ CP. Tests are the
 * sequences of the model (conformance.c), or those of each component alone (conformance_local.c). */
#ifndef APHI_EXECUTE_CONFORMANCE_H
#define APHI_EXECUTE_CONFORMANCE_H

#include "execute/program_run.h"
#include "explore/sequence.h"

typedef enum aphi_breach {
    APHI_BREACH_NONE,
    APHI_BREACH_MISSING,   /* an event of the model cannot be done */
    APHI_BREACH_ENDLESS,   /* a run takes too long */
    APHI_BREACH_CRASHED,   /* a run ends by a signal, or with an error */
    APHI_BREACH_FEWER,     /* a receive could not take what the model could have taken */
    APHI_BREACH_EXTRA,     /* where the model ends or waits for ever, the program has another event */
    APHI_BREACH_STUCK,     /* where the model ends, the program waits for ever */
    APHI_BREACH_ENDS,      /* where the model waits for ever, the program ends */
    APHI_BREACH_WAITS,     /* where the model waits for ever, the program waits for something else */
    APHI_BREACH_MORE,      /* a receive could take what the model could not */
} aphi_breach;

/* Is the breach one of M <= CP? If not, it is one of CP <= M. */
static inline bool aphi_breach_is_lack(aphi_breach b) { return b < APHI_BREACH_EXTRA; }

typedef struct aphi_rival { /* a message that a receive could have taken */
    aphi_place send;        /* index 0: it is not known which event */
    uint16_t port;
    uint32_t label;
} aphi_rival;

typedef struct aphi_rivals {
    aphi_rival *items;
    size_t count, capacity;
} aphi_rivals;

typedef struct aphi_difference { /* where model and program part; all by the numbers of the program's cast */
    aphi_breach breach;
    int alone;              /* the thread that was tested alone, or -1 */
    uint64_t sequence;      /* which of the sequences, from 1: of the model, or of the thread */
    aphi_place at;          /* the event to blame; index 0: none */
    aphi_recorded *forced;  /* the events of the model, thread by thread, or those of the thread alone */
    size_t forced_count;
    bool expects;           /* the model has an event there: */
    aphi_recorded expected;
    char detail[480];
    aphi_recording run;     /* what the program did */
    aphi_rivals model, program; /* the race sets of the event, sorted */
} aphi_difference;

typedef struct aphi_conformance {
    const aphi_compiled_model *model;
    aphi_program *program;
    uint16_t *threads, *ports; /* the cast's numbers of components and ports */
    uint32_t *labels;
    uint64_t time_ms, events_max;
    uint64_t sequence;             /* the one at hand, from 1 */
    uint64_t tests, runs;
    aphi_difference lack, surplus; /* the first breach of M <= CP, and of CP <= M */
    bool lost;                     /* the program is gone; error says why */
    char error[512];
    aphi_recorded *forced;
    size_t forced_count, forced_capacity;
    aphi_recording recording;
    aphi_races races;
    aphi_rivals of_model, of_program;
} aphi_conformance;

/* The names of threads and ports, and who owns which, must be the same on both sides; with `same_ports`, mediums and
 * capacities, too. False, with a message: they are not, and there is nothing to close. */
bool aphi_conformance_open(aphi_conformance *c, const aphi_compiled_model *model, aphi_program *program, bool same_ports,
                          char *error, size_t size);
void aphi_conformance_close(aphi_conformance *c);
/* Tests the program with one sequence. False: what there is to know is known, or the program is lost. */
bool aphi_conformance_try(aphi_conformance *c, aphi_sequence *s);

/* ---- each thread alone ------------------------------------------------------------------------------------------- */

typedef struct aphi_conformance_local_told {
    uint64_t by_events, by_races; /* sequences of the thread that were tested */
    uint64_t untested;            /* not to their end: nobody knows what some message of them carries */
    char unknown[100];            /* one of these messages: port and label */
} aphi_conformance_local_told;

typedef struct aphi_conformance_local
    aphi_conformance_local; /* what each component does in the sequences that were added */

aphi_conformance_local *aphi_conformance_local_open(aphi_conformance *c);
void aphi_conformance_local_close(aphi_conformance_local *a);
void aphi_conformance_local_add(aphi_conformance_local *a, aphi_sequence *s);
/* Finds out what messages carry, by running the program as a whole, at most so many times by chance. */
void aphi_conformance_local_capture(aphi_conformance_local *a, uint64_t random_runs);
/* Tests the thread of a component with all that was added, until a breach is found. The program is that of c, which is
 * the one of aphi_conformance_local_open, or was opened like it. Several threads may do so at a time, for different components. */
aphi_conformance_local_told aphi_conformance_local_try(aphi_conformance_local *a, aphi_conformance *c,
                                                       size_t component);

/* If nothing was found, tells that the whole program crashed or did not end while messages were captured. */
void aphi_conformance_local_settle(aphi_conformance_local *a);

/* ---- for both ---------------------------------------------------------------------------------------------------- */

/* Forces all events of the sequence in the next run. */
void aphi_conformance_force(aphi_conformance *c, const aphi_sequence *s);
/* One run of all threads with what is forced; whole: with nothing else, or else freely from there on, by the seed.
 * False: the program is lost. */
bool aphi_conformance_run(aphi_conformance *c, bool whole, uint64_t seed);
/* Keeps a difference, if it is the first of its relation. It takes the recording over. */
void aphi_conformance_differ(aphi_conformance *c, aphi_breach breach, int alone, aphi_place at, const char *detail);
/* Compares the race sets in of_model and of_program of an event; true if they are the same. */
bool aphi_conformance_compare(aphi_conformance *c, int alone, aphi_place at);
void aphi_rivals_add(aphi_rivals *r, aphi_rival rival);
bool aphi_rivals_have(const aphi_rivals *r, const aphi_rival *rival);

#endif
