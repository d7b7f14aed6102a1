/* SPDX-License-Identifier: Apache-2.0
 *
 * test_net.c - connections to a peer in the same process: what is sent arrives, what arrives is told as it is. */
#include "tester/net.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <arpa/inet.h>
#include <cmocka.h>
#include <fcntl.h>
#include <netinet/tcp.h>
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
    char text[64]; /* the message, or why */
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

/* Until there are so many arrivals; five seconds are too long. */
static void turn_until(peer *p, size_t count)
{
    int64_t until = aphi_clock_ns() + INT64_C(5000000000);
    while (p->count < count && aphi_clock_ns() < until)
        aphi_net_run_once(p->net, 10000000);
    assert_int_equal(p->count, count);
}

static void turn_until_idle(peer *p)
{
    for (int i = 0; i < 5000 && !aphi_net_idle(p->net); i++)
        aphi_net_run_once(p->net, 1000000);
    assert_true(aphi_net_idle(p->net));
}

static void post(peer *p, int64_t connection, const char *text)
{
    assert_true(aphi_net_post(p->net, connection, aph_str(text), 0));
}

/* The server's end of a connection; the tester must have dialled. */
static int let_in(peer *p)
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

static void say(int fd, const char *bytes)
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
    turn_until_idle(&p);
    int fd = let_in(&p);
    expect_bytes(fd, "\"a\"\n\"b\"\n");
    assert_int_equal(aphi_net_connections(p.net), 1);
    say(fd, "1\n{\"x\":[2]}\n");
    turn_until(&p, 2);
    expect(&p, 0, APHI_ARRIVED_MESSAGE, 3, "1");
    expect(&p, 1, APHI_ARRIVED_MESSAGE, 3, "{\"x\":[2]}");
    close(fd);
    finish(&p);
}

/* A message sent in pieces arrives whole; the pieces are seen separately. */
static void test_pieces(void **unused)
{
    (void)unused;
    peer p = {.count = 0};
    start(&p, NULL, false);
    assert_true(aphi_net_post(p.net, 0, aph_str("a longer message"), 2));
    aphi_net_run_once(p.net, 0); /* dials, and may write the first piece */
    int fd = let_in(&p);
    char first[64] = "";
    for (int i = 0; i < 100 && recv(fd, first, sizeof first, MSG_DONTWAIT | MSG_PEEK) <= 0; i++)
        aphi_net_run_once(p.net, 0);
    assert_true(recv(fd, first, sizeof first, MSG_DONTWAIT | MSG_PEEK) < 18);
    assert_false(aphi_net_idle(p.net));
    turn_until_idle(&p);
    expect_bytes(fd, "\"a longer message\"\n");
    close(fd);
    finish(&p);
}

/* What waits before it goes at once. */
static void test_pieces_of_its_own(void **unused)
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
    int fd = let_in(&p);
    for (int i = 0; i < 1000 && n <= 0; i++) {
        aphi_net_run_once(p.net, 0);
        n = recv(fd, first, sizeof first, MSG_DONTWAIT | MSG_PEEK);
    }
    assert_true(n >= (ssize_t)sizeof text + 2);
    turn_until_idle(&p);
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
    turn_until_idle(&p);
    int fd = let_in(&p);
    for (size_t i = 0; text[i]; i++) {
        bool heard = false;
        say(fd, (char[]){text[i], 0});
        for (int k = 0; k < 1000 && !heard; k++) {
            aphi_net_run_once(p.net, 1000000);
            heard = aphi_net_received(p.net);
        }
        assert_true(heard);
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
    turn_until_idle(&p);
    int fds[4];
    for (int i = 0; i < 4; i++) {
        fds[i] = let_in(&p); /* in the order of the dials */
        expect_bytes(fds[i], "\"x\"\n");
    }
    say(fds[0], "1\n"); /* the last words before an end are heard */
    close(fds[0]);
    turn_until(&p, 2);
    expect(&p, 0, APHI_ARRIVED_MESSAGE, 0, "1");
    expect(&p, 1, APHI_ARRIVED_END, 0, "closed");
    setsockopt(fds[1], SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
    close(fds[1]);
    turn_until(&p, 3);
    expect(&p, 2, APHI_ARRIVED_RESET, 1, "reset");
    say(fds[2], "\"half a mess");
    shutdown(fds[2], SHUT_WR);
    turn_until(&p, 4);
    expect(&p, 3, APHI_ARRIVED_MALFORMED, 2, "half a mess");
    say(fds[3], "]\n");
    turn_until(&p, 5);
    expect(&p, 4, APHI_ARRIVED_MALFORMED, 3, "]");
    assert_int_equal(p.seen[4].at, 0);
    assert_int_equal(aphi_net_connections(p.net), 0);
    close(fds[2]);
    close(fds[3]);
    close(p.listener);
    p.listener = -1;
    post(&p, 4, "x");
    turn_until(&p, 6);
    expect(&p, 5, APHI_ARRIVED_REFUSED, 4, "refused");
    turn_until_idle(&p);
    assert_int_equal(aphi_net_connections(p.net), 0);
    finish(&p);
}

/* A connection that ended with something still to be sent is not opened again for nothing. */
static void test_no_call_back(void **unused)
{
    (void)unused;
    peer p = {.count = 0};
    start(&p, NULL, false);
    post(&p, 0, "x");
    turn_until_idle(&p);
    int fd = let_in(&p);
    char *much = malloc(8000001);
    memset(much, 'a', 8000000);
    much[8000000] = 0;
    post(&p, 0, much);
    free(much);
    aphi_net_run_once(p.net, 0);
    assert_false(aphi_net_idle(p.net));
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &(struct linger){1, 0}, sizeof(struct linger));
    close(fd);
    turn_until(&p, 1);
    expect(&p, 0, APHI_ARRIVED_RESET, 0, "reset");
    turn_until_idle(&p);
    assert_int_equal(aphi_net_connections(p.net), 0);
    fcntl(p.listener, F_SETFL, O_NONBLOCK);
    assert_int_equal(accept(p.listener, NULL, NULL), -1);
    finish(&p);
}

/* What was posted before a connection was hung up is sent; what is posted after goes over a new one. */
static void test_hang_up_and_open_anew(void **unused)
{
    (void)unused;
    peer p = {.count = 0};
    start(&p, NULL, false);
    post(&p, 0, "old");
    aphi_net_close_connection(p.net, 0);
    post(&p, 0, "new");
    turn_until_idle(&p);
    int first = let_in(&p), second = let_in(&p);
    expect_bytes(first, "\"old\"\n");
    expect_bytes(second, "\"new\"\n");
    char byte;
    assert_int_equal(read(first, &byte, 1), 0);
    say(first, "1\n");
    say(second, "2\n");
    turn_until(&p, 1);
    expect(&p, 0, APHI_ARRIVED_MESSAGE, 0, "2");
    aphi_net_close_connection(p.net, 0);
    aphi_net_close_connection(p.net, 7); /* never opened */
    assert_int_equal(read(second, &byte, 1), 0);
    assert_int_equal(aphi_net_connections(p.net), 0);
    /* And what cannot be sent any more is no leak. */
    post(&p, 1, "x");
    aphi_net_close_connection(p.net, 1);
    close(first);
    close(second);
    finish(&p);
}

/* Who does not read makes us wait, and nobody else. */
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
    int deaf = let_in(&p);
    post(&p, 1, "x");
    for (int i = 0; i < 20; i++)
        aphi_net_run_once(p.net, 1000000);
    assert_false(aphi_net_idle(p.net));
    int other = let_in(&p);
    expect_bytes(other, "\"x\"\n");
    say(other, "1\n");
    turn_until(&p, 1);
    fcntl(deaf, F_SETFL, O_NONBLOCK);
    size_t got = 0;
    for (int i = 0; i < 100000 && got < 8000003; i++) {
        char block[65536];
        ssize_t n = read(deaf, block, sizeof block);
        got += n > 0 ? (size_t)n : 0;
        aphi_net_run_once(p.net, 0);
    }
    assert_int_equal(got, 8000003);
    assert_true(aphi_net_idle(p.net));
    free(much);
    close(deaf);
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
    turn_until_idle(&p);
    int fd = let_in(&p);
    char much[2001];
    memset(much, 'c', 2000);
    much[2000] = 0;
    say(fd, much);
    turn_until(&p, 1);
    expect(&p, 0, APHI_ARRIVED_MALFORMED, 0, "ccc");
    close(fd);
    finish(&p);
}

static void test_no_descriptor_is_our_trouble(void **unused)
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
    turn_until_idle(&p);
    int fd = let_in(&p);
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
    turn_until_idle(&p);
    ssize_t n = recvfrom(p.listener, got, sizeof got, 0, (struct sockaddr *)&from, &size);
    assert_int_equal(n, 4); /* one message, one datagram */
    assert_memory_equal(got, "\"a\"\n", 4);
    assert_int_equal(recv(p.listener, got, sizeof got, 0), 4);
    sendto(p.listener, "1\n", 2, 0, (struct sockaddr *)&from, size);
    sendto(p.listener, "2\n", 2, 0, (struct sockaddr *)&from, size);
    turn_until(&p, 2);
    expect(&p, 0, APHI_ARRIVED_MESSAGE, 0, "1");
    expect(&p, 1, APHI_ARRIVED_MESSAGE, 0, "2");
    sendto(p.listener, "1\n2\n", 4, 0, (struct sockaddr *)&from, size);
    turn_until(&p, 3);
    expect(&p, 2, APHI_ARRIVED_MALFORMED, 0, "1");
    close(p.listener);
    p.listener = -1;
    post(&p, 1, "x");
    turn_until(&p, 4);
    expect(&p, 3, APHI_ARRIVED_REFUSED, 1, "refused");
    finish(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_messages_both_ways),
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_pieces_of_its_own),
        cmocka_unit_test(test_decodes_across_reads),
        cmocka_unit_test(test_end_reset_refused),
        cmocka_unit_test(test_no_call_back),
        cmocka_unit_test(test_hang_up_and_open_anew),
        cmocka_unit_test(test_full_socket),
        cmocka_unit_test(test_too_long),
        cmocka_unit_test(test_no_descriptor_is_our_trouble),
        cmocka_unit_test(test_not_a_message),
        cmocka_unit_test(test_datagrams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
