/* SPDX-License-Identifier: Apache-2.0
 *
 * runner.h - talks to antiphon, and starts a process for each run that it orders. */
#ifndef APHI_THREADS_RUNNER_H
#define APHI_THREADS_RUNNER_H

#include "group.h"

/* Was this process started by antiphon, to be controlled? */
bool aphi_runner_wanted(void);
/* Serves orders until there are no more, then ends the process. Returns only in processes of single runs, whose group
 * has a control. */
void aphi_runner_serve(aph_threads *group);

#endif
