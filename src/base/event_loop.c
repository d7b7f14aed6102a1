/* SPDX-License-Identifier: Apache-2.0
 *
 * event_loop.c - one epoll set, an eventfd that ends the wait, and a timer heap.
 *
 * Idea:       Callers embed an aphi_watch for each descriptor; epoll stores its address. A round is one epoll_pwait2
 *             (timeouts in nanoseconds, no timerfd), one call for each ready descriptor, one for each due timer.
 * Invariants: 1. events[next] .. events[count - 1] are not handled yet, and name registered watches only
 *             2. while a watch is registered, `interest` equals the kernel's event mask
 * Cost:       no allocation and no system call per event. Unwatching scans the remaining events of the round.
 * Read next:  docs/decisions.md, "An event loop of our own" */
#include "base/event_loop.h"

#include "base/clock.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

static void drain_wake(void *context, void *data, uint32_t events)
{
    (void)context, (void)events;
    uint64_t count;
    if (read(((aphi_watch *)data)->fd, &count, sizeof count) < 0)
        return; /* EAGAIN: already drained */
}

bool aphi_event_loop_open(aphi_event_loop *l, void *context)
{
    l->context = context;
    l->epoll = epoll_create1(EPOLL_CLOEXEC);
    l->wake = (aphi_watch){.fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), .ready = drain_wake, .data = &l->wake};
    l->now_ns = aphi_clock_ns();
    if (l->epoll >= 0 && l->wake.fd >= 0 && aphi_event_loop_watch(l, &l->wake, EPOLLIN))
        return true;
    int failure = errno;
    aphi_event_loop_close(l);
    errno = failure;
    return false;
}

void aphi_event_loop_close(aphi_event_loop *l)
{
    if (l->context) {
        aphi_event_loop_close_watch(l, &l->wake);
        if (l->epoll >= 0)
            close(l->epoll);
    }
    aphi_timer_heap_deinit(&l->timers);
    l->context = NULL;
}

/* ---- watches ----------------------------------------------------------------------------------------------------- */

bool aphi_event_loop_watch(aphi_event_loop *l, aphi_watch *w, uint32_t interest)
{
    if (w->registered && w->interest == interest)
        return true;
    struct epoll_event e = {.events = interest, .data.ptr = w};
    if (epoll_ctl(l->epoll, w->registered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, w->fd, &e) != 0)
        return false;
    w->registered = true;
    w->interest = interest;
    return true;
}

static void discard_events(aphi_event_loop *l, const aphi_watch *w)
{
    for (int i = l->next; i < l->count; i++)
        if (l->events[i].data.ptr == w)
            l->events[i].data.ptr = NULL;
}

void aphi_event_loop_unwatch(aphi_event_loop *l, aphi_watch *w)
{
    if (!w->registered)
        return;
    epoll_ctl(l->epoll, EPOLL_CTL_DEL, w->fd, NULL);
    w->registered = false;
    discard_events(l, w);
}

void aphi_event_loop_close_watch(aphi_event_loop *l, aphi_watch *w)
{
    if (w->fd < 0)
        return;
    close(w->fd);
    w->fd = -1;
    if (w->registered)
        discard_events(l, w);
    w->registered = false;
}

/* ---- rounds ------------------------------------------------------------------------------------------------------ */

static int wait_for_events(aphi_event_loop *l, int64_t timeout_ns)
{
    int64_t due = aphi_timer_heap_when(&l->timers);
    if (due >= 0) {
        int64_t left = due - aphi_clock_ns();
        if (timeout_ns < 0 || left < timeout_ns)
            timeout_ns = left > 0 ? left : 0;
    }
    struct timespec timeout = {timeout_ns / 1000000000, timeout_ns % 1000000000};
    int n = epoll_pwait2(l->epoll, l->events, APHI_EVENT_LOOP_BATCH, timeout_ns < 0 ? NULL : &timeout, NULL);
    if (n < 0 && (errno == ENOSYS || errno == EPERM)) { /* before Linux 5.11, or filtered: use milliseconds */
        int64_t ms = timeout_ns < INT_MAX * INT64_C(1000000) ? (timeout_ns + 999999) / 1000000 : INT_MAX;
        n = epoll_wait(l->epoll, l->events, APHI_EVENT_LOOP_BATCH, timeout_ns < 0 ? -1 : (int)ms);
    }
    return n;
}

int aphi_event_loop_run_once(aphi_event_loop *l, int64_t timeout_ns)
{
    assert(l->next == l->count); /* a callback does not run the loop */
    int ready = wait_for_events(l, timeout_ns), failure = errno, calls = 0;
    if (ready < 0 && failure != EINTR)
        return -1;
    l->now_ns = aphi_clock_ns();
    l->count = ready > 0 ? ready : 0;
    for (l->next = 0; l->next < l->count;) {
        struct epoll_event e = l->events[l->next++];
        aphi_watch *w = e.data.ptr;
        if (!w)
            continue;
        calls += w != &l->wake;
        w->ready(l->context, w->data, e.events);
    }
    for (aphi_timer due; aphi_timer_heap_next(&l->timers, l->now_ns, &due); calls++)
        l->timer(l->context, &due);
    errno = failure;
    return ready < 0 ? -1 : calls;
}

void aphi_event_loop_stop(aphi_event_loop *l)
{
    int before = errno;
    uint64_t one = 1;
    l->stopping = 1;
    if (write(l->wake.fd, &one, sizeof one) < 0) {
        /* EAGAIN: the counter is full, so the wait ends anyway. */
    }
    errno = before;
}
