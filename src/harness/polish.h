/* SPDX-License-Identifier: Apache-2.0
 *
 * polish.h - single steps, until none makes the best script better. */
#ifndef APHI_HARNESS_POLISH_H
#define APHI_HARNESS_POLISH_H

#include "harness/trial.h"

/* True if no single further step fails as reliably; false if it was over before, or best fell. */
bool aphi_polish(aphi_trial *s);

#endif
