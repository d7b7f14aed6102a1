/* SPDX-License-Identifier: Apache-2.0
 *
 * upstream_fault.c - a fault proxy between the subject and the port on which the tester listens; see upstream_fault.h.
 *
 * The process `antiphon fault` is started, watched and stopped like a subject. It runs for a whole campaign: its only
 * state is its connections, which end with those of the subject. */
#include "fault/upstream_fault.h"

#include "base/process.h"
#include "base/plain_text.h"
#include "subject/presets.h"

#include <stdio.h>

void aphi_fault_command(aphi_buffer *out, const char *port, const char *kind, uint64_t seed)
{
    char self[PATH_MAX];
    aphi_quote(out, aphi_process_self(self));
    aphi_buffer_format(out, " fault --listen {port} --target 127.0.0.1:%s --break ", port);
    aphi_quote(out, kind);
    aphi_buffer_format(out, " --seed %llu", (unsigned long long)seed);
}

aphi_subject *aphi_upstream_fault_open(const char *kind, unsigned listen, uint64_t seed, unsigned *called, char *error,
                                  size_t size)
{
    char target[16];
    snprintf(target, sizeof target, "%u", listen);
    aphi_buffer command = {0};
    aphi_fault_command(&command, target, kind, seed);
    aphi_subject_options options = {.run = aphi_buffer_text(&command), .name = "the fault proxy", .abrupt = true};
    aphi_subject *s = aphi_subject_open(&options, error, size);
    aphi_buffer_free(&command);
    if (!s)
        return NULL;
    if (!aphi_subject_reset(s, error, size)) {
        aphi_subject_close(s);
        return NULL;
    }
    socklen_t length;
    *called = ntohs(((const struct sockaddr_in *)aphi_subject_address(s, &length))->sin_port);
    return s;
}
