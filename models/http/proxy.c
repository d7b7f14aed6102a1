/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy.c - an HTTP/1.1 forward proxy: RFC 9110 7 and RFC 9112 3.2.
 *
 *     client to proxy   {"method": "GET", "to": "here", "target": "/a", "host": "here", "fields": {"x-mark": "7"}}
 *     proxy to origin   {"method": "GET", "target": "/a", "host": "here", "fields": {"x-mark": "7"}, "via": [...], ...}
 *     origin to proxy   {"status": 200, "fields": {}, "body": "..."}
 *     proxy to client   the same, with one more member in "via"
 *
 * The tester plays the clients, and the origin servers "here", "here-1" and "here-2". The proxy opens its own
 * connections to these servers; origins and messages match them with the connections of the model. proxy-wire.c
 * describes the messages.
 *
 * Idea:       Everything that a proxy may choose in a message is an unknown, so that nothing must be guessed: its name
 *             in Via, added fields, an added date. The time at which the proxy forwards a request does not matter, so a
 *             request can be applied when it arrives (.eager). The proxy may use any connection (.calls_apart).
 * State:      by client, its pending requests, oldest first: {"call": N, "origin": the number of the origin server,
 *             "asks": REQUEST, "asked": true once it was forwarded, "answer": the response once it arrived, false if
 *             the origin server closed the connection}. Responses are returned in this order (RFC 9112 9.3.2). A
 *             request waits for those before it unless all of them are safe.
 * Not done:   proxies that cache responses or refuse requests: all requests are forwarded.
 * Read next:  proxy-wire.c, proxy-requests.c, docs/http.md */
#include "proxy.h"

#include "http-model.h"

enum { CALLS_MAX = 1 << 20 }; /* pending requests of one client */

static bool is_method(aph_value request, const char *name)
{
    return aph_str_is(aph_field(request, "method"), name);
}

static bool is_safe(aph_value request)
{
    return is_method(request, "GET") || is_method(request, "HEAD") || is_method(request, "OPTIONS");
}

/* ---- forwarding -------------------------------------------------------------------------------------------------- */

/* Appends the proxy to Via, with a name of its choice. */
static aph_value append_via(aph *m, aph_value via)
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

/* The proxy may add a missing date. */
static aph_value date_of(aph *m, aph_value answer)
{
    aph_value date = aph_field(answer, "date");
    if (date && date != aph_int(-1))
        return date;
    aph_clause(m, "RFC 9110 6.6.1");
    return aph_choose_within(m, -1, APH_HTTP_TIME_MAX, "date added to a response");
}

/* The proxy changes only an empty path. */
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

/* own: the connection, which leads to the origin server. */
static void forward_request(aph *m, int64_t own, aph_value request)
{
    aph_value forwards = aph_field(request, "max-forwards"), fields = aph_field(request, "fields");
    aph_value body = aph_field(request, "body");
    aph_value sent = aph_record("method", aph_field(request, "method"), "target", target_of(m, request),
                                "host", aph_field(request, "to"), "fields", fields ? fields : aph_object(),
                                "via", append_via(m, aph_field(request, "via")), "more", any_fields(m),
                                "body", body ? body : aph_str(""));
    if (forwards) {
        aph_clause(m, "RFC 9110 7.6.2");
        sent = aph_put(sent, "max-forwards",
                       aph_choose_within(m, 0, aph_int_of(forwards) - 1, "remaining Max-Forwards"));
    }
    aph_clause(m, "RFC 9110 7.6");
    aph_send(m, own, sent);
}

static void return_response(aph *m, int64_t client, aph_value answer)
{
    aph_value fields = aph_field(answer, "fields"), body = aph_field(answer, "body");
    aph_value sent = aph_record("status", aph_field(answer, "status"), "fields", fields ? fields : aph_object(),
                                "via", append_via(m, aph_field(answer, "via")), "date", date_of(m, answer),
                                "more", any_fields(m), "body", body ? body : aph_str(""));
    aph_clause(m, "RFC 9110 7.6");
    aph_send(m, client, sent);
}

/* The proxy's own response may have any content. Without Via, all of its fields are in "more". */
static void respond_itself(aph *m, int64_t client, aph_value request, int64_t least)
{
    aph_value body = is_method(request, "HEAD") ? aph_str("")
                                                : aph_choose(m, APH_STR, "body of the proxy's own response");
    aph_value fields = aph_object(), via = aph_array(0, NULL);
    int has = aph_either(m, "own response without Via", "own response with Via", "own response with Via and type");
    if (has > 0)
        via = append_via(m, via);
    if (has > 1)
        fields = aph_put(fields, "content-type", aph_choose(m, APH_STR, "type of the proxy's own response"));
    aph_clause(m, least == 200 ? "RFC 9110 7.6.2" : "RFC 9110 15.6");
    aph_send(m, client, aph_record("status", aph_choose_within(m, least, 599, "status of the proxy's own response"),
                                   "fields", fields, "via", via, "date", date_of(m, aph_object()),
                                   "more", any_fields(m), "body", body));
}

/* ---- pending requests -------------------------------------------------------------------------------------------- */

static bool ends_here(aph_value request)
{
    return aph_field(request, "max-forwards") == aph_int(0);
}

/* Convert a client's call to a connection number of the model, and back. */
static int64_t own_of(int64_t client, aph_value call, aph_value origin)
{
    return aph_to_origin(-(client * CALLS_MAX + aph_int_of(call) + 1), aph_int_of(origin));
}
static int64_t client_of(int64_t own) { return (-aph_without_origin(own) - 1) / CALLS_MAX; }
static int64_t call_of(int64_t own) { return (-aph_without_origin(own) - 1) % CALLS_MAX; }

static size_t index_of_call(aph_value queue, int64_t call)
{
    size_t i = 0;
    while (i < aph_count(queue) && aph_field(aph_at(queue, i), "call") != aph_int(call))
        i++;
    return i;
}

/* The least free call number of the client; finished calls leave no trace in the state. */
static int64_t free_call(aph_value queue)
{
    int64_t call = 0;
    while (index_of_call(queue, call) < aph_count(queue))
        call++;
    return call;
}

/* Returns the responses that are due. */
static aph_value return_responses(aph *m, int64_t client, aph_value queue)
{
    while (aph_count(queue)) {
        aph_value oldest = aph_at(queue, 0), answer = aph_field(oldest, "answer");
        if (ends_here(aph_field(oldest, "asks")))
            respond_itself(m, client, aph_field(oldest, "asks"), 200);
        else if (answer == aph_bool(false))
            respond_itself(m, client, aph_field(oldest, "asks"), 500);
        else if (answer)
            return_response(m, client, answer);
        else
            break;
        queue = aph_slice(queue, 1, aph_count(queue) - 1);
    }
    return queue;
}

/* Forwards the oldest request, and those after it up to one that is not safe. */
static aph_value forward_requests(aph *m, int64_t client, aph_value queue)
{
    aph_clause(m, "RFC 9112 9.3.2");
    for (size_t i = 0; i < aph_count(queue); i++) {
        aph_value one = aph_at(queue, i), request = aph_field(one, "asks");
        if (i && !(is_safe(request) && is_safe(aph_field(aph_at(queue, 0), "asks"))))
            break;
        if (aph_field(one, "asked") || ends_here(request))
            continue;
        queue = aph_replace(queue, i, aph_put(one, "asked", aph_bool(true)));
        forward_request(m, own_of(client, aph_field(one, "call"), aph_field(one, "origin")), request);
    }
    return queue;
}

static void advance_queue(aph *m, int64_t client, aph_value queue, aph_value *state)
{
    aph_value name = aph_int(client);
    queue = forward_requests(m, client, return_responses(m, client, queue));
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

/* Returns true if the target is empty or begins with "/". */
static bool is_path(aph_value target)
{
    size_t n;
    return aph_is_str(target) && (!aph_count(target) || *aph_bytes_of(&target, &n) == '/');
}

static void check_request(aph *m, aph_value request)
{
    aph_value forwards = aph_field(request, "max-forwards");
    if (!strcmp(kind(request), "other"))
        aph_unknown_request(m, "unknown method; expected GET, HEAD, PUT, POST, DELETE or OPTIONS");
    if (!is_path(aph_field(request, "target")))
        aph_unknown_request(m, "a request needs a \"target\" such as \"/a\"");
    if (aphi_proxy_origin_named(aph_field(request, "to")) < 0 || !aph_is_str(aph_field(request, "host")))
        aph_unknown_request(m, "a request needs \"host\", and \"to\", which is one of the tester's origin servers, "
                            "\"here\", \"here-1\" or \"here-2\"");
    if (forwards && (!aph_is_int(forwards) || aph_int_of(forwards) < 0 || !is_method(request, "OPTIONS")))
        aph_unknown_request(m, "\"max-forwards\" must be a number, and is allowed only for OPTIONS");
}

static int64_t target_origin(aph_value request) { return aphi_proxy_origin_named(aph_field(request, "to")); }

/* Queues a request; `asks` is forwarded to the origin in its place. */
static void enqueue_request(aph *m, aph_request q, aph_value asks, int64_t origin, aph_value *state)
{
    aph_value queue = aph_get(*state, aph_int(q.from));
    if (!queue)
        queue = aph_array(0, NULL);
    if (aph_count(queue) == CALLS_MAX)
        aph_unknown_request(m, "a client with too many requests in flight");
    aph_value one = aph_record("call", aph_int(free_call(queue)), "asks", asks, "origin", aph_int(origin));
    advance_queue(m, q.from, aph_push(queue, one), state);
}

static void take_request(aph *m, aph_request q, aph_value *state)
{
    check_request(m, q.message);
    enqueue_request(m, q, q.message, target_origin(q.message), state);
}

/* Called when the origin server closed the connection: an idempotent request may be retried. */
static bool retries(aph *m, aph_value request)
{
    aph_clause(m, "RFC 9110 9.2.2");
    return !is_method(request, "POST") && aph_either(m, "the proxy gives up", "the proxy retries") == 1;
}

/* With `repeats`, also retries requests that are not idempotent. */
static void handle_response_or_retry(aph *m, aph_request q, bool repeats, aph_value *state)
{
    int64_t client = client_of(q.from);
    aph_value queue = aph_get(*state, aph_int(client));
    size_t i = index_of_call(queue, call_of(q.from));
    if (i == aph_count(queue))
        aph_never(m);
    aph_value one = aph_at(queue, i);
    aph_value asks = aph_field(one, "asks");
    if (q.message == aph_bool(false) && ((repeats && is_method(asks, "POST")) || retries(m, asks)))
        one = aph_remove(one, aph_str("asked"));
    else
        one = aph_put(one, "answer", q.message);
    advance_queue(m, client, aph_replace(queue, i, one), state);
}

static void handle_response(aph *m, aph_request q, aph_value *state) { handle_response_or_retry(m, q, false, state); }

static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    if (q.from < 0)
        handle_response(m, q, state);
    else
        take_request(m, q, state);
}

/* ---- choices of the reference server ----------------------------------------------------------------------------- */

static aph_value draw(const char *name, uint64_t random)
{
    if (!strcmp(name, "the proxy's name in Via"))
        return aph_strf("proxy-%u", (unsigned)(random % 3));
    if (!strcmp(name, "fields that the proxy adds"))
        return random % 2 ? aph_str("") : aph_strf("x-proxy: %u\n", (unsigned)(random >> 8) % 100);
    if (!strcmp(name, "type of the proxy's own response"))
        return aph_str("text/plain");
    return random % 2 ? aph_str("") : aph_str("no");
}

/* ---- mutants ----------------------------------------------------------------------------------------------------- */

/* The origin server that the client's Host names, which need not be that of the target. */
static int64_t origin_by_host(aph_value request)
{
    int64_t named = aphi_proxy_origin_named(aph_field(request, "host"));
    return named < 0 ? target_origin(request) : named;
}

/* Changes requests before they are forwarded, or their origin; responses are unchanged. */
#define CHANGES_REQUESTS(step_, changed) CHANGES_ROUTES(step_, changed, target_origin(q.message))
#define CHANGES_ROUTES(step_, changed, origin) \
    static void step_(aph *m, aph_value *state) \
    { \
        aph_request q = aph_recv(m); \
        if (q.from < 0) { \
            handle_response(m, q, state); \
            return; \
        } \
        check_request(m, q.message); \
        aph_value request = q.message, fields = aph_field(request, "fields"); \
        (void)fields; \
        enqueue_request(m, q, (changed), (origin), state); \
    }
CHANGES_REQUESTS(step_keeps_host, aph_put(request, "to", aph_field(request, "host")))
CHANGES_REQUESTS(step_loses_marks, aph_put(request, "fields", aph_remove(fields, aph_str("x-mark"))))
CHANGES_REQUESTS(step_forgets_via, aph_remove(request, aph_str("via")))
CHANGES_REQUESTS(step_loses_bodies, aph_put(request, "body", aph_str("")))
CHANGES_REQUESTS(step_names_first_origin, aph_put(request, "to", aph_str("here")))
CHANGES_ROUTES(step_calls_first_origin, request, 0)
CHANGES_ROUTES(step_routes_by_host, request, origin_by_host(request))

static void step_repeats(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    if (q.from < 0)
        handle_response_or_retry(m, q, true, state);
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
        handle_response(m, q, state);
    else
        take_request(m, q, state);
}

#define MUTANT(name_, step_, summary_) \
    &(const aph_model){.version = APH_MODEL_VERSION, .name = (name_), .step = (step_), .summary = (summary_), \
                       .codec = &aphi_proxy_wire, .respond = aphi_proxy_respond, .calls_apart = true, .draw = draw, \
                       .origins = APHI_PROXY_ORIGINS}

static const aph_model *const mutants[] = {
    MUTANT("keeps-host", step_keeps_host, "forwards the client's Host"),
    MUTANT("loses-marks", step_loses_marks, "drops a request field"),
    MUTANT("forgets-via", step_forgets_via, "drops earlier members of Via"),
    MUTANT("loses-bodies", step_loses_bodies, "forwards requests without their bodies"),
    MUTANT("drops-tags", step_drops_tags, "drops ETag from responses"),
    MUTANT("names-first-origin", step_names_first_origin, "forwards with the Host of the first origin server"),
    MUTANT("calls-first-origin", step_calls_first_origin, "forwards all requests to the first origin server"),
    MUTANT("routes-by-host", step_routes_by_host, "selects the origin server by Host instead of by the target"),
    MUTANT("repeats-posts", step_repeats, "retries requests that are not idempotent"),
    NULL,
};

/* ---- the model --------------------------------------------------------------------------------------------------- */

static const aph_waiver waivers[] = {
    APH_WAIVER("options-slash",
               "OPTIONS for the whole server is forwarded with the target / instead of * (RFC 9112 3.2.4)"),
    {0},
};

const aph_model aph_model_http_proxy = {
    .version = APH_MODEL_VERSION,
    .name = "http-proxy",
    .summary = "an HTTP/1.1 forward proxy (RFC 9110 7): the tester plays the clients and three origin servers",
    .step = step,
    .eager = true,
    .calls_apart = true,
    .answers = true,
    .kind = kind,
    .words = aphi_proxy_words,
    .codec = &aphi_proxy_wire,
    .generate = aphi_proxy_generate,
    .respond = aphi_proxy_respond,
    .respond_at = aphi_proxy_respond_at,
    .origins = APHI_PROXY_ORIGINS,
    .draw = draw,
    .mutants = mutants,
    .waivers = waivers,
    .closes = APH_CLOSES_SETTLED,
    .begins_anywhere = true,
};
