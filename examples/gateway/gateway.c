/* SPDX-License-Identifier: Apache-2.0
 *
 * gateway.c - a gateway for HTTP that calls two origin servers: the model of server.py. GET /users/X goes to origin 0
 * and GET /items/X to origin 1, as GET /X with the Host of the origin and the Accept of the client. The response of the
 * origin is returned. Any other path is not found.
 *
 * The connection -1 - C belongs to the request of client C that waits for an origin. The state is the object of these
 * clients: the next request of a client is taken after the response. */
#include <antiphon/http.h>
#include <antiphon/model.h>

static void forward(aph *m, aph_request q, int64_t origin, aph_value name, aph_value *waiting)
{
    aph_value accept = aph_field(aph_field(q.message, "headers"), "accept");
    aph_value headers = aph_record("host", aph_http_origin(origin));
    if (aph_has(*waiting, aph_int(q.from)))
        aph_never(m);
    *waiting = aph_set(*waiting, aph_int(q.from), aph_bool(true));
    aph_send(m, aph_to_origin(-1 - q.from, origin),
             aph_record("method", aph_str("GET"), "path", APH_ARRAY_OF(name),
                        "headers", accept ? aph_put(headers, "accept", accept) : headers));
}

static void step(aph *m, aph_value *waiting)
{
    aph_request q = aph_recv(m);
    aph_value name = APH_NIL;
    int64_t client = -1 - aph_without_origin(q.from);
    if (q.from < 0) {
        *waiting = aph_remove(*waiting, aph_int(client));
        aph_send(m, client, q.message);
    } else if (!aph_str_is(aph_field(q.message, "method"), "GET") || aph_has(q.message, aph_str("query"))) {
        aph_unknown_request(m, "expected GET without a query");
    } else if (aph_http_route(q.message, "GET /users/{}", &name) && aph_count(name)) {
        forward(m, q, 0, name, waiting);
    } else if (aph_http_route(q.message, "GET /items/{}", &name) && aph_count(name)) {
        forward(m, q, 1, name, waiting);
    } else {
        aph_send(m, q.from, aph_http_response(404, APH_NIL));
    }
}

/* No two responses are equal, so a response shows to which call it belongs. */
static aph_value respond_at(int64_t origin, aph_value request, uint64_t number)
{
    (void)request;
    return aph_http_response(200, aph_record("origin", aph_int(origin), "call", aph_int((int64_t)number)));
}

static aph_value respond(aph_value request, uint64_t number) { return respond_at(0, request, number); }

/* A server may add other headers, which the model does not describe. */
static const char *const none[] = {NULL}, *const passed[] = {"accept", "host", NULL};
static const aph_http_kept kept = {.of_responses = none, .of_requests = passed};
static const aph_codec codec = APH_CODEC_HTTP_KEPT(&kept);

static const aph_model gateway = {
    .version = APH_MODEL_VERSION,
    .name = "gateway",
    .summary = "a gateway for HTTP to two origin servers",
    .step = step,
    .codec = &codec,
    .words = aph_http_words,
    .answers = true,
    .calls_apart = true,
    .origins = 2,
    .respond = respond,
    .respond_at = respond_at,
    .shape = APH_SHAPE([
        {"weight": 8, "of": {"method": "GET", "path": [{"one of": ["users", "items"]}, {"one of": ["a", "b"]}],
                             "headers": {"optional": {"accept": {"one of": ["text/plain", "application/json"]}}}}},
        {"method": "GET", "path": ["unknown"]}
    ]),
};
APH_MODEL(gateway)
