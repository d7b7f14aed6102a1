/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_options.c - any text is a number, duration, size, environment, address, fault or set of states, or is rejected;
 * its escaped and quoted forms do not command a terminal. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "base/memory.h"
#include "base/options.h"
#include "base/plain_text.h"
#include "compiled_program.h"
#include "env/env.h"
#include "explore/properties.h"
#include "fault/fault_kinds.h"
#include "subject/ports.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void parse_units(const char *text)
{
    uint64_t number;
    int64_t ns;
    if (aphi_parse_number(text, 2, 1000, &number))
        assert(number >= 2 && number <= 1000);
    if (aphi_parse_duration(text, 1000000, &ns))
        assert(ns >= 0);
    aphi_parse_size(text, &number);
}

static void parse_names(const char *text)
{
    static aphi_fault fault;
    char error[300] = "";
    aphi_env env;
    if (aphi_env_named(text, &env))
        assert(env.fifo || env.lossy);
    if (!aphi_fault_parse(&fault, text, error, sizeof error))
        assert(*error);
    for (int datagrams = 0; datagrams < 2; datagrams++) {
        *error = 0;
        assert(aphi_port_is_address(text, datagrams, error, sizeof error) || *error);
    }
}

static void parse_states(const char *text)
{
    aphi_forbidden forbidden = {0};
    char error[300] = "";
    aphi_forbidden_add(&forbidden, text);
    assert(aphi_forbidden_parse(&forbidden, compile_once("dp-2"), error, sizeof error) || *error);
    aphi_forbidden_free(&forbidden);
}

static void assert_harmless(aphi_buffer *out)
{
    uint32_t point;
    for (size_t at = 0; at < out->n;) {
        at += aphi_utf8_next(out->data + at, out->n - at, &point);
        assert(point != APHI_UTF8_INVALID && (point == '\n' || point == '\t' || !aphi_utf8_is_command(point)));
    }
    aphi_buffer_free(out);
}

static void escape_and_quote(const char *text)
{
    aphi_buffer escaped = {0}, quoted = {0};
    aphi_buffer_escaped(&escaped, "%s", text);
    assert_harmless(&escaped);
    aphi_quote_word(&quoted, text);
    assert_harmless(&quoted);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = aphi_alloc(size + 1);
    if (size)
        memcpy(text, data, size);
    text[size] = 0;
    parse_units(text);
    parse_names(text);
    parse_states(text);
    escape_and_quote(text);
    free(text);
    return 0;
}
