/* SPDX-License-Identifier: Apache-2.0
 *
 * mpirun.c - whether mpirun has started this process as one of several, and the way to the others.
 *
 * Idea: MPI is loaded only then: the program itself is not linked with it, runs where there is none, and starts as
 *       quickly as before. Those who start processes tell them their number in the environment. */
#include "cli/mpirun.h"

#include "base/buffer.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libantiphon-mpi.so"

/* Open MPI; MPICH and its kin; those who use PMIx alone say no more than that. */
bool aphi_mpirun_is_used(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *text = getenv(names[i]);
        if (text && strtol(text, NULL, 10) > 1)
            return true;
    }
    return false;
}

static void *load_beside(const char *folder)
{
    char program[4096];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n < 0)
        return NULL;
    program[n] = '\0';
    char *slash = strrchr(program, '/');
    aphi_buffer path = {0};
    aphi_buffer_format(&path, "%.*s/%s" LIBRARY, (int)(slash ? slash - program : 0), program, folder);
    char *text = aphi_buffer_text(&path);
    void *library = access(text, R_OK) ? NULL : dlopen(text, RTLD_NOW | RTLD_GLOBAL);
    free(text);
    return library;
}

static void *load(void)
{
    void *library = load_beside("");
    library = library ? library : load_beside("../lib/");
    library = library ? library : load_beside("../lib/x86_64-linux-gnu/");
    return library ? library : dlopen(LIBRARY, RTLD_NOW | RTLD_GLOBAL);
}

const aphi_link *aphi_mpirun_join(void)
{
    void *library = load();
    if (!library) {
        fprintf(stderr, "antiphon: mpirun has started several processes, but %s cannot be loaded: %s. It is built "
                        "where MPI is installed (Debian: libopenmpi-dev)\n", LIBRARY, dlerror());
        return NULL;
    }
    aphi_link_opener *opener;
    *(void **)&opener = dlsym(library, APHI_LINK_OPENER);
    const aphi_link *link = opener ? opener() : NULL;
    if (!link || link->version != APHI_LINK_VERSION) {
        fprintf(stderr, "antiphon: %s is of another version, or MPI does not start\n", LIBRARY);
        return NULL;
    }
    return link;
}
