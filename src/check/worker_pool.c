/* SPDX-License-Identifier: Apache-2.0
 *
 * worker_pool.c - checks of many files in several processes.
 *
 * Idea:       workers are processes, because values belong to a thread, and a crash or an endless loop in one process
 *             does not affect the others. Each worker takes the next index from a counter in shared memory and writes
 *             lines to a pipe: "begin N", then "result N {...}". The last "begin" of a dead worker names the file that
 *             it was checking.
 * Not done:   threads, which could share nothing, and would all be lost if one crashed. */
#include "check/check_result.h"

#include "base/buffer.h"
#include "base/memory.h"
#include "base/process.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKERS_MAX = 256, POLL_MS = 200, OUT_OF_MEMORY = 3 /* exit code of a worker */ };

typedef struct pool {
    const aph_model *model;
    const char *const *paths;
    size_t count;
    const aph_check_options *options;
    aph_check_receiver *receive;
    void *context;
    _Atomic size_t *next; /* index of the next file, in shared memory */
} pool;

static bool is_stopped(const pool *p)
{
    return p->options->stop && *p->options->stop;
}

/* ---- in a worker ------------------------------------------------------------------------------------------------- */

/* Does not call _exit, which a program may replace to keep models from calling it. */
static _Noreturn void exit_worker(void)
{
    for (;;)
        syscall(SYS_exit_group, 0);
}

static void write_or_exit(int fd, const char *bytes, size_t n)
{
    if (aphi_write_all(fd, bytes, n) < n)
        exit_worker();
}

static void write_result(int fd, size_t file, const aph_check_result *r)
{
    aphi_buffer line = {0};
    size_t n;
    char *text = aph_json_text(aphi_check_result_pack(r), &n);
    aphi_buffer_format(&line, "result %zu ", file);
    aphi_buffer_add(&line, text, n);
    aphi_buffer_byte(&line, '\n');
    write_or_exit(fd, line.data, line.n);
    free(text);
    aphi_buffer_free(&line);
}

static _Noreturn void run_worker(const pool *p, int out)
{
    aphi_memory_set_exit(OUT_OF_MEMORY);
    aph_check_options options = *p->options;
    options.progress = NULL;
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    for (size_t i; (i = atomic_fetch_add(p->next, 1)) < p->count;) {
        char begin[32];
        write_or_exit(out, begin, (size_t)snprintf(begin, sizeof begin, "begin %zu\n", i));
        aph_check_result *r = aph_check_file(p->model, p->paths[i], &options);
        write_result(out, i, r);
        aph_check_result_free(r);
        aph_collect();
    }
    exit_worker();
}

/* ---- in the parent ----------------------------------------------------------------------------------------------- */

typedef struct worker {
    pid_t pid;
    int from;            /* pipe; -1 when the worker has closed it */
    aphi_buffer partial; /* bytes of an incomplete line */
    size_t busy_with;    /* index of the file; SIZE_MAX: none */
} worker;

static aph_check_result *dead_worker_result(const pool *p, size_t file, int status)
{
    char message[200];
    aph_check_result *r = aphi_check_result_make(p->paths[file], p->model->name);
    if (WIFEXITED(status) && WEXITSTATUS(status) == OUT_OF_MEMORY) {
        r->verdict = APH_CHECK_UNKNOWN;
        r->limit = APH_LIMIT_MEMORY;
        return r;
    }
    if (WIFSIGNALED(status))
        snprintf(message, sizeof message, "the worker that checked it was killed by signal %d (%s)", WTERMSIG(status),
                 strsignal(WTERMSIG(status)));
    else
        snprintf(message, sizeof message, "the worker that checked it exited with code %d", WEXITSTATUS(status));
    aphi_check_result_error(r, APH_CHECK_MODEL_CRASH, message);
    return r;
}

/* Returns false if the receiver stops. */
static bool take_line(const pool *p, worker *w, const char *line, size_t length)
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
    aph_check_result *r = aphi_check_result_unpack(value);
    if (!r)
        return true;
    w->busy_with = SIZE_MAX;
    return p->receive(p->context, file, r);
}

static bool read_worker(const pool *p, worker *w)
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
    aphi_buffer_add(&w->partial, bytes, (size_t)n);
    bool more = true;
    size_t at = 0;
    for (char *end; more && (end = memchr(w->partial.data + at, '\n', w->partial.n - at));
         at = (size_t)(end - w->partial.data) + 1)
        more = take_line(p, w, w->partial.data + at, (size_t)(end - w->partial.data) - at);
    memmove(w->partial.data, w->partial.data + at, w->partial.n - at);
    w->partial.n -= at;
    return more;
}

static bool start_worker(const pool *p, worker *workers, size_t started)
{
    int ends[2];
    worker *w = &workers[started];
    *w = (worker){.from = -1, .busy_with = SIZE_MAX};
    if (pipe(ends))
        return false;
    w->pid = aphi_process_fork();
    if (w->pid < 0) {
        close(ends[0]);
        close(ends[1]);
        return false;
    }
    if (w->pid == 0) {
        for (size_t i = 0; i < started; i++)
            close(workers[i].from);
        close(ends[0]);
        run_worker(p, ends[1]);
    }
    close(ends[1]);
    w->from = ends[0];
    return true;
}

/* Reads from all workers until each has closed its pipe. Returns false if the receiver ends the checks early. */
static bool read_workers(const pool *p, worker *workers, size_t count)
{
    for (;;) {
        struct pollfd pipes[WORKERS_MAX];
        size_t open = 0;
        for (size_t i = 0; i < count; i++) {
            pipes[i] = (struct pollfd){.fd = workers[i].from, .events = POLLIN};
            open += workers[i].from >= 0;
        }
        if (!open)
            return true;
        if (poll(pipes, (nfds_t)count, POLL_MS) < 0 && errno != EINTR)
            return false;
        if (is_stopped(p))
            return false;
        for (size_t i = 0; i < count; i++)
            if (workers[i].from >= 0 && pipes[i].revents && !read_worker(p, &workers[i]))
                return false;
    }
}

static void end_worker(const pool *p, worker *w, bool complete)
{
    int status = 0;
    if (!complete)
        kill(w->pid, SIGKILL);
    if (w->from >= 0)
        close(w->from);
    while (waitpid(w->pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (complete && w->busy_with != SIZE_MAX)
        p->receive(p->context, w->busy_with, dead_worker_result(p, w->busy_with, status));
    aphi_buffer_free(&w->partial);
}

static void run_here(const pool *p, size_t from)
{
    for (size_t i = from; i < p->count && !is_stopped(p); i++) {
        aph_check_result *r = aph_check_file(p->model, p->paths[i], p->options);
        if (is_stopped(p) && r->verdict != APH_CHECK_PASS && r->verdict != APH_CHECK_FAIL) {
            aph_check_result_free(r);
            return;
        }
        if (!p->receive(p->context, i, r))
            return;
    }
}

/* Returns true if the checks are to continue, with the files that no worker has taken, because workers crashed. */
static bool run_workers(const pool *p, size_t jobs)
{
    worker workers[WORKERS_MAX];
    size_t started = 0;
    while (started < jobs && start_worker(p, workers, started))
        started++;
    bool complete = read_workers(p, workers, started);
    for (size_t i = 0; i < started; i++)
        end_worker(p, &workers[i], complete);
    if (!started)
        run_here(p, atomic_load(p->next));
    return complete && started;
}

static void run_pool(pool *p, size_t jobs)
{
    p->next = mmap(NULL, sizeof *p->next, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p->next == MAP_FAILED) {
        run_here(p, 0);
        return;
    }
    atomic_store(p->next, 0);
    while (atomic_load(p->next) < p->count && run_workers(p, jobs))
        continue;
    munmap((void *)p->next, sizeof *p->next);
}

void aph_check_files(const aph_model *model, const char *const *paths, size_t count, const aph_check_options *options,
                     size_t jobs, aph_check_receiver *receive, void *context)
{
    static const aph_check_options defaults;
    pool p = {.model = model, .paths = paths, .count = count, .options = options ? options : &defaults,
              .receive = receive, .context = context};
    if (jobs > WORKERS_MAX)
        jobs = WORKERS_MAX;
    if (jobs > count)
        jobs = count;
    if (jobs > 1)
        run_pool(&p, jobs);
    else
        run_here(&p, 0);
}
