/* SPDX-License-Identifier: Apache-2.0
 *
 * clock.c - the monotonic clock, CPU time, idle time, and pauses. */
#include "base/clock.h"

#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int64_t aphi_clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t aphi_clock_cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t aphi_clock_idle_ns(void)
{
    char text[256];
    long long idle = 0;
    int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = 0;
    /* The fields after "cpu" are user, nice, system and idle. Some systems do not count them: all are 0. */
    if (sscanf(text, "cpu %*d %*d %*d %lld", &idle) != 1 || idle <= 0)
        return -1;
    return idle * (1000000000 / sysconf(_SC_CLK_TCK));
}

void aphi_clock_backoff(int64_t *ns)
{
    nanosleep(&(struct timespec){.tv_nsec = *ns}, NULL);
    *ns = *ns * 3 / 2 < 1000000 ? *ns * 3 / 2 : 1000000;
}
