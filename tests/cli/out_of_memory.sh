#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# out_of_memory.sh - if an allocation of the program fails, a command exits with 3, or with its usual code if it does
# not depend on the allocation; traces are complete.
#
# A preloaded library makes all allocations of the program from the n-th on fail. Those of libraries do not count.
# PLACES=N tries about N numbers for each command instead of a few.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
if sanitized; then exit 77; fi # the sanitizer replaces malloc; tests/property/test_out_of_memory.c covers the library

cat >"$dir/fail.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
static char *low, *high; /* the code of the program */
static atomic_ulong count, fail_at;
static int find(struct dl_phdr_info *object, size_t size, void *context)
{
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_LOAD && object->dlpi_phdr[i].p_flags & PF_X) {
            low = (char *)object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
            high = low + object->dlpi_phdr[i].p_memsz;
        }
    return 1; /* the first object is the program */
}
__attribute__((constructor)) static void begin(void)
{
    if (getenv("FAIL_AT") && !strcmp(program_invocation_short_name, getenv("FAIL_IN"))) {
        dl_iterate_phdr(find, NULL);
        fail_at = strtoul(getenv("FAIL_AT"), NULL, 10);
    }
    unsetenv("LD_PRELOAD"); /* not for the subjects */
}
__attribute__((destructor)) static void end(void)
{
    FILE *out = low && getenv("FAIL_COUNT") ? fopen(getenv("FAIL_COUNT"), "w") : NULL;
    if (out && fprintf(out, "%lu\n", (unsigned long)count) > 0)
        fclose(out);
}
static int fails(void *caller)
{
    return (char *)caller >= low && (char *)caller < high && ++count >= fail_at && fail_at ? (errno = ENOMEM) : 0;
}
void *malloc(size_t n) { return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t m) { return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(n, m); }
void *realloc(void *p, size_t n) { return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(p, n); }
END
if ! cc -shared -fPIC -O1 -w -o "$dir/fail.so" "$dir/fail.c" 2>"$dir/err"; then
    echo 'the C library does not allow replacing malloc in this way'
    exit 77
fi

# failing N CODE COMMAND...: runs the command with failures from allocation N on; 0: none. Exit code 3 needs a message.
failing() {
    local n=$1 usual=$2
    shift 2
    title="$* with failures from allocation $n on"
    rm -rf "$dir/folder"
    LD_PRELOAD=$dir/fail.so FAIL_IN=$(basename "$ANTIPHON") FAIL_AT=$n FAIL_COUNT=$dir/count \
        "$ANTIPHON" "$@" >"$dir/out" 2>"$dir/err" </dev/null
    code=$?
    if [ $code -eq 3 ] && [ "$n" -gt 0 ]; then err 'out of memory'; elif [ $code -ne "$usual" ]; then
        fail "exit code $code, not 3 or $usual"
    fi
    if [ -s "$dir/folder/trace.jsonl" ]; then whole_trace; fi
}

whole_trace() {
    "$ANTIPHON" check kv "$dir/folder/trace.jsonl" >"$dir/out" 2>"$dir/err"
    case $? in
        0 | 7 | 22) ;; # or without a response, or a request
        *) fail 'the trace is damaged' ;;
    esac
}

# numbers COUNT MOST: prints about MOST numbers up to COUNT, with smaller steps at the beginning.
numbers() {
    awk -v count="$1" -v most="${PLACES:-$2}" 'BEGIN {
        for (n = 1; n <= count; n = n + 1 > n * f ? n + 1 : int(n * f)) { f = exp(log(count) / most); print n }
    }'
}

# each CODE MOST COMMAND...: runs the command with failures at about MOST places. CODE: without failures.
each() {
    local usual=$1 most=$2
    shift 2
    failing 0 "$usual" "$@"
    local count
    count=$(cat "$dir/count")
    check 'the program allocates nothing' [ "${count:-0}" -gt 9 ]
    for n in $(numbers "$count" "$most"); do failing "$n" "$usual" "$@"; done
}

cd "$ANTIPHON_ROOT" || exit 1
each 0 6 check --explain register examples/histories/five-clients.log
each 1 6 check --json etag-kv examples/etag-bad.jsonl
each 1 3 check --jobs 2 register examples/histories/stale-read.log examples/histories/five-clients.log
each 0 5 reach dp-3 --jobs 2 --checkpoint "$dir/checkpoint"
each 0 4 refine swap-impl swap --time 600 --clients 1 --messages 2

# A live test, and the replay of its script; the subject does not fail.
served="'$ANTIPHON' serve kv --delay 0 --port {port}"
each 0 4 test kv --run "$served" --messages 60 --connections 2 --no-shrink --time 600 --folder "$dir/folder"
printf '%s\n' '{"antiphon":1,"script":"kv"}' '{"label":1,"conn":0,"send":{"f":"put","key":"a","value":"x"}}' \
    '{"label":3,"conn":1,"send":{"f":"get","key":"a"},"wait":{"answer":2}}' >"$dir/short.script"
each 0 3 replay --run "$served" --folder "$dir/folder" "$dir/short.script" kv
finish
