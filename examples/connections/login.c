/* SPDX-License-Identifier: Apache-2.0
 *
 * login.c - a login protocol in the manner of SMTP: the server greets, a client logs in with a user and a password, and
 * reads its mail. The login ends with the connection. */
#include <antiphon/model.h>

static const char *answer(aph_value *user, aph_value line)
{
    bool is_in = aph_str_is(*user, "in");
    if (aph_str_is(line, "USER alice")) {
        *user = aph_str("alice");
        return "331 password?";
    }
    if (aph_str_is(line, "PASS secret") && aph_str_is(*user, "alice")) {
        *user = aph_str("in");
        return "230 logged in";
    }
    if (aph_str_is(line, "PASS secret") || aph_str_is(line, "PASS guess")) {
        *user = APH_NIL;
        return "530 login failed";
    }
    if (aph_str_is(line, "MAIL"))
        return is_in ? "250 no mail" : "530 log in first";
    return "500 unknown command";
}

static void step(aph *m, aph_value *users)
{
    aph_request q = aph_recv(m);
    aph_value client = aph_int(q.from), user = aph_get(*users, client);
    if (q.message == APH_OPENED) {
        aph_send(m, q.from, aph_str("220 ready"));
    } else if (q.message == APH_CLOSED || q.message == APH_BROKEN || aph_str_is(q.message, "QUIT")) {
        *users = aph_remove(*users, client);
        if (q.message != APH_BROKEN)
            aph_send(m, q.from, aph_str("221 bye"));
        aph_close(m, q.from);
    } else {
        aph_send(m, q.from, aph_str(answer(&user, q.message)));
        *users = user ? aph_set(*users, client, user) : aph_remove(*users, client);
    }
}

static const aph_model login = {
    .version = APH_MODEL_VERSION,
    .name = "login",
    .summary = "a login protocol in the manner of SMTP",
    .step = step,
    .connections = true,
    .codec = &aph_codec_lines,
    .shape = "[\"USER alice\", \"PASS secret\", \"PASS guess\", \"MAIL\", \"QUIT\", \"NOOP\"]",
};

APH_MODEL(login)
