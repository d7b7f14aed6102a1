/* SPDX-License-Identifier: Apache-2.0
 *
 * test_net.c - connections to a peer in the same process: sent bytes arrive, and each arrival is reported. */
#include "tester/net.h"

#include <antiphon/oracle.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"

enum { SEEN_MAX = 64 };

typedef struct seen {
    aphi_arrival_kind kind;
    int64_t connection;
    char text[64]; /* the message, or the reason */
    size_t at;
} seen;

typedef struct peer {
    int listener;
    struct sockaddr_in address;
    aphi_net *net;
    seen seen[SEEN_MAX];
    size_t count;
} peer;

static void arrived(void *context, const aphi_arrival *a)
{
    peer *p = context;
    assert_true(p->count < SEEN_MAX);
    seen *s = &p->seen[p->count++];
    *s = (seen){.kind = a->kind, .connection = a->connection, .at = a->at};
    if (a->message) {
        char *text = aph_json_text(a->message, NULL);
        snprintf(s->text, sizeof s->text, "%s", text);
        free(text);
    } else {
        snprintf(s->text, sizeof s->text, "%s", a->why ? a->why : "");
    }
}

static aph_value asked(void *context, int64_t connection)
{
    (void)context, (void)connection;
    return APH_NIL;
}

static void listen_here(peer *p, int type)
{
    socklen_t size = sizeof p->address;
    p->address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    p->listener = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(p->listener, (struct sockaddr *)&p->address, sizeof p->address), 0);
    assert_int_equal(getsockname(p->listener, (struct sockaddr *)&p->address, &size), 0);
    if (type == SOCK_STREAM)
        assert_int_equal(listen(p->listener, 100), 0);
}

static void start(peer *p, const aph_codec *codec, bool datagrams)
{
    char error[200];
    listen_here(p, datagrams ? SOCK_DGRAM : SOCK_STREAM);
    p->net = aphi_net_open(codec, (struct sockaddr *)&p->address, sizeof p->address, datagrams,
                           &(aphi_net_callbacks){p, arrived, asked}, error, sizeof error);
    assert_non_null(p->net);
}

static void finish(peer *p)
{
    aphi_net_close(p->net);
    if (p->listener >= 0)
        close(p->listener);
}

/* Runs the loop until there are `count` arrivals, for up to five seconds. */
static void run_until(peer *p, size_t count)
{
    int64_t until = aphi_clock_ns() + INT64_C(5000000000);
    while (p->count < count && aphi_clock_ns() < until)
        aphi_net_run_once(p->net, 10000000);
    assert_int_equal(p->count, count);
}

static void run_until_idle(peer *p)
{
    for (int i = 0; i < 5000 && !aphi_net_idle(p->net); i++)
        aphi_net_run_once(p->net, 1000000);
    assert_true(aphi_net_idle(p->net));
}

static void post(peer *p, int64_t connection, const char *text)
{
    assert_true(aphi_net_post(p->net, connection, aph_str(text), 0));
}

/* Returns the server's end of a connection that the tester has opened. */
static int accept_connection(peer *p)
{
    int one = 1, fd = accept(p->listener, NULL, NULL);
    assert_true(fd >= 0);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static void expect_bytes(int fd, const char *bytes)
{
    char got[200];
    size_t n = strlen(bytes), have = 0;
    while (have < n) {
        ssize_t count = read(fd, got + have, n - have);
        assert_true(count > 0);
        have += (size_t)count;
    }
    assert_memory_equal(got, bytes, n);
}

static void send_bytes(int fd, const char *bytes)
{
    assert_int_equal(send(fd, bytes, strlen(bytes), MSG_NOSIGNAL), strlen(bytes));
}

static void expect(const peer *p, size_t i, aphi_arrival_kind kind, int64_t connection, const char *text)
{
    assert_true(i < p->count);
    assert_int_equal(p->seen[i].kind, kind);
    assert_int_equal(p->seen[i].connection, connection);
    if (!strstr(p->seen[i].text, text))
        fail_msg("%s, not %s", p->seen[i].text, text);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void test_messages_both_ways(void **unused)
{
    (void)unused;
    peer p = {.count = 0};
    start(&p, NULL, false);
    post(&p, 3, "a");
    post(&p, 3, "b");
    run_until_idle(&p);
    int fd = accept_connection(&p);
    expect_bytes(fd, "\"a\"\n\"b\"\n");
    assert_int_equal(aphi_net_connections(p.net), 1);
    send_bytes(fd, "1\n{\"x\":[2]}\n");
    run_until(&p, 2);
    expect(&p, 0, APHI_ARRIVED_MESSAGE, 3, "1");
    expect(&p, 1, APHI_ARRIVED_MESSAGE, 3, "{\"x\":[2]}");
    close(fd);
    finish(&p);
}

/* A message that is sent in two pieces arrives complete, and the pieces arrive separately. */
static void test_pieces(void **unused)
{
    (void)unused;
    peer p = {.count = 0};
    start(&p, NULL, false);
    assert_true(aphi_net_post(p.net, 0, aph_str("a longer message"), 2));
    aphi_net_run_once(p.net, 0); /* connects, and may write the first piece */
    int fd = accept_connection(&p);
    char first[64] = "";
    for (int i = 0; i < 100 && recv(fd, first, sizeof first, MSG_DONTWAIT | MSG_PEEK) <= 0; i++)
        aphi_net_run_once(p.net, 0);
    assert_true(recv(fd, first, sizeof first, MSG_DONTWAIT | MSG_PEEK) < 18);
    assert_false(aphi_net_idle(p.net));
    run_until_idle(&p);
    expect_bytes(fd, "\"a longer message\"\n");
    close(fd);
    finish(&p);
}

/* Only a message that is posted in pieces is split: earlier queued bytes are sent in one piece. */
static void test_pieces_after_a_whole_message(void **unused)
{
    (void)unused;
    char text[2001], first[4096];
    ssize_t n = -1;
    peer p = {.count = 0};
    start(&p, NULL, false);
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = 0;
    post(&p, 0, text);
    assert_true(aphi_net_post(p.net, 0, aph_str("b"), 1));
    aphi_net_run_once(p.net, 0);
    int fd = accept_connection(&p);
    for (int i = 0; i < 1000 && n <= 0; i++) {
        aphi_net_run_once(p.net, 0);
        n = recv(fd, first, sizeof first, MSG_DONTWAIT | MSG_PEEK);
    }
    assert_true(n >= (ssize_t)sizeof text + 2);
    run_until_idle(&p);
    close(fd);
    finish(&p);
}

static void test_decodes_across_reads(void **unused)
{
    (void)unused;
    const char *text = "\"one\"\n[2,\"two\"]\n";
    peer p = {.count = 0};
    start(&p, NULL, false);
    post(&p, 0, "x");
    run_until_idle(&p);
    int fd = accept_connection(&p);
    for (size_t i = 0; text[i]; i++) {
        bool received = false;
        send_bytes(fd, (char[]){text[i], 0});
        for (int k = 0; k < 1000 && !received; k++) {
            aphi_net_run_once(p.net, 1000000);
            received = aphi_net_received(p.net);
        }
        assert_true(received);
        assert_int_equal(p.count, i < 5 ? 0 : i < 15 ? 1 : 2);
    }
    expect(&p, 0, APHI_ARRIVED_MESSAGE, 0, "\"one\"");
    expect(&p, 1, APHI_ARRIVED_MESSAGE, 0, "[2,\"two\"]");
    aphi_net_run_once(p.net, 0);
    assert_false(aphi_net_received(p.net));
    close(fd);
    finish(&p);
}

static void test_end_reset_refused(void **unused)
{
    (void)unused;
    peer p = {.count = 0};
    start(&p, NULL, false);
    for (int64_t i = 0; i < 4; i++)
        post(&p, i, "x");
    run_until_idle(&p);
    int fds[4];
    for (int i = 0; i < 4; i++) {
        fds[i] = accept_connection(&p); /* in the order of the connects */
        expect_bytes(fds[i], "\"x\"\n");
    }
    send_bytes(fds[0], "1\n"); /* a message directly before the end is delivered */
    close(fds[0]);
    run_until(&p, 2);
    expect(&p, 0, APHI_ARRIVED_MESSAGE, 0, "1");
    expect(&p, 1, APHI_ARRIVED_END, 0, "closed");
    setsockopt(fds[1], SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
    close(fds[1]);
    run_until(&p, 3);
    expect(&p, 2, APHI_ARRIVED_RESET, 1, "reset");
    send_bytes(fds[2], "\"half a mess");
    shutdown(fds[2], SHUT_WR);
    run_until(&p, 4);
    expect(&p, 3, APHI_ARRIVED_MALFORMED, 2, "half a mess");
    send_bytes(fds[3], "]\n");
    run_until(&p, 5);
    expect(&p, 4, APHI_ARRIVED_MALFORMED, 3, "]");
    assert_int_equal(p.seen[4].at, 0);
    assert_int_equal(aphi_net_connections(p.net), 0);
    close(fds[2]);
    close(fds[3]);
    close(p.listener);
    p.listener = -1;
    post(&p, 4, "x");
    run_until(&p, 6);
    expect(&p, 5, APHI_ARRIVED_REFUSED, 4, "refused");
    run_until_idle(&p);
    assert_int_equal(aphi_net_connections(p.net), 0);
    finish(&p);
}

enum { RESETS = 300 };

/* Accepts connections and resets each at once; half of them after a message. */
static void *reset_connections(void *context)
{
    const peer *p = context;
    for (int i = 0; i < RESETS; i++) {
        int fd = accept(p->listener, NULL, NULL);
        if (i % 2)
            send_bytes(fd, "1\n");
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
        close(fd);
    }
    return NULL;
}

/* A connection that is reset before the tester has noticed that it is open was not refused. */
static void test_reset_on_accept(void **unused)
{
    (void)unused;
    peer p = {.count = 0};
    pthread_t thread;
    start(&p, NULL, false);
    assert_int_equal(pthread_create(&thread, NULL, reset_connections, &p), 0);
    for (int64_t i = 0; i < RESETS; i++) {
        p.count = 0;
        aphi_net_open_connection(p.net, i);
        run_until(&p, 1 + (size_t)(i % 2));
        if (i % 2)
            expect(&p, 0, APHI_ARRIVED_MESSAGE, i, "1");
        expect(&p, (size_t)(i % 2), APHI_ARRIVED_RESET, i, "reset");
    }
    pthread_join(thread, NULL);
    finish(&p);
}

/* A connection that was reset with unsent bytes is not reopened to send them. */
static void test_no_reconnect_for_unsent_bytes(void **unused)
{
    (void)unused;
    peer p = {.count = 0};
    start(&p, NULL, false);
    post(&p, 0, "x");
    run_until_idle(&p);
    int fd = accept_connection(&p);
    char *much = malloc(8000001);
    memset(much, 'a', 8000000);
    much[8000000] = 0;
    post(&p, 0, much);
    free(much);
    aphi_net_run_once(p.net, 0);
    assert_false(aphi_net_idle(p.net));
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
    close(fd);
    run_until(&p, 1);
    expect(&p, 0, APHI_ARRIVED_RESET, 0, "reset");
    run_until_idle(&p);
    assert_int_equal(aphi_net_connections(p.net), 0);
    fcntl(p.listener, F_SETFL, O_NONBLOCK);
    assert_int_equal(accept(p.listener, NULL, NULL), -1);
    finish(&p);
}

/* Messages posted before a close are still sent; later messages use a new connection. */
static void test_close_and_reopen(void **unused)
{
    (void)unused;
    peer p = {.count = 0};
    start(&p, NULL, false);
    post(&p, 0, "old");
    aphi_net_close_connection(p.net, 0);
    post(&p, 0, "new");
    run_until_idle(&p);
    int first = accept_connection(&p), second = accept_connection(&p);
    expect_bytes(first, "\"old\"\n");
    expect_bytes(second, "\"new\"\n");
    char byte;
    assert_int_equal(read(first, &byte, 1), 0);
    send_bytes(first, "1\n");
    send_bytes(second, "2\n");
    run_until(&p, 1);
    expect(&p, 0, APHI_ARRIVED_MESSAGE, 0, "2");
    aphi_net_close_connection(p.net, 0);
    aphi_net_close_connection(p.net, 7); /* never opened */
    assert_int_equal(read(second, &byte, 1), 0);
    assert_int_equal(aphi_net_connections(p.net), 0);
    /* Unsent messages are freed. */
    post(&p, 1, "x");
    aphi_net_close_connection(p.net, 1);
    close(first);
    close(second);
    finish(&p);
}

/* A peer that does not read blocks only its own connection. */
static void test_full_socket(void **unused)
{
    (void)unused;
    peer p = {.count = 0};
    start(&p, NULL, false);
    char *much = malloc(8000001);
    memset(much, 'b', 8000000);
    much[8000000] = 0;
    post(&p, 0, much);
    aphi_net_run_once(p.net, 0);
    int stalled = accept_connection(&p);
    post(&p, 1, "x");
    for (int i = 0; i < 20; i++)
        aphi_net_run_once(p.net, 1000000);
    assert_false(aphi_net_idle(p.net));
    int other = accept_connection(&p);
    expect_bytes(other, "\"x\"\n");
    send_bytes(other, "1\n");
    run_until(&p, 1);
    fcntl(stalled, F_SETFL, O_NONBLOCK);
    size_t got = 0;
    for (int i = 0; i < 100000 && got < 8000003; i++) {
        char block[65536];
        ssize_t n = read(stalled, block, sizeof block);
        got += n > 0 ? (size_t)n : 0;
        aphi_net_run_once(p.net, 0);
    }
    assert_int_equal(got, 8000003);
    assert_true(aphi_net_idle(p.net));
    free(much);
    close(stalled);
    close(other);
    finish(&p);
}

static void test_too_long(void **unused)
{
    (void)unused;
    aph_codec codec = aph_codec_lines;
    codec.limit = 1000;
    peer p = {.count = 0};
    start(&p, &codec, false);
    post(&p, 0, "x");
    run_until_idle(&p);
    int fd = accept_connection(&p);
    char much[2001];
    memset(much, 'c', 2000);
    much[2000] = 0;
    send_bytes(fd, much);
    run_until(&p, 1);
    expect(&p, 0, APHI_ARRIVED_MALFORMED, 0, "ccc");
    close(fd);
    finish(&p);
}

static void test_out_of_descriptors_is_not_a_peer_error(void **unused)
{
    (void)unused;
    peer p = {.count = 0};
    start(&p, NULL, false);
    struct rlimit before, none;
    getrlimit(RLIMIT_NOFILE, &before);
    int next = dup(0);
    close(next);
    none = (struct rlimit){(rlim_t)next, before.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
    post(&p, 0, "x");
    aphi_net_run_once(p.net, 0);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_int_equal(p.count, 1);
    expect(&p, 0, APHI_ARRIVED_UNABLE, 0, "Too many open files");
    finish(&p);
}

static void test_not_a_message(void **unused)
{
    (void)unused;
    static const aph_codec three = APH_CODEC_FIXED(3);
    peer p = {.count = 0};
    start(&p, &three, false);
    assert_false(aphi_net_post(p.net, 0, aph_str("four"), 0));
    assert_true(aphi_net_idle(p.net));
    post(&p, 0, "abc");
    run_until_idle(&p);
    int fd = accept_connection(&p);
    expect_bytes(fd, "abc");
    close(fd);
    finish(&p);
}

static void test_datagrams(void **unused)
{
    (void)unused;
    peer p = {.count = 0};
    start(&p, NULL, true);
    struct sockaddr_in from;
    socklen_t size = sizeof from;
    char got[100];
    post(&p, 0, "a");
    post(&p, 0, "b");
    run_until_idle(&p);
    ssize_t n = recvfrom(p.listener, got, sizeof got, 0, (struct sockaddr *)&from, &size);
    assert_int_equal(n, 4); /* one message, one datagram */
    assert_memory_equal(got, "\"a\"\n", 4);
    assert_int_equal(recv(p.listener, got, sizeof got, 0), 4);
    sendto(p.listener, "1\n", 2, 0, (struct sockaddr *)&from, size);
    sendto(p.listener, "2\n", 2, 0, (struct sockaddr *)&from, size);
    run_until(&p, 2);
    expect(&p, 0, APHI_ARRIVED_MESSAGE, 0, "1");
    expect(&p, 1, APHI_ARRIVED_MESSAGE, 0, "2");
    sendto(p.listener, "1\n2\n", 4, 0, (struct sockaddr *)&from, size);
    run_until(&p, 3);
    expect(&p, 2, APHI_ARRIVED_MALFORMED, 0, "1");
    close(p.listener);
    p.listener = -1;
    post(&p, 1, "x");
    run_until(&p, 4);
    expect(&p, 3, APHI_ARRIVED_REFUSED, 1, "refused");
    finish(&p);
}

/* Returns a socket that is connected to the port. */
static int connect_to(unsigned port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((in_port_t)port),
                             .sin_addr = {htonl(INADDR_LOOPBACK)}};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

/* Connections are numbered in the order of their arrival at all origins, and by the origin; responses reach them. */
static void test_origins(void **unused)
{
    (void)unused;
    peer p = {0};
    aphi_origin origins[3] = {0};
    char error[200], got[8] = "";
    int fds[3];
    start(&p, &aph_codec_lines, false);
    for (int i = 0; i < 3; i++)
        assert_true((origins[i].fd = aphi_port_listen(&origins[i].port, error, sizeof error)) >= 0);
    int early = connect_to(origins[1].port); /* before the run: closed unread */
    aphi_net_listen(p.net, origins, 3);
    assert_int_equal(recv(early, got, sizeof got, 0), 0);
    static const int order[] = {2, 0, 2};
    for (size_t i = 0; i < 3; i++) {
        int64_t number = (order[i] + 1) * APH_ACCEPTED + (int64_t)i;
        fds[i] = connect_to(origins[order[i]].port);
        assert_int_equal(send(fds[i], "a\n", 2, 0), 2);
        run_until(&p, 2 * i + 2);
        expect(&p, 2 * i, APHI_ARRIVED_CALL, number, "");
        expect(&p, 2 * i + 1, APHI_ARRIVED_MESSAGE, number, "\"a\"");
    }
    post(&p, 3 * APH_ACCEPTED + 2, "b");
    run_until_idle(&p);
    assert_int_equal(recv(fds[2], got, sizeof got, 0), 2);
    assert_string_equal(got, "b\n");
    for (int i = 0; i < 3; i++) {
        close(fds[i]);
        close(origins[i].fd);
    }
    close(early);
    finish(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_both_ways),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_pieces_after_a_whole_message),
        cmocka_unit_test(test_decodes_across_reads),
        cmocka_unit_test(test_end_reset_refused),
        cmocka_unit_test(test_reset_on_accept),
        cmocka_unit_test(test_no_reconnect_for_unsent_bytes),
        cmocka_unit_test(test_close_and_reopen),
        cmocka_unit_test(test_full_socket),
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_out_of_descriptors_is_not_a_peer_error),
        cmocka_unit_test(test_not_a_message),
        cmocka_unit_test(test_datagrams),
        cmocka_unit_test(test_origins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
