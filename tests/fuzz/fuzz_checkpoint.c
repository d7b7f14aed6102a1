/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_checkpoint.c - any checkpoint of a search yields branches that can be written and read again, or an error with a
 * message. The header with the fingerprint of the model is added. */
#include <inttypes.h>
#include <stdlib.h>
#include "compiled_program.h"
#include "explore/spill_queue.h"
#include "memory_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_checkpoint(const memory_file *file, aphi_spill_queue *pending)
{
    aphi_explore_stats stats = {0};
    char why[300] = "";
    aphi_spill_queue_open(pending, 0);
    bool read = aphi_checkpoint_read(file->path, compile_once("dme-3"), &stats, pending, why, sizeof why);
    assert(read || *why);
    return read;
}

static void print_branch(void *context, const aphi_branch *b)
{
    FILE *out = context;
    for (size_t i = 0; i < b->count; i++)
        fprintf(out, i ? " %u" : "%u", b->choices[i]);
    putc('\n', out);
}

static void write_and_read(const aphi_spill_queue *pending)
{
    char *text;
    size_t n, count = aphi_spill_queue_count(pending);
    FILE *out = open_memstream(&text, &n);
    fprintf(out, "antiphon reach checkpoint 1\nmodel %016" PRIx64 "\n",
            aphi_checkpoint_fingerprint(compile_once("dme-3")));
    fprintf(out, "counts 0 0 0 0\nbranches %zu\n", count);
    assert(aphi_spill_queue_each(pending, print_branch, out));
    fclose(out);
    memory_file file = memory_file_make("", 0, text, n);
    aphi_spill_queue again;
    assert(read_checkpoint(&file, &again) && aphi_spill_queue_count(&again) == count);
    aphi_spill_queue_close(&again);
    memory_file_close(&file);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char head[80];
    int n = snprintf(head, sizeof head, "antiphon reach checkpoint 1\nmodel %016" PRIx64 "\n",
                     aphi_checkpoint_fingerprint(compile_once("dme-3")));
    memory_file file = memory_file_make(head, (size_t)n, data, size);
    aphi_spill_queue pending;
    if (read_checkpoint(&file, &pending))
        write_and_read(&pending);
    aphi_spill_queue_close(&pending);
    memory_file_close(&file);
    return 0;
}
