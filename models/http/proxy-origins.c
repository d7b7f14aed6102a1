/* SPDX-License-Identifier: Apache-2.0
 *
 * proxy-origins.c - the names of origin servers in messages of the proxy model.
 *
 * The tester listens on a port for each origin server. Messages name them "here", "here-1", "here-2", and never contain
 * an address, so a script can be replayed on other ports. */
#include "proxy.h"

#include "codec/http_text.h"

static const char *const names[APHI_PROXY_ORIGINS] = {"here", "here-1", "here-2"};

aph_value aphi_proxy_origin_name(size_t origin) { return aph_str(names[origin]); }

int64_t aphi_proxy_origin_named(aph_value host)
{
    for (int64_t i = 0; i < APHI_PROXY_ORIGINS; i++)
        if (aph_str_is(host, names[i]))
            return i;
    return -1;
}

aph_value aphi_proxy_host_read(const aph_wire *w, aphi_span host)
{
    if (w->here && aphi_span_is(host, w->here))
        return aph_str(names[0]);
    for (size_t i = 0; w->origins && w->origins[i] && i < APHI_PROXY_ORIGINS; i++)
        if (aphi_span_is(host, w->origins[i]))
            return aph_str(names[i]);
    return aph_bytes(host.text, host.n);
}

aph_value aphi_proxy_host_text(const aph_sink *out, aph_value host)
{
    int64_t origin = aphi_proxy_origin_named(host);
    const char *address = origin < 0 ? NULL : aph_sink_origin(out, (size_t)origin);
    return address ? aph_str(address) : host;
}
