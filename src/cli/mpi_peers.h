/* SPDX-License-Identifier: Apache-2.0
 *
 * mpi_peers.h - detection of mpirun, and the link to the other processes. */
#ifndef APHI_CLI_MPI_PEERS_H
#define APHI_CLI_MPI_PEERS_H

#include "explore/process_link.h"

/* Returns true if mpirun started several processes. */
bool aphi_mpi_peers_is_used(void);
/* Loads libantiphon-mpi from the folder of the program, the install folder or the library path. Returns NULL
 * with a message on stderr if it cannot be loaded. */
const aphi_link *aphi_mpi_peers_join(void);

#endif
