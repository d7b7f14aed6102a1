/* SPDX-License-Identifier: Apache-2.0
 *
 * mpirun.h - whether mpirun has started this process as one of several, and the way to the others. */
#ifndef APHI_CLI_MPIRUN_H
#define APHI_CLI_MPIRUN_H

#include "explore/process_link.h"

/* Are there others? Costs nothing but a look at the environment. */
bool aphi_mpirun_is_used(void);
/* Loads libantiphon-mpi: from beside the program, from where it is installed, or from where the system looks. NULL: it
 * could not; that was said on stderr. */
const aphi_link *aphi_mpirun_join(void);

#endif
