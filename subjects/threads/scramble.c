/* SPDX-License-Identifier: Apache-2.0
 *
 * scramble.c - a small random program, generated from a number; counts its sequences by brute force.
 *
 *     scramble NUMBER           runs its threads
 *     scramble NUMBER count     prints the number of sequences, and of those that end in a deadlock
 *     scramble NUMBER model     prints a model of it, for antiphon conform
 *
 * Threads send, synchronously or not, receive and select, on ports of every medium, some with a capacity. The messages
 * that a thread received determine its later sends and the steps that it skips; labels name the sender. The count does
 * not use threads, clocks or races: it tries every interleaving of steps, with real queues, and counts the different
 * results. */
#include <antiphon/threads.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, PORTS = 4, STEPS = 4, LABELS = 2, QUEUE = THREADS * STEPS, TEXT = 1200 };

typedef struct step {
    bool sends, sync;
    int port;               /* of a send */
    int open[PORTS];        /* for a receive: -1 closed, LABELS any, else a label */
    int skipped;            /* the step is skipped if the received messages are of this kind, 0 to 2; 3: never */
    bool inherits;          /* the label depends on the received messages */
} step;

static struct {
    int threads, ports;
    int owner[PORTS], medium[PORTS], room[PORTS];
    int count[THREADS];
    step steps[THREADS][STEPS];
} program;

/* ---- generation -------------------------------------------------------------------------------------------------- */

static uint64_t state_of_chance;

static int chance(int below)
{
    state_of_chance = state_of_chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((state_of_chance >> 33) % (uint64_t)below);
}

static void make_receive(step *s, int thread)
{
    int open = 0;
    for (int p = 0; p < program.ports; p++) {
        s->open[p] = program.owner[p] == thread && chance(4) ? chance(LABELS + 3) : -1;
        if (s->open[p] > LABELS || (s->open[p] >= 0 && program.medium[p] == APH_THREAD_FIFO_PORT))
            s->open[p] = LABELS; /* usually any label */
        open += s->open[p] >= 0;
    }
    for (int p = 0; p < program.ports && !open; p++)
        if (program.owner[p] == thread) {
            s->open[p] = LABELS;
            open = 1;
        }
}

static void make_step(step *s, int thread)
{
    bool owns = false, others = false;
    for (int p = 0; p < program.ports; p++) {
        owns |= program.owner[p] == thread;
        others |= program.owner[p] != thread;
    }
    s->sends = !owns || (others && chance(5) < 3);
    s->skipped = chance(3) ? 3 : chance(3);
    s->inherits = chance(2);
    if (!s->sends) {
        make_receive(s, thread);
        return;
    }
    s->sync = chance(3) == 0;
    do
        s->port = chance(program.ports);
    while (program.owner[s->port] == thread);
}

static void make_program(uint64_t number)
{
    state_of_chance = number * UINT64_C(0x9e3779b97f4a7c15) + 1;
    program.threads = 2 + chance(THREADS - 1);
    program.ports = 1 + chance(PORTS);
    for (int p = 0; p < program.ports; p++) {
        program.owner[p] = chance(program.threads);
        program.medium[p] = chance(3);
        bool shared =
            program.medium[p] == APH_THREAD_FIFO_PORT; /* not drawn, so that existing numbers keep their programs */
        program.room[p] = (shared ? number % 7 == 5 : chance(4) == 0) ? 1 : 0;
    }
    if (program.ports > 1)
        program.owner[1] = (program.owner[0] + 1) % program.threads;
    for (int t = 0; t < program.threads; t++) {
        program.count[t] = 1 + chance(STEPS);
        for (int i = 0; i < program.count[t]; i++)
            make_step(&program.steps[t][i], t);
    }
}

static int label_of(const step *s, int known) { return s->inherits ? known % LABELS : 0; }
static bool is_skipped(const step *s, int known) { return known % 3 == s->skipped; }
static int learn(int known, int label, int sender) { return known * 5 + label * 2 + sender + 1; }

/* ---- running ----------------------------------------------------------------------------------------------------- */

static const char *const label_names[LABELS][THREADS] = {{"a0", "a1", "a2", "a3"}, {"b0", "b1", "b2", "b3"}};
static aph_thread_port *ports[PORTS];

static int receive(aph_thread *self, const step *s, int known)
{
    aph_choice choices[PORTS * THREADS];
    size_t n = 0;
    for (int p = 0; p < program.ports; p++)
        if (s->open[p] == LABELS)
            choices[n++] = (aph_choice){.port = ports[p]};
        else
            for (int t = 0; t < program.threads && s->open[p] >= 0; t++)
                choices[n++] = (aph_choice){ports[p], label_names[s->open[p]][t], false};
    aph_message m = aph_thread_select(self, choices, n);
    return learn(known, m.label[0] - 'a', (int)m.payload.number);
}

static void body(aph_thread *self, void *argument)
{
    int thread = *(int *)argument, known = 0;
    for (int i = 0; i < program.count[thread]; i++) {
        const step *s = &program.steps[thread][i];
        if (is_skipped(s, known))
            continue;
        if (!s->sends)
            known = receive(self, s, known);
        else
            (s->sync ? aph_thread_send_sync : aph_thread_send)(self, ports[s->port],
                                                               label_names[label_of(s, known)][thread],
                                                               aph_payload_number(thread));
    }
}

static void run(void)
{
    static int numbers[THREADS];
    aph_thread *threads[THREADS];
    char name[APH_LABEL_MAX];
    aph_threads *group = aph_threads_open();
    for (int t = 0; t < program.threads; t++) {
        numbers[t] = t;
        snprintf(name, sizeof name, "T%d", t);
        threads[t] = aph_threads_add(group, name, body, &numbers[t]);
    }
    for (int p = 0; p < program.ports; p++) {
        snprintf(name, sizeof name, "p%d", p);
        ports[p] = aph_threads_port(group, name, threads[program.owner[p]], (aph_thread_medium)program.medium[p],
                                    (unsigned)program.room[p]);
    }
    aph_threads_run(group);
    aph_threads_close(group);
}

/* ---- a model of it ----------------------------------------------------------------------------------------------- */

/* KNOWN_MOST exceeds any knowledge of a thread. */
enum { KNOWN_MOST = 1000, STATES_MOST = (STEPS + 1) * KNOWN_MOST };

static struct {
    int numbers[STEPS + 1][KNOWN_MOST]; /* from 1; 0: not reached yet */
    int at[STATES_MOST], known[STATES_MOST];
    int count;
} unfolded;

/* Returns the number of the state after skipped steps. */
static int state_after(int thread, int at, int known)
{
    while (at < program.count[thread] && is_skipped(&program.steps[thread][at], known))
        at++;
    int *number = &unfolded.numbers[at][known];
    if (!*number) {
        unfolded.at[unfolded.count] = at;
        unfolded.known[unfolded.count] = known;
        *number = ++unfolded.count;
    }
    return *number - 1;
}

/* Adds the moves of a state, and prints them if `printed`. */
static void unfold(int thread, int state, bool printed)
{
    int at = unfolded.at[state], known = unfolded.known[state];
    const step *s = &program.steps[thread][at];
    if (at == program.count[thread])
        return;
    if (s->sends) {
        int next = state_after(thread, at + 1, known);
        if (printed)
            printf("%d -> %d %s p%d %s\n", state, next, s->sync ? "pass" : "post", s->port,
                   label_names[label_of(s, known)][thread]);
        return;
    }
    for (int p = 0; p < program.ports; p++)
        for (int label = 0; label < LABELS; label++)
            for (int from = 0; from < program.threads; from++) {
                if (s->open[p] < 0 || (s->open[p] < LABELS && s->open[p] != label) || from == thread)
                    continue;
                int next = state_after(thread, at + 1, learn(known, label, from));
                if (printed)
                    printf("%d -> %d take p%d %s\n", state, next, p, label_names[label][from]);
            }
}

static void print_model(const char *number)
{
    static const char *const mediums[] = {"fifo-pair", "fifo-port", "unordered"};
    printf("alts scramble-%s\n", number);
    for (int t = 0; t < program.threads; t++)
        printf("component T%d\n", t);
    for (int p = 0; p < program.ports; p++)
        printf(program.room[p] ? "port p%d of T%d %s capacity %d\n" : "port p%d of T%d %s\n", p, program.owner[p],
               mediums[program.medium[p]], program.room[p]);
    for (int t = 0; t < program.threads; t++) {
        memset(&unfolded, 0, sizeof unfolded);
        state_after(t, 0, 0);
        for (int state = 0; state < unfolded.count; state++)
            unfold(t, state, false);
        printf("behaviour T%d states %d initial 0\n", t, unfolded.count);
        for (int state = 0; state < unfolded.count; state++)
            unfold(t, state, true);
    }
}

/* ---- counting by brute force ------------------------------------------------------------------------------------- */

typedef struct sent {
    int sender, label, index;
    bool sync; /* in the queue */
} sent;

typedef struct situation {
    int at[THREADS], known[THREADS], events[THREADS];
    sent queues[PORTS][QUEUE];
    int lengths[PORTS];
    bool in_line[THREADS];
    char did[THREADS][TEXT / THREADS];
} situation;

typedef struct text_set {
    char **texts;
    size_t count, capacity;
} text_set;

static text_set seen, ends;
static unsigned long deadlocks;

/* Returns false if the text was already in the set. */
static bool add(text_set *set, const char *text)
{
    if (set->count * 2 >= set->capacity) {
        text_set larger = {.capacity = set->capacity ? set->capacity * 2 : 1024};
        larger.texts = calloc(larger.capacity, sizeof *larger.texts);
        for (size_t i = 0; i < set->capacity; i++)
            if (set->texts[i]) {
                add(&larger, set->texts[i]);
                free(set->texts[i]);
            }
        free(set->texts);
        *set = larger;
    }
    uint64_t hash = 14695981039346656037u;
    for (const char *c = text; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    size_t i = hash & (set->capacity - 1);
    for (; set->texts[i]; i = (i + 1) & (set->capacity - 1))
        if (!strcmp(set->texts[i], text))
            return false;
    set->texts[i] = strdup(text);
    set->count++;
    return true;
}

static void empty(text_set *set)
{
    for (size_t i = 0; i < set->capacity; i++)
        free(set->texts[i]);
    free(set->texts);
}

static const step *step_of(situation *s, int t)
{
    while (s->at[t] < program.count[t] && is_skipped(&program.steps[t][s->at[t]], s->known[t]))
        s->at[t]++;
    return s->at[t] < program.count[t] ? &program.steps[t][s->at[t]] : NULL;
}

static void write_event(situation *s, int t, char what, int port, int label, int peer, int index)
{
    size_t n = strlen(s->did[t]);
    snprintf(s->did[t] + n, sizeof s->did[t] - n, "%c%d%d%d.%d ", what, port, label, peer, index);
    s->events[t]++;
    s->at[t]++;
}

static bool takes(const step *s, int port, int label)
{
    return s && !s->sends && s->open[port] >= 0 && (s->open[port] == LABELS || s->open[port] == label);
}

static int queued_of(const situation *s, int port, int sender)
{
    int n = 0;
    for (int i = 0; i < s->lengths[port]; i++)
        n += s->queues[port][i].sender == sender;
    return n;
}

static void explore(const situation *s);

static void try_send(const situation *s, int t, const step *step_now)
{
    situation next = *s;
    int p = step_now->port, label = label_of(step_now, s->known[t]), owner = program.owner[p];
    if (!step_now->sync) {
        if (program.room[p] && queued_of(s, p, t) >= program.room[p])
            return;
        next.queues[p][next.lengths[p]++] = (sent){t, label, s->events[t] + 1, false};
        write_event(&next, t, 's', p, label, 0, 0);
        explore(&next);
        return;
    }
    if (program.medium[p] == APH_THREAD_FIFO_PORT) {
        if (s->in_line[t])
            return;
        next.queues[p][next.lengths[p]++] = (sent){t, label, s->events[t] + 1, true};
        next.in_line[t] = true;
        explore(&next);
        return;
    }
    bool overtakes = program.medium[p] != APH_THREAD_UNORDERED && queued_of(s, p, t);
    if (takes(step_of(&next, owner), p, label) && !overtakes) {
        write_event(&next, t, 'S', p, label, owner, s->events[owner] + 1);
        write_event(&next, owner, 'R', p, label, t, s->events[t] + 1);
        next.known[owner] = learn(next.known[owner], label, t);
        explore(&next);
    }
}

static bool may_leave(const situation *s, int port, int i)
{
    if (program.medium[port] == APH_THREAD_FIFO_PORT)
        return i == 0;
    for (int k = 0; k < i && program.medium[port] == APH_THREAD_FIFO_PAIR; k++)
        if (s->queues[port][k].sender == s->queues[port][i].sender)
            return false;
    return true;
}

static void try_receive(const situation *s, int t, const step *step_now)
{
    for (int p = 0; p < program.ports; p++)
        for (int i = 0; i < s->lengths[p]; i++) {
            situation next = *s;
            sent m = s->queues[p][i];
            if (!takes(step_now, p, m.label) || !may_leave(s, p, i))
                continue;
            next.lengths[p]--;
            memmove(&next.queues[p][i], &next.queues[p][i + 1], (size_t)(next.lengths[p] - i) * sizeof m);
            if (m.sync) {
                write_event(&next, m.sender, 'S', p, m.label, t, s->events[t] + 1);
                next.in_line[m.sender] = false;
            }
            write_event(&next, t, m.sync ? 'R' : 'r', p, m.label, m.sender, m.index);
            next.known[t] = learn(next.known[t], m.label, m.sender);
            explore(&next);
        }
}

/* Describes the events, and optionally the queues. */
static void describe(const situation *s, char *text, size_t size, bool with_queues)
{
    size_t n = 0;
    for (int t = 0; t < program.threads; t++)
        n += (size_t)snprintf(text + n, size - n, "%s|", s->did[t]);
    for (int p = 0; p < program.ports && with_queues; p++)
        for (int i = 0; i < s->lengths[p]; i++)
            n += (size_t)snprintf(text + n, size - n, "%d:%d.%d ", p, s->queues[p][i].sender, s->queues[p][i].index);
}

static unsigned long steps_taken;

static void explore(const situation *before)
{
    char text[2 * TEXT];
    situation s = *before;
    bool over = true;
    unsigned long taken = ++steps_taken;
    describe(&s, text, sizeof text, true);
    if (!add(&seen, text))
        return;
    for (int t = 0; t < program.threads; t++) {
        const step *now = step_of(&s, t);
        over &= !now;
        if (now && now->sends)
            try_send(&s, t, now);
        else if (now)
            try_receive(&s, t, now);
    }
    if (steps_taken != taken)
        return;
    describe(&s, text, sizeof text, false);
    if (add(&ends, text))
        deadlocks += !over;
}

int main(int count, char **words)
{
    if (count < 2) {
        fputs("usage: scramble NUMBER [count | model]\n", stderr);
        return 2;
    }
    make_program(strtoull(words[1], NULL, 10));
    if (count > 2 && !strcmp(words[2], "model")) {
        print_model(words[1]);
    } else if (count > 2) {
        explore(&(situation){.at = {0}});
        printf("%zu %lu\n", ends.count, deadlocks);
        empty(&seen);
        empty(&ends);
    } else {
        run();
    }
    return 0;
}
