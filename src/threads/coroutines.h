/* SPDX-License-Identifier: Apache-2.0
 *
 * coroutines.h - the threads of a controlled run: they have stacks of their own, and one of them runs at a time.
 *
 * A switch costs less than a microsecond, while waking a thread of the operating system takes several. */
#ifndef APHI_THREADS_COROUTINES_H
#define APHI_THREADS_COROUTINES_H

enum { APHI_COROUTINE_MAIN = -1 };

/* Reserves stacks for coroutines 0 .. count - 1, with the size and the guard page of a thread's. */
void aphi_coroutines_reserve(unsigned count);
/* Makes the coroutine; it begins with body(argument) when it is switched to. The body must not return. */
void aphi_coroutines_make(unsigned number, void (*body)(void *argument), void *argument);
/* To be called for a coroutine that does not run any more. */
void aphi_coroutines_drop(unsigned number);
/* Runs the coroutine, or the caller of the first switch (APHI_COROUTINE_MAIN), until it switches back. */
void aphi_coroutines_switch(int to);

#endif
