/* SPDX-License-Identifier: Apache-2.0
 *
 * coroutines.c - the threads of a controlled run, on stacks of their own.
 *
 * Idea:       contexts of the C library (swapcontext). Thread-local variables of the program are those of the only
 *             thread, so their block is saved and loaded at each switch.
 * Sanitizers: they must know of a switch. Their functions are used if the program has them. The thread sanitizer then
 *             treats coroutines as threads, which only the lock of control.c synchronizes.
 * Not done:   the thread-local variables of shared libraries, such as errno, are common to all coroutines. */
#include "coroutines.h"

#include "threads_internal.h"

#include <dlfcn.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

/* The thread sanitizer must not see how the library switches between its threads. */
#define NOT_SANITIZED __attribute__((no_sanitize("thread")))

void __sanitizer_start_switch_fiber(void **fake_stack, const void *stack, size_t size) __attribute__((weak));
void __sanitizer_finish_switch_fiber(void *fake_stack, const void **old_stack, size_t *old_size) __attribute__((weak));
void *__tsan_get_current_fiber(void) __attribute__((weak));
void *__tsan_create_fiber(unsigned flags) __attribute__((weak));
void __tsan_switch_to_fiber(void *fiber, unsigned flags) __attribute__((weak));
void __tsan_destroy_fiber(void *fiber) __attribute__((weak));
enum { TSAN_NO_SYNC = 1 };

typedef struct coroutine {
    ucontext_t context;
    const void *stack;
    size_t stack_size;
    void *fake_stack, *fiber; /* of the sanitizers */
    unsigned char *variables; /* its thread-local variables while it does not run */
    void (*body)(void *argument);
    void *argument;
} coroutine;

static coroutine all[APH_THREADS_MAX + 1]; /* the last one is the main context */
static int current = APHI_COROUTINE_MAIN;
static unsigned char *stacks;
static size_t stack_size, guard_size;

/* ---- thread-local variables of the program ----------------------------------------------------------------------- */

static struct {
    unsigned char *block;
    const void *initial;
    size_t initial_size, size;
} variables;

/* The runtime of a sanitizer has thread-local variables, too, which must stay. It may be part of the program. */
static bool has_sanitizer(const void *base)
{
    static const char *const names[] = {"__asan_init", "__tsan_init", "__msan_init"};
    Dl_info info;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        void *found = dlsym(RTLD_DEFAULT, names[i]);
        if (found && dladdr(found, &info) && info.dli_fbase == base)
            return true;
    }
    return false;
}

/* Called for the program itself first, and ends the iteration. */
static int find_variables(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size, (void)context;
    const void *base = NULL;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_offset == 0)
            base = (const void *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_TLS || !info->dlpi_tls_data || has_sanitizer(base))
            continue;
        variables.block = info->dlpi_tls_data;
        variables.initial = (const void *)(info->dlpi_addr + header->p_vaddr);
        variables.initial_size = header->p_filesz;
        variables.size = header->p_memsz;
    }
    return 1;
}

/* ---- coroutines -------------------------------------------------------------------------------------------------- */

static coroutine *coroutine_numbered(int number)
{
    return &all[number == APHI_COROUTINE_MAIN ? APH_THREADS_MAX : number];
}

static void *allocate(size_t size)
{
    void *memory = calloc(1, size);
    if (!memory)
        aphi_threads_abort("out of memory");
    return memory;
}

void aphi_coroutines_reserve(unsigned count)
{
    pthread_attr_t attributes;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (pthread_getattr_default_np(&attributes) || pthread_attr_getstacksize(&attributes, &stack_size))
        stack_size = 8 << 20;
    guard_size = page;
    stack_size = (stack_size + page - 1) & ~(page - 1);
    stacks = mmap(NULL, count * (stack_size + guard_size), PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED)
        aphi_threads_abort("no memory for the stacks of %u threads", count);
    for (unsigned i = 0; i < count; i++)
        mprotect(stacks + i * (stack_size + guard_size), guard_size, PROT_NONE);
    dl_iterate_phdr(find_variables, NULL);
}

NOT_SANITIZED static void finish_switch(const coroutine *to, const void **old_stack, size_t *old_size)
{
    if (__sanitizer_finish_switch_fiber)
        __sanitizer_finish_switch_fiber(to->fake_stack, old_stack, old_size);
}

NOT_SANITIZED static void begin(void)
{
    coroutine *self = coroutine_numbered(current), *before = coroutine_numbered(APHI_COROUTINE_MAIN);
    const void *stack;
    size_t size;
    finish_switch(self, &stack, &size);
    if (!before->stack && __sanitizer_finish_switch_fiber) { /* the first coroutine is started from the main context */
        before->stack = stack;
        before->stack_size = size;
    }
    self->body(self->argument);
    aphi_threads_abort("a thread ended without a switch");
}

void aphi_coroutines_make(unsigned number, void (*body)(void *argument), void *argument)
{
    coroutine *c = &all[number];
    c->body = body;
    c->argument = argument;
    c->stack = stacks + number * (stack_size + guard_size) + guard_size;
    c->stack_size = stack_size;
    getcontext(&c->context);
    c->context.uc_stack = (stack_t){.ss_sp = (void *)c->stack, .ss_size = stack_size};
    makecontext(&c->context, begin, 0);
    if (__tsan_create_fiber)
        c->fiber = __tsan_create_fiber(0);
    if (variables.size) {
        c->variables = allocate(variables.size);
        memcpy(c->variables, variables.initial, variables.initial_size);
    }
}

void aphi_coroutines_drop(unsigned number)
{
    free(all[number].variables);
    all[number].variables = NULL;
    if (__tsan_destroy_fiber && all[number].fiber)
        __tsan_destroy_fiber(all[number].fiber);
}

NOT_SANITIZED static void exchange_variables(coroutine *from, const coroutine *to)
{
    if (!variables.size)
        return;
    if (!from->variables)
        from->variables = allocate(variables.size);
    memcpy(from->variables, variables.block, variables.size);
    memcpy(variables.block, to->variables, variables.size);
}

NOT_SANITIZED void aphi_coroutines_switch(int number)
{
    coroutine *from = coroutine_numbered(current), *to = coroutine_numbered(number);
    exchange_variables(from, to);
    if (current == APHI_COROUTINE_MAIN && __tsan_get_current_fiber)
        from->fiber = __tsan_get_current_fiber();
    current = number;
    if (__sanitizer_start_switch_fiber)
        __sanitizer_start_switch_fiber(&from->fake_stack, to->stack, to->stack_size);
    if (__tsan_switch_to_fiber)
        __tsan_switch_to_fiber(to->fiber, TSAN_NO_SYNC);
    swapcontext(&from->context, &to->context);
    finish_switch(from, &(const void *){NULL}, &(size_t){0});
}
