/* SPDX-License-Identifier: Apache-2.0
 *
 * step.h - one run of a model's step, with a callback that answers its events. */
#ifndef APHI_TREE_STEP_H
#define APHI_TREE_STEP_H

#include <antiphon/model.h>

/* Returns a description of fields of the model that exclude each other; NULL if there are none. */
const char *aphi_model_contradiction(const aph_model *model);

/* Sets *answer and returns true, or returns false to abandon the step. */
typedef bool aphi_answerer(void *context, const aph_event *event, aph_value *answer);

typedef enum aphi_ending {
    APHI_ENDED,      /* the step returned; the state is the new one */
    APHI_LEFT,       /* the answerer did not answer */
    APHI_NEVER,      /* the model called aph_never */
    APHI_UNKNOWN_REQUEST,
    APHI_MISCALLED,  /* the model made an invalid call */
    APHI_CRASHED,
    APHI_OUT_OF_TIME,
} aphi_ending;

/* Runs one step on *state, which changes only with APHI_ENDED. For APHI_UNKNOWN_REQUEST, APHI_MISCALLED and
 * APHI_CRASHED, aphi_step_reason returns the reason. After APHI_CRASHED and APHI_OUT_OF_TIME, no more values may be
 * created. */
aphi_ending aphi_step_run(const aph_model *model, aph_value *state, aphi_answerer *answerer, void *context);
/* Like aphi_step_run, but while *waiting, a receive returns *request without calling the answerer, and clears *waiting.
 * expected: the known response, or APH_NIL; the step is abandoned if it announces a different one. */
aphi_ending aphi_step_feed(const aph_model *model, aph_value *state, const aph_request *request, bool *waiting,
                           aph_value expected, aphi_answerer *answerer, void *context);
const char *aphi_step_reason(void);

typedef struct aphi_answers { /* for a replay */
    aph_value answers; /* an array */
    size_t at;         /* index of the next one */
    aph_event event;   /* the last event: with APHI_LEFT, the first without an answer */
} aphi_answers;

aphi_ending aphi_step_replay(const aph_model *model, aph_value *state, aphi_answers *replay);

/* Performs an event defined elsewhere: returns the answer, or abandons the step. */
aph_value aphi_step_perform(aph *m, aph_event *event);
bool aphi_step_is_of_network(const aph *m);
_Noreturn void aphi_step_miscalled(aph *m, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
