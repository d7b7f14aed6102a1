/* SPDX-License-Identifier: Apache-2.0
 *
 * rest.c - sessions, items and carts: the model of server.py. The server must not choose a token or an id twice, so
 * ended sessions and deleted items stay in the state, without a user. */
#include <antiphon/http.h>
#include <antiphon/model.h>

/* The requests, each with a member that its body must have. */
static const struct { const char *route, *member; } known[] = {
    {"POST /login", "password"}, {"POST /logout", ""}, {"POST /cart", "add"}, {"POST /items", "name"},
    {"GET /items/{}", ""}, {"DELETE /items/{}", ""}, {"PUT /items/{}", "name"},
};
enum { LOGIN, LOGOUT, CART, ITEMS, GET, DELETE, PUT, COUNT };

static int kind_of(aph *m, aph_value q, aph_value *id)
{
    aph_value body = aph_field(q, "json");
    for (int i = 0; i < COUNT; i++)
        if (aph_http_route(q, known[i].route, id) &&
            (*known[i].member ? aph_is_str(aph_field(body, known[i].member)) : !body))
            return i;
    aph_unknown_request(m, "expected login, logout, items or cart, with a body where it is needed");
}

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

static aph_value array_of(aph_value v) { return v ? v : aph_array(0, NULL); }
static aph_value failed(int status) { return aph_http_response(status, aph_record("error", aph_str("failed"))); }

static aph_value login(aph *m, aph_value body, aph_value *sessions)
{
    aph_value user = aph_field(body, "user"), passwords = aph_record("ann", aph_str("apple"), "bob", aph_str("berry"));
    if (!user || aph_get(passwords, user) != aph_field(body, "password"))
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

static aph_value use_item(aph *m, int kind, aph_value user, aph_value id, aph_value name, aph_value *items)
{
    size_t i = find(m, *items, "id", id);
    aph_value item = aph_at(*items, i);
    if (aph_field(item, "user") != user)
        return failed(404);
    item = kind == DELETE ? aph_record("id", id) : kind == PUT ? aph_put(item, "name", name) : item;
    *items = aph_replace(*items, i, item);
    return aph_http_response(kind == DELETE ? 204 : 200, kind == DELETE ? APH_NIL : aph_remove(item, aph_str("user")));
}

static void step(aph *m, aph_value *state)
{
    aph_request request = aph_recv(m);
    aph_value q = request.message, body = aph_field(q, "json"), name = aph_field(body, "name"), id, response;
    aph_value sessions = array_of(aph_field(*state, "sessions")), items = array_of(aph_field(*state, "items"));
    int kind = kind_of(m, q, &id);
    size_t i = kind == LOGIN ? 0 : find(m, sessions, "token", aph_http_cookie(q, "session"));
    aph_value session = aph_at(sessions, i), user = aph_field(session, "user"), cart;
    if (kind == LOGIN) {
        response = login(m, body, &sessions);
    } else if (!user) {
        response = failed(401);
    } else if (kind == LOGOUT) {
        sessions = aph_replace(sessions, i, aph_record("token", aph_field(session, "token")));
        response = aph_http_response(204, APH_NIL);
    } else if (kind == CART) {
        cart = aph_push(aph_field(session, "cart"), aph_field(body, "add"));
        sessions = aph_replace(sessions, i, aph_put(session, "cart", cart));
        response = aph_http_response(200, aph_record("cart", cart));
    } else {
        response = kind == ITEMS ? add_item(m, user, name, &items) : use_item(m, kind, user, id, name, &items);
    }
    *state = aph_record("sessions", sessions, "items", items);
    aph_send(m, request.from, response);
}

static const aph_codec codec = APH_CODEC_HTTP((const char *const[]){NULL}); /* no header of a response matters */
#define ID {"seen": ["json", "id"], "else": "none"}
#define COOKIES "cookies": {"session": {"seen": ["cookies", "session"]}}
static const aph_model rest = {
    .version = APH_MODEL_VERSION, .name = "rest", .summary = "sessions, items and carts", .step = step,
    .rpc = true, .codec = &codec, .words = aph_http_words,
    .shape = APH_SHAPE_WITH_MACROS([
        {"weight": 2, "of": {"method": "POST", "path": ["login"], "json": {"user": {"one of": ["ann", "bob"]},
                             "password": {"one of": ["apple", "berry"]}}}},
        {"weight": 4, "of": {"method": {"one of": ["GET", "DELETE"]}, "path": ["items", ID], COOKIES}},
        {"method": "PUT", "path": ["items", ID], COOKIES, "json": {"name": {"fresh": "string"}}},
        {"weight": 2, "of": {"method": "POST", "path": ["items"], COOKIES, "json": {"name": {"fresh": "string"}}}},
        {"weight": 2, "of": {"method": "POST", "path": ["cart"], "json": {"add": {"one of": ["cup", "pen"]}}, COOKIES}},
        {"method": "POST", "path": ["logout"], COOKIES}
    ]),
};
APH_MODEL(rest)
