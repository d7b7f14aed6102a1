/* SPDX-License-Identifier: Apache-2.0
 *
 * exchange.h - one request less, if another one says something else; and as many, if one says what is simpler. */
#ifndef APHI_HARNESS_EXCHANGE_H
#define APHI_HARNESS_EXCHANGE_H

#include "harness/trial.h"

/* Each tries all steps of its kind; true if one was taken. */
bool aphi_exchange(aphi_trial *s);
bool aphi_exchange_simpler(aphi_trial *s);

#endif
