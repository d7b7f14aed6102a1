/* SPDX-License-Identifier: Apache-2.0
 *
 * upstream_fault.c - a fault proxy between the subject and the port on which the tester listens; see upstream_fault.h.
 *
 * The process `antiphon fault` is started, watched and stopped like a subject. It runs for a whole campaign: its only
 * state are its connections, which end with the subject's. */
#include "fault/upstream_fault.h"

#include "base/buffer.h"

#include <stdio.h>
#include <unistd.h>

aphi_subject *aphi_upstream_fault_open(const char *kind, unsigned listen, uint64_t seed, unsigned *called, char *error,
                                  size_t size)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    aphi_buffer run = {0};
    /* The kind was parsed, so it contains no quotes. */
    aphi_buffer_format(&run, "'%s' fault --listen {port} --target 127.0.0.1:%u --break '%s' --seed %llu", self,
                       listen, kind, (unsigned long long)seed);
    aphi_subject_options options = {.run = aphi_buffer_text(&run), .name = "the fault proxy", .abrupt = true};
    aphi_subject *s = aphi_subject_open(&options, error, size);
    aphi_buffer_free(&run);
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
