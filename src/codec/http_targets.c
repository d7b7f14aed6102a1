/* SPDX-License-Identifier: Apache-2.0
 *
 * http_targets.c - the four forms of a request target, and the value of Host (RFC 9112 3.2, RFC 3986).
 *
 * Each function returns the length of the valid prefix, so that the first wrong byte can be reported. */
#include "codec/http_syntax.h"

/* A URI character that needs no percent-encoding; `also`: further allowed characters. */
static bool is_plain(unsigned char c, const char *also)
{
    return aphi_is_alpha(c) || aphi_is_digit(c) || (c && (strchr("-._~!$&'()*+,;=", c) || strchr(also, c)));
}

/* Skips from i to the first byte that is invalid or not plain. */
static size_t skip_plain(aphi_span s, size_t i, const char *also)
{
    for (;;) {
        if (i < s.n && is_plain((unsigned char)s.text[i], also))
            i++;
        else if (i + 2 < s.n && s.text[i] == '%' && aphi_hex_of((unsigned char)s.text[i + 1]) >= 0 &&
                 aphi_hex_of((unsigned char)s.text[i + 2]) >= 0)
            i += 3;
        else
            return i;
    }
}

static size_t skip_digits(aphi_span s, size_t i)
{
    while (i < s.n && aphi_is_digit((unsigned char)s.text[i]))
        i++;
    return i;
}

size_t aphi_http_host(aphi_span host)
{
    size_t i = 0;
    if (host.n && host.text[0] == '[') {
        i = skip_plain(host, 1, ":");
        if (i == host.n || host.text[i] != ']' || i == 1)
            return i < host.n ? i : host.n - 1;
        i++;
    } else {
        i = skip_plain(host, 0, "");
    }
    return i < host.n && host.text[i] == ':' ? skip_digits(host, i + 1) : i;
}

/* host:port, both required. */
static size_t authority(aphi_span target)
{
    size_t i = aphi_http_host(target);
    bool port = i > 1 && aphi_is_digit((unsigned char)target.text[i - 1]) && memchr(target.text + 1, ':', i - 1);
    return i < target.n || (port && target.text[0] != ':') ? i : 0;
}

static size_t scheme(aphi_span target)
{
    size_t i = target.n && aphi_is_alpha((unsigned char)target.text[0]);
    while (i && i < target.n && target.text[i] != ':' && is_plain((unsigned char)target.text[i], "") &&
           !strchr("_~!$&'()*,;=", target.text[i]))
        i++;
    return i;
}

size_t aphi_http_target(aphi_span method, aphi_span target)
{
    if (aphi_span_is(method, "CONNECT"))
        return authority(target);
    if (aphi_span_is(target, "*"))
        return aphi_span_is(method, "OPTIONS");
    if (target.n && target.text[0] == '/')
        return skip_plain(target, 0, ":@/?");
    size_t i = scheme(target);
    if (i == 0 || i + 1 >= target.n || target.text[i] != ':')
        return i < target.n ? i : 0;
    return skip_plain(target, i + 1, ":@/?[]");
}
