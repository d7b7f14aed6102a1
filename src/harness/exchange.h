/* SPDX-License-Identifier: Apache-2.0
 *
 * exchange.h - one request less, if another one says something else. */
#ifndef APHI_HARNESS_EXCHANGE_H
#define APHI_HARNESS_EXCHANGE_H

#include "harness/trial.h"

/* Tries all such steps; true if one was taken. */
bool aphi_exchange(aphi_trial *s);

#endif
