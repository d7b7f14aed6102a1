/* SPDX-License-Identifier: Apache-2.0
 *
 * test_run.c - runs against a server whose behaviour the requests select: each verdict and its trace. */
#include "tester/run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <antiphon/model.h>

#include "base/clock.h"

#define MS INT64_C(1000000)

/* ---- the models: an echo, which repeats its requests ------------------------------------------------------------- */

static void step(aph *m, aph_value *state)
{
    (void)state;
    aph_request q = aph_recv(m);
    if (!aph_is_str(q.message))
        aph_unknown_request(m, "an echo takes a string");
    aph_send(m, q.from, q.message);
}

/* The oracle cannot judge the request "wide": its step branches without end. */
static void wide_step(aph *m, aph_value *state)
{
    (void)state;
    aph_request q = aph_recv(m);
    while (aph_str_is(q.message, "wide") && aph_either(m, "again", "done") == 0)
        ;
    aph_send(m, q.from, q.message);
}

static const aph_model echo_wide = {.version = APH_MODEL_VERSION, .name = "echo", .step = wide_step, .rpc = true};
static const aph_model echo_once = {.version = APH_MODEL_VERSION, .name = "echo", .step = step, .rpc = true,
                                    .shape = "[{\"weight\": 1, \"of\": \"once\"},"
                                             " {\"weight\": 20, \"of\": {\"fresh\": \"string\"}}]"};
static const aph_model echo = {.version = APH_MODEL_VERSION, .name = "echo", .step = step, .rpc = true,
                               .shape = "[{\"fresh\": \"string\"}]"};
static const aph_model echo_closes = {.version = APH_MODEL_VERSION, .name = "echo", .step = step, .rpc = true,
                                      .closes = APH_CLOSES_SETTLED};
static const aph_model echo_loose = {.version = APH_MODEL_VERSION, .name = "echo", .step = step};

/* Responses to "late" may take a second, those to "silent" half a second. */
static int64_t patience_ms(aph_value request)
{
    return aph_str_is(request, "late") ? 1000 : aph_str_is(request, "silent") ? 500 : 0;
}

static const aph_model echo_patient = {.version = APH_MODEL_VERSION, .name = "echo", .step = step, .rpc = true,
                                       .patience_ms = patience_ms};

/* "silent" waits for the next request of another client. */
static void step_waiting(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    if (aph_str_is(q.message, "silent"))
        *state = aph_push(aph_kind_of(*state) == APH_ARRAY ? *state : aph_array(0, NULL), aph_int(q.from));
    else
        aph_send(m, q.from, q.message);
}

static const aph_model echo_waiting = {.version = APH_MODEL_VERSION, .name = "echo", .step = step_waiting,
                                       .answers = true};

/* ---- the server -------------------------------------------------------------------------------------------------- */

static void write_text(int fd, const char *text)
{
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
        perror("send");
}

/* Serves one request. Returns the connection to continue with, or -1. */
static int serve_request(int fd, char *line)
{
    char answer[300];
    snprintf(answer, sizeof answer, "%s\n", line);
    static bool was_once;
    bool once = !strcmp(line, "\"once\"") && !was_once; /* the first such request gets no response */
    was_once |= once;
    if (!strcmp(line, "\"silent\"") || once)
        return fd;
    if (!strcmp(line, "\"apart\"")) { /* others get responses before this one */
        if (fork() == 0) {
            usleep(700000);
            write_text(fd, answer);
            _exit(0);
        }
        return fd;
    }
    if (!strcmp(line, "\"deaf\"")) {
        for (;;)
            pause();
    }
    if (!strcmp(line, "\"die\""))
        _exit(3);
    if (!strcmp(line, "\"late\""))
        usleep(450000);
    if (!strcmp(line, "\"wrong\""))
        write_text(fd, "\"right\"\n");
    else if (!strcmp(line, "\"twice\""))
        write_text(fd, "\"twice\"\n\"twice\"\n");
    else if (!strcmp(line, "\"garbage\""))
        write_text(fd, "}{\n");
    else if (!strcmp(line, "\"half\""))
        write_text(fd, "\"hal");
    else if (!strcmp(line, "\"slow\"")) {
        for (char *c = answer; *c; c++) {
            write_text(fd, (char[]){*c, 0});
            usleep(60000);
        }
    } else if (strcmp(line, "\"close\"") && strcmp(line, "\"reset\""))
        write_text(fd, answer);
    if (!strcmp(line, "\"reset\""))
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
    bool stays = strcmp(line, "\"half\"") && strcmp(line, "\"bye\"") && strcmp(line, "\"close\"") &&
                 strcmp(line, "\"reset\"");
    if (!stays)
        close(fd);
    return stays ? fd : -1;
}

/* Reads from a connection and joins requests that were split between reads. Returns false at the end. */
static bool serve_peer(int fd, char *inbox, size_t size)
{
    size_t have = strlen(inbox);
    ssize_t n = read(fd, inbox + have, size - 1 - have);
    if (n <= 0) {
        close(fd);
        return false;
    }
    inbox[have + (size_t)n] = 0;
    for (char *end; (end = strchr(inbox, '\n'));) {
        *end = 0;
        if (serve_request(fd, inbox) < 0)
            return false;
        memmove(inbox, end + 1, strlen(end + 1) + 1);
    }
    return true;
}

static _Noreturn void serve(int listener)
{
    enum { PEERS = 64 };
    signal(SIGCHLD, SIG_IGN);
    static char inboxes[PEERS][4096];
    struct pollfd fds[PEERS] = {{.fd = listener, .events = POLLIN}};
    for (int i = 1; i < PEERS; i++)
        fds[i] = (struct pollfd){.fd = -1, .events = POLLIN};
    for (;;) {
        poll(fds, PEERS, -1);
        for (int i = 1; i < PEERS; i++)
            if (fds[i].fd >= 0 && fds[i].revents && !serve_peer(fds[i].fd, inboxes[i], sizeof inboxes[i]))
                fds[i].fd = -1;
        for (int i = 1; fds[0].revents && i < PEERS; i++)
            if (fds[i].fd < 0) {
                fds[i].fd = accept(listener, NULL, NULL);
                fds[i].revents = 0;
                inboxes[i][0] = 0;
                break;
            }
    }
}

/* ---- a run ------------------------------------------------------------------------------------------------------- */

typedef struct world {
    pid_t server;
    aphi_subject *subject;
    aphi_script script;
    char trace_path[64];
    int trace;
    aphi_run *run;
    int64_t took;
    int64_t patience_ns; /* 0 means 200 ms */
    bool follows;        /* the patience follows the response times */
    int64_t until_ns;
    bool may_be_cut;
    int64_t (*idle_ns)(void);
} world;

static void mark_world(void *context)
{
    aphi_script_mark(&((world *)context)->script);
}

static int open_world(void **state)
{
    world *w = calloc(1, sizeof *w);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bind(listener, (struct sockaddr *)&at, sizeof at);
    getsockname(listener, (struct sockaddr *)&at, &size);
    listen(listener, 100);
    w->server = fork();
    if (w->server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        serve(listener);
    }
    close(listener);
    char target[64], error[300];
    snprintf(target, sizeof target, "127.0.0.1:%u", (unsigned)ntohs(at.sin_port));
    w->subject = aphi_subject_open(&(aphi_subject_options){.target = target}, error, sizeof error);
    snprintf(w->trace_path, sizeof w->trace_path, "/tmp/test_run-XXXXXX");
    w->trace = mkstemp(w->trace_path);
    aph_root_add(mark_world, w);
    *state = w;
    return w->subject && w->trace >= 0 ? 0 : -1;
}

static int close_world(void **state)
{
    world *w = *state;
    aph_root_remove(mark_world, w);
    aphi_run_free(w->run);
    aphi_script_free(&w->script);
    aphi_subject_close(w->subject);
    kill(w->server, SIGKILL);
    waitpid(w->server, NULL, 0);
    close(w->trace);
    unlink(w->trace_path);
    free(w);
    return 0;
}

/* Reads actions, one per line, without the header; ' stands for ". */
static void read_script(world *w, const char *actions)
{
    char text[4000], error[300];
    int n = snprintf(text, sizeof text, "{'antiphon':1,'script':'echo','environment':'tcp','seed':1}\n%s", actions);
    for (char *c = text; *c; c++)
        if (*c == '\'')
            *c = '"';
    if (!aphi_script_parse("script", text, (size_t)n, &w->script, error, sizeof error))
        fail_msg("%s", error);
}

static void expect_run(world *w, const aph_model *model, const char *actions, aphi_run_verdict expected,
                       const char *why)
{
    read_script(w, actions);
    aphi_run_options options = {.model = model, .subject = w->subject, .script = &w->script, .seed = 1,
                                .connections = 4, .depth = 4, .trace = w->trace, .until_ns = w->until_ns,
                                .may_be_cut = w->may_be_cut,
                                .patience_ns = w->follows ? 0 : w->patience_ns ? w->patience_ns : 200 * MS,
                                .trace_name = w->trace_path, .idle_ns = w->idle_ns};
    int64_t began = aphi_clock_ns();
    w->run = aphi_run_execute(&options);
    w->took = aphi_clock_ns() - began;
    if (w->run->outcome != expected)
        fail_msg("%s (%s), not %s", aphi_run_verdict_name(w->run->outcome), w->run->why,
                 aphi_run_verdict_name(expected));
    if (!strstr(w->run->why, why))
        fail_msg("it says \"%s\", not \"%s\"", w->run->why, why);
}

static size_t count_events(const world *w, aphi_run_event_kind kind)
{
    size_t n = 0, all;
    const aphi_run_event *events = aphi_run_events(w->run, &all);
    for (size_t i = 0; i < all; i++)
        n += events[i].kind == kind;
    return n;
}

/* The trace has its header and a line for each event, all of them JSON. */
static void expect_whole_trace(const world *w, size_t lines)
{
    char text[20000];
    ssize_t n = pread(w->trace, text, sizeof text - 1, 0);
    size_t count = 0;
    aph_value v;
    aph_json_error error;
    assert_true(n > 0 && text[n - 1] == '\n');
    text[n] = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), count++)
        if (!aph_json_read(line, strlen(line), &v, &error))
            fail_msg("%s: %s", line, error.message);
    assert_int_equal(count, lines);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void test_pass(void **state)
{
    world *w = *state;
    expect_run(w, &echo,
       "{'label':1,'conn':0,'send':'a'}\n"
       "{'label':3,'conn':1,'send':'b','chunk':1}\n"
       "{'label':5,'conn':0,'send':'c','wait':{'answer':2}}\n"
       "{'label':7,'conn':1,'send':'d','wait':'quiet'}\n"
       "{'label':9,'conn':1,'send':'e','wait':{'pause_us':2000}}\n",
       APHI_RUN_PASS, "explains");
    assert_int_equal(w->run->facts.requests, 5);
    assert_int_equal(w->run->facts.answers, 5);
    size_t n;
    const aphi_run_event *events = aphi_run_events(w->run, &n);
    assert_int_equal(n, 10);
    assert_int_equal(aphi_run_script(w->run)->count, 5);
    assert_true(w->run->script_whole);
    for (size_t i = 0; i < n; i++) { /* requests odd, responses even */
        const aphi_run_event *m = &events[i];
        assert_int_equal(m->label % 2, m->kind == APHI_RUN_EVENT_SENT);
    }
    expect_whole_trace(w, 11);
}

static void test_wrong_response(void **state)
{
    world *w = *state;
    expect_run(w, &echo, "{'label':1,'conn':0,'send':'a'}\n{'label':3,'conn':0,'send':'wrong'}\n",
       APHI_RUN_FAIL, "the model cannot explain");
    assert_true(w->run->rejected_event >= 0);
    size_t n;
    aphi_run_events(w->run, &n);
    expect_whole_trace(w, 1 + n);
}

static void test_response_without_request(void **state)
{
    world *w = *state;
    expect_run(w, &echo, "{'label':1,'conn':3,'send':'twice'}\n"
                         "{'label':3,'conn':1,'send':'a','wait':{'pause_us':20000}}\n",
       APHI_RUN_FAIL, "connection 3: response without a request");
}

static void test_starved(void **state)
{
    world *w = *state;
    expect_run(w, &echo, "{'label':1,'conn':0,'send':'a'}\n{'label':3,'conn':1,'send':'silent'}\n",
       APHI_RUN_STARVED, "request 3 on connection 1: no response within");
    assert_true(w->took >= 200 * MS);
    assert_true(w->run->doubtful);
    expect_whole_trace(w, 4);
}

static int64_t never_idle(void) { return 1; }

/* While other processes use all processors, a subject may be late. */
static void test_late_under_load(void **state)
{
    world *w = *state;
    w->idle_ns = never_idle;
    expect_run(w, &echo, "{'label':1,'conn':0,'send':'late'}\n", APHI_RUN_PASS, "explains");
}

/* The model's patience exceeds that of the run. */
static void test_patience_of_the_model(void **state)
{
    world *w = *state;
    expect_run(w, &echo_patient, "{'label':1,'conn':0,'send':'late'}\n", APHI_RUN_PASS, "explains");
    assert_true(w->took >= 400 * MS);
}

static void test_patience_of_the_model_ends(void **state)
{
    world *w = *state;
    expect_run(w, &echo_patient,
       "{'label':1,'conn':0,'send':'silent'}\n{'label':3,'conn':1,'send':'a','wait':{'answer':2}}\n", APHI_RUN_STARVED,
       "request 1 on connection 0: no response within 0.5 s");
    assert_int_equal(w->run->facts.answers, 1); /* other connections were used meanwhile */
}

/* A response that is not due in every explanation is not waited for. */
static void test_waiting_is_not_starved(void **state)
{
    world *w = *state;
    w->patience_ns = 20000 * MS;
    expect_run(w, &echo_waiting,
       "{'label':1,'conn':0,'send':'silent'}\n{'label':3,'conn':1,'send':'a','wait':{'answer':2}}\n", APHI_RUN_PASS,
       "explains");
    assert_int_equal(w->run->facts.answers, 1);
    assert_true(w->took < 10000 * MS);
}

/* Without a fixed patience, a pause is not mistaken for a lost response. */
static void test_patience_follows(void **state)
{
    world *w = *state;
    w->follows = true;
    expect_run(w, &echo, "{'label':1,'conn':0,'send':'late'}\n", APHI_RUN_PASS, "explains");
    assert_true(w->run->silence_ns >= 400 * MS && w->run->response_ns >= 400 * MS);
}

/* Incomplete messages end the silence, too. */
static void test_slow_is_not_silent(void **state)
{
    world *w = *state;
    expect_run(w, &echo, "{'label':1,'conn':0,'send':'slow'}\n", APHI_RUN_PASS, "explains");
    assert_true(w->took >= 300 * MS);
}

static void test_dead(void **state)
{
    world *w = *state;
    expect_run(w, &echo, "{'label':1,'conn':0,'send':'close'}\n", APHI_RUN_DEAD,
       "connection 0: it closed the connection; a response was outstanding");
    assert_int_equal(count_events(w, APHI_RUN_EVENT_LOST), 1);
    assert_int_equal(count_events(w, APHI_RUN_EVENT_DROPPED), 1);
    expect_whole_trace(w, 4);
}

static void test_reset(void **state)
{
    world *w = *state;
    expect_run(w, &echo, "{'label':1,'conn':0,'send':'reset'}\n", APHI_RUN_DEAD, "reset");
    assert_true(w->run->doubtful);
}

static void test_refused(void **state)
{
    world *w = *state;
    kill(w->server, SIGKILL);
    waitid(P_PID, (id_t)w->server, &(siginfo_t){0}, WEXITED | WNOWAIT);
    expect_run(w, &echo, "{'label':1,'conn':0,'send':'a'}\n", APHI_RUN_DEAD,
               "cannot connect to the subject: Connection refused");
}

/* An error before the end has precedence over the end. */
static void test_wrong_then_dead(void **state)
{
    expect_run(*state, &echo, "{'label':1,'conn':0,'send':'wrong'}\n{'label':3,'conn':0,'send':'close'}\n",
       APHI_RUN_FAIL, "the model cannot explain");
}

static void test_malformed(void **state)
{
    world *w = *state;
    expect_run(w, &echo, "{'label':1,'conn':2,'send':'garbage'}\n", APHI_RUN_MALFORMED,
       "connection 2: not a message");
    assert_int_equal(count_events(w, APHI_RUN_EVENT_MALFORMED), 1);
    expect_whole_trace(w, 3);
}

static void test_cut_off(void **state)
{
    expect_run(*state, &echo, "{'label':1,'conn':0,'send':'half'}\n", APHI_RUN_MALFORMED, "in the middle of a message");
}

/* If the model lets the subject close idle connections, they are opened again. */
static void test_closes_settled(void **state)
{
    world *w = *state;
    expect_run(w, &echo_closes,
       "{'label':1,'conn':0,'send':'bye'}\n{'label':3,'conn':0,'send':'a','wait':{'pause_us':50000}}\n",
       APHI_RUN_PASS, "explains");
    assert_int_equal(count_events(w, APHI_RUN_EVENT_DROPPED), 1);
}

/* The subject closes connections soon after a response. The longest time is recorded. */
static void test_time_of_closing(void **state)
{
    world *w = *state;
    char *script;
    size_t n;
    FILE *out = open_memstream(&script, &n);
    for (int c = 0; c < 20; c++)
        fprintf(out, "{'label':%d,'conn':%d,'send':'bye'}\n", 2 * c + 1, c);
    fprintf(out, "{'label':99,'conn':0,'send':'a','wait':{'pause_us':50000}}\n");
    fclose(out);
    expect_run(w, &echo_closes, script, APHI_RUN_PASS, "explains");
    assert_true(w->run->losses.closing_ns > 0 && w->run->losses.closing_ns <= w->took);
    free(script);
}

/* The subject resets connections with several requests on each. */
static void run_with_resets(world *w, int connections, int requests, aphi_run_verdict outcome, const char *why)
{
    char *script;
    size_t n;
    int label = 1;
    FILE *out = open_memstream(&script, &n);
    for (int c = 0; c < connections; c++)
        for (int i = 0; i < requests; i++, label += 2)
            fprintf(out, "{'label':%d,'conn':%d,'send':'reset'}\n", label, c);
    fclose(out);
    expect_run(w, &echo_closes, script, outcome, why);
    free(script);
}

static void test_few_resets(void **state)
{
    run_with_resets(*state, 8, 2, APHI_RUN_PASS, "explains");
}

static void test_many_resets(void **state)
{
    run_with_resets(*state, 9, 2, APHI_RUN_DEAD, "reset");
}

static void test_reset_of_a_single_connection(void **state)
{
    run_with_resets(*state, 1, 1, APHI_RUN_DEAD, "reset");
}

/* The subject closes a connection instead of responding to a single request on a rested connection. */
static void test_loss(void **state)
{
    world *w = *state;
    expect_run(w, &echo_closes,
       "{'label':1,'conn':0,'send':'a'}\n{'label':3,'conn':0,'send':'close','wait':{'pause_us':50000}}\n"
       "{'label':5,'conn':0,'send':'b','wait':{'answer':4}}\n",
       APHI_RUN_PASS, "explains");
    assert_int_equal(w->run->losses.count, 1);
    assert_int_equal(w->run->losses.excused, 0);
    assert_int_equal(aph_int_of(aph_field(aph_at(w->run->losses.shown, 0), "label")), 3);
    assert_int_equal(aph_int_of(aph_field(w->run->lost_kinds, "message")), 1);
}

/* Requests behind others, and requests on a connection that the tester closes, are not losses. */
static void test_excused(void **state)
{
    world *w = *state;
    expect_run(w, &echo_closes,
       "{'label':1,'conn':0,'send':'a'}\n{'label':3,'conn':0,'send':'close'}\n{'label':5,'conn':0,'send':'b'}\n"
       "{'label':7,'conn':1,'send':'a'}\n{'label':9,'conn':1,'send':'silent','wait':{'pause_us':50000}}\n"
       "{'label':11,'conn':1,'close':true}\n",
       APHI_RUN_PASS, "explains");
    assert_int_equal(w->run->losses.count, 0);
    assert_int_equal(w->run->losses.excused, 2);
}

/* The subject swallows the second request of each connection. On a busy machine, a few connections may not rest. */
static void test_many_losses(void **state)
{
    world *w = *state;
    char *script;
    size_t n;
    FILE *out = open_memstream(&script, &n);
    for (int c = 0; c < 30; c++)
        fprintf(out, "{'label':%d,'conn':%d,'send':'a'}\n"
                     "{'label':%d,'conn':%d,'send':'close','wait':{'pause_us':10000}}\n", 4 * c + 1, c, 4 * c + 3, c);
    fclose(out);
    expect_run(w, &echo_closes, script, APHI_RUN_DEAD, " of 60 requests were lost");
    assert_true(w->run->losing && w->run->doubtful);
    free(script);
}

static void test_must_not_close(void **state)
{
    world *w = *state;
    expect_run(w, &echo,
       "{'label':1,'conn':0,'send':'bye'}\n{'label':3,'conn':1,'send':'a','wait':{'pause_us':50000}}\n",
       APHI_RUN_DEAD, "connection 0: it closed the connection");
}

/* A connection that the tester closes with an outstanding request loses that response and no other. */
static void test_close_and_reopen(void **state)
{
    world *w = *state;
    expect_run(w, &echo,
       "{'label':1,'conn':0,'send':'a'}\n{'label':3,'conn':0,'close':true}\n"
       "{'label':5,'conn':0,'send':'b'}\n",
       APHI_RUN_PASS, "explains");
    assert_int_equal(count_events(w, APHI_RUN_EVENT_CLOSED), 1);
    assert_int_equal(count_events(w, APHI_RUN_EVENT_LOST), 1);
    assert_int_equal(count_events(w, APHI_RUN_EVENT_RECEIVED), 1);
    expect_whole_trace(w, 6);
}

/* Silence also ends a run if the model does not pair responses with requests. */
static void test_loose(void **state)
{
    world *w = *state;
    expect_run(w, &echo_loose, "{'label':1,'conn':0,'send':'a'}\n{'label':3,'conn':0,'send':'silent'}\n",
       APHI_RUN_STARVED, "the subject is silent, but every explanation has a pending response");
}

/* The oracle's time limit applies to each check, so a longer patience does not make the verdict unknown. */
static void test_loose_and_patient(void **state)
{
    world *w = *state;
    w->patience_ns = 1300 * MS;
    test_loose(state);
}

/* A subject stops reading, and the model does not determine which requests are outstanding. */
static void test_does_not_read(void **state)
{
    world *w = *state;
    char actions[400];
    char *much = malloc(8000000);
    memset(much, 'x', 7999999);
    much[7999999] = 0;
    snprintf(actions, sizeof actions, "{'label':1,'conn':0,'send':'deaf'}\n");
    read_script(w, actions);
    aphi_script_add(&w->script, &(aphi_action){.label = 3, .connection = 1, .send = aph_str(much)});
    free(much);
    aphi_run_options options = {.model = &echo_loose, .subject = w->subject, .script = &w->script, .connections = 4,
                                .depth = 4, .patience_ns = 200 * MS, .trace = -1};
    w->run = aphi_run_execute(&options);
    assert_int_equal(w->run->outcome, APHI_RUN_STARVED);
    assert_non_null(strstr(w->run->why, "does not read"));
}

/* A full disk causes an error; the trace ends with a complete line. */
static void test_full_disk(void **state)
{
    world *w = *state;
    struct rlimit before, small;
    getrlimit(RLIMIT_FSIZE, &before);
    small = (struct rlimit){150, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    read_script(w, "{'label':1,'conn':0,'send':'a'}\n{'label':3,'conn':0,'send':'b'}\n"
                   "{'label':5,'conn':0,'send':'c','wait':'quiet'}\n");
    w->run = aphi_run_execute(&(aphi_run_options){.model = &echo, .subject = w->subject, .script = &w->script,
                                             .connections = 1, .depth = 4, .trace = w->trace,
                                             .trace_name = w->trace_path});
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(w->run->outcome, APHI_RUN_TROUBLE);
    assert_non_null(strstr(w->run->why, w->trace_path));
    assert_non_null(strstr(w->run->why, "File too large"));
    char text[300];
    ssize_t n = pread(w->trace, text, sizeof text, 0);
    assert_true(n > 0 && n < 150 && text[n - 1] == '\n');
}

/* A failure does not count if it needs a request that the model does not know. */
static void test_unknown_request(void **state)
{
    world *w = *state;
    expect_run(w, &echo, "{'label':1,'conn':0,'send':'a'}\n{'label':3,'conn':0,'send':7}\n", APHI_RUN_TROUBLE,
       "request 3: an echo takes a string");
    assert_int_equal(w->run->fault, APH_FAULT_REQUEST);
}

static void test_stopped(void **state)
{
    world *w = *state;
    volatile sig_atomic_t stop = 1;
    w->run = aphi_run_execute(&(aphi_run_options){.model = &echo, .subject = w->subject, .seed = 5, .connections = 4,
                                             .depth = 2, .trace = w->trace, .trace_name = w->trace_path,
                                             .stop = &stop});
    assert_int_equal(w->run->outcome, APHI_RUN_STOPPED);
}

/* A script is performed to its end, although a response is late while others arrive. */
static void test_late_response_of_a_script(void **state)
{
    world *w = *state;
    char text[3000] = "{'label':1,'conn':0,'send':'apart'}\n";
    for (int i = 1; i <= 20; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text),
                 "{'label':%d,'conn':1,'send':'a','wait':{'pause_us':40000}}\n", 2 * i + 1);
    w->patience_ns = 100 * MS;
    expect_run(w, &echo, text, APHI_RUN_PASS, "explains");
    assert_int_equal(w->run->performed, 21);
    assert_int_equal(w->run->actions, 21);
    assert_int_equal(w->run->facts.answers, 21);
}

/* A generated run ends if one response is missing: after the patience if no others arrive, else after a multiple. */
static void test_late_response_of_a_generated_run(void **state)
{
    world *w = *state;
    int64_t began = aphi_clock_ns();
    w->run = aphi_run_execute(&(aphi_run_options){.model = &echo_once, .subject = w->subject, .seed = 3,
                                             .connections = 4, .depth = 1, .patience_ns = 100 * MS, .trace = -1,
                                             .until_ns = began + 60000 * MS});
    assert_int_equal(w->run->outcome, APHI_RUN_STARVED);
    assert_true(aphi_clock_ns() - began >= 100 * MS && aphi_clock_ns() - began < 50000 * MS);
}

static void test_time_limit_of_a_script(void **state)
{
    world *w = *state;
    w->until_ns = aphi_clock_ns() + 300 * MS;
    expect_run(w, &echo, "{'label':1,'conn':0,'send':'a'}\n"
                         "{'label':3,'conn':0,'send':'b','wait':{'pause_us':600000000}}\n",
               APHI_RUN_UNKNOWN, "time limit reached; 1 of 2 actions of the script were performed");
}

/* The observations up to the deadline are judged, and decide. */
static void test_script_that_is_cut(void **state)
{
    world *w = *state;
    w->until_ns = aphi_clock_ns() + 300 * MS;
    w->may_be_cut = true;
    expect_run(w, &echo, "{'label':1,'conn':0,'send':'a'}\n"
                         "{'label':3,'conn':0,'send':'b','wait':{'pause_us':600000000}}\n", APHI_RUN_PASS, "explains");
    assert_true(w->run->cut);
    assert_int_equal(w->run->performed, 1);
    assert_int_equal(w->run->facts.answers, 1);
}

static void test_script_that_ends_before_it_is_cut(void **state)
{
    world *w = *state;
    w->until_ns = aphi_clock_ns() + 600000 * MS;
    w->may_be_cut = true;
    expect_run(w, &echo, "{'label':1,'conn':0,'send':'a'}\n", APHI_RUN_PASS, "explains");
    assert_false(w->run->cut);
}

/* A script is performed to its end, although the oracle gives up, so that its trace can be judged. */
static void test_script_that_cannot_be_judged(void **state)
{
    world *w = *state;
    expect_run(w, &echo_wide, "{'label':1,'conn':0,'send':'a'}\n{'label':3,'conn':0,'send':'wide'}\n"
                              "{'label':5,'conn':0,'send':'b','wait':{'answer':4}}\n"
                              "{'label':7,'conn':1,'send':'c','wait':'quiet'}\n",
               APHI_RUN_UNKNOWN, "too many branches");
    assert_int_equal(w->run->performed, 4);
    assert_int_equal(w->run->facts.answers, 4);
    expect_whole_trace(w, 9);
}

/* The exit of the subject is certain, although the observations before it cannot be judged. */
static void test_dead_and_not_judged(void **state)
{
    world *w = *state;
    expect_run(w, &echo_wide, "{'label':1,'conn':0,'send':'wide'}\n"
                              "{'label':3,'conn':0,'send':'die','wait':{'answer':2}}\n", APHI_RUN_DEAD, "connection 0");
}

/* A run with generated actions ends near the limit of messages. */
static void test_generated(void **state)
{
    world *w = *state;
    w->run = aphi_run_execute(&(aphi_run_options){.model = &echo, .subject = w->subject, .seed = 7, .connections = 8,
                                             .depth = 3, .messages = 400, .trace = -1});
    if (w->run->outcome != APHI_RUN_PASS)
        fail_msg("%s", w->run->why);
    uint64_t messages = w->run->facts.requests + w->run->facts.answers;
    assert_true(messages >= 390 && messages <= 410);
    assert_int_equal(aphi_run_script(w->run)->count, w->run->facts.requests + count_events(w, APHI_RUN_EVENT_CLOSED));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_pass),           TEST(test_wrong_response),    TEST(test_response_without_request),
        TEST(test_starved),        TEST(test_late_under_load),
        TEST(test_patience_of_the_model), TEST(test_patience_of_the_model_ends), TEST(test_waiting_is_not_starved),
        TEST(test_patience_follows),
        TEST(test_slow_is_not_silent), TEST(test_dead),        TEST(test_reset),          TEST(test_refused),
        TEST(test_wrong_then_dead), TEST(test_malformed),      TEST(test_cut_off),        TEST(test_closes_settled),
        TEST(test_time_of_closing),
        TEST(test_loss), TEST(test_excused), TEST(test_many_losses),
        TEST(test_few_resets),      TEST(test_many_resets), TEST(test_reset_of_a_single_connection),
        TEST(test_must_not_close), TEST(test_close_and_reopen), TEST(test_loose), TEST(test_loose_and_patient),
             TEST(test_does_not_read),
        TEST(test_full_disk),      TEST(test_stopped),         TEST(test_unknown_request),         TEST(test_generated),
        TEST(test_late_response_of_a_script), TEST(test_late_response_of_a_generated_run),
        TEST(test_dead_and_not_judged), TEST(test_time_limit_of_a_script), TEST(test_script_that_is_cut),
        TEST(test_script_that_ends_before_it_is_cut), TEST(test_script_that_cannot_be_judged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
