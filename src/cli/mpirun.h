/* SPDX-License-Identifier: Apache-2.0
 *
 * mpirun.h - detection of mpirun, and the link to the other processes. */
#ifndef APHI_CLI_MPIRUN_H
#define APHI_CLI_MPIRUN_H

#include "explore/process_link.h"

/* Returns true if mpirun started several processes. */
bool aphi_mpirun_is_used(void);
/* Loads libantiphon-mpi from the folder of the program, the install folder or the library path. Returns NULL
 * with a message on stderr if it cannot be loaded. */
const aphi_link *aphi_mpirun_join(void);

#endif
