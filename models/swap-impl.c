/* SPDX-License-Identifier: Apache-2.0
 *
 * swap-impl.c - the swap server as it is built: bytes, buffers and a state machine for each connection.
 *
 *     BYTE    a string of one byte; three make a request, and three are an answer
 *
 * This is the implementation model of Koh et al., "From C to interaction trees" (CPP 2019), figure 8: each step works
 * on one connection. It receives a byte on one that is RECVING; where that completes a request, the request is
 * swapped for the kept message and the connection is SENDING. Or it sends a chunk, of any length, on one that is
 * SENDING; when the answer is all out, the connection is RECVING again. It is what subjects/swap does, seen from its
 * sockets. `antiphon refine swap-impl swap` compares it with the linear specification (swap.c).
 *
 * A connection is {"request": bytes, "answer": bytes, "behind": bytes}: what has come of a request, what is to go of an
 * answer (it is SENDING if there is any), and what came meanwhile, which a real server leaves in the system's buffer.
 * One without any is not remembered.
 *
 * A step that could send may receive instead, and then waits until something comes. So this model promises nothing
 * about when answers go out, as the theorem of the paper does not. */
#include "models.h"

enum { MESSAGE = 3 };

/* What is wrong with a variant. */
typedef enum defect {
    NOTHING,
    SHARED_REQUEST, /* all connections receive into one buffer */
    SHARED_ANSWER,  /* all connections send from one buffer */
    EARLY,          /* a request is complete with two bytes */
    ECHO,           /* the request is kept before the answer is taken */
    LATE_KEEP,      /* the request is kept when its answer is out, not when it was taken */
    ZERO,           /* the kept message begins as bytes of zero */
    REWIND,         /* the rest of an answer is taken from its head */
    MISDIRECTED,    /* the answer goes to the connection that is first in the table */
} defect;

static bool has(aph *m, defect d)
{
    return *(const defect *)aph_data(m) == d;
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

static aph_value bytes_in(aph_value connection, const char *buffer)
{
    aph_value bytes = aph_field(connection, buffer);
    return bytes ? bytes : aph_str("");
}

/* A buffer that is empty is left out, and so is a connection without any. */
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

static bool sending(aph_value connection)
{
    return aph_count(bytes_in(connection, "answer")) > 0;
}

/* ---- the linearization point ------------------------------------------------------------------------------------- */

static aph_value swap(aph *m, aph_value state, aph_value id, aph_value request)
{
    aph_value kept = aph_field(state, "kept"), c = connection_at(state, id);
    c = with(c, "answer", has(m, ECHO) ? request : kept);
    if (has(m, LATE_KEEP))
        c = with(c, "keep", request);
    else
        state = aph_put(state, "kept", request);
    if (has(m, SHARED_ANSWER))
        state = aph_put(state, "shared answer", kept);
    return with_connection(state, id, c);
}

/* ---- RECVING ----------------------------------------------------------------------------------------------------- */

static aph_value take_byte(aph *m, aph_value state, aph_value id, aph_value byte)
{
    aph_value c = connection_at(state, id);
    aph_value holder = has(m, SHARED_REQUEST) ? aph_str("shared") : id;
    aph_value buffers = connection_at(state, holder);
    aph_value request = aph_concat(bytes_in(buffers, "request"), byte);
    if (sending(c))
        return with_connection(state, id, with(c, "behind", aph_concat(bytes_in(c, "behind"), byte)));
    if (aph_count(request) < (has(m, EARLY) ? MESSAGE - 1 : MESSAGE))
        return with_connection(state, holder, with(buffers, "request", request));
    state = with_connection(state, holder, with(buffers, "request", aph_str("")));
    return swap(m, state, id, request);
}

static void receive(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    if (!aph_is_str(q.message) || aph_count(q.message) != 1)
        aph_unknown_request(m, "the implementation of a swap server takes strings of one byte");
    *state = take_byte(m, *state, aph_strf("%lld", (long long)q.from), q.message);
}

/* ---- SENDING ----------------------------------------------------------------------------------------------------- */

/* RECVING again: what came meanwhile is read now. */
static aph_value finish(aph *m, aph_value state, aph_value id)
{
    aph_value c = connection_at(state, id), behind = bytes_in(c, "behind"), keep = aph_field(c, "keep");
    c = with(with(c, "behind", aph_str("")), "keep", aph_str(""));
    state = with_connection(state, id, c);
    if (keep)
        state = aph_put(state, "kept", keep);
    for (size_t i = 0; i < aph_count(behind); i++)
        state = take_byte(m, state, id, aph_substr(behind, i, 1));
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
    aph_value from = has(m, SHARED_ANSWER) ? aph_field(*state, "shared answer") : answer;
    int64_t to = number_of(id);
    if (has(m, MISDIRECTED) && aph_pair_at(aph_field(*state, "connections"), 0, &first, &its))
        to = number_of(first);
    for (size_t i = 0; i < n; i++)
        aph_send(m, to, aph_substr(from, aph_count(from) - left + i, 1));
    aph_value rest = has(m, REWIND) ? aph_substr(answer, 0, left - n) : aph_substr(answer, n, left - n);
    *state = with_connection(*state, id, with(c, "answer", rest));
    if (n == left)
        *state = finish(m, *state, id);
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

static void step(aph *m, aph_value *state)
{
    aph_value all = aph_field(*state, "connections"), id, c;
    for (size_t i = 0; i < aph_count(all); i++)
        if (aph_pair_at(all, i, &id, &c) && sending(c) && aph_either(m, "send on it", "work on another") == 0) {
            send_chunk(m, state, id);
            return;
        }
    receive(m, state);
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
    VARIANT("echo", "the request is kept before the answer is taken", ECHO),
    VARIANT("late-keep", "the request is kept when its answer is out, not when it was taken", LATE_KEEP),
    VARIANT("zero", "the kept message begins as bytes of zero", ZERO),
    VARIANT("rewind", "the rest of an answer is taken from its head", REWIND),
    VARIANT("misdirected", "the answer goes to the connection that is first in the table", MISDIRECTED),
    NULL,
};

const aph_model aph_model_swap_impl = {
    .version = APH_MODEL_VERSION,
    .name = "swap-impl",
    .summary = "the swap server as built: bytes, buffers, a state machine a connection",
    .step = step,
    .initial = initial,
    .data = &(const defect){NOTHING},
    .codec = &codec,
    .shape = shape,
    .mutants = mutants,
};
