/* SPDX-License-Identifier: Apache-2.0
 *
 * runner.h - controlled program's end of the protocol with antiphon. */
#ifndef APHI_THREADS_RUNNER_H
#define APHI_THREADS_RUNNER_H

#include "group.h"

/* Returns true if antiphon started this process for controlled runs. */
bool aphi_runner_wanted(void);
/* Serves requests, then ends the process. Returns only in the forked process of a run, with the group controlled. */
void aphi_runner_serve(aph_threads *group);

#endif
