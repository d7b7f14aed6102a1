/* SPDX-License-Identifier: Apache-2.0
 *
 * upstream_fault.h - an injector between the subject and the port at which the tester is called. */
#ifndef APHI_FAULT_UPSTREAM_FAULT_H
#define APHI_FAULT_UPSTREAM_FAULT_H

#include "subject/subject.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts antiphon fault before that port of the tester's, to break this kind of thing; *called is the port at which the
 * subject is to call. The caller ends it with aphi_subject_close. NULL with a message. */
aphi_subject *aphi_upstream_fault_open(const char *kind, unsigned listen, uint64_t seed, unsigned *called, char *error,
                                  size_t size);

#endif
