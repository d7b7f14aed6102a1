/* SPDX-License-Identifier: Apache-2.0
 *
 * shop.c - the stock of a shop: the model of docs/tutorial.md. */
#include <antiphon/model.h>

static void step(aph *m, aph_value *stock)
{
    aph_request q = aph_recv(m);
    aph_value f = aph_field(q.message, "f"), item = aph_field(q.message, "item"), count = aph_field(q.message, "count");
    bool add = aph_str_is(f, "add"), take = aph_str_is(f, "take"), look = aph_str_is(f, "stock");

    if (!aph_is_str(item) || (!look && (!(add || take) || !aph_is_int(count) || aph_int_of(count) < 1)))
        aph_unknown_request(m, "expected add or take with an item and a count, or stock with an item");

    int64_t left = aph_has(*stock, item) ? aph_int_of(aph_get(*stock, item)) : 0;
    if (take && left < aph_int_of(count)) {
        aph_send(m, q.from, aph_str("sold out"));
        return;
    }
    if (!look)
        left += add ? aph_int_of(count) : -aph_int_of(count);
    *stock = left ? aph_set(*stock, item, aph_int(left)) : aph_remove(*stock, item);
    aph_send(m, q.from, aph_int(left));
}

/* Different items are independent: a promise that makes testing faster. */
static aph_value part(aph_value request)
{
    return aph_field(request, "item");
}

static const aph_model shop = {
    .version = APH_MODEL_VERSION,
    .name = "shop",
    .summary = "the stock of a shop",
    .step = step,
    .rpc = true,
    .part = part,
    .shape = APH_SHAPE([
        {"f": "add", "item": {"one of": ["cup", "pen"]}, "count": {"int": [1, 9]}},
        {"f": "take", "item": {"one of": ["cup", "pen"]}, "count": {"int": [1, 9]}},
        {"f": "stock", "item": {"one of": ["cup", "pen"]}}
    ]),
};

APH_MODEL(shop)
