/* SPDX-License-Identifier: Apache-2.0
 *
 * chat.c - a chat room: a message is sent to all other members, and so is the news that a member has joined or left. A
 * member has a number, which the server chooses and which is never used again. */
#include <antiphon/model.h>

static void tell_others(aph *m, aph_value members, aph_value me, const char *news, aph_value value)
{
    aph_value connection, number;
    for (size_t i = 0; aph_pair_at(members, i, &connection, &number); i++)
        if (number != me)
            aph_send(m, aph_int_of(aph_at(number, 0)), aph_record("from", aph_at(me, 1), news, value));
}

static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    aph_value members = aph_field(*state, "members"), name = aph_int(q.from), me = aph_get(members, name);
    if (q.message == APH_OPENED) {
        int64_t joined = aph_int_of(aph_field(*state, "joined")) + 1;
        me = APH_ARRAY_OF(name, aph_int(joined));
        *state = aph_record("joined", aph_int(joined), "members", aph_set(members, name, me));
        aph_send(m, q.from, aph_record("welcome", aph_int(joined)));
        tell_others(m, members, me, "joined", aph_bool(true));
    } else if (q.message == APH_CLOSED || q.message == APH_BROKEN) {
        *state = aph_put(*state, "members", aph_remove(members, name));
        aph_close(m, q.from);
        tell_others(m, members, me, "left", aph_bool(true));
    } else {
        tell_others(m, members, me, "text", q.message);
    }
}

static aph_value empty_room(const aph_model *model)
{
    (void)model;
    return aph_record("joined", aph_int(0), "members", aph_object());
}

static const aph_model chat = {
    .version = APH_MODEL_VERSION,
    .name = "chat",
    .summary = "a chat room that announces who joins and leaves",
    .step = step,
    .initial = empty_room,
    .connections = true,
    .shape = "[\"hi\", \"how are you?\"]",
};

APH_MODEL(chat)
