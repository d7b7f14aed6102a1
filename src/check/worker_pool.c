/* SPDX-License-Identifier: Apache-2.0
 *
 * worker_pool.c - judge many files, several at a time.
 *
 * Idea:       workers are processes: values are a thread's own, and a crash or a runaway in one takes no other along.
 *             Each takes the next number from a counter in shared memory and sends back lines of JSON through a pipe:
 *             "begin N", then "result N {...}". What a dead worker had begun is known from what it said.
 * Not done:   threads: they would share nothing but the risk. */
#include "check/worker_pool.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "check/exit_guard.h"
#include "tree/guard.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupted = 1;
    aphi_guard_call_off();
}

bool aphi_worker_pool_interrupted(void)
{
    return interrupted;
}

static void listen_for_interrupts(void)
{
    struct sigaction action = {.sa_handler = on_interrupt};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* ---- in a worker ------------------------------------------------------------------------------------------------- */

static bool write_all(int fd, const char *bytes, size_t n)
{
    while (n) {
        ssize_t w = write(fd, bytes, n);
        if (w < 0 && errno != EINTR)
            return false;
        if (w > 0) {
            bytes += w;
            n -= (size_t)w;
        }
    }
    return true;
}

static void work(const aph_model *model, size_t n, char **files, const aphi_check_options *options,
                 _Atomic size_t *next, int out)
{
    aphi_check_options mine = *options;
    mine.progress = NULL;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    for (size_t i; (i = atomic_fetch_add(next, 1)) < n;) {
        char begin[32];
        int length = snprintf(begin, sizeof begin, "begin %zu\n", i);
        if (!write_all(out, begin, (size_t)length))
            aphi_exit_guard_exit(0);
        aphi_buffer line = {0};
        size_t text_length;
        char *text = aph_json_text(aphi_check_trace(model, files[i], &mine), &text_length);
        aphi_buffer_format(&line, "result %zu ", i);
        aphi_buffer_add(&line, text, text_length);
        aphi_buffer_byte(&line, '\n');
        bool sent = write_all(out, line.data, line.n);
        free(text);
        aphi_buffer_free(&line);
        if (!sent)
            aphi_exit_guard_exit(0);
        aph_collect();
    }
    aphi_exit_guard_exit(0);
}

/* ---- at home ----------------------------------------------------------------------------------------------------- */

typedef struct worker {
    pid_t pid;
    int from;
    aphi_buffer heard;
    size_t busy_with; /* SIZE_MAX: nothing */
} worker;

static aph_value died(const char *file, int status)
{
    aph_value message = WIFSIGNALED(status)
                            ? aph_strf("the worker that judged it was ended by signal %d (%s)", WTERMSIG(status),
                                       strsignal(WTERMSIG(status)))
                            : aph_strf("the worker that judged it ended with code %d", WEXITSTATUS(status));
    return aph_record("file", aph_str(file), "verdict", aph_str("error"), "exit", aph_int(APHI_EXIT_MODEL_CRASH),
                      "error", aph_record("message", message));
}

/* One line that a worker sent. */
static bool hear_line(worker *w, const char *line, size_t length, aphi_worker_pool_result *result, void *context)
{
    size_t file = 0;
    int skipped = 0;
    aph_value value;
    char head[40];
    snprintf(head, sizeof head, "%.*s", (int)(length < sizeof head - 1 ? length : sizeof head - 1), line);
    if (sscanf(head, "begin %zu", &file) == 1) {
        w->busy_with = file;
        return true;
    }
    if (sscanf(head, "result %zu %n", &file, &skipped) != 1 ||
        !aph_json_read(line + skipped, length - (size_t)skipped, &value, NULL))
        return true;
    w->busy_with = SIZE_MAX;
    return result(context, file, value);
}

static bool hear(worker *w, aphi_worker_pool_result *result, void *context)
{
    char bytes[65536];
    ssize_t n = read(w->from, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR)
        return true;
    if (n <= 0) {
        close(w->from);
        w->from = -1;
        return true;
    }
    aphi_buffer_add(&w->heard, bytes, (size_t)n);
    bool on = true;
    size_t at = 0;
    for (char *end; on && (end = memchr(w->heard.data + at, '\n', w->heard.n - at));
         at = (size_t)(end - w->heard.data) + 1)
        on = hear_line(w, w->heard.data + at, (size_t)(end - w->heard.data) - at, result, context);
    memmove(w->heard.data, w->heard.data + at, w->heard.n - at);
    w->heard.n -= at;
    return on;
}

static bool hire(worker *w, worker *others, size_t hired, const aph_model *model, size_t n, char **files,
                 const aphi_check_options *options, _Atomic size_t *next)
{
    int ends[2];
    *w = (worker){.from = -1, .busy_with = SIZE_MAX};
    if (pipe(ends))
        return false;
    fflush(NULL);
    w->pid = fork();
    if (w->pid < 0) {
        close(ends[0]);
        close(ends[1]);
        return false;
    }
    if (w->pid == 0) {
        for (size_t i = 0; i < hired; i++)
            close(others[i].from);
        close(ends[0]);
        work(model, n, files, options, next, ends[1]);
    }
    close(ends[1]);
    w->from = ends[0];
    return true;
}

/* Listen to all until all have hung up. False if told to stop. */
static bool attend(worker *workers, size_t count, aphi_worker_pool_result *result, void *context)
{
    for (;;) {
        struct pollfd ears[256];
        size_t open = 0;
        for (size_t i = 0; i < count; i++) {
            ears[i] = (struct pollfd){.fd = workers[i].from, .events = POLLIN};
            open += workers[i].from >= 0;
        }
        if (!open)
            return true;
        if (poll(ears, (nfds_t)count, 200) < 0 && errno != EINTR)
            return false;
        if (interrupted)
            return false;
        for (size_t i = 0; i < count; i++)
            if (workers[i].from >= 0 && ears[i].revents && !hear(&workers[i], result, context))
                return false;
    }
}

static void run_crew(const aph_model *model, size_t n, char **files, const aphi_check_options *options, size_t jobs,
                     aphi_worker_pool_result *result, void *context)
{
    worker workers[256];
    size_t hired = 0;
    _Atomic size_t *next = mmap(NULL, sizeof *next, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (next == MAP_FAILED)
        return;
    atomic_store(next, 0);
    while (hired < jobs && hire(&workers[hired], workers, hired, model, n, files, options, next))
        hired++;
    bool on = attend(workers, hired, result, context);
    for (size_t i = 0; i < hired; i++) {
        int status = 0;
        if (!on)
            kill(workers[i].pid, SIGKILL);
        if (workers[i].from >= 0)
            close(workers[i].from);
        while (waitpid(workers[i].pid, &status, 0) < 0 && errno == EINTR)
            ;
        if (on && workers[i].busy_with != SIZE_MAX)
            result(context, workers[i].busy_with, died(files[workers[i].busy_with], status));
        aphi_buffer_free(&workers[i].heard);
    }
    munmap((void *)next, sizeof *next);
}

void aphi_worker_pool_run(const aph_model *model, size_t n, char **files, const aphi_check_options *options,
                          size_t jobs, aphi_worker_pool_result *result, void *context)
{
    listen_for_interrupts();
    if (jobs > 256)
        jobs = 256;
    if (jobs > n)
        jobs = n;
    if (jobs > 1) {
        run_crew(model, n, files, options, jobs, result, context);
        return;
    }
    for (size_t i = 0; i < n && !interrupted; i++) {
        aph_value judged = aphi_check_trace(model, files[i], options);
        aph_value verdict = aph_field(judged, "verdict");
        bool certain = aph_str_is(verdict, "pass") || aph_str_is(verdict, "fail");
        if ((interrupted && !certain) || !result(context, i, judged))
            return;
    }
}
