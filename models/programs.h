/* SPDX-License-Identifier: Apache-2.0
 *
 * programs.h - built-in message-passing programs. */
#ifndef APH_PROGRAMS_H
#define APH_PROGRAMS_H

#include <antiphon/component.h>

/* A family of programs, one for each size: dp-N. */
typedef struct aph_family {
    const char *name;    /* before the dash, or the whole name without a size */
    const char *summary;
    int least, most;     /* limits of the size; both 0: no size */
    aph_program *(*make)(int size);
} aph_family;

extern const aph_family aph_family_dp;
extern const aph_family aph_family_tdme;
extern const aph_family aph_family_dme;

const aph_family *const *aph_families(size_t *n);
/* Makes the program with the given name, such as dp-3; returns NULL if it is unknown. Free it with aph_program_free. */
aph_program *aph_program_named(const char *name);

/* For families: makes a program whose components and ports are set by the functions below. aph_program_free frees it
 * with all names and data. */
aph_program *aph_program_make(const char *summary, int components, int ports, const char *name, ...)
    __attribute__((format(printf, 4, 5)));
/* Sets a component; copies the data. */
void aph_program_component(aph_program *p, int index, aph_step *step, const void *data, size_t size, const char *name,
                           ...) __attribute__((format(printf, 6, 7)));
void aph_program_port(aph_program *p, int index, int owner, aph_medium medium, int capacity, const char *name, ...)
    __attribute__((format(printf, 6, 7)));
void aph_program_free(aph_program *p);

#endif
