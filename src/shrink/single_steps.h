/* SPDX-License-Identifier: Apache-2.0
 *
 * single_steps.h - single steps, until none makes the best script better. */
#ifndef APHI_SHRINK_SINGLE_STEPS_H
#define APHI_SHRINK_SINGLE_STEPS_H

#include "shrink/shrink_runner.h"

/* True if no single further step fails as reliably; false if it was over before, or best fell. */
bool aphi_single_steps(aphi_shrink_runner *s);

#endif
