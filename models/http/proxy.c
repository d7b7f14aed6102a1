/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy.c - a forward proxy of HTTP/1.1: RFC 9110 7 and RFC 9112 3.2.
 *
 *     a client asks   {"method": "GET", "to": "here", "target": "/a", "host": "here", "fields": {"x-mark": "7"}}
 *     the proxy asks  {"method": "GET", "target": "/a", "host": "here", "fields": {"x-mark": "7"}, "via": [...], ...}
 *     it is answered  {"status": 200, "fields": {}, "body": "..."}
 *     and so is the client, with a member more in "via"
 *
 * The tester plays the clients, and the origin server at "here": the proxy's connections to it are its own, and are
 * matched to the model's by what is said on them. proxy-wire.c has the messages.
 *
 * Idea:       All that a proxy may choose in a message is an unknown in it, so that nothing has to be guessed: its name
 *             in Via, the fields that it adds, the date of what had none. When it asks makes no difference either: a
 *             request can be taken as soon as it comes (.eager). On which connection it asks is left to it
 *             (.calls_apart).
 * State:      by client, what it waits for, oldest first: {"call": N, "asks": REQUEST, "asked": true once it was passed
 *             on, "answer": ANSWER once there is one, false if the origin server hung up}. Answers go back in this
 *             order (RFC 9112 9.3.2); and a request waits for those before it unless all of them are safe, too.
 * Not done:   A proxy that keeps answers and gives them again, and one that refuses: here all are passed on.
 * Read next:  proxy-wire.c, proxy-requests.c, docs/http.md */
#include "proxy.h"

#include "http.h"

enum { CALLS_MAX = 1 << 20 }; /* of one client at a time */

static bool is_method(aph_value request, const char *name)
{
    return aph_str_is(aph_field(request, "method"), name);
}

static bool is_safe(aph_value request)
{
    return is_method(request, "GET") || is_method(request, "HEAD") || is_method(request, "OPTIONS");
}

/* ---- what is passed on ------------------------------------------------------------------------------------------- */

/* A proxy adds itself at the end. How it calls itself is its own affair. */
static aph_value with_itself(aph *m, aph_value via)
{
    aph_clause(m, "RFC 9110 7.6.3");
    aph_value itself = aph_record("protocol", aph_str("1.1"), "by", aph_choose(m, APH_STR, "the proxy's name in Via"));
    return aph_push(via ? via : aph_array(0, NULL), itself);
}

static aph_value any_fields(aph *m)
{
    aph_clause(m, "RFC 9110 5.1");
    return aph_choose(m, APH_STR, "fields that the proxy adds");
}

/* A date that was not there may be added. */
static aph_value date_of(aph *m, aph_value answer)
{
    aph_value date = aph_field(answer, "date");
    if (date && date != aph_int(-1))
        return date;
    aph_clause(m, "RFC 9110 6.6.1");
    return aph_choose_within(m, -1, APH_HTTP_TIME_MAX, "the date of an answer that had none");
}

/* Only an empty path is not passed on as it is. */
static aph_value target_of(aph *m, aph_value request)
{
    aph_value target = aph_field(request, "target");
    if (aph_count(target))
        return target;
    if (!is_method(request, "OPTIONS"))
        return aph_str("/");
    aph_clause(m, "RFC 9112 3.2.4");
    return aph_str(aph_waive(m, "options-slash") ? "/" : "*");
}

static void pass_on(aph *m, int64_t own, aph_value request)
{
    aph_value forwards = aph_field(request, "max-forwards"), fields = aph_field(request, "fields");
    aph_value body = aph_field(request, "body");
    aph_value sent = aph_record("method", aph_field(request, "method"), "target", target_of(m, request),
                                "host", aph_field(request, "to"), "fields", fields ? fields : aph_object(),
                                "via", with_itself(m, aph_field(request, "via")), "more", any_fields(m),
                                "body", body ? body : aph_str(""));
    if (forwards) {
        aph_clause(m, "RFC 9110 7.6.2");
        sent = aph_put(sent, "max-forwards",
                       aph_choose_within(m, 0, aph_int_of(forwards) - 1, "how often it may still be passed on"));
    }
    aph_clause(m, "RFC 9110 7.6");
    aph_send(m, own, sent);
}

static void pass_back(aph *m, int64_t client, aph_value answer)
{
    aph_value fields = aph_field(answer, "fields"), body = aph_field(answer, "body");
    aph_value sent = aph_record("status", aph_field(answer, "status"), "fields", fields ? fields : aph_object(),
                                "via", with_itself(m, aph_field(answer, "via")), "date", date_of(m, answer),
                                "more", any_fields(m), "body", body ? body : aph_str(""));
    aph_clause(m, "RFC 9110 7.6");
    aph_send(m, client, sent);
}

/* Where nothing is passed on the answer is the proxy's own, and as it likes. Without Via, all of its fields are in
 * "more". */
static void answer_itself(aph *m, int64_t client, aph_value request, int64_t least)
{
    aph_value body = is_method(request, "HEAD") ? aph_str("") : aph_choose(m, APH_STR, "body of its own answer");
    aph_value fields = aph_object(), via = aph_array(0, NULL);
    int has = aph_either(m, "its own answer has no Via", "its own answer has a Via", "its own answer has Via and type");
    if (has > 0)
        via = with_itself(m, via);
    if (has > 1)
        fields = aph_put(fields, "content-type", aph_choose(m, APH_STR, "type of its own answer"));
    aph_clause(m, least == 200 ? "RFC 9110 7.6.2" : "RFC 9110 15.6");
    aph_send(m, client, aph_record("status", aph_choose_within(m, least, 599, "status of its own answer"),
                                   "fields", fields, "via", via, "date", date_of(m, aph_object()),
                                   "more", any_fields(m), "body", body));
}

/* ---- what waits -------------------------------------------------------------------------------------------------- */

static bool may_not_go_further(aph_value request)
{
    return aph_field(request, "max-forwards") == aph_int(0);
}

/* The model's number for a call, and whose it is. */
static int64_t own_of(int64_t client, int64_t call) { return -(client * CALLS_MAX + call + 1); }
static int64_t client_of(int64_t own) { return (-own - 1) / CALLS_MAX; }
static int64_t call_of(int64_t own) { return (-own - 1) % CALLS_MAX; }

static size_t place_of_call(aph_value queue, int64_t call)
{
    size_t i = 0;
    while (i < aph_count(queue) && aph_field(aph_at(queue, i), "call") != aph_int(call))
        i++;
    return i;
}

/* The least number that no call of the client has: what is over leaves no trace in the state. */
static int64_t free_call(aph_value queue)
{
    int64_t call = 0;
    while (place_of_call(queue, call) < aph_count(queue))
        call++;
    return call;
}

/* Answers that are due. */
static aph_value pass_back_all(aph *m, int64_t client, aph_value queue)
{
    while (aph_count(queue)) {
        aph_value oldest = aph_at(queue, 0), answer = aph_field(oldest, "answer");
        if (may_not_go_further(aph_field(oldest, "asks")))
            answer_itself(m, client, aph_field(oldest, "asks"), 200);
        else if (answer == aph_bool(false))
            answer_itself(m, client, aph_field(oldest, "asks"), 500);
        else if (answer)
            pass_back(m, client, answer);
        else
            break;
        queue = aph_slice(queue, 1, aph_count(queue) - 1);
    }
    return queue;
}

/* Requests that may be passed on by now: the oldest, and all behind it up to one that is not safe. */
static aph_value pass_on_all(aph *m, int64_t client, aph_value queue)
{
    aph_clause(m, "RFC 9112 9.3.2");
    for (size_t i = 0; i < aph_count(queue); i++) {
        aph_value one = aph_at(queue, i), request = aph_field(one, "asks");
        if (i && !(is_safe(request) && is_safe(aph_field(aph_at(queue, 0), "asks"))))
            break;
        if (aph_field(one, "asked") || may_not_go_further(request))
            continue;
        queue = aph_replace(queue, i, aph_put(one, "asked", aph_bool(true)));
        pass_on(m, own_of(client, aph_int_of(aph_field(one, "call"))), request);
    }
    return queue;
}

static void go_on(aph *m, int64_t client, aph_value queue, aph_value *state)
{
    aph_value name = aph_int(client);
    queue = pass_on_all(m, client, pass_back_all(m, client, queue));
    *state = aph_count(queue) ? aph_set(*state, name, queue) : aph_remove(*state, name);
}

/* ---- the step ---------------------------------------------------------------------------------------------------- */

static const char *kind(aph_value request)
{
    static const char *const names[] = {"GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_method(request, names[i]))
            return names[i];
    return "other";
}

/* Is it of the form "/...", or empty? */
static bool is_path(aph_value target)
{
    size_t n;
    return aph_is_str(target) && (!aph_count(target) || *aph_bytes_of(&target, &n) == '/');
}

static void check_request(aph *m, aph_value request)
{
    aph_value forwards = aph_field(request, "max-forwards");
    if (!strcmp(kind(request), "other"))
        aph_unknown_request(m, "this model knows the methods GET, HEAD, PUT, POST, DELETE and OPTIONS");
    if (!is_path(aph_field(request, "target")))
        aph_unknown_request(m, "a request needs a \"target\" such as \"/a\"");
    if (!aph_str_is(aph_field(request, "to"), "here") || !aph_is_str(aph_field(request, "host")))
        aph_unknown_request(m, "a request needs \"host\", and \"to\": \"here\", the origin server that we play");
    if (forwards && (!aph_is_int(forwards) || aph_int_of(forwards) < 0 || !is_method(request, "OPTIONS")))
        aph_unknown_request(m, "\"max-forwards\" is a number, and only for OPTIONS");
}

/* asks: what is made of the request. */
static void take_request_as(aph *m, aph_request q, aph_value asks, aph_value *state)
{
    aph_value queue = aph_get(*state, aph_int(q.from));
    if (!queue)
        queue = aph_array(0, NULL);
    if (aph_count(queue) == CALLS_MAX)
        aph_unknown_request(m, "a client with so many requests in flight");
    aph_value one = aph_record("call", aph_int(free_call(queue)), "asks", asks);
    go_on(m, q.from, aph_push(queue, one), state);
}

static void take_request(aph *m, aph_request q, aph_value *state)
{
    check_request(m, q.message);
    take_request_as(m, q, q.message, state);
}

/* The origin server hung up: what is idempotent may be tried once more. */
static bool asks_again(aph *m, aph_value request)
{
    aph_clause(m, "RFC 9110 9.2.2");
    return !is_method(request, "POST") && aph_either(m, "the proxy gives up", "the proxy asks again") == 1;
}

/* repeats: what may not be asked twice is, too. */
static void take_answer_as(aph *m, aph_request q, bool repeats, aph_value *state)
{
    int64_t client = client_of(q.from);
    aph_value queue = aph_get(*state, aph_int(client));
    size_t i = place_of_call(queue, call_of(q.from));
    if (i == aph_count(queue))
        aph_never(m);
    aph_value one = aph_at(queue, i);
    aph_value asks = aph_field(one, "asks");
    if (q.message == aph_bool(false) && ((repeats && is_method(asks, "POST")) || asks_again(m, asks)))
        one = aph_remove(one, aph_str("asked"));
    else
        one = aph_put(one, "answer", q.message);
    go_on(m, client, aph_replace(queue, i, one), state);
}

static void take_answer(aph *m, aph_request q, aph_value *state) { take_answer_as(m, q, false, state); }

static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    if (q.from < 0)
        take_answer(m, q, state);
    else
        take_request(m, q, state);
}

/* ---- as served --------------------------------------------------------------------------------------------------- */

static aph_value draw(const char *name, uint64_t random)
{
    if (!strcmp(name, "the proxy's name in Via"))
        return aph_strf("proxy-%u", (unsigned)(random % 3));
    if (!strcmp(name, "fields that the proxy adds"))
        return random % 2 ? aph_str("") : aph_strf("x-proxy: %u\n", (unsigned)(random >> 8) % 100);
    if (!strcmp(name, "type of its own answer"))
        return aph_str("text/plain");
    return random % 2 ? aph_str("") : aph_str("no");
}

/* ---- mutants ----------------------------------------------------------------------------------------------------- */

/* A request that is changed before it is passed on; an answer is not. */
#define CHANGES_REQUESTS(step_, changed) \
    static void step_(aph *m, aph_value *state) \
    { \
        aph_request q = aph_recv(m); \
        if (q.from < 0) { \
            take_answer(m, q, state); \
            return; \
        } \
        check_request(m, q.message); \
        aph_value request = q.message, fields = aph_field(request, "fields"); \
        (void)fields; \
        take_request_as(m, q, (changed), state); \
    }
CHANGES_REQUESTS(step_keeps_host, aph_put(request, "to", aph_field(request, "host")))
CHANGES_REQUESTS(step_loses_marks, aph_put(request, "fields", aph_remove(fields, aph_str("x-mark"))))
CHANGES_REQUESTS(step_forgets_via, aph_remove(request, aph_str("via")))
CHANGES_REQUESTS(step_loses_bodies, aph_put(request, "body", aph_str("")))

static void step_repeats(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    if (q.from < 0)
        take_answer_as(m, q, true, state);
    else
        take_request(m, q, state);
}

static void step_drops_tags(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value fields = aph_field(q.message, "fields");
    if (q.from < 0 && fields)
        q.message = aph_put(q.message, "fields", aph_remove(fields, aph_str("etag")));
    if (q.from < 0)
        take_answer(m, q, state);
    else
        take_request(m, q, state);
}

#define MUTANT(name_, step_, summary_) \
    &(const aph_model){.version = APH_MODEL_VERSION, .name = (name_), .step = (step_), .summary = (summary_), \
                       .codec = &aphi_proxy_wire, .respond = aphi_proxy_respond, .calls_apart = true, .draw = draw}

static const aph_model *const mutants[] = {
    MUTANT("keeps-host", step_keeps_host, "Host is passed on as the client said it"),
    MUTANT("loses-marks", step_loses_marks, "one field of requests is not passed on"),
    MUTANT("forgets-via", step_forgets_via, "of Via, only the proxy itself is passed on"),
    MUTANT("loses-bodies", step_loses_bodies, "requests are passed on without their bodies"),
    MUTANT("drops-tags", step_drops_tags, "ETag of answers is not passed on"),
    MUTANT("repeats-posts", step_repeats, "what is not idempotent is asked again, too"),
    NULL,
};

/* ---- the model --------------------------------------------------------------------------------------------------- */

static const aph_waiver waivers[] = {
    APH_WAIVER("options-slash", "OPTIONS for a whole server is passed on with the target / for * (RFC 9112 3.2.4)"),
    {0},
};

const aph_model aph_model_http_proxy = {
    .version = APH_MODEL_VERSION,
    .name = "http-proxy",
    .summary = "a forward proxy of HTTP/1.1 (RFC 9110 7): the tester plays clients and origin server",
    .step = step,
    .eager = true,
    .calls_apart = true,
    .answers = true,
    .kind = kind,
    .words = aphi_proxy_words,
    .codec = &aphi_proxy_wire,
    .generate = aphi_proxy_generate,
    .respond = aphi_proxy_respond,
    .draw = draw,
    .mutants = mutants,
    .waivers = waivers,
    .closes = APH_CLOSES_SETTLED,
    .begins_anywhere = true,
};
