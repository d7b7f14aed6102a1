/* SPDX-License-Identifier: Apache-2.0
 *
 * upstream_fault.h - a fault proxy between the subject and the port on which the tester listens. */
#ifndef APHI_FAULT_UPSTREAM_FAULT_H
#define APHI_FAULT_UPSTREAM_FAULT_H

#include "base/buffer.h"
#include "subject/subject.h"

/* Appends the command that starts `antiphon fault` between {port} and `port`, which is a number or a placeholder. */
void aphi_fault_command(aphi_buffer *out, const char *port, const char *kind, uint64_t seed);
/* Starts `antiphon fault --break KIND` in front of the tester's port `listen`; *called is the port for the subject. The
 * caller ends the proxy with aphi_subject_close. Returns NULL with a message if the proxy cannot be started. */
aphi_subject *aphi_upstream_fault_open(const char *kind, unsigned listen, uint64_t seed, unsigned *called, char *error,
                                  size_t size);

#endif
