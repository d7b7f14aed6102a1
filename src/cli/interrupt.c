/* SPDX-License-Identifier: Apache-2.0
 *
 * interrupt.c - signals that end a command. */
#include "cli/interrupt.h"

#include "base/clock.h"
#include "tree/step_guard.h"

/* timeout(1) signals its child and then the child's process group, so a signal may arrive twice at once. */
enum { REPEAT_MS = 200 };

volatile sig_atomic_t aphi_interrupted;
static int64_t interrupted_ns;
static void (*stop_command)(void);

static void on_signal(int number)
{
    int64_t now_ns = aphi_clock_ns();
    if (aphi_interrupted && now_ns - interrupted_ns < REPEAT_MS * INT64_C(1000000))
        return;
    if (aphi_interrupted) {
        signal(number, SIG_DFL);
        raise(number);
    }
    aphi_interrupted = 1;
    interrupted_ns = now_ns;
    aphi_guard_call_off();
    if (stop_command)
        stop_command();
}

/* An empty handler, because child processes would inherit SIG_IGN. */
static void on_write_error(int number)
{
    (void)number;
}

void aphi_interrupt_watch(void (*stop)(void))
{
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    stop_command = stop;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    action.sa_handler = on_write_error;
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
}
