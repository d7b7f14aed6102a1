/* SPDX-License-Identifier: Apache-2.0
 *
 * checkpoint.c - pending branches and counts of an interrupted search, in a file.
 *
 * The file is text: a header with the fingerprint of the model and the counts, then a line of choices for each branch.
 *                   An empty line stands for the whole tree. */
#include "explore/spill_queue.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHOICES_MAX = 100000 }; /* maximum per branch */

uint64_t aphi_checkpoint_fingerprint(const aphi_compiled_model *model)
{
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < model->state_count; i++) {
        const aphi_compiled_state *s = &model->states[i];
        h ^= s->kind ^ (uint64_t)s->channel << 8 ^ (uint64_t)s->input << 24 ^ (uint64_t)s->count << 40;
        h *= 1099511628211u;
        for (uint32_t m = s->first; m < s->first + s->count; m++)
            h = (h ^ model->moves[m].target ^ (uint64_t)model->moves[m].input << 32) * 1099511628211u;
    }
    for (size_t i = 0; i < model->channel_count; i++)
        h = (h ^ model->channels[i].medium ^ (uint64_t)model->channels[i].capacity << 8) * 1099511628211u;
    return h;
}

static void write_branch(void *context, const aphi_branch *branch)
{
    FILE *file = context;
    for (size_t j = 0; j < branch->count; j++)
        fprintf(file, j ? " %u" : "%u", branch->choices[j]);
    putc('\n', file);
}

static bool write_pending(FILE *file, const aphi_compiled_model *model, const aphi_explore_stats *stats,
                          const aphi_spill_queue *pending)
{
    fprintf(file, "antiphon reach checkpoint 1\nmodel %016" PRIx64 "\n", aphi_checkpoint_fingerprint(model));
    fprintf(file, "counts %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\nbranches %zu\n", stats->sequences,
            stats->deadlocks, stats->blocked, stats->forks, aphi_spill_queue_count(pending));
    return aphi_spill_queue_each(pending, write_branch, file) && !ferror(file);
}

bool aphi_checkpoint_write(const char *path, const aphi_compiled_model *model, const aphi_explore_stats *stats,
                           const aphi_spill_queue *pending, char *why, size_t size)
{
    aphi_file file;
    bool written = aphi_file_create(&file, path);
    if (written && write_pending(file.stream, model, stats, pending) && !fflush(file.stream) &&
        !fsync(fileno(file.stream))) {
        written = aphi_file_commit(&file);
    } else if (written) {
        int failure = errno;
        aphi_file_discard(&file);
        errno = failure;
        written = false;
    }
    return written || aphi_fail(why, size, "%s cannot be written: %s", path, strerror(errno));
}

static bool read_branch(char *line, aphi_branch *branch)
{
    for (char *at = line; *at && *at != '\n';) {
        char *end;
        if (*at < '0' || *at > '9' || branch->count == CHOICES_MAX)
            return false;
        unsigned long choice = strtoul(at, &end, 10);
        if (choice >= UINT16_MAX || (*end != ' ' && *end != '\n') || (*end == ' ' && end[1] == '\n'))
            return false;
        APHI_PUSH(branch->choices, branch->count, branch->capacity, (uint16_t)choice);
        at = *end == ' ' ? end + 1 : end;
    }
    return true;
}

/* Adds a branch if it exists in this model, which an explorer checks. */
static bool add_branch(aphi_spill_queue *pending, aphi_explorer *probe, char *line)
{
    aphi_branch branch = {0};
    bool valid = read_branch(line, &branch);
    if (valid && branch.count)
        valid = aphi_explorer_begin(probe, &branch);
    branch.share = branch.count ? aphi_explorer_share_left(probe) : 1;
    if (valid)
        (void)aphi_spill_queue_put(pending, &branch); /* if spilling fails, the search fails, too, and reports it */
    free(branch.choices);
    return valid;
}

static bool read_header(FILE *file, uint64_t *fingerprint, aphi_explore_stats *stats, size_t *count)
{
    return fscanf(file, "antiphon reach checkpoint 1\nmodel %" SCNx64 "\n", fingerprint) == 1 &&
           fscanf(file, "counts %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 "\nbranches %zu", &stats->sequences,
                  &stats->deadlocks, &stats->blocked, &stats->forks, count) == 5 &&
           getc(file) == '\n';
}

/* Returns the number of branches before the first invalid one; `count` if all are valid. */
static size_t read_branches(FILE *file, const aphi_compiled_model *model, size_t count, aphi_spill_queue *pending)
{
    aphi_explorer *probe = aphi_explorer_open(model, NULL, NULL);
    char *line = NULL;
    size_t size = 0, added = 0;
    while (aphi_read_line(&line, &size, file) > 0 && added < count && strchr(line, '\n') &&
           add_branch(pending, probe, line))
        added++;
    aphi_explorer_close(probe);
    free(line);
    return added;
}

bool aphi_checkpoint_read(const char *path, const aphi_compiled_model *model, aphi_explore_stats *stats,
                          aphi_spill_queue *pending, char *why, size_t size)
{
    FILE *file = fopen(path, "r");
    uint64_t fingerprint;
    size_t count, added;
    bool read = false;
    if (!file) {
        snprintf(why, size, "%s cannot be read: %s", path, strerror(errno));
        return false;
    }
    if (!read_header(file, &fingerprint, stats, &count))
        snprintf(why, size, "%s is not a checkpoint of antiphon reach", path);
    else if (fingerprint != aphi_checkpoint_fingerprint(model))
        snprintf(why, size, "%s belongs to another model", path);
    else if ((added = read_branches(file, model, count, pending)) != count || !feof(file))
        snprintf(why, size, "%s is damaged at branch %zu", path, added + 1);
    else
        read = true;
    fclose(file);
    return read;
}
