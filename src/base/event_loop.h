/* SPDX-License-Identifier: Apache-2.0
 *
 * event_loop.h - readiness of descriptors and timers, for one thread. */
#ifndef APHI_BASE_EVENT_LOOP_H
#define APHI_BASE_EVENT_LOOP_H

#include "base/timer_heap.h"

#include <signal.h>
#include <sys/epoll.h>

enum { APHI_EVENT_LOOP_BATCH = 256 }; /* descriptors handled in one round */

/* A watched descriptor, embedded in a structure of the caller. It must not move while it is watched. */
typedef struct aphi_watch {
    int fd;                /* -1: none */
    bool registered;
    uint32_t interest;     /* epoll events: EPOLLIN, EPOLLOUT, EPOLLRDHUP */
    void (*ready)(void *context, void *data, uint32_t events); /* context: the context of the loop */
    void *data;
} aphi_watch;

typedef struct aphi_event_loop {
    void *context;         /* passed to all callbacks */
    void (*timer)(void *context, const aphi_timer *due); /* may be NULL if there are no timers */
    aphi_timer_heap timers; /* aphi_timer_heap_add starts a timer */
    int64_t now_ns;        /* the clock after the latest wait */
    volatile sig_atomic_t stopping; /* set by aphi_event_loop_stop; the caller checks it between rounds and resets it */
    int epoll;
    aphi_watch wake;
    int next, count;       /* the events of this round that are not handled yet */
    struct epoll_event events[APHI_EVENT_LOOP_BATCH];
} aphi_event_loop;

/* Returns false with errno if no descriptor is left. The loop must not move afterwards. */
bool aphi_event_loop_open(aphi_event_loop *l, void *context);
/* Closes the loop, but not the watched descriptors. Also valid for a loop that is all zero or failed to open. */
void aphi_event_loop_close(aphi_event_loop *l);

/* Watches w->fd, level-triggered, or changes its interest. With an interest of 0, EPOLLERR and EPOLLHUP are still
 * reported. Makes no system call if nothing changes. Returns false with errno if the descriptor cannot be added. */
bool aphi_event_loop_watch(aphi_event_loop *l, aphi_watch *w, uint32_t interest);
/* Stops watching. Events of this round that are not handled yet are discarded: w may be freed at once. */
void aphi_event_loop_unwatch(aphi_event_loop *l, aphi_watch *w);
/* Stops watching by closing the descriptor, which saves a system call. Sets w->fd to -1. */
void aphi_event_loop_close_watch(aphi_event_loop *l, aphi_watch *w);

/* Waits until a descriptor is ready or a timer is due, at most timeout_ns (negative: no limit), then calls `ready` of
 * each ready descriptor and `timer` for each due timer. Returns the number of calls; 0 after a timeout or
 * aphi_event_loop_stop; -1 with errno if the wait failed, or if a signal interrupted it (due timers were handled). */
int aphi_event_loop_run_once(aphi_event_loop *l, int64_t timeout_ns);
/* Sets `stopping` and ends the wait. For signal handlers and other threads. */
void aphi_event_loop_stop(aphi_event_loop *l);

#endif
