/* SPDX-License-Identifier: Apache-2.0
 *
 * programs.h - the message-passing programs that Antiphon knows by name. */
#ifndef APH_PROGRAMS_H
#define APH_PROGRAMS_H

#include <antiphon/component.h>

/* A family of programs: dp-N has one for each N. */
typedef struct aph_family {
    const char *name;    /* before the dash, or all of it if there is no size */
    const char *summary;
    int least, most;     /* the size; both 0: there is none */
    aph_program *(*make)(int size);
} aph_family;

extern const aph_family aph_family_dp;
extern const aph_family aph_family_tdme;
extern const aph_family aph_family_dme;

const aph_family *const *aph_families(size_t *n);
/* The program of that name, as dp-3; NULL if there is none. aph_program_free ends it. */
aph_program *aph_program_named(const char *name);

/* For families: a program with so many components and ports, to be filled in; aph_program_free frees it and all names
 * and data given to it by the functions below. */
aph_program *aph_program_make(const char *summary, int components, int ports, const char *name, ...)
    __attribute__((format(printf, 4, 5)));
/* Fills in component `at`; data is copied. */
void aph_program_component(aph_program *p, int at, aph_step *step, const void *data, size_t size, const char *name, ...)
    __attribute__((format(printf, 6, 7)));
void aph_program_port(aph_program *p, int at, int owner, aph_medium medium, int capacity, const char *name, ...)
    __attribute__((format(printf, 6, 7)));
void aph_program_free(aph_program *p);

#endif
