/* SPDX-License-Identifier: Apache-2.0
 *
 * swap-impl.c - the implementation of the swap server: bytes, buffers and a state machine for each connection.
 *
 *     BYTE    a string of one byte; three make a request, and three a response
 *
 * This is the implementation model of Koh et al., "From C to interaction trees" (CPP 2019), figure 8: each step accepts
 * a connection, or works on one connection.
 *
 *     accept --> RECVING --- the request is complete: swap it for the stored one --> SENDING
 *                 |   ^                                                               |   |
 *     end or reset|   +------------------ the whole response is sent -----------------+   | reset
 *                 +---------------------------------> DELETED <---------------------------+
 *
 * On a connection in state RECVING, a step receives a byte or the end. On a connection in state SENDING, it sends a
 * chunk of any length. It first closes connections in state DELETED. This is the behaviour of subjects/swap at its
 * sockets.
 * `antiphon refine swap-impl swap-connections` compares it with the linear specification (swap.c).
 *
 * A connection is {"number", "state", "request": bytes, "answer": bytes, "behind": bytes, "ended": true}: the received
 * part of a request, the unsent part of a response, and later input with its end, which a real server leaves in the
 * socket buffer. The backlog of clients that are not accepted yet belongs to the network.
 *
 * A step that could send may receive instead, and then waits for input. Like the theorem in the paper, the model does
 * not guarantee when responses are sent. */
#include "models.h"

enum { MESSAGE = 3 };

/* The defect of a variant. */
typedef enum defect {
    NOTHING,
    SHARED_REQUEST,   /* all connections receive into one buffer */
    SHARED_ANSWER,    /* all connections send from one buffer */
    EARLY,            /* a request is complete with two bytes */
    ECHO,             /* the request is stored before the response is read */
    LATE_KEEP,        /* the request is stored after its response was sent */
    ZERO,             /* the initial message is zero bytes */
    REWIND,           /* the rest of a response is sent from its beginning */
    MISDIRECTED,      /* the response is sent to the first connection of the table */
    ACCEPT_DIRTY,     /* a new connection gets the request buffer of the last closed one, with its content */
    ACCEPT_RESETS,    /* a new connection resets the stored message */
    CLOSE_EARLY,      /* the end of the input closes the connection before the response is sent */
    CLOSE_COMPLETES,  /* the end of the input completes a request */
    CLOSE_KEEPS,      /* the rest of a response to a client that is gone is sent to the next client */
} defect;

static bool has_defect(aph *m, defect d)
{
    return *(const defect *)aph_data(m) == d;
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

static aph_value bytes_in(aph_value connection, const char *buffer)
{
    aph_value bytes = aph_field(connection, buffer);
    return bytes ? bytes : aph_str("");
}

/* Empty buffers are not stored. */
static aph_value with(aph_value connection, const char *buffer, aph_value bytes)
{
    return aph_count(bytes) ? aph_put(connection, buffer, bytes) : aph_remove(connection, aph_str(buffer));
}

static aph_value connection_at(aph_value state, aph_value id)
{
    return aph_get(aph_field(state, "connections"), id);
}

static aph_value with_connection(aph_value state, aph_value id, aph_value c)
{
    return aph_put(state, "connections", aph_set(aph_field(state, "connections"), id, c));
}

static bool is_in(aph_value connection, const char *state)
{
    return aph_str_is(aph_field(connection, "state"), state);
}

/* ---- accept and close -------------------------------------------------------------------------------------------- */

static aph_value accept_connection(aph *m, aph_value state, int64_t number)
{
    aph_value c = aph_record("number", aph_int(number), "state", aph_str("RECVING"));
    aph_value left = aph_field(state, "left"); /* in the buffers of the last closed connection */
    if (has_defect(m, ACCEPT_RESETS))
        state = aph_put(state, "kept", aph_str("000"));
    if (left && has_defect(m, ACCEPT_DIRTY))
        c = with(c, "request", bytes_in(left, "request"));
    if (left && has_defect(m, CLOSE_KEEPS) && aph_has(left, aph_str("answer")))
        c = aph_put(with(c, "answer", bytes_in(left, "answer")), "state", aph_str("SENDING"));
    return with_connection(aph_remove(state, aph_str("left")), aph_int(number), c);
}

static aph_value delete_connection(aph_value state, aph_value id)
{
    return with_connection(state, id, aph_put(connection_at(state, id), "state", aph_str("DELETED")));
}

static void close_connection(aph *m, aph_value *state, aph_value id)
{
    aph_value c = connection_at(*state, id);
    aph_close(m, aph_int_of(aph_field(c, "number")));
    *state = aph_put(*state, "connections", aph_remove(aph_field(*state, "connections"), id));
    if (has_defect(m, ACCEPT_DIRTY) || has_defect(m, CLOSE_KEEPS))
        *state = aph_put(*state, "left", c);
}

/* ---- the linearization point ------------------------------------------------------------------------------------- */

static aph_value swap(aph *m, aph_value state, aph_value id, aph_value request)
{
    aph_value kept = aph_field(state, "kept"), c = connection_at(state, id);
    c = aph_put(with(c, "answer", has_defect(m, ECHO) ? request : kept), "state", aph_str("SENDING"));
    if (has_defect(m, LATE_KEEP))
        c = with(c, "keep", request);
    else
        state = aph_put(state, "kept", request);
    if (has_defect(m, SHARED_ANSWER))
        state = aph_put(state, "shared answer", kept);
    return with_connection(state, id, c);
}

/* ---- RECVING ----------------------------------------------------------------------------------------------------- */

static aph_value accept_byte(aph *m, aph_value state, aph_value id, aph_value byte)
{
    bool shared = has_defect(m, SHARED_REQUEST);
    aph_value c = connection_at(state, id), request = bytes_in(shared ? state : c, "request");
    if (is_in(c, "DELETED"))
        return state;
    if (is_in(c, "SENDING"))
        return with_connection(state, id, with(c, "behind", aph_concat(bytes_in(c, "behind"), byte)));
    request = aph_concat(request, byte);
    bool complete = aph_count(request) >= (has_defect(m, EARLY) ? MESSAGE - 1 : MESSAGE);
    aph_value rest = complete ? aph_str("") : request;
    state = shared ? with(state, "request", rest) : with_connection(state, id, with(c, "request", rest));
    return complete ? swap(m, state, id, request) : state;
}

/* Reads the end of the input. In state SENDING, it stays in the socket buffer. */
static aph_value accept_end(aph *m, aph_value state, aph_value id)
{
    aph_value c = connection_at(state, id), request = bytes_in(c, "request");
    if (is_in(c, "SENDING") && !has_defect(m, CLOSE_EARLY))
        return with_connection(state, id, aph_put(c, "ended", aph_bool(true)));
    if (has_defect(m, CLOSE_COMPLETES) && aph_count(request))
        state = aph_put(state, "kept", aph_substr(aph_concat(request, aph_str("000")), 0, MESSAGE));
    return delete_connection(state, id);
}

static aph_value receive(aph *m, aph_value state, aph_request q)
{
    aph_value id = aph_int(q.from);
    if (q.message == APH_OPENED)
        return accept_connection(m, state, q.from);
    if (!connection_at(state, id))
        aph_unknown_request(m, "a message on a connection that is not open");
    if (q.message == APH_BROKEN)
        return delete_connection(state, id);
    if (q.message == APH_CLOSED)
        return accept_end(m, state, id);
    if (!aph_is_str(q.message) || aph_count(q.message) != 1)
        aph_unknown_request(m, "a message must be a string of one byte");
    return accept_byte(m, state, id, q.message);
}

/* ---- SENDING ----------------------------------------------------------------------------------------------------- */

/* RECVING again: reads the input that arrived meanwhile. */
static aph_value finish_response(aph *m, aph_value state, aph_value id)
{
    aph_value c = connection_at(state, id), behind = bytes_in(c, "behind"), keep = aph_field(c, "keep");
    bool ended = aph_has(c, aph_str("ended"));
    c = aph_remove(with(with(c, "behind", aph_str("")), "keep", aph_str("")), aph_str("ended"));
    state = with_connection(state, id, aph_put(c, "state", aph_str("RECVING")));
    if (keep)
        state = aph_put(state, "kept", keep);
    for (size_t i = 0; i < aph_count(behind); i++)
        state = accept_byte(m, state, id, aph_substr(behind, i, 1));
    return ended ? accept_end(m, state, id) : state;
}

/* The first connection of the table that is not deleted. */
static int64_t first_number(aph_value state)
{
    aph_value all = aph_field(state, "connections"), id, c;
    for (size_t i = 0; aph_pair_at(all, i, &id, &c); i++)
        if (!is_in(c, "DELETED"))
            return aph_int_of(aph_field(c, "number"));
    return 0;
}

static void send_chunk(aph *m, aph_value *state, aph_value id)
{
    static const char *const lengths[MESSAGE] = {"one byte", "two bytes", "three bytes"};
    aph_value c = connection_at(*state, id), answer = bytes_in(c, "answer");
    size_t left = aph_count(answer), n = left > 1 ? 1 + (size_t)aph_either_(m, left, lengths) : 1;
    aph_value from = has_defect(m, SHARED_ANSWER) ? aph_field(*state, "shared answer") : answer;
    int64_t to = has_defect(m, MISDIRECTED) ? first_number(*state) : aph_int_of(aph_field(c, "number"));
    for (size_t i = 0; i < n; i++)
        aph_send(m, to, aph_substr(from, aph_count(from) - left + i, 1));
    aph_value rest = has_defect(m, REWIND) ? aph_substr(answer, 0, left - n) : aph_substr(answer, n, left - n);
    *state = with_connection(*state, id, with(c, "answer", rest));
    if (n == left)
        *state = finish_response(m, *state, id);
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

static void close_deleted(aph *m, aph_value *state)
{
    aph_value all = aph_field(*state, "connections"), id, c;
    for (size_t i = 0; aph_pair_at(all, i, &id, &c); i++)
        if (is_in(c, "DELETED"))
            close_connection(m, state, id);
}

static void step(aph *m, aph_value *state)
{
    close_deleted(m, state);
    aph_value all = aph_field(*state, "connections"), id, c;
    for (size_t i = 0; aph_pair_at(all, i, &id, &c); i++)
        if (is_in(c, "SENDING") && aph_either(m, "send on this connection", "work on another connection") == 0) {
            send_chunk(m, state, id);
            return;
        }
    *state = receive(m, *state, aph_recv(m));
}

static aph_value initial(const aph_model *model)
{
    bool zero = *(const defect *)model->data == ZERO;
    return aph_record("kept", zero ? aph_bytes("\0\0\0", MESSAGE) : aph_str("000"), "connections", aph_object());
}

static const aph_codec codec = APH_CODEC_FIXED(1);

static const char shape[] = APH_SHAPE([{"string": 1}]);

#define VARIANT(its_name, wrong, its_defect) \
    &(const aph_model){.version = APH_MODEL_VERSION, .name = its_name, .summary = wrong, .step = step, \
                       .initial = initial, .data = &(const defect){its_defect}, .codec = &codec, .shape = shape, \
                       .connections = true}

static const aph_model *const mutants[] = {
    VARIANT("shared-request", "all connections receive into one buffer", SHARED_REQUEST),
    VARIANT("shared-answer", "all connections send from one buffer", SHARED_ANSWER),
    VARIANT("early", "a request is complete with two bytes", EARLY),
    VARIANT("echo", "the request is stored before the response is read", ECHO),
    VARIANT("late-keep", "the request is stored after its response was sent", LATE_KEEP),
    VARIANT("zero", "the initial message is zero bytes", ZERO),
    VARIANT("rewind", "the rest of a response is sent from its beginning", REWIND),
    VARIANT("misdirected", "the response is sent to the first connection of the table", MISDIRECTED),
    VARIANT("accept-dirty", "a new connection gets the received bytes of the last closed one", ACCEPT_DIRTY),
    VARIANT("accept-resets", "a new connection resets the stored message", ACCEPT_RESETS),
    VARIANT("close-early", "the end of the input closes the connection before the response is sent", CLOSE_EARLY),
    VARIANT("close-completes", "the end of the input completes a request", CLOSE_COMPLETES),
    VARIANT("close-keeps", "the unsent rest of a response is sent to the next client", CLOSE_KEEPS),
    NULL,
};

const aph_model aph_model_swap_impl = {
    .version = APH_MODEL_VERSION,
    .name = "swap-impl",
    .summary = "the swap server's implementation: bytes, buffers, state machines",
    .step = step,
    .initial = initial,
    .data = &(const defect){NOTHING},
    .codec = &codec,
    .shape = shape,
    .connections = true,
    .mutants = mutants,
};
