/* SPDX-License-Identifier: Apache-2.0
 *
 * interrupt.h - signals that end a command. */
#ifndef APHI_CLI_INTERRUPT_H
#define APHI_CLI_INTERRUPT_H

#include <signal.h>

/* Set by the first SIGINT, SIGTERM or SIGHUP. */
extern volatile sig_atomic_t aphi_interrupted;

/* Handles the signals from now on. The first sets aphi_interrupted, ends the running step of a model and calls `stop`
 * (async-signal-safe, or NULL): the command shuts down cleanly. A second one, at least 200 ms later, kills the subjects
 * and the process. SIGPIPE and SIGXFSZ have no effect: write() reports these errors. */
void aphi_interrupt_watch(void (*stop)(void));

#endif
