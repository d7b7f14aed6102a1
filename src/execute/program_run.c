/* SPDX-License-Identifier: Apache-2.0
 *
 * program_run.c - controlled runs of a program on the threads library.
 *
 * Idea:       antiphon and the program communicate over two pipes, whose descriptors are in ANTIPHON_THREADS;
 *             src/threads/control_client.c documents the protocol. The program enforces the time limit of a run itself.
 *             If the program does not respond, its processes are killed after a grace period.
 * Invariants: 1. output of the program is not trusted: numbers are checked against the layout
 *             2. no process outlives aphi_program_close; if antiphon is killed, the program is killed, too */
#include "execute/program_run.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memory.h"
#include "subject/reaper.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GRACE_MS = 10000, STOP_POLL_MS = 100 /* between two checks of *stop */ };
enum { LINE_MAX_BYTES = 1024, PORTS_MAX = 1 << 15 };

struct aphi_program {
    aphi_reaper reaper;
    int to, from;
    char buffer[1 << 16];
    size_t at, end;
    aphi_layout layout;
    aphi_buffer request;
    const volatile sig_atomic_t *stop; /* or NULL */
};

/* ---- reading lines ----------------------------------------------------------------------------------------------- */

typedef enum read_status { READ_LINE, READ_END, READ_TIMEOUT } read_status;

static read_status fill_buffer(aphi_program *p, int64_t deadline_ns)
{
    for (;;) {
        int64_t left = (deadline_ns - aphi_clock_ns()) / 1000000;
        struct pollfd wait = {.fd = p->from, .events = POLLIN};
        if (p->stop && *p->stop)
            return READ_TIMEOUT;
        int n = left <= 0 ? 0 : poll(&wait, 1, left > STOP_POLL_MS ? STOP_POLL_MS : (int)left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0 && left <= 0)
            return READ_TIMEOUT;
        if (n == 0)
            continue;
        ssize_t got = read(p->from, p->buffer, sizeof p->buffer);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return READ_END;
        p->at = 0;
        p->end = (size_t)got;
        return READ_LINE;
    }
}

/* Reads a line without its newline, truncated if too long. */
static read_status read_line(aphi_program *p, char line[LINE_MAX_BYTES], int64_t deadline_ns)
{
    size_t n = 0;
    for (;;) {
        if (p->at == p->end) {
            read_status h = fill_buffer(p, deadline_ns);
            if (h != READ_LINE)
                return h;
        }
        char c = p->buffer[p->at++];
        if (c == '\n')
            break;
        if (n < LINE_MAX_BYTES - 1)
            line[n++] = c;
    }
    line[n] = 0;
    return READ_LINE;
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

static bool start_program(aphi_program *p, char *const *words, char *error, size_t size)
{
    int to[2], from[2];
    char variable[64];
    if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
        return aphi_fail(error, size, "no pipe to %s: %s", words[0], strerror(errno));
    snprintf(variable, sizeof variable, "ANTIPHON_THREADS=%d,%d", to[0], from[1]);
    aphi_process_options options = {.argv = words, .variable = variable, .in = APHI_PROCESS_NULL, .out = STDERR_FILENO,
                                    .err = STDERR_FILENO, .kept = (int[]){to[0], from[1], 0}};
    bool started = aphi_reaper_open(&p->reaper, &options, -1) && aphi_reaper_start(&p->reaper, NULL);
    int failure = errno;
    close(to[0]);
    close(from[1]);
    p->to = to[1];
    p->from = from[0];
    if (!started)
        return aphi_fail(error, size, "%s cannot be started: %s", words[0], strerror(failure));
    return true;
}

static bool parse_port(aphi_layout *c, const char *line)
{
    static const char *const mediums[] = {"pair", "port", "unordered"};
    unsigned owner;
    uint32_t capacity;
    char medium[16], name[64];
    if (sscanf(line, "port %u %15s %" SCNu32 " %63s", &owner, medium, &capacity, name) != 4 || owner >= c->thread_count
        || c->port_count == PORTS_MAX || aphi_layout_port_named(c, name) != SIZE_MAX)
        return false;
    for (unsigned i = 0; i < 3; i++)
        if (!strcmp(medium, mediums[i])) {
            aphi_layout_add_port(c, name, (uint16_t)owner, (aphi_medium)i, capacity);
            return true;
        }
    return false;
}

static bool parse_thread(aphi_layout *c, const char *line)
{
    char name[64];
    if (sscanf(line, "thread %63s", name) != 1 || c->thread_count == APHI_LAYOUT_THREADS_MAX
        || aphi_layout_thread_named(c, name) != SIZE_MAX)
        return false;
    aphi_layout_add_thread(c, name);
    return true;
}

static bool read_layout(aphi_program *p, const char *name, uint64_t time_ms, char *error, size_t size)
{
    static const char hint[] = "link it with libantiphon-threads, and call aph_threads_run";
    char line[LINE_MAX_BYTES];
    int64_t deadline = aphi_clock_ns() + (int64_t)(time_ms + GRACE_MS / 10) * 1000000;
    bool first = true;
    for (;; first = false) {
        switch (read_line(p, line, deadline)) {
        case READ_END: return aphi_fail(error, size, "%s exited before it ran its threads: %s", name, hint);
        case READ_TIMEOUT: return aphi_fail(error, size, "%s did not run its threads within %" PRIu64 " ms: %s", name,
                                            time_ms + GRACE_MS / 10, hint);
        default: break;
        }
        if (!first && !strcmp(line, "ready"))
            return true;
        if (first ? strcmp(line, "antiphon-threads 1") != 0
            : !parse_thread(&p->layout, line) && !parse_port(&p->layout, line))
            return aphi_fail(error, size, "%s writes an unknown line: %.200s", name, line);
    }
}

static aphi_program *begin(aphi_program *p, const char *name, uint64_t time_ms, char *error, size_t size)
{
    if (read_layout(p, name, time_ms, error, size)) {
        aphi_layout_label(&p->layout, "*");
        return p;
    }
    aphi_program_close(p);
    return NULL;
}

aphi_program *aphi_program_open(char *const *words, uint64_t time_ms, char *error, size_t size)
{
    aphi_program *p = aphi_alloc_zero(sizeof *p);
    p->to = p->from = -1;
    if (start_program(p, words, error, size))
        return begin(p, words[0], time_ms, error, size);
    aphi_program_close(p);
    return NULL;
}

aphi_program *aphi_program_attach(int to, int from, const char *name, uint64_t time_ms, char *error, size_t size)
{
    aphi_program *p = aphi_alloc_zero(sizeof *p);
    p->to = to;
    p->from = from;
    return begin(p, name, time_ms, error, size);
}

void aphi_program_close(aphi_program *p)
{
    if (!p)
        return;
    if (p->to >= 0)
        close(p->to);
    if (p->from >= 0)
        close(p->from);
    aphi_reaper_close(&p->reaper);
    aphi_layout_free(&p->layout);
    aphi_buffer_free(&p->request);
    free(p);
}

aphi_layout *aphi_program_layout(aphi_program *p)
{
    return &p->layout;
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

aphi_program_run_options aphi_program_run_options_default(uint64_t seed, uint64_t time_ms)
{
    return (aphi_program_run_options){.seed = seed, .time_ms = time_ms, .events_max = 100000, .local_thread = -1};
}

static void format_request(aphi_program *p, const aphi_program_run_options *o)
{
    aphi_buffer *b = &p->request;
    b->n = 0;
    aphi_buffer_format(b, "run %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %d\n", o->seed, o->time_ms, o->events_max,
                       o->replay, o->local_thread);
    for (size_t i = 0; i < o->forced_count; i++) {
        const aphi_recorded_event *e = &o->forced[i];
        aphi_buffer_format(b, "f %u %c %d %u %s %u %" PRIu32 "\n", e->id.thread, "srl"[e->op], e->sync, e->port,
                           p->layout.labels[e->label], e->peer.thread, e->peer.index);
    }
    for (size_t i = 0; i < o->excluded_count; i++)
        aphi_buffer_format(b, "x %u %u %" PRIu32 "\n", o->excluded[i].thread, o->excluded[i].send.thread,
                           o->excluded[i].send.index);
    for (size_t i = 0; i < o->sample_count; i++) {
        aphi_buffer_format(b, "m %u %s ", o->samples[i].port, p->layout.labels[o->samples[i].label]);
        for (size_t k = 0; k < sizeof o->samples[i].payload; k++)
            aphi_buffer_format(b, "%02x", o->samples[i].payload[k]);
        aphi_buffer_byte(b, '\n');
    }
    aphi_buffer_str(b, "go\n");
}

static bool send_request(aphi_program *p, const aphi_program_run_options *o)
{
    struct sigaction quiet = {.sa_handler = SIG_IGN}, before;
    format_request(p, o);
    sigaction(SIGPIPE, &quiet, &before);
    bool sent = aphi_write_all(p->to, p->request.data, p->request.n) == p->request.n;
    sigaction(SIGPIPE, &before, NULL);
    return sent;
}

/* ---- recordings -------------------------------------------------------------------------------------------------- */

static bool parse_outcome(const aphi_program *p, aphi_recording *r, const char *line)
{
    static const struct {
        const char *name;
        aphi_recording_end end;
    } outcomes[] = {
        {"ended", APHI_RECORDING_ENDED},       {"deadlock", APHI_RECORDING_DEADLOCK},
        {"blocked", APHI_RECORDING_BLOCKED},   {"diverged", APHI_RECORDING_DIVERGED},
        {"endless", APHI_RECORDING_ENDLESS},   {"crash", APHI_RECORDING_CRASHED},
        {"failed", APHI_RECORDING_FAILED},
    };
    char name[16];
    int detail = 0;
    if (sscanf(line, "outcome %15s %d %n", name, &r->number, &detail) != 2 || !detail)
        return false;
    snprintf(r->detail, sizeof r->detail, "%.*s", (int)sizeof r->detail - 1, line + detail);
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++)
        if (!strcmp(name, outcomes[i].name)) {
            r->end = outcomes[i].end;
            return r->end != APHI_RECORDING_DIVERGED || (size_t)r->number < p->layout.thread_count;
        }
    return false;
}

/* ---- fields of a line, separated by blanks; sscanf would take most of the time of an exploration ---------------- */

typedef struct fields {
    const char *at;
    bool valid; /* no field was missing or malformed so far */
} fields;

static fields fields_of(const char *line)
{
    return (fields){line + 2, line[1] == ' '};
}

static void skip_blank(fields *f)
{
    if (*f->at == ' ')
        f->at++;
}

static uint32_t next_number(fields *f)
{
    uint64_t number = 0;
    const char *begin = f->at;
    for (; *f->at >= '0' && *f->at <= '9' && number <= UINT32_MAX; f->at++)
        number = number * 10 + (uint64_t)(*f->at - '0');
    f->valid &= f->at > begin && (*f->at == ' ' || !*f->at) && number <= UINT32_MAX;
    skip_blank(f);
    return f->valid ? (uint32_t)number : 0;
}

/* Copies a word of less than `size` bytes. */
static void next_word(fields *f, char *word, size_t size)
{
    size_t n = strcspn(f->at, " ");
    f->valid &= n > 0 && n < size;
    n = f->valid ? n : 0;
    memcpy(word, f->at, n);
    word[n] = '\0';
    f->at += n;
    skip_blank(f);
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static void next_payload(fields *f, unsigned char payload[16])
{
    char hex[33];
    next_word(f, hex, sizeof hex);
    f->valid &= strlen(hex) == 32;
    for (int i = 0; i < 16 && f->valid; i++) {
        int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);
        f->valid = high >= 0 && low >= 0;
        payload[i] = f->valid ? (unsigned char)(high << 4 | low) : 0;
    }
}

/* ---- recordings -------------------------------------------------------------------------------------------------- */


static bool parse_event(aphi_program *p, aphi_recording *r, uint32_t *counts, const char *line)
{
    static const char ops[] = "srl";
    fields f = fields_of(line);
    char op[2], label[64];
    unsigned char payload[16];
    unsigned thread = next_number(&f);
    next_word(&f, op, sizeof op);
    unsigned sync = next_number(&f), free = next_number(&f), port = next_number(&f);
    next_word(&f, label, sizeof label);
    unsigned peer = next_number(&f);
    uint32_t index = next_number(&f);
    next_payload(&f, payload);
    bool receive = *op == 'r';
    if (!f.valid || thread >= p->layout.thread_count || peer >= p->layout.thread_count || !strchr(ops, *op) ||
        (*op != 'l' && (port >= p->layout.port_count || p->layout.ports[port].owner != (receive ? thread : peer))))
        return false;
    APHI_RESERVE(r->events, r->event_capacity, r->event_count + 1);
    aphi_recorded_event *e = &r->events[r->event_count++];
    *e = (aphi_recorded_event){.op = (aphi_alts_op)(strchr(ops, *op) - ops), .sync = sync, .free = free,
                               .id = {(uint16_t)thread, ++counts[thread]}, .port = (uint16_t)port,
                               .label = aphi_layout_label(&p->layout, label), .peer = {(uint16_t)peer, index},
                               .open = (uint32_t)r->open_item_count, .available = (uint32_t)r->available_count};
    memcpy(e->payload, payload, sizeof payload);
    return true;
}

static bool parse_open_item(aphi_program *p, aphi_recording *r, uint32_t *count, const char *line)
{
    fields f = fields_of(line);
    unsigned port = next_number(&f);
    char label[64];
    next_word(&f, label, sizeof label);
    if (!count || !f.valid || port >= p->layout.port_count)
        return false;
    APHI_RESERVE(r->open_items, r->open_item_capacity, r->open_item_count + 1);
    r->open_items[r->open_item_count++] = (aphi_open_item){(uint16_t)port, aphi_layout_label(&p->layout, label)};
    ++*count;
    return true;
}

static bool parse_available(aphi_program *p, aphi_recording *r, const char *line)
{
    fields f = fields_of(line);
    char label[64];
    unsigned thread = next_number(&f);
    uint32_t index = next_number(&f);
    unsigned port = next_number(&f);
    next_word(&f, label, sizeof label);
    unsigned sync = next_number(&f);
    if (!r->event_count || !f.valid || thread >= p->layout.thread_count || port >= p->layout.port_count)
        return false;
    APHI_RESERVE(r->available, r->available_capacity, r->available_count + 1);
    r->available[r->available_count++] =
        (aphi_available_message){{(uint16_t)thread, index}, (uint16_t)port, aphi_layout_label(&p->layout, label), sync};
    r->events[r->event_count - 1].available_count++;
    return true;
}

static aphi_thread_end *parse_thread_end(aphi_program *p, aphi_recording *r, const char *line)
{
    static const char *const names[] = {"runs", "receives", "sends", "room", "ended", "absent"};
    fields f = fields_of(line);
    char name[16], label[64];
    unsigned thread = next_number(&f);
    next_word(&f, name, sizeof name);
    unsigned port = next_number(&f);
    next_word(&f, label, sizeof label);
    if (!f.valid || thread >= p->layout.thread_count)
        return NULL;
    aphi_thread_end *s = &r->thread_ends[thread];
    *s = (aphi_thread_end){.port = (uint16_t)port, .label = aphi_layout_label(&p->layout, label),
                           .open = (uint32_t)r->open_item_count};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(name, names[i])) {
            s->status = (aphi_thread_status)i;
            bool uses_port = s->status == APHI_THREAD_SENDING || s->status == APHI_THREAD_PORT_FULL;
            return uses_port && port >= p->layout.port_count ? NULL : s;
        }
    return NULL;
}

/* Sets at[] to the places of the events in the recording: thread by thread, from first[thread] on. */
static void find_places(const aphi_recording *r, const uint32_t *counts, uint32_t *first, uint32_t *at)
{
    first[0] = 0;
    for (size_t i = 0; i < APHI_LAYOUT_THREADS_MAX; i++)
        first[i + 1] = first[i] + counts[i];
    for (size_t i = 0; i < r->event_count; i++)
        at[first[r->events[i].id.thread] + r->events[i].id.index - 1] = (uint32_t)i;
}

/* Returns the peer of an event, which must be the other end of the same message, or NULL. */
static const aphi_recorded_event *find_peer(const aphi_recording *r, const aphi_recorded_event *e,
                                            const uint32_t *first, const uint32_t *at)
{
    uint32_t place = first[e->peer.thread] + e->peer.index - 1;
    if (!e->peer.index || e->peer.index > first[e->peer.thread + 1] - first[e->peer.thread])
        return NULL;
    const aphi_recorded_event *o = &r->events[at[place]];
    return o->op + e->op == APHI_ALTS_SEND + APHI_ALTS_RECEIVE && o->op != e->op && o->port == e->port
        && o->label == e->label && o->sync == e->sync && aphi_event_id_equal(o->peer, e->id) ? o : NULL;
}

/* Returns true if each receive is of an earlier send. A send whose receive is missing, because the run ended in
 * between, was not received. */
static bool match_events(aphi_recording *r, const uint32_t *counts)
{
    uint32_t first[APHI_LAYOUT_THREADS_MAX + 1], *at = aphi_alloc((r->event_count + 1) * sizeof *at);
    bool matched = true;
    find_places(r, counts, first, at);
    for (size_t i = 0; i < r->event_count; i++) {
        aphi_recorded_event *e = &r->events[i];
        const aphi_recorded_event *peer = e->op == APHI_ALTS_LOCAL ? NULL : find_peer(r, e, first, at);
        if (e->op == APHI_ALTS_RECEIVE)
            matched &= peer && peer < e;
        else if (!peer)
            e->peer.index = 0;
    }
    free(at);
    return matched;
}

static bool read_recording(aphi_program *p, aphi_recording *r, bool alone, int64_t deadline_ns, char *error,
                           size_t size)
{
    char line[LINE_MAX_BYTES];
    uint32_t counts[APHI_LAYOUT_THREADS_MAX] = {0}, *open = NULL;
    aphi_recording_clear(r);
    for (;;) {
        switch (read_line(p, line, deadline_ns)) {
        case READ_END: return aphi_fail(error, size, "the program exited between two runs");
        case READ_TIMEOUT: return aphi_fail(error, size, "the program does not respond");
        default: break;
        }
        bool valid;
        aphi_thread_end *s;
        switch (line[0]) {
        case 'o':
            valid = line[1] == 'u' ? parse_outcome(p, r, line) : parse_open_item(p, r, open, line);
            break;
        case 'e':
            valid = parse_event(p, r, counts, line);
            open = valid ? &r->events[r->event_count - 1].open_count : NULL;
            break;
        case 'a': valid = parse_available(p, r, line); break;
        case 'w':
            valid = (s = parse_thread_end(p, r, line));
            open = s ? &s->open_count : NULL;
            break;
        case 'd':
            return alone || match_events(r, counts)
                || aphi_fail(error, size, "the program records a receive of a message that was not sent");
        default: valid = false;
        }
        if (!valid)
            return aphi_fail(error, size, "the program writes an unknown line: %.200s", line);
    }
}

void aphi_program_set_stop(aphi_program *p, const volatile sig_atomic_t *stop)
{
    p->stop = stop;
}

bool aphi_program_run(aphi_program *p, const aphi_program_run_options *options, aphi_recording *r, char *error,
                      size_t size)
{
    if (!send_request(p, options))
        return aphi_fail(error, size, "the program exited between two runs");
    int64_t deadline = aphi_clock_ns() + (int64_t)(options->time_ms + GRACE_MS) * 1000000;
    return read_recording(p, r, options->local_thread >= 0, deadline, error, size);
}
