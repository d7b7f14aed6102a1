/* SPDX-License-Identifier: Apache-2.0
 *
 * http_origins.c - the names of the tester's origins in messages. */
#include "codec/http_origins.h"

#include <antiphon/model.h>

static const char *const names[APH_ORIGINS_MAX] = {
    "here",   "here-1", "here-2",  "here-3",  "here-4",  "here-5",  "here-6",  "here-7",
    "here-8", "here-9", "here-10", "here-11", "here-12", "here-13", "here-14", "here-15",
};
static const char scheme[] = "http://";

aph_value aphi_http_origin_name(size_t origin) { return aph_str(names[origin]); }

int64_t aphi_http_origin_named(aph_value host)
{
    for (size_t i = 0; aph_is_str(host) && i < APH_ORIGINS_MAX; i++)
        if (aph_str_is(host, names[i]))
            return (int64_t)i;
    return -1;
}

aph_value aphi_http_host_read(const aph_wire *w, aphi_span host)
{
    if (w->here && aphi_span_is(host, w->here))
        return aphi_http_origin_name(0);
    for (size_t i = 0; w->origins && w->origins[i] && i < APH_ORIGINS_MAX; i++)
        if (aphi_span_is(host, w->origins[i]))
            return aphi_http_origin_name(i);
    return aph_bytes(host.text, host.n);
}

aph_value aphi_http_local_host_read(const aph_wire *w, aphi_span host)
{
    static const char local[] = "localhost:", number[] = "127.0.0.1:";
    size_t n = sizeof local - 1;
    char address[sizeof number + 5];
    if (host.n <= n || host.n - n > 5 || memcmp(host.text, local, n) != 0)
        return aphi_http_host_read(w, host);
    memcpy(address, number, n);
    memcpy(address + n, host.text + n, host.n - n);
    aph_value name = aphi_http_host_read(w, (aphi_span){address, host.n});
    return aphi_http_origin_named(name) < 0 ? aph_bytes(host.text, host.n) : name;
}

aph_value aphi_http_host_text(const aph_sink *out, aph_value host)
{
    int64_t origin = aphi_http_origin_named(host);
    const char *address = origin < 0 ? NULL : aph_sink_origin(out, (size_t)origin);
    return address ? aph_str(address) : host;
}

/* ---- URIs -------------------------------------------------------------------------------------------------------- */

bool aphi_http_absolute_split(aphi_span uri, aphi_span *authority, aphi_span *rest)
{
    size_t n = sizeof scheme - 1, i = n;
    for (size_t k = 0; k < n; k++)
        if (k >= uri.n || aphi_lower(uri.text[k]) != scheme[k])
            return false;
    while (i < uri.n && uri.text[i] != '/' && uri.text[i] != '?' && uri.text[i] != '#')
        i++;
    *authority = (aphi_span){uri.text + n, i - n};
    *rest = (aphi_span){uri.text + i, uri.n - i};
    return true;
}

static aph_value join(aphi_span uri, aph_value authority, aphi_span rest)
{
    aphi_http_text all;
    aphi_http_text_init(&all);
    aphi_http_text_add(&all, (aphi_span){uri.text, sizeof scheme - 1});
    aphi_http_text_add(&all, aphi_span_of(&authority));
    aphi_http_text_add(&all, rest);
    return aphi_http_text_take(&all);
}

aph_value aphi_http_uri_read(const aph_wire *w, aphi_span uri)
{
    aphi_span authority, rest;
    if (!w->origins || !aphi_http_absolute_split(uri, &authority, &rest))
        return aph_bytes(uri.text, uri.n);
    return join(uri, aphi_http_local_host_read(w, authority), rest);
}

aph_value aphi_http_uri_text(const aph_sink *out, aphi_span uri)
{
    aphi_span authority, rest;
    if (!aph_sink_here(out) || !aphi_http_absolute_split(uri, &authority, &rest))
        return aph_bytes(uri.text, uri.n);
    return join(uri, aphi_http_host_text(out, aph_bytes(authority.text, authority.n)), rest);
}
