/* SPDX-License-Identifier: Apache-2.0
 *
 * step_guard.c - deadlines that interrupt a model's step, and containment of its crashes.
 *
 * Idea:       a timer signal, a hundred times per second, sets a flag for the search once the deadline has passed, or a
 *             step has used too much CPU time or taken far too long. If the signal interrupts the model's code, it
 *             abandons the step by a jump. It never jumps out of library code: the next signal tries again, until it
 *             interrupts the model or the search has stopped. A model that is always inside the library is abandoned
 *             when the heap grows. The dynamic loader provides the address range of the model. A model linked into the
 *             same object as the library is abandoned at its next event instead.
 * Invariants: 1. a jump happens only between aphi_guard_enter and aphi_guard_leave
 *             2. on a deadline, only from an instruction of the model's object */
#include "tree/step_guard.h"

#include "base/clock.h"
#include "base/memory.h"
#include "solve/z3.h"
#include "value/heap.h"

#include <assert.h>
#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { ALTERNATE_STACK = 64 * 1024, TICK_NS = 10000000, FUNCTIONS = 16 /* a power of two */ };
int64_t aphi_guard_step_ns = 5000000000;
static const struct {
    int signal;
    const char *name;
} crashes[] = {{SIGSEGV, "invalid memory access (SIGSEGV)"}, {SIGBUS, "invalid memory access (SIGBUS)"},
               {SIGFPE, "arithmetic error (SIGFPE)"},        {SIGILL, "illegal instruction (SIGILL)"},
               {SIGABRT, "abort, such as a failed assertion"}};
enum { CRASHES = sizeof crashes / sizeof *crashes };

typedef struct code_range {
    uintptr_t low, high;
} code_range;

static _Thread_local struct {
    aphi_guarded *inside;
    volatile sig_atomic_t expired, stuck;
    const volatile sig_atomic_t *stop; /* or NULL */
    volatile uint64_t entered;    /* number of steps */
    uint64_t entered_at_tick;
    int64_t step_seen_ns, step_seen_cpu_ns; /* when a tick first saw the step */
    int64_t deadline_ns, deadline_cpu_ns;   /* 0: none */
    size_t memory;
    bool overfull;
    bool armed, timed;
    timer_t timer;
    code_range model_code, network_code, called_code;
    struct called_function {
        uintptr_t address;
        code_range code;
    } functions[FUNCTIONS];   /* a cache, by address */
    aph_fault call_fault;
    char call_message[160];
    void *alternate;
    stack_t old_stack;
    struct sigaction old_crash[CRASHES], old_tick;
} guard;

static volatile sig_atomic_t called_off;

bool aphi_guard_stopped(void)
{
    return called_off || (guard.stop && *guard.stop);
}

static uintptr_t interrupted_address(void *context)
{
    ucontext_t *c = context;
#if defined(__x86_64__)
    return (uintptr_t)c->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)c->uc_mcontext.pc;
#else
    (void)c;
    return 0;
#endif
}

static void check_times(int64_t now, int64_t cpu)
{
    if (!guard.inside || guard.entered != guard.entered_at_tick) {
        guard.step_seen_ns = now;
        guard.step_seen_cpu_ns = cpu;
        guard.entered_at_tick = guard.entered;
    }
    if (cpu - guard.step_seen_cpu_ns >= aphi_guard_step_ns ||
        now - guard.step_seen_ns >= APHI_GUARD_LOADED * aphi_guard_step_ns)
        guard.expired = guard.stuck = 1;
    if (aphi_guard_stopped() || (guard.deadline_ns && now >= guard.deadline_ns) ||
        (guard.deadline_cpu_ns && cpu >= guard.deadline_cpu_ns))
        guard.expired = 1;
}

static bool is_inside(code_range code, uintptr_t address)
{
    return address >= code.low && address < code.high;
}

/* Returns true if the running step or call is to be abandoned. */
static bool is_to_escape(void)
{
    return guard.inside && (guard.inside->call ? guard.stuck || aphi_guard_stopped() : guard.expired || called_off);
}

static void on_tick(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)info;
    check_times(aphi_clock_ns(), aphi_clock_cpu_ns());
    uintptr_t at = interrupted_address(context);
    if (!is_to_escape() || !(is_inside(guard.model_code, at) || is_inside(guard.network_code, at) ||
                             (guard.inside->call && is_inside(guard.called_code, at))))
        return;
    sigset_t tick; /* the jump does not restore the mask */
    sigemptyset(&tick);
    sigaddset(&tick, SIGRTMIN + 1);
    pthread_sigmask(SIG_UNBLOCK, &tick, NULL);
    siglongjmp(guard.inside->escape, APHI_ESCAPE_TIME);
}

static void on_crash(int signal_number, siginfo_t *info, void *context)
{
    (void)info;
    (void)context;
    if (aphi_z3_is_running())
        aphi_memory_exhausted("the solver crashed, usually because an allocation failed");
    int i = 0;
    while (crashes[i].signal != signal_number)
        i++;
    aphi_guard_crash(crashes[i].name);
    sigaction(signal_number, &guard.old_crash[i], NULL); /* a crash outside a step */
    raise(signal_number);
}

/* ---- the address range of the model ------------------------------------------------------------------------------ */

typedef struct range_search {
    uintptr_t address;
    code_range found;
} range_search;

static int find_in_object(struct dl_phdr_info *object, size_t size, void *context)
{
    (void)size;
    range_search *s = context;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        uintptr_t low = object->dlpi_addr + segment->p_vaddr, high = low + segment->p_memsz;
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) && s->address >= low && s->address < high) {
            s->found = (code_range){low, high};
            return 1;
        }
    }
    return 0;
}

static code_range code_around(uintptr_t address)
{
    range_search s = {.address = address};
    dl_iterate_phdr(find_in_object, &s);
    return s.found;
}

/* Returns an empty range for a function of the library. */
static code_range code_of_function(uintptr_t function)
{
    code_range its = code_around(function), ours = code_around((uintptr_t)aphi_guard_arm);
    return its.low == ours.low ? (code_range){0, 0} : its;
}

static code_range code_of(const aph_model *model)
{
    return code_of_function((uintptr_t)model->step);
}

/* ---- arming ------------------------------------------------------------------------------------------------------ */

static void catch_crashes(void)
{
    stack_t stack = {.ss_size = ALTERNATE_STACK};
    guard.alternate = stack.ss_sp = malloc(ALTERNATE_STACK);
    if (stack.ss_sp)
        sigaltstack(&stack, &guard.old_stack);
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    action.sa_sigaction = on_crash;
    sigemptyset(&action.sa_mask);
    for (int i = 0; i < CRASHES; i++)
        sigaction(crashes[i].signal, &action, &guard.old_crash[i]);
}

static void start_timer(void)
{
    /* A tick does not interrupt another: after the machine was suspended, they would fill the stack. */
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    action.sa_sigaction = on_tick;
    sigemptyset(&action.sa_mask);
    sigaction(SIGRTMIN + 1, &action, &guard.old_tick);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 1};
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    if (timer_create(CLOCK_MONOTONIC, &event, &guard.timer))
        return;
    guard.timed = true;
    struct itimerspec when = {.it_value = {0, TICK_NS}, .it_interval = {0, TICK_NS}};
    timer_settime(guard.timer, 0, &when, NULL);
}

/* Called when the heap grows, where library code can be abandoned. */
static void on_more_memory(void)
{
    bool overfull = guard.inside && !guard.inside->call && guard.memory && aphi_heap_size() > guard.memory;
    if (!(overfull || is_to_escape()) || aphi_z3_is_running())
        return;
    guard.overfull |= overfull;
    siglongjmp(guard.inside->escape, APHI_ESCAPE_TIME);
}

static void arm(code_range code, int64_t deadline_ns, size_t memory)
{
    aphi_guard_disarm();
    guard.armed = true;
    guard.expired = guard.stuck = 0;
    guard.entered_at_tick = UINT64_MAX;
    guard.deadline_ns = deadline_ns;
    guard.deadline_cpu_ns = 0;
    guard.memory = memory;
    guard.overfull = false;
    aphi_heap_watch = on_more_memory;
    guard.model_code = code;
    guard.network_code = (code_range){0, 0};
    catch_crashes();
    start_timer();
}

void aphi_guard_arm(const aph_model *model, int64_t deadline_ns, size_t memory)
{
    arm(code_of(model), deadline_ns, memory);
}

void aphi_guard_include(const aph_model *network)
{
    guard.network_code = code_of(network);
}

void aphi_guard_limit_cpu(int64_t ns)
{
    guard.deadline_cpu_ns = aphi_clock_cpu_ns() + ns;
}

void aphi_guard_disarm(void)
{
    if (!guard.armed)
        return;
    if (guard.timed) {
        timer_delete(guard.timer);
        sigaction(SIGRTMIN + 1, &guard.old_tick, NULL);
    }
    for (int i = 0; i < CRASHES; i++)
        sigaction(crashes[i].signal, &guard.old_crash[i], NULL);
    if (guard.alternate)
        sigaltstack(&guard.old_stack, NULL);
    free(guard.alternate);
    guard.alternate = NULL;
    aphi_heap_watch = NULL;
    guard.armed = guard.timed = false;
    guard.expired = guard.stuck = 0;
}

bool aphi_guard_expired(void)
{
    return guard.expired || called_off;
}

void aphi_guard_watch(const volatile sig_atomic_t *stop)
{
    guard.stop = stop;
}

void aphi_guard_call_off(void)
{
    called_off = 1;
}

void aphi_guard_resume(void)
{
    called_off = 0;
}

bool aphi_guard_overfull(void)
{
    return guard.overfull;
}

bool aphi_guard_stuck(void)
{
    return guard.stuck;
}

void aphi_guard_enter(aphi_guarded *g)
{
    g->crash = g->call = NULL;
    g->outer = guard.inside;
    guard.entered++;
    guard.inside = g;
}

void aphi_guard_leave(aphi_guarded *g)
{
    assert(guard.inside == g);
    guard.inside = g->outer;
}

void aphi_guard_crash(const char *what)
{
    if (!guard.inside)
        return;
    guard.inside->crash = what;
    siglongjmp(guard.inside->escape, APHI_ESCAPE_CRASH);
}

/* ---- other functions of a model ---------------------------------------------------------------------------------- */

static code_range called_code(uintptr_t function)
{
    struct called_function *f = &guard.functions[function / 16 % FUNCTIONS];
    if (f->address != function)
        *f = (struct called_function){function, code_of_function(function)};
    return f->code;
}

bool aphi_guard_begin_call(aphi_guarded *g, const char *name, void (*function)(void))
{
    code_range code = called_code((uintptr_t)function);
    bool is_ours = !code.high;
    g->call = NULL;
    if (is_ours || guard.inside)
        return true;
    if (guard.call_fault)
        return false;
    if (!guard.armed)
        arm((code_range){0, 0}, 0, 0);
    guard.called_code = code;
    aphi_guard_enter(g);
    g->call = name;
    g->has_ended = false;
    return true;
}

static void keep_fault(aph_fault fault, const char *name, const char *what)
{
    guard.call_fault = fault;
    snprintf(guard.call_message, sizeof guard.call_message, "%s: %s", name, what);
}

void aphi_guard_end_call(aphi_guarded *g)
{
    if (!g->call)
        return;
    aphi_guard_leave(g);
    if (g->has_ended)
        return;
    if (g->crash)
        keep_fault(APH_FAULT_CRASH, g->call, g->crash);
    else if (guard.stuck)
        keep_fault(APH_FAULT_STUCK, g->call, "it does not end");
    guard.stuck = guard.expired = 0;
}

aph_fault aphi_guard_call_fault(const char **message)
{
    *message = guard.call_message;
    return guard.call_fault;
}

void aphi_guard_forget_call_fault(void)
{
    guard.call_fault = APH_FAULT_NONE;
}
