/* SPDX-License-Identifier: Apache-2.0
 *
 * swap-impl.c - the implementation of the swap server: bytes, buffers and a state machine for each connection.
 *
 *     BYTE    a string of one byte; three make a request, and three a response
 *
 * This is the implementation model of Koh et al., "From C to interaction trees" (CPP 2019), figure 8: each step works
 * on one connection. It receives a byte on a connection in state RECVING; if that completes a request, the request is
 * swapped for the stored message and the connection is SENDING. Or it sends a chunk of any length on a connection in
 * state SENDING; after the whole response, the connection is RECVING again. This is the behaviour of subjects/swap at
 * its sockets. `antiphon refine swap-impl swap` compares it with the linear specification (swap.c).
 *
 * A connection is {"request": bytes, "answer": bytes, "behind": bytes}: the received part of a request, the unsent part
 * of a response (SENDING if not empty), and later input, which a real server leaves in the socket buffer. A connection
 * with empty buffers is not stored.
 *
 * A step that could send may receive instead, and then waits for input. Like the theorem in the paper, the model does
 * not guarantee when responses are sent. */
#include "models.h"

enum { MESSAGE = 3 };

/* The defect of a variant. */
typedef enum defect {
    NOTHING,
    SHARED_REQUEST, /* all connections receive into one buffer */
    SHARED_ANSWER,  /* all connections send from one buffer */
    EARLY,          /* a request is complete with two bytes */
    ECHO,           /* the request is stored before the response is read */
    LATE_KEEP,      /* the request is stored after its response was sent */
    ZERO,           /* the initial message is zero bytes */
    REWIND,         /* the rest of a response is sent from its beginning */
    MISDIRECTED,    /* the response is sent to the first connection of the table */
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

/* Empty buffers are not stored, nor are connections without buffers. */
static aph_value with(aph_value connection, const char *buffer, aph_value bytes)
{
    return aph_count(bytes) ? aph_put(connection, buffer, bytes) : aph_remove(connection, aph_str(buffer));
}

static aph_value connection_at(aph_value state, aph_value id)
{
    aph_value c = aph_get(aph_field(state, "connections"), id);
    return c ? c : aph_object();
}

static aph_value with_connection(aph_value state, aph_value id, aph_value c)
{
    aph_value all = aph_field(state, "connections");
    return aph_put(state, "connections", aph_count(c) ? aph_set(all, id, c) : aph_remove(all, id));
}

static bool is_sending(aph_value connection)
{
    return aph_count(bytes_in(connection, "answer")) > 0;
}

/* ---- the linearization point ------------------------------------------------------------------------------------- */

static aph_value swap(aph *m, aph_value state, aph_value id, aph_value request)
{
    aph_value kept = aph_field(state, "kept"), c = connection_at(state, id);
    c = with(c, "answer", has_defect(m, ECHO) ? request : kept);
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
    aph_value c = connection_at(state, id);
    aph_value holder = has_defect(m, SHARED_REQUEST) ? aph_str("shared") : id;
    aph_value buffers = connection_at(state, holder);
    aph_value request = aph_concat(bytes_in(buffers, "request"), byte);
    if (is_sending(c))
        return with_connection(state, id, with(c, "behind", aph_concat(bytes_in(c, "behind"), byte)));
    if (aph_count(request) < (has_defect(m, EARLY) ? MESSAGE - 1 : MESSAGE))
        return with_connection(state, holder, with(buffers, "request", request));
    state = with_connection(state, holder, with(buffers, "request", aph_str("")));
    return swap(m, state, id, request);
}

static void receive_byte(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    if (!aph_is_str(q.message) || aph_count(q.message) != 1)
        aph_unknown_request(m, "a message must be a string of one byte");
    *state = accept_byte(m, *state, aph_strf("%lld", (long long)q.from), q.message);
}

/* ---- SENDING ----------------------------------------------------------------------------------------------------- */

/* RECVING again: reads the input that arrived meanwhile. */
static aph_value finish_response(aph *m, aph_value state, aph_value id)
{
    aph_value c = connection_at(state, id), behind = bytes_in(c, "behind"), keep = aph_field(c, "keep");
    c = with(with(c, "behind", aph_str("")), "keep", aph_str(""));
    state = with_connection(state, id, c);
    if (keep)
        state = aph_put(state, "kept", keep);
    for (size_t i = 0; i < aph_count(behind); i++)
        state = accept_byte(m, state, id, aph_substr(behind, i, 1));
    return state;
}

static int64_t number_of(aph_value id)
{
    size_t n;
    const char *digits = aph_bytes_of(&id, &n);
    int64_t number = 0;
    bool negative = n && digits[0] == '-';
    for (size_t i = negative; i < n; i++)
        number = number * 10 + (digits[i] - '0');
    return negative ? -number : number;
}

static void send_chunk(aph *m, aph_value *state, aph_value id)
{
    static const char *const lengths[MESSAGE] = {"one byte", "two bytes", "three bytes"};
    aph_value c = connection_at(*state, id), answer = bytes_in(c, "answer"), first, its;
    size_t left = aph_count(answer), n = left > 1 ? 1 + (size_t)aph_either_(m, left, lengths) : 1;
    aph_value from = has_defect(m, SHARED_ANSWER) ? aph_field(*state, "shared answer") : answer;
    int64_t to = number_of(id);
    if (has_defect(m, MISDIRECTED) && aph_pair_at(aph_field(*state, "connections"), 0, &first, &its))
        to = number_of(first);
    for (size_t i = 0; i < n; i++)
        aph_send(m, to, aph_substr(from, aph_count(from) - left + i, 1));
    aph_value rest = has_defect(m, REWIND) ? aph_substr(answer, 0, left - n) : aph_substr(answer, n, left - n);
    *state = with_connection(*state, id, with(c, "answer", rest));
    if (n == left)
        *state = finish_response(m, *state, id);
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

static void step(aph *m, aph_value *state)
{
    aph_value all = aph_field(*state, "connections"), id, c;
    for (size_t i = 0; i < aph_count(all); i++)
        if (aph_pair_at(all, i, &id, &c) && is_sending(c) &&
            aph_either(m, "send on this connection", "work on another connection") == 0) {
            send_chunk(m, state, id);
            return;
        }
    receive_byte(m, state);
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
                       .initial = initial, .data = &(const defect){its_defect}, .codec = &codec, .shape = shape}

static const aph_model *const mutants[] = {
    VARIANT("shared-request", "all connections receive into one buffer", SHARED_REQUEST),
    VARIANT("shared-answer", "all connections send from one buffer", SHARED_ANSWER),
    VARIANT("early", "a request is complete with two bytes", EARLY),
    VARIANT("echo", "the request is stored before the response is read", ECHO),
    VARIANT("late-keep", "the request is stored after its response was sent", LATE_KEEP),
    VARIANT("zero", "the initial message is zero bytes", ZERO),
    VARIANT("rewind", "the rest of a response is sent from its beginning", REWIND),
    VARIANT("misdirected", "the response is sent to the first connection of the table", MISDIRECTED),
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
    .mutants = mutants,
};
