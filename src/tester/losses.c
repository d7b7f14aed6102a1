/* SPDX-License-Identifier: Apache-2.0
 *
 * losses.c - the requests that a subject swallowed; see losses.h.
 *
 * Idea:       a server that closes its connections does so soon after a response, or after a long idle time. So a
 *             connection rests for longer than the subject was seen to take for closing one. */
#include "tester/losses.h"

enum {
    PERCENT = 5,        /* the default limit */
    EXCUSED_FEW = 16,   /* requests that may be excused without care, */
    EXCUSED_PART = 512, /* and this part of the responses, */
    EXCUSED_EACH = 4,   /* and this number for each request that got a response on a rested connection, */
    RESTED_PART = 100,  /* if less than this part of those is lost, and there are as many */
    REST_FACTOR = 2,
};
static const int64_t REST_NS = 2000000, CLOSING_MAX_NS = 100000000; /* a later close is due to an idle connection */

bool aphi_losses_exceed(const aphi_max_losses *limit, uint64_t losses, uint64_t requests)
{
    if (limit->unit == APHI_LOSSES_COUNT)
        return losses > limit->number;
    uint64_t percent = limit->unit == APHI_LOSSES_PERCENT ? limit->number : PERCENT;
    return losses > APHI_LOSSES_LEAST && (double)losses * 100 > (double)requests * (double)percent;
}

bool aphi_losses_need_care(const aphi_losses *l, uint64_t responses)
{
    uint64_t crossing = RESTED_PART * (l->rested_lost + 1) <= l->rested ? EXCUSED_EACH * l->rested : 0;
    return l->excused > EXCUSED_FEW + responses / EXCUSED_PART + crossing;
}

void aphi_losses_note_response(aphi_losses *l, int64_t rested_ns)
{
    l->rested += rested_ns >= aphi_losses_rest_ns(l);
}

int64_t aphi_losses_rest_ns(const aphi_losses *l)
{
    return REST_FACTOR * l->closing_ns > REST_NS ? REST_FACTOR * l->closing_ns : REST_NS;
}

void aphi_losses_note_close(aphi_losses *l, int64_t after_ns)
{
    if (after_ns > l->closing_ns && after_ns <= CLOSING_MAX_NS)
        l->closing_ns = after_ns;
}

void aphi_losses_add(aphi_losses *l, int64_t connection, int64_t label, aph_value request)
{
    l->count++;
    l->rested_lost++;
    if (!l->shown)
        l->shown = aph_array(0, NULL);
    if (aph_count(l->shown) < APHI_LOSSES_SHOWN)
        l->shown = aph_push(l->shown, aph_record("label", aph_int(label), "conn", aph_int(connection), "request",
                                                 request));
}
