/* SPDX-License-Identifier: Apache-2.0
 *
 * load_client.c - a client that sends many concurrent requests; see load_client.h.
 *
 * One thread uses poll. A request is recorded before its first byte is sent, a response after its last byte arrived, so
 * that the trace could come from a correct tester. */
#include "load_client.h"

#include "base/clock.h"
#include "base/memory.h"
#include "codec/codec_internal.h"
#include "models/models.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the server -------------------------------------------------------------------------------------------------- */

served served_start(const char *const *words)
{
    const char *arguments[24] = {"antiphon", "serve"};
    for (size_t i = 0; words[i]; i++) {
        assert(i < 20);
        arguments[i + 2] = words[i];
    }
    const char *program = getenv("ANTIPHON");
    int ends[2];
    assert(program);
    assert(pipe(ends) == 0);
    served s = {.pid = fork(), .at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)}};
    assert(s.pid >= 0);
    if (s.pid == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        execv(program, (char *const *)(uintptr_t)arguments);
        _exit(127);
    }
    close(ends[1]);
    s.out = fdopen(ends[0], "r");
    char line[128];
    unsigned port;
    assert(fgets(line, sizeof line, s.out) && sscanf(line, "listening on 127.0.0.1:%u", &port) == 1);
    s.at.sin_port = htons((uint16_t)port);
    return s;
}

int served_stop(served *s)
{
    int status;
    kill(s->pid, SIGTERM);
    while (waitpid(s->pid, &status, 0) < 0)
        assert(errno == EINTR);
    fclose(s->out);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* ---- requests ------------------------------------------------------------------------------------------------------
 * */

static aph_value register_request(load_client *a)
{
    aphi_choice *c = &a->choice;
    aph_value key = aph_int((int64_t)aphi_choice_below(c, a->keys)), value = aph_int(aphi_choice_within(c, 0, 4));
    switch (aphi_choice_below(c, 3)) {
    case 0: return aph_record("f", aph_str("read"), "key", key);
    case 1: return aph_record("f", aph_str("write"), "key", key, "value", value);
    default:
        return aph_record("f", aph_str("cas"), "key", key, "value",
                          APH_ARRAY_OF(aph_int(aphi_choice_within(c, 0, 4)), value));
    }
}

static aph_value kv_request(load_client *a)
{
    aphi_choice *c = &a->choice;
    aph_value key = aph_strf("k%d", (int)aphi_choice_below(c, a->keys));
    aph_value value = aph_strf("%llu.", (unsigned long long)a->made);
    switch (aphi_choice_below(c, 6)) {
    case 0: case 1: return aph_record("f", aph_str("get"), "key", key);
    case 2: return aph_record("f", aph_str("put"), "key", key, "value", value);
    case 3: return aph_record("f", aph_str("delete"), "key", key);
    default: return aph_record("f", aph_str("append"), "key", key, "value", value);
    }
}

static aph_value swap_request(load_client *a)
{
    return aph_strf("%03d", (int)(a->made % 1000));
}

/* The queue is usually empty, so the order of concurrent values is observed soon. */
static aph_value queue_request(load_client *a)
{
    if (aphi_choice_chance(&a->choice, 3, 5))
        return aph_record("f", aph_str("dequeue"));
    return aph_record("f", aph_str("enqueue"), "value", aph_int((int64_t)a->made));
}

static aph_value etag_kv_request(load_client *a)
{
    aphi_choice *c = &a->choice;
    bool get = aphi_choice_chance(c, 2, 3);
    aph_value key = aph_strf("k%d", (int)aphi_choice_below(c, a->keys));
    aph_value r = aph_record("f", aph_str(get ? "get" : "put"), "key", key);
    if (!get)
        r = aph_put(r, "value", aph_int((int64_t)a->made));
    if (aph_count(a->tags) && aphi_choice_chance(c, 1, 2))
        r = aph_put(r, get ? "if_none_match" : "if_match", aph_at(a->tags, aphi_choice_below(c, aph_count(a->tags))));
    return r;
}

/* Stores the latest tags. */
static void store_tag(load_client *a, aph_value answer)
{
    aph_value tag = aph_field(answer, "tag");
    if (tag && aph_count(a->tags) < 4)
        a->tags = aph_push(a->tags, tag);
    else if (tag)
        a->tags = aph_replace(a->tags, aphi_choice_below(&a->choice, 4), tag);
}

load_client load_client_of(const aph_model *model, uint64_t seed)
{
    static const struct {
        const aph_model *model;
        aph_value (*request)(load_client *a);
    } known[] = {{&aph_model_register, register_request}, {&aph_model_kv, kv_request}, {&aph_model_swap, swap_request},
                 {&aph_model_queue, queue_request}, {&aph_model_etag_kv, etag_kv_request}};
    load_client a = {.model = model, .choice = aphi_choice_seed(seed), .tags = aph_array(0, NULL)};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].model == model)
            a.request = known[i].request;
    assert(a.request);
    a.answered = model == &aph_model_etag_kv ? store_tag : NULL;
    return a;
}

/* ---- connections ---------------------------------------------------------------------------------------------------
 * */

typedef struct line {
    aphi_buffer in, out;
    size_t written, scanned, taken;
    unsigned in_flight;
    int64_t heard_ns;
} line;

typedef struct session {
    load_client *load_client;
    const load_options *how;
    struct pollfd *polls;
    line *lines;
    unsigned sent, ended;
} session;

static void record_event(session *t, unsigned i, const char *what, aph_value message)
{
    if (!t->how->trace)
        return;
    fprintf(t->how->trace, "{\"conn\":%u,\"%s\":", i, what);
    aph_json_write(t->how->trace, message);
    fputs("}\n", t->how->trace);
}

static void send_request(session *t, unsigned i)
{
    line *l = &t->lines[i];
    while (l->in_flight < t->how->depth && t->sent < t->how->requests && (!t->how->datagrams || !l->out.n)) {
        aph_value message = t->load_client->request(t->load_client);
        t->load_client->made++;
        record_event(t, i, "send", message);
        bool encoded = aphi_encode_at(t->load_client->model->codec, NULL, APH_TO_SERVER, message, &l->out);
        assert(encoded);
        (void)encoded;
        l->in_flight++;
        t->sent++;
    }
}

static void take_response(session *t, unsigned i, aph_value message)
{
    line *l = &t->lines[i];
    l->heard_ns = aphi_clock_ns();
    record_event(t, i, "recv", message);
    if (t->load_client->answered)
        t->load_client->answered(t->load_client, message);
    if (l->in_flight) {
        l->in_flight--;
        t->ended++;
    }
}

static bool decode_response(session *t, unsigned i)
{
    line *l = &t->lines[i];
    aph_wire w = {.side = APH_FROM_SERVER, .scanned = l->scanned};
    aph_decoded result;
    do {
        w.bytes = (const unsigned char *)l->in.data + l->taken;
        w.count = l->in.n - l->taken;
        result = aph_decode(t->load_client->model->codec, &w);
        if (result == APH_DECODED) {
            l->taken += w.used;
            take_response(t, i, w.message);
        }
    } while (result == APH_DECODED);
    l->scanned = w.scanned;
    if (l->taken == l->in.n)
        l->taken = l->in.n = 0;
    if (result == APH_MALFORMED)
        fprintf(stderr, "asker: connection %u: byte %zu: %s\n", i, w.at, w.why);
    return result == APH_MORE;
}

static bool on_readable(session *t, unsigned i)
{
    char bytes[65536];
    ssize_t n = recv(t->polls[i].fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (n <= 0) {
        fprintf(stderr, "asker: connection %u was closed\n", i);
        return false;
    }
    aphi_buffer_add(&t->lines[i].in, bytes, (size_t)n);
    return decode_response(t, i);
}

static bool on_writable(session *t, unsigned i)
{
    line *l = &t->lines[i];
    ssize_t n = send(t->polls[i].fd, l->out.data + l->written, l->out.n - l->written, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0)
        return errno == EAGAIN || errno == EINTR;
    l->written += (size_t)n;
    if (l->written == l->out.n)
        l->written = l->out.n = 0;
    return true;
}

/* Requests without a response are recorded as lost; late responses are still recorded. */
static void record_losses(session *t, unsigned i)
{
    line *l = &t->lines[i];
    if (l->in_flight && aphi_clock_ns() - l->heard_ns > 50000000) {
        t->ended += l->in_flight;
        l->in_flight = 0;
        l->heard_ns = aphi_clock_ns();
    }
}

static bool connect_all(session *t, const served *s)
{
    for (unsigned i = 0; i < t->how->connections; i++) {
        int fd = t->polls[i].fd = socket(AF_INET, t->how->datagrams ? SOCK_DGRAM : SOCK_STREAM, 0);
        t->lines[i].heard_ns = aphi_clock_ns();
        if (fd < 0 || connect(fd, (const struct sockaddr *)&s->at, sizeof s->at)) {
            perror("asker: connect");
            return false;
        }
        fcntl(fd, F_SETFL, O_NONBLOCK);
    }
    return true;
}

static bool poll_once(session *t)
{
    for (unsigned i = 0; i < t->how->connections; i++) {
        if (t->how->datagrams)
            record_losses(t, i);
        send_request(t, i);
        t->polls[i].events = (short)(POLLIN | (t->lines[i].out.n ? POLLOUT : 0));
    }
    int n = poll(t->polls, t->how->connections, t->how->datagrams ? 10 : 10000);
    if (n == 0 && !t->how->datagrams)
        fprintf(stderr, "asker: %u of %u requests have no answer\n", t->sent - t->ended, t->sent);
    for (unsigned i = 0; i < t->how->connections; i++) {
        if ((t->polls[i].revents & POLLOUT) && !on_writable(t, i))
            return false;
        if ((t->polls[i].revents & (POLLIN | POLLHUP | POLLERR)) && !on_readable(t, i))
            return false;
    }
    return n > 0 || t->how->datagrams;
}

bool load_client_run(load_client *a, const served *s, const load_options *how)
{
    session t = {.load_client = a, .how = how, .polls = aphi_alloc_zero(how->connections * sizeof *t.polls),
              .lines = aphi_alloc_zero(how->connections * sizeof *t.lines)};
    a->keys = 2 + (uint64_t)how->connections * how->depth / 6;
    bool good = connect_all(&t, s);
    while (good && t.ended < how->requests)
        good = poll_once(&t);
    for (unsigned i = 0; i < how->connections; i++) {
        close(t.polls[i].fd);
        aphi_buffer_free(&t.lines[i].in);
        aphi_buffer_free(&t.lines[i].out);
    }
    free(t.polls);
    free(t.lines);
    return good;
}
