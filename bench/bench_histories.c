/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_histories.c - time of checking real histories with known verdicts.
 *
 *   bench_histories [FOLDER [RUNS]]    FOLDER holds EXPECTED, REFERENCE_MS, etcd/ and kv/; else $ANTIPHON_HISTORIES,
 *                                      else ../shared/data/histories
 *
 * Prints for each history the verdict, whether it is the expected one, the median and minimal time of checking, the
 * configurations visited, the memory for values and oracles, and the ratio of the median to the reference time. The
 * reference is another checker on another machine, so compare only ratios measured on the same machine. Each run
 * starts with a new oracle. kv histories are checked both per key and as one state. */
#include "base/clock.h"
#include "base/memory.h"
#include "models/models.h"
#include "oracle/partitions.h"
#include "trace/lookahead.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct history {
    aphi_lookahead_event *seen;
    size_t n, capacity;
} history;

typedef struct measure {
    aph_verdict verdict;
    double median_ms, least_ms;
    aph_oracle_stats stats;
    uint64_t operations;
} measure;

static void mark_history(void *context)
{
    history *h = context;
    for (size_t i = 0; i < h->n; i++) {
        aph_mark(h->seen[i].seen.message);
        aph_mark(h->seen[i].answer);
    }
}

static bool load(const char *path, const aph_model *model, history *h)
{
    aphi_trace *trace = aphi_trace_open(path, &(aphi_trace_options){.model = model});
    aphi_lookahead *ahead = aphi_lookahead_open(trace);
    int status;
    h->n = 0;
    do {
        APHI_RESERVE(h->seen, h->capacity, h->n + 1);
        status = aphi_lookahead_next(ahead, &h->seen[h->n]);
        h->n += status > 0;
    } while (status > 0);
    if (status < 0)
        fprintf(stderr, "%s: %s\n", path, aphi_trace_error_of(trace)->message);
    aphi_lookahead_close(ahead);
    aphi_trace_close(trace);
    return status == 0;
}

static aph_verdict feed(aphi_partitions *jury, const aphi_lookahead_event *o, aph_verdict verdict)
{
    aph_lookahead known = {o->future, o->answer, o->order, o->alone, o->shown, o->sought};
    switch (o->seen.kind) {
    case APHI_SENT: return aphi_partitions_sent(jury, o->seen.line, o->seen.connection, o->seen.message, &known);
    case APHI_RECEIVED: return aphi_partitions_received(jury, o->seen.line, o->seen.connection, o->seen.message);
    case APHI_LOST: return aphi_partitions_lost(jury, o->seen.line, o->seen.connection, o->foretold);
    default: return verdict;
    }
}

static double one_run(const aph_model *model, const history *h, bool whole, measure *m)
{
    char error[200];
    aphi_partitions *jury = aphi_partitions_open(model, &(aph_oracle_options){.whole = whole}, error, sizeof error);
    int64_t begin = aphi_clock_ns();
    m->verdict = APH_PASS;
    m->operations = 0;
    for (size_t i = 0; i < h->n && m->verdict == APH_PASS; i++) {
        m->operations += h->seen[i].seen.kind == APHI_SENT;
        m->verdict = feed(jury, &h->seen[i], m->verdict);
    }
    double ms = (double)(aphi_clock_ns() - begin) / 1e6;
    m->stats = aphi_partitions_stats(jury);
    aphi_partitions_close(jury);
    aph_collect();
    return ms;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static measure measured(const aph_model *model, const history *h, bool whole, size_t runs)
{
    measure m = {0};
    double *ms = aphi_alloc(runs * sizeof *ms);
    for (size_t i = 0; i < runs; i++)
        ms[i] = one_run(model, h, whole, &m);
    qsort(ms, runs, sizeof *ms, by_size);
    m.median_ms = ms[runs / 2];
    m.least_ms = ms[0];
    free(ms);
    return m;
}

/* Returns the second word of the line in FOLDER/list that begins with `name`. */
static bool listed(const char *folder, const char *list, const char *name, char *word, size_t size)
{
    char path[4096], line[4096], first[2048], second[256];
    snprintf(path, sizeof path, "%s/%s", folder, list);
    FILE *file = fopen(path, "r");
    bool found = false;
    while (file && !found && fgets(line, sizeof line, file))
        if (sscanf(line, "%2047s %255s", first, second) == 2 && !strcmp(first, name)) {
            snprintf(word, size, "%s", second);
            found = true;
        }
    if (file)
        fclose(file);
    return found;
}

typedef struct total {
    const char *name;
    double median_ms, reference_ms, least_ratio;
} total;

static bool row(const char *folder, const char *name, bool whole, size_t runs, history *h, total *sum)
{
    char path[4096], label[2200], word[256];
    const aph_model *model = aph_model_named(strncmp(name, "kv/", 3) ? "register" : "kv");
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(label, sizeof label, "%s%s", name, whole ? "(no-partition)" : "");
    if (!load(path, model, h))
        return false;
    measure m = measured(model, h, whole, runs);
    double reference = listed(folder, "REFERENCE_MS", label, word, sizeof word) ? strtod(word, NULL) : 0;
    bool known = listed(folder, "EXPECTED", name, word, sizeof word);
    bool right = !known || !strcmp(word, m.verdict == APH_PASS ? "ok" : "bad");
    printf("%-32s %-5s %-6s %10.4f %10.4f %8llu %8llu %8zu", label, aph_verdict_name(m.verdict),
           right ? "right" : "WRONG", m.median_ms, m.least_ms, (unsigned long long)m.operations,
           (unsigned long long)m.stats.configurations, m.stats.bytes / 1024);
    if (reference > 0) {
        double ratio = reference / m.median_ms;
        printf(" %9.1f", ratio);
        sum->median_ms += m.median_ms;
        sum->reference_ms += reference;
        if (!sum->least_ratio || ratio < sum->least_ratio)
            sum->least_ratio = ratio;
    }
    putchar('\n');
    return right;
}

int main(int count, char **words)
{
    const char *folder = count > 1 ? words[1] : getenv("ANTIPHON_HISTORIES");
    if (!folder)
        folder = "../shared/data/histories";
    size_t runs = count > 2 ? (size_t)strtoul(words[2], NULL, 10) : 15;
    char path[4096], line[4096], name[2048];
    total sums[] = {{.name = "etcd"}, {.name = "kv, keys apart"}, {.name = "kv, one state"}};
    history h = {0};
    bool right = true;
    snprintf(path, sizeof path, "%s/EXPECTED", folder);
    FILE *list = fopen(path, "r");
    if (!list) {
        printf("no histories at %s: name a folder, or set ANTIPHON_HISTORIES\n", folder);
        return 0;
    }
    aph_root_add(mark_history, &h);
    printf("%-32s %-5s %-6s %10s %10s %8s %8s %8s %9s\n", "history", "says", "", "median ms", "least ms", "requests",
           "configs", "KB", "ratio");
    while (fgets(line, sizeof line, list))
        if (sscanf(line, "%2047s", name) == 1) {
            bool kv = !strncmp(name, "kv/", 3);
            right &= row(folder, name, false, runs, &h, &sums[kv]);
            if (kv)
                right &= row(folder, name, true, runs, &h, &sums[2]);
        }
    fclose(list);
    for (int i = 0; i < 3; i++)
        printf("%-16s total %10.3f ms, reference %10.3f ms: %7.1f times less; least ratio of a file %.1f\n",
               sums[i].name, sums[i].median_ms, sums[i].reference_ms, sums[i].reference_ms / sums[i].median_ms,
               sums[i].least_ratio);
    aph_root_remove(mark_history, &h);
    free(h.seen);
    aph_heap_close();
    return right ? 0 : 1;
}
