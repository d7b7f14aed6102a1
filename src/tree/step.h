/* SPDX-License-Identifier: Apache-2.0
 *
 * step.h - run a model's step, with someone to answer its events. */
#ifndef APHI_TREE_STEP_H
#define APHI_TREE_STEP_H

#include <antiphon/model.h>

/* Answers an event, or returns false to leave the step there: it is then unwound to its head. */
typedef bool aphi_answerer(void *context, const aph_event *event, aph_value *answer);

typedef enum aphi_ending {
    APHI_ENDED,      /* the step ran to its end; the state is the new one */
    APHI_LEFT,       /* the answerer did not answer */
    APHI_NEVER,      /* the model said that this branch is not to be taken */
    APHI_UNKNOWN_REQUEST,
    APHI_MISCALLED,  /* the model made a call that means nothing */
    APHI_CRASHED,
    APHI_OUT_OF_TIME,
} aphi_ending;

/* Runs one step on *state, which changes only if it ends. For APHI_UNKNOWN_REQUEST, APHI_MISCALLED and APHI_CRASHED
 * the reason is left in aphi_step_reason.
 * After APHI_CRASHED and APHI_OUT_OF_TIME the heap must not be used to make values again. */
aphi_ending aphi_step_run(const aph_model *model, aph_value *state, aphi_answerer *answerer, void *context);
/* The same, but a receive takes *request without asking the answerer, if *waiting, which it then clears. If the answer
 * is known already, APH_NIL if not, the step is left where it foretells another one. */
aphi_ending aphi_step_feed(const aph_model *model, aph_value *state, const aph_request *request, bool *waiting,
                           aph_value expected, aphi_answerer *answerer, void *context);
const char *aphi_step_reason(void);
/* For calls of a step that are defined elsewhere: asks the answerer, or leaves the step. */
aph_value aphi_step_perform(aph *m, aph_event *event);
/* The model made a call that means nothing: leaves the step. */
_Noreturn void aphi_step_miscalled(aph *m, const char *why);

#endif
