/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_check_scaling.c - time of `antiphon check` by the number of operations, clients, and operations in flight.
 *
 * Makes valid histories with a server that applies requests at random times between call and return, writes them as
 * traces, and checks them with the program ($ANTIPHON, else build/antiphon). Prints for each history the time of
 * checking, the total time and the number of configurations visited, all per operation, and the peak memory. The
 * arguments of measure_one select a single history. */
#include "base/random_choice.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "base/clock.h"

enum { KEYS_MAX = 64, CLIENTS_MAX = 256, GHOSTS_MAX = 64 };

typedef enum kind { REGISTER, KV, QUEUE, ETAG } kind;
static const char *const kinds[] = {"register", "kv", "queue", "etag-kv"};

typedef struct client {
    enum { IDLE, CALLED, TAKEN, GONE } at;
    int key, f, value, old;
    int answer;
} client;

typedef struct world {
    kind kind;
    FILE *out;
    aphi_choice choice;
    int keys;
    int value[KEYS_MAX];   /* register, kv: last written value, or -1; etag-kv: the version, used as the tag */
    int next;              /* the next unique value */
    unsigned lost;         /* requests per thousand that are never answered */
    int *queue;
    size_t head, tail, capacity;
    client clients[CLIENTS_MAX];
    client ghosts[GHOSTS_MAX]; /* lost requests that are still in transit to the server */
    size_t ghost_count;
    long names[CLIENTS_MAX];
    long next_name;
} world;

static void call(world *w, int i)
{
    client *c = &w->clients[i];
    *c = (client){.at = CALLED, .key = (int)aphi_choice_below(&w->choice, (uint64_t)w->keys),
                  .f = (int)aphi_choice_below(&w->choice, w->kind == QUEUE || w->kind == ETAG ? 2 : 3)};
    fprintf(w->out, "{\"conn\":%ld,\"send\":{", w->names[i]);
    switch (w->kind) {
    case REGISTER:
        c->value = (int)aphi_choice_below(&w->choice, 5);
        c->old = (int)aphi_choice_below(&w->choice, 5);
        if (c->f == 0)
            fprintf(w->out, "\"f\":\"read\"}}\n");
        else if (c->f == 1)
            fprintf(w->out, "\"f\":\"write\",\"value\":%d}}\n", c->value);
        else
            fprintf(w->out, "\"f\":\"cas\",\"value\":[%d,%d]}}\n", c->old, c->value);
        break;
    case KV:
        c->value = w->next++;
        if (c->f == 2)
            fprintf(w->out, "\"f\":\"put\",\"key\":\"%d\",\"value\":\"v%d\"}}\n", c->key, c->value);
        else
            fprintf(w->out, "\"f\":\"get\",\"key\":\"%d\"}}\n", c->key);
        break;
    case QUEUE:
        /* More dequeues than enqueues keep the queue short: every order of the queued items is possible. */
        c->f = aphi_choice_chance(&w->choice, 3, 5);
        c->value = w->next++;
        if (c->f == 0)
            fprintf(w->out, "\"f\":\"enqueue\",\"value\":%d}}\n", c->value);
        else
            fprintf(w->out, "\"f\":\"dequeue\"}}\n");
        break;
    case ETAG:
        if (c->f == 0)
            fprintf(w->out, "\"f\":\"get\",\"key\":\"%d\"}}\n", c->key);
        else
            fprintf(w->out,
                    "\"f\":\"put\",\"key\":\"%d\",\"value\":\"x\",\"if_match\":{\"opaque\":\"t%d\",\"weak\":false}}}\n",
                    c->key, (c->old = w->value[c->key]));
        break;
    }
}

static void take(world *w, client *c)
{
    int *v = &w->value[c->key];
    c->at = TAKEN;
    switch (w->kind) {
    case REGISTER:
        c->answer = c->f == 0 ? *v : c->f == 2 && *v == c->old;
        if (c->f == 1 || (c->f == 2 && c->answer))
            *v = c->value;
        break;
    case KV:
        c->answer = *v;
        if (c->f == 2)
            *v = c->value;
        break;
    case QUEUE:
        if (c->f == 0) {
            APHI_RESERVE(w->queue, w->capacity, w->tail + 1);
            w->queue[w->tail++] = c->value;
        } else {
            c->answer = w->head < w->tail ? w->queue[w->head++] : -1;
        }
        break;
    case ETAG:
        c->answer = c->f == 0 ? *v : *v == c->old;
        if (c->f == 1 && c->answer)
            *v = ++w->next;
        break;
    }
}

static void give(world *w, int i)
{
    client *c = &w->clients[i];
    c->at = IDLE;
    fprintf(w->out, "{\"conn\":%ld,\"recv\":", w->names[i]);
    if (w->kind == REGISTER && c->f == 2)
        fputs(c->answer ? "true" : "false", w->out);
    else if (w->kind == REGISTER && c->f == 0 && c->answer < 0)
        fputs("null", w->out);
    else if (w->kind == REGISTER && c->f == 0)
        fprintf(w->out, "%d", c->answer);
    else if (w->kind == KV && c->f != 2 && c->answer < 0)
        fputs("\"\"", w->out);
    else if (w->kind == KV && c->f != 2)
        fprintf(w->out, "\"v%d\"", c->answer);
    else if (w->kind == QUEUE && c->f == 1 && c->answer < 0)
        fputs("null", w->out);
    else if (w->kind == QUEUE && c->f == 1)
        fprintf(w->out, "%d", c->answer);
    else
        fputs("\"ok\"", w->out);
    fputs("}\n", w->out);
}

/* Writes a request that gets no response; its client continues under another name. */
static void lose(world *w, int i)
{
    fprintf(w->out, "{\"conn\":%ld,\"lost\":true}\n", w->names[i]);
    w->names[i] = w->next_name++;
    if (w->clients[i].at == CALLED && w->ghost_count < GHOSTS_MAX)
        w->ghosts[w->ghost_count++] = w->clients[i];
    w->clients[i].at = IDLE;
}

/* Occasionally lets a lost request arrive, or drops one. */
static void haunt(world *w)
{
    if (!w->ghost_count || !aphi_choice_chance(&w->choice, 1, 16))
        return;
    size_t i = (size_t)aphi_choice_below(&w->choice, w->ghost_count);
    if (aphi_choice_chance(&w->choice, 1, 2))
        take(w, &w->ghosts[i]);
    w->ghosts[i] = w->ghosts[--w->ghost_count];
}

/* Generates a history in which about `busy` clients have a request in flight most of the time. */
static void generate(world *w, long operations, int clients, int busy)
{
    long called = 0, open = 0;
    memset(w->value, 255, sizeof w->value);
    for (int i = 0; i < clients; i++)
        w->names[i] = w->next_name++;
    while (called < operations || open) {
        int i = (int)aphi_choice_below(&w->choice, (uint64_t)clients);
        client *c = &w->clients[i];
        haunt(w);
        if (c->at == IDLE && called < operations && open < busy) {
            call(w, i);
            called++;
            open++;
        } else if (c->at == CALLED) {
            if (w->lost && aphi_choice_chance(&w->choice, w->lost, 2000)) {
                lose(w, i);
                open--;
            } else {
                take(w, c);
            }
        } else if (c->at == TAKEN && (open >= busy || called >= operations || aphi_choice_chance(&w->choice, 1, 2))) {
            if (w->lost && aphi_choice_chance(&w->choice, w->lost, 2000))
                lose(w, i);
            else
                give(w, i);
            open--;
        }
    }
}

static double field(const char *json, const char *name)
{
    char quoted[64];
    snprintf(quoted, sizeof quoted, "\"%s\":", name);
    const char *at = strstr(json, quoted);
    return at ? strtod(at + strlen(quoted), NULL) : 0;
}

static void measure(kind k, long operations, int clients, int busy, int keys, unsigned lost)
{
    char path[] = "/tmp/antiphon-growth-XXXXXX", command[512], json[65536];
    int fd = mkstemp(path);
    world *w = aphi_alloc_zero(sizeof *w);
    w->kind = k;
    w->keys = keys;
    w->lost = lost;
    w->choice = aphi_choice_seed(1);
    w->out = fd < 0 ? NULL : fdopen(fd, "w");
    if (!w->out) {
        perror(path);
        exit(2);
    }
    generate(w, operations, clients, busy);
    fclose(w->out);
    const char *program = getenv("ANTIPHON") ? getenv("ANTIPHON") : "build/antiphon";
    snprintf(command, sizeof command, "%s check --json --format jsonl --time 120 %s %s", program, kinds[k], path);
    int64_t begin = aphi_clock_ns();
    FILE *in = popen(command, "r");
    size_t n = in ? fread(json, 1, sizeof json - 1, in) : 0;
    json[n] = '\0';
    if (in)
        pclose(in);
    double all_ns = (double)(aphi_clock_ns() - begin), count = (double)operations;
    const char *verdict = strstr(json, "\"verdict\":\"pass\"")      ? "pass"
                          : strstr(json, "\"verdict\":\"unknown\"") ? "unknown"
                                                                    : "?";
    printf("%-9s %9ld %8d %8d %5d %5u  %-8s %10.0f %10.0f %10.2f %8.1f\n", kinds[k], operations, clients, busy, keys,
           lost, verdict, field(json, "check_ms") * 1e6 / count, all_ns / count, field(json, "configurations") / count,
           field(json, "resident_kb") / 1024);
    fflush(stdout);
    unlink(path);
    free(w->queue);
    free(w);
}

/* Prints one line of the table. The arguments are its columns MODEL REQUESTS CLIENTS INFLIGHT KEYS LOST. */
static int measure_one(char **arg)
{
    for (kind k = REGISTER; k <= ETAG; k++)
        if (strcmp(arg[0], kinds[k]) == 0) {
            measure(k, atol(arg[1]), atoi(arg[2]), atoi(arg[3]), atoi(arg[4]), (unsigned)atoi(arg[5]));
            return 0;
        }
    return 2;
}

int main(int argc, char **argv)
{
    if (argc == 7)
        return measure_one(argv + 1);
    printf("%-9s %9s %8s %8s %5s %5s  %-8s %10s %10s %10s %8s\n", "model", "requests", "clients", "inflight", "keys",
           "lost", "verdict", "check ns", "all ns", "configs", "MB");
    printf("%-9s %9s %8s %8s %5s %5s  %-8s %10s %10s %10s %8s\n", "", "", "", "most", "", "/1000", "", "a request",
           "a request", "a request", "");
    for (long n = 1000; n <= 1000000; n *= 10)
        measure(REGISTER, n, 5, 5, 1, 0);
    for (long n = 1000; n <= 1000000; n *= 10)
        measure(KV, n, 10, 10, 10, 0);
    for (long n = 1000; n <= 1000000; n *= 10)
        measure(QUEUE, n, 4, 4, 1, 0);
    measure(REGISTER, 100000, 5, 5, 1, 1);
    for (long n = 800; n <= 12800; n *= 4)
        measure(KV, n, 5, 5, 3, 100);
    for (int clients = 10; clients <= 50; clients += 20)
        measure(KV, 20000, clients, clients, 1, 0);
    for (int clients = 1; clients <= 64; clients *= 2)
        measure(REGISTER, 20000, clients, clients, 1, 0);
    for (int busy = 1; busy <= 32; busy *= 2)
        measure(KV, 20000, 32, busy, 8, 0);
    return 0;
}
