/* SPDX-License-Identifier: Apache-2.0
 *
 * mpi_peers.c - detection of mpirun, and the link to the other processes.
 *
 * Idea: MPI is loaded only if mpirun started the process. The program is not linked with MPI, runs without it, and
 *       starts quickly. Launchers pass the number of processes in the environment. */
#include "cli/mpi_peers.h"

#include "base/options.h"
#include "base/process.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libantiphon-mpi.so"

/* Variables of Open MPI, of MPICH, and of launchers with PMIx only. */
bool aphi_mpi_peers_is_used(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        if (text && strtol(text, NULL, 10) > 1)
            return true;
    }
    return false;
}

static void *load_from(const char *folder)
{
    char program[PATH_MAX], *slash = strrchr(aphi_process_self(program), '/');
    aphi_buffer path = {0};
    aphi_buffer_format(&path, "%.*s/%s" LIBRARY, (int)(slash ? slash - program : 0), program, folder);
    char *text = aphi_buffer_text(&path);
    void *library = access(text, R_OK) ? NULL : dlopen(text, RTLD_NOW | RTLD_GLOBAL);
    free(text);
    return library;
}

static void *load_library(void)
{
    void *library = load_from("");
    library = library ? library : load_from("../lib/");
    library = library ? library : load_from("../lib/x86_64-linux-gnu/");
    return library ? library : dlopen(LIBRARY, RTLD_NOW | RTLD_GLOBAL);
}

const aphi_link *aphi_mpi_peers_join(void)
{
    void *library = load_library();
    if (!library) {
        aphi_complain("%s cannot be loaded: %s; build Antiphon with MPI (Debian: libopenmpi-dev)", LIBRARY, dlerror());
        return NULL;
    }
    aphi_link_opener *opener;
    *(void **)&opener = dlsym(library, APHI_LINK_OPENER);
    const aphi_link *link = opener ? opener() : NULL;
    if (!link || link->version != APHI_LINK_VERSION) {
        aphi_complain("%s has a different version, or MPI does not start", LIBRARY);
        return NULL;
    }
    return link;
}
