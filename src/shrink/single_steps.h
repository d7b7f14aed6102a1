/* SPDX-License-Identifier: Apache-2.0
 *
 * single_steps.h - single simplifying steps, until none applies. */
#ifndef APHI_SHRINK_SINGLE_STEPS_H
#define APHI_SHRINK_SINGLE_STEPS_H

#include "shrink/shrink_runner.h"

/* Returns true if the script after any further step fails less reliably; false if the search ended early. */
bool aphi_single_steps(aphi_shrink_runner *s);

#endif
