/* SPDX-License-Identifier: Apache-2.0
 *
 * rest.c - a REST application with sessions, items and carts: the model of server.py.
 *
 * The server must not choose a token or an id twice, so ended sessions and deleted items stay, without a user. */
#include <antiphon/http.h>
#include <antiphon/model.h>

/* Returns the position of the entry of a user with this value in the field, or the number of entries. */
static size_t find(aph *m, aph_value list, const char *field, aph_value v)
{
    size_t i = 0;
    while (i < aph_count(list) && !(v && aph_field(aph_at(list, i), "user") &&
                                    aph_decide(m, aph_eq(aph_field(aph_at(list, i), field), v), field)))
        i++;
    return i;
}

/* A string that the server chooses, which the response shows at the path. */
static aph_value new_name(aph *m, aph_value list, const char *field, const char *path)
{
    aph_value v = aph_choose_shown(m, APH_STR, path, field), is_new = aph_bool(true);
    for (size_t i = 0; i < aph_count(list); i++)
        is_new = aph_and(is_new, aph_ne(v, aph_field(aph_at(list, i), field)));
    if (!aph_decide(m, is_new, NULL))
        aph_never(m);
    return v;
}

static aph_value failed(int status) { return aph_http_response(status, aph_record("error", aph_str("failed"))); }

static aph_value login(aph *m, aph_value body, aph_value *sessions)
{
    aph_value user = aph_field(body, "user"), password = aph_field(body, "password");
    if (!aph_str_is(password, aph_str_is(user, "ann") ? "apple" : "berry"))
        return failed(401);
    aph_value token = new_name(m, *sessions, "token", "cookies.session");
    *sessions = aph_push(*sessions, aph_record("token", token, "user", user, "cart", aph_array(0, NULL)));
    return aph_put(aph_http_response(200, aph_record("user", user)), "cookies", aph_record("session", token));
}

static aph_value add_item(aph *m, aph_value user, aph_value name, aph_value *items)
{
    aph_value id = new_name(m, *items, "id", "json.id");
    *items = aph_push(*items, aph_record("id", id, "user", user, "name", name));
    return aph_http_response(201, aph_record("id", id, "name", name));
}

static aph_value use_item(aph *m, aph_value request, aph_value user, aph_value id, aph_value *items)
{
    size_t i = find(m, *items, "id", id);
    aph_value item = aph_at(*items, i), name = aph_field(aph_field(request, "json"), "name");
    if (aph_field(item, "user") != user)
        return failed(404);
    if (aph_str_is(aph_field(request, "method"), "DELETE")) {
        *items = aph_replace(*items, i, aph_record("id", id));
        return aph_http_response(204, APH_NIL);
    }
    name = name ? name : aph_field(item, "name");
    *items = aph_replace(*items, i, aph_put(item, "name", name));
    return aph_http_response(200, aph_record("id", id, "name", name));
}

static void step(aph *m, aph_value *state)
{
    aph_request request = aph_recv(m);
    aph_value q = request.message, body = aph_field(q, "json"), id, response;
    aph_value sessions = aph_field(*state, "sessions"), items = aph_field(*state, "items");
    size_t i = find(m, sessions, "token", aph_http_cookie(q, "session"));
    aph_value session = aph_at(sessions, i), user = aph_field(session, "user"), cart = aph_field(session, "cart");
    if (aph_http_route(q, "POST /login", NULL)) {
        response = login(m, body, &sessions);
    } else if (!user) {
        response = failed(401);
    } else if (aph_http_route(q, "POST /logout", NULL)) {
        sessions = aph_replace(sessions, i, aph_record("token", aph_field(session, "token")));
        response = aph_http_response(204, APH_NIL);
    } else if (aph_http_route(q, "GET /cart", NULL) || aph_http_route(q, "POST /cart", NULL)) {
        cart = body ? aph_push(cart, aph_field(body, "add")) : cart;
        sessions = aph_replace(sessions, i, aph_put(session, "cart", cart));
        response = aph_http_response(200, aph_record("cart", cart));
    } else if (aph_http_route(q, "POST /items", NULL)) {
        response = add_item(m, user, aph_field(body, "name"), &items);
    } else if (aph_http_route(q, "GET /items/{}", &id) || aph_http_route(q, "PUT /items/{}", &id) ||
               aph_http_route(q, "DELETE /items/{}", &id)) {
        response = use_item(m, q, user, id, &items);
    } else {
        aph_unknown_request(m, "expected login, logout, items or cart");
    }
    *state = aph_record("sessions", sessions, "items", items);
    aph_send(m, request.from, response);
}

static aph_value initial(const aph_model *model)
{
    (void)model;
    return aph_record("sessions", aph_array(0, NULL), "items", aph_array(0, NULL));
}

static const aph_codec codec = APH_CODEC_HTTP((const char *const[]){NULL}); /* no header of a response matters */
static const aph_model rest = {
    .version = APH_MODEL_VERSION, .name = "rest", .summary = "sessions, items and carts", .step = step,
    .initial = initial, .rpc = true, .codec = &codec, .words = aph_http_words, .shape = APH_SHAPE([
        {"weight": 2, "of": {"method": "POST", "path": ["login"], "json": {"user": {"one of": ["ann", "bob"]},
                             "password": {"one of": ["apple", "berry"]}}}},
        {"weight": 4, "of": {"method": {"one of": ["GET", "DELETE"]}, "path": ["items", {"seen": ["json", "id"],
            "else": "none"}], "cookies": {"session": {"seen": ["cookies", "session"]}}}},
        {"method": "PUT", "path": ["items", {"seen": ["json", "id"], "else": "none"}],
         "cookies": {"session": {"seen": ["cookies", "session"]}}, "json": {"name": {"fresh": "string"}}},
        {"weight": 2, "of": {"method": "POST", "path": ["items"], "json": {"name": {"fresh": "string"}},
                             "cookies": {"session": {"seen": ["cookies", "session"]}}}},
        {"weight": 2, "of": {"method": "POST", "path": ["cart"], "json": {"add": {"one of": ["cup", "pen", "bag"]}},
                             "cookies": {"session": {"seen": ["cookies", "session"]}}}},
        {"method": "GET", "path": ["cart"], "cookies": {"session": {"seen": ["cookies", "session"]}}},
        {"method": "POST", "path": ["logout"], "cookies": {"session": {"seen": ["cookies", "session"]}}}
    ]),
};

APH_MODEL(rest)
