/* SPDX-License-Identifier: Apache-2.0
 *
 * mutation_runner.c - building and testing of mutants; see mutation_runner.h.
 *
 * Idea:       build and test the original first: if it fails, every mutant would fail. Then build all mutants, several
 *             at a time. In the order of their numbers, drop mutants with the same object code as the original or an
 *             earlier mutant, so that the result does not depend on the order in which builds end. Test the others.
 * Invariants: 1. slot k of the pool is free or has one watcher process (subprocess.h); there are no other children
 *             2. each file begins with a #line directive that names the original, so that __FILE__ and __LINE__, and
 *                the object code, differ from the original's only by the mutation
 * Cost:       the programs of distinct mutants stay on disk until they are tested. */
#include "mutate/mutation_runner.h"

#include "base/memory.h"
#include "mutate/subprocess.h"
#include "mutate/objcode.h"

#include <assert.h>
#include <errno.h>
#include <ftw.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define MS INT64_C(1000000)
#define BUILD_NS (120 * 1000 * MS)
#define ORIGINAL SIZE_MAX /* in place of a mutant's index */

enum { OUTPUT_SHOWN = 2000 };

typedef struct slot {
    pid_t pid; /* 0: free */
    size_t mutant;
} slot;

typedef struct runner {
    const aphi_mutation_options *o;
    const aphi_mutants *mutants;
    aphi_mutant_verdict *verdicts;
    aphi_buffer *error;
    char *folder, *includes, *name; /* name: of the source, without its folder */
    slot *slots;
    aphi_subprocess_end *ends; /* one per slot, shared with the watchers */
    bool testing, failed;
    aphi_subprocess_end original; /* the end of the original's build or test */
    uint64_t original_hash;
} runner;

/* ---- files ------------------------------------------------------------------------------------------------------- */

static char *path_in(const runner *m, size_t mutant, const char *name)
{
    aphi_buffer path = {0};
    aphi_buffer_format(&path, "%s/%zu%s%s", m->folder, mutant == ORIGINAL ? 0 : m->mutants->items[mutant].number,
                       *name ? "/" : "", name);
    return aphi_buffer_text(&path);
}

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *where)
{
    (void)about, (void)type, (void)where;
    return remove(path);
}

static void remove_tree(const char *path) { nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT); }

static void remove_mutant(const runner *m, size_t mutant)
{
    char *path = path_in(m, mutant, "");
    remove_tree(path);
    free(path);
}

static bool write_source(const runner *m, size_t mutant)
{
    aphi_buffer text = {0};
    char *folder = path_in(m, mutant, ""), *path = path_in(m, mutant, m->name);
    aphi_buffer_str(&text, "#line 1 ");
    aphi_mutant_add_quoted(&text, m->o->path);
    aphi_buffer_byte(&text, '\n');
    aphi_mutant_write(&text, m->o->text, m->o->size, mutant == ORIGINAL ? NULL : &m->mutants->items[mutant]);
    bool written = mkdir(folder, 0700) == 0 && aphi_buffer_save(&text, path);
    if (!written)
        aphi_buffer_format(m->error, "%s: cannot be written: %s", path, strerror(errno));
    aphi_buffer_free(&text);
    free(folder);
    free(path);
    return written;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

/* Replaces the words in braces. The caller frees the result. */
static char *expand_command(const runner *m, const char *command, size_t mutant)
{
    char *paths[] = {path_in(m, mutant, m->name), path_in(m, mutant, "program"), path_in(m, mutant, "")};
    static const char *const words[] = {"{source}", "{program}", "{folder}"};
    aphi_buffer text = {0};
    while (*command) {
        size_t i = 0;
        while (i < 3 && strncmp(command, words[i], strlen(words[i])) != 0)
            i++;
        if (i < 3)
            aphi_buffer_str(&text, paths[i]);
        else
            aphi_buffer_byte(&text, *command);
        command += i < 3 ? strlen(words[i]) : 1;
    }
    for (size_t i = 0; i < 3; i++)
        free(paths[i]);
    return aphi_buffer_text(&text);
}

static bool start_job(runner *m, size_t k, size_t mutant)
{
    if (!m->testing && !write_source(m, mutant))
        return false;
    char *command = expand_command(m, m->testing ? m->o->test : m->o->build, mutant);
    char *output = mutant == ORIGINAL ? path_in(m, mutant, "output") : NULL;
    aphi_subprocess job = {.command = command, .output = output, .includes = m->testing ? NULL : m->includes,
                    .limit_ns = m->testing ? m->o->limit_ns : BUILD_NS, .end = &m->ends[k]};
    pid_t pid = aphi_subprocess_start(&job);
    if (pid < 0)
        aphi_buffer_format(m->error, "cannot start a process: %s", strerror(errno));
    m->slots[k] = (slot){pid > 0 ? pid : 0, mutant};
    free(command);
    free(output);
    return pid > 0;
}

static bool succeeded(const aphi_subprocess_end *end)
{
    return !end->timed_out && WIFEXITED(end->status) && WEXITSTATUS(end->status) == 0;
}

static void read_code(const runner *m, size_t mutant, aphi_buffer *code)
{
    char *path = path_in(m, mutant, "program");
    if (!aphi_objcode_read(path, code))
        *code = (aphi_buffer){0};
    free(path);
}

static void take_build(runner *m, size_t mutant, const aphi_subprocess_end *end)
{
    aphi_buffer code = {0};
    if (succeeded(end))
        read_code(m, mutant, &code);
    if (code.n == 0) {
        m->verdicts[mutant].outcome = APHI_MUTANT_BROKEN;
        remove_mutant(m, mutant);
    } else {
        m->verdicts[mutant].hash = aphi_hash_bytes(code.data, code.n);
    }
    aphi_buffer_free(&code);
}

static void take_end(runner *m, size_t mutant, const aphi_subprocess_end *end)
{
    if (end->cancelled)
        return;
    if (!end->known) {
        m->failed = true;
        aphi_buffer_str(m->error, "the watcher process of a mutant was killed");
    } else if (mutant == ORIGINAL) {
        m->original = *end;
    } else if (!m->testing) {
        take_build(m, mutant, end);
    } else {
        m->verdicts[mutant].outcome = end->timed_out ? APHI_MUTANT_TIMED_OUT :
                                   succeeded(end) ? APHI_MUTANT_SURVIVED : APHI_MUTANT_KILLED;
        remove_mutant(m, mutant);
    }
}

/* ---- the pool ---------------------------------------------------------------------------------------------------- */

static bool is_stopped(const runner *m) { return m->failed || (m->o->stop && *m->o->stop); }

/* Waits up to 100 ms for a job to end. Returns the number of ended jobs. */
static size_t collect_ended(runner *m)
{
    sigset_t child;
    size_t ended = 0;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigtimedwait(&child, NULL, &(struct timespec){.tv_nsec = 100 * MS});
    for (pid_t pid; (pid = waitpid(-1, NULL, WNOHANG)) > 0;) {
        for (size_t k = 0; k < m->o->jobs; k++) {
            if (m->slots[k].pid != pid)
                continue;
            m->slots[k].pid = 0;
            take_end(m, m->slots[k].mutant, &m->ends[k]);
            ended++;
        }
    }
    return ended;
}

/* Starts a job in each free slot. Returns false if no job runs. */
static bool fill_slots(runner *m, const size_t *order, size_t n, size_t *next)
{
    bool running = false;
    for (size_t k = 0; k < m->o->jobs; k++) {
        if (m->slots[k].pid == 0 && *next < n && !is_stopped(m) && !start_job(m, k, order[(*next)++]))
            m->failed = true;
        running |= m->slots[k].pid > 0;
    }
    return running;
}

static void run_jobs(runner *m, const char *phase, const size_t *order, size_t n)
{
    size_t next = 0, done = 0;
    while (fill_slots(m, order, n, &next)) {
        if (m->o->progress)
            m->o->progress(phase, done, n);
        for (size_t k = 0; k < m->o->jobs && is_stopped(m); k++)
            if (m->slots[k].pid > 0)
                kill(m->slots[k].pid, SIGTERM);
        done += collect_ended(m);
    }
}

/* ---- the original ------------------------------------------------------------------------------------------------ */

static void add_output(const runner *m)
{
    aphi_buffer output = {0};
    char *path = path_in(m, ORIGINAL, "output");
    aphi_buffer_load(&output, path, SIZE_MAX);
    size_t from = output.n > OUTPUT_SHOWN ? output.n - OUTPUT_SHOWN : 0;
    while (output.n > from && output.data[output.n - 1] == '\n')
        output.n--;
    if (output.n > from) {
        aphi_buffer_str(m->error, "; output:\n");
        aphi_buffer_add(m->error, output.data + from, output.n - from);
    }
    aphi_buffer_free(&output);
    free(path);
}

static void add_end(const runner *m, int64_t limit_ns)
{
    int status = m->original.status;
    if (m->original.timed_out)
        aphi_buffer_format(m->error, "it takes longer than %.3g s", (double)limit_ns / (1000 * (double)MS));
    else if (WIFSIGNALED(status))
        aphi_buffer_format(m->error, "signal %d", WTERMSIG(status));
    else
        aphi_buffer_format(m->error, "status %d", WEXITSTATUS(status));
}

/* Returns false with the reason in *end if the phase was stopped or failed. */
static bool run_original_phase(runner *m, bool testing, aphi_mutation_end *end)
{
    size_t original = ORIGINAL;
    aphi_buffer code = {0};
    m->testing = testing;
    run_jobs(m, testing ? "testing the original" : "building the original", &original, 1);
    m->testing = false;
    *end = m->failed ? APHI_MUTATION_SYSTEM_ERROR : APHI_MUTATION_STOPPED;
    if (is_stopped(m))
        return false;
    bool exited_0 = succeeded(&m->original);
    if (exited_0 && !testing)
        read_code(m, ORIGINAL, &code);
    if (!testing)
        m->original_hash = aphi_hash_bytes(code.data, code.n);
    bool built = code.n > 0;
    aphi_buffer_free(&code);
    if (testing ? exited_0 : built)
        return true;
    *end = testing ? APHI_MUTATION_TEST : APHI_MUTATION_BUILD;
    aphi_buffer_format(m->error, "%s: the original %s: ", m->o->path, testing ? "fails the test" : "does not build");
    if (exited_0)
        aphi_buffer_str(m->error, "the command does not create {program}");
    else
        add_end(m, testing ? m->o->limit_ns : BUILD_NS);
    add_output(m);
    return false;
}

/* ---- the mutants ------------------------------------------------------------------------------------------------- */

static bool same_code(const runner *m, size_t a, size_t b)
{
    aphi_buffer left, right;
    read_code(m, a, &left);
    read_code(m, b, &right);
    bool same = left.n > 0 && left.n == right.n && !memcmp(left.data, right.data, left.n);
    aphi_buffer_free(&left);
    aphi_buffer_free(&right);
    return same;
}

/* Compares the object code with that of the original and of the earlier distinct mutants. */
static bool is_duplicate(runner *m, const size_t *distinct, size_t n, size_t mutant)
{
    aphi_mutant_verdict *v = &m->verdicts[mutant];
    if (v->hash == m->original_hash && same_code(m, ORIGINAL, mutant)) {
        v->outcome = APHI_MUTANT_SAME;
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        if (m->verdicts[distinct[i]].hash == v->hash && same_code(m, distinct[i], mutant)) {
            v->outcome = APHI_MUTANT_DUPLICATE;
            v->duplicate_of = m->mutants->items[distinct[i]].number;
            return true;
        }
    }
    return false;
}

/* Keeps the mutants that are to be tested. Returns their number. */
static size_t keep_distinct(runner *m, size_t *order, size_t n)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (m->verdicts[order[i]].outcome != APHI_MUTANT_NONE)
            continue;
        if (is_duplicate(m, order, kept, order[i]))
            remove_mutant(m, order[i]);
        else
            order[kept++] = order[i];
    }
    return kept;
}

static aphi_mutation_end run_mutants(runner *m, const bool *selected)
{
    size_t *order = aphi_alloc((m->mutants->n + 1) * sizeof *order), n = 0;
    for (size_t i = 0; i < m->mutants->n; i++)
        if (selected[i])
            order[n++] = i;
    run_jobs(m, "building", order, n);
    if (!is_stopped(m)) {
        n = keep_distinct(m, order, n);
        m->testing = true;
        run_jobs(m, "testing", order, n);
    }
    free(order);
    return m->failed ? APHI_MUTATION_SYSTEM_ERROR : is_stopped(m) ? APHI_MUTATION_STOPPED : APHI_MUTATION_DONE;
}

/* ---- setting up ------------------------------------------------------------------------------------------------- */

static bool make_folder(runner *m)
{
    const char *root = getenv("TMPDIR");
    aphi_buffer path = {0};
    aphi_buffer_format(&path, "%s/antiphon-mutate-XXXXXX", root && *root == '/' ? root : "/tmp");
    m->folder = aphi_buffer_text(&path);
    const char *special = " \t\n\"'\\$`&|;<>()*?[]{}!#~";
    if (strpbrk(m->folder, special) || strpbrk(m->name, special)) {
        aphi_buffer_format(m->error, "%s/%s: special characters in the path; rename the source, or set TMPDIR to "
                           "another folder", m->folder, m->name);
        return false;
    }
    if (mkdtemp(m->folder))
        return true;
    aphi_buffer_format(m->error, "%s: cannot create the temporary folder: %s", m->folder, strerror(errno));
    return false;
}

/* Sets the absolute folder of the source, where its headers are, and its name. */
static void find_names(runner *m)
{
    char *copy = aphi_copy(m->o->path, strlen(m->o->path) + 1), *real = realpath(m->o->path, NULL);
    const char *name = basename(copy);
    m->name = aphi_copy(name, strlen(name) + 1);
    const char *folder = real ? dirname(real) : "/";
    m->includes = aphi_copy(folder, strlen(folder) + 1);
    free(copy);
    free(real);
}

aphi_mutation_end aphi_mutation_run(const aphi_mutation_options *options, const aphi_mutants *mutants,
                                    const bool *selected, aphi_mutant_verdict *verdicts, aphi_buffer *error)
{
    runner m = {.o = options, .mutants = mutants, .verdicts = verdicts, .error = error};
    size_t shared = options->jobs * sizeof *m.ends;
    sigset_t child, old;
    aphi_mutation_end end = APHI_MUTATION_SYSTEM_ERROR;
    assert(options->jobs > 0);
    memset(verdicts, 0, mutants->n * sizeof *verdicts);
    find_names(&m);
    m.slots = aphi_alloc_zero(options->jobs * sizeof *m.slots);
    m.ends = mmap(NULL, shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert(m.ends != MAP_FAILED);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, &old);
    if (make_folder(&m)) {
        if (run_original_phase(&m, false, &end) && run_original_phase(&m, true, &end))
            end = run_mutants(&m, selected);
        remove_tree(m.folder);
    }
    sigprocmask(SIG_SETMASK, &old, NULL);
    munmap(m.ends, shared);
    free(m.slots);
    free(m.folder);
    free(m.name);
    free(m.includes);
    return end;
}
