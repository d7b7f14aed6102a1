/* SPDX-License-Identifier: Apache-2.0
 *
 * survey_page.c - the pages of a survey: one for each server, and an index.
 *
 * Idea:       a plain document without a script.
 * Safety:     1. Every text goes through add_text, which escapes characters that could begin or end markup, and
 *                direction marks.
 *             2. Links are written only if their address consists of plain characters and stays in the same folder.
 *             3. The content security policy allows the two styles by hash, and nothing else. */
#include "report/survey_page.h"

#include "report/terminal.h"
#include "report/utf8.h"
#include "tester/run.h"

#include "page.h"

enum { TEXT_BYTES = 2000, PICTURE_BYTES = 60000, FINDINGS_MAX = 60, NAMES_MAX = 300 };

/* ---- text -------------------------------------------------------------------------------------------------------- */

static void add_text(aphi_buffer *out, aph_value v)
{
    size_t n = 0;
    const char *bytes = aph_is_str(v) ? aph_bytes_of(&v, &n) : "";
    aphi_utf8_html(out, bytes, n, TEXT_BYTES, " ");
}

static void add_field(aphi_buffer *out, aph_value object, const char *name)
{
    add_text(out, aph_field(object, name));
}

static void add_between(aphi_buffer *out, const char *before, aph_value text, const char *after)
{
    aphi_buffer_str(out, before);
    add_text(out, text);
    aphi_buffer_str(out, after);
}

static bool has_text(aph_value object, const char *name)
{
    aph_value v = aph_field(object, name);
    return aph_is_str(v) && aph_count(v);
}

static uint64_t number_of(aph_value v)
{
    return aph_is_int(v) && aph_int_of(v) > 0 ? (uint64_t)aph_int_of(v) : 0;
}

static size_t count_of(aph_value object, const char *name)
{
    aph_value v = aph_field(object, name);
    return v && aph_kind_of(v) == APH_ARRAY ? aph_count(v) : 0;
}

static void add_counted(aphi_buffer *out, aph_value object, const char *name, const char *noun)
{
    aphi_report_counted(out, number_of(aph_field(object, name)), noun);
}

static void add_duration(aphi_buffer *out, aph_value object, const char *name)
{
    aphi_report_duration(out, (int64_t)number_of(aph_field(object, name)));
}

/* Returns true for a relative address of letters, digits and "-._/" without "..". */
static bool is_address(aph_value v)
{
    size_t n = 0;
    const char *bytes = aph_is_str(v) ? aph_bytes_of(&v, &n) : "";
    for (size_t i = 0; i < n; i++) {
        char c = bytes[i];
        bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
        if (!plain && !(i && i + 1 < n && (c == '.' || c == '/') && bytes[i - 1] != '.' && bytes[i - 1] != '/'))
            return false;
    }
    return n > 0;
}

/* ---- the frame --------------------------------------------------------------------------------------------------- */

static void begin_page(aphi_buffer *out)
{
    aphi_buffer_str(out,
                    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
                    "style-src 'sha256-" PAGE_CSS_HASH "' 'sha256-" SURVEY_PAGE_CSS_HASH "'; "
                    "base-uri 'none'; form-action 'none'\">\n"
                    "<meta name=\"referrer\" content=\"no-referrer\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<style>");
    aphi_buffer_add(out, page_css, sizeof page_css);
    aphi_buffer_str(out, "</style>\n<style>");
    aphi_buffer_add(out, survey_page_css, sizeof survey_page_css);
    aphi_buffer_str(out, "</style>\n");
}

static void end_page(aphi_buffer *out)
{
    aphi_buffer_str(out, "</main>\n</body>\n</html>\n");
}

static bool verdict_is(aph_value v, const char *verdict)
{
    return aph_str_is(aph_field(v, "verdict"), verdict);
}

static void add_verdict(aphi_buffer *out, aph_value server)
{
    bool pass = verdict_is(server, "pass");
    bool against = aphi_run_verdict_name_blames_subject(aph_field(server, "verdict"));
    aphi_buffer_format(out, "<span class=\"verdict%s\">", pass ? " pass" : against ? " against" : "");
    add_field(out, server, "verdict");
    aphi_buffer_str(out, "</span>");
}

/* "pass with 3 known violations waived" */
static void add_result(aphi_buffer *out, aph_value server)
{
    size_t waived = count_of(server, "waived");
    add_verdict(out, server);
    if (waived) {
        aphi_buffer_str(out, " with ");
        aphi_report_counted(out, waived, "known violation");
        aphi_buffer_str(out, " waived");
    }
}

/* ---- violations -------------------------------------------------------------------------------------------------- */

static void add_clauses(aphi_buffer *out, aph_value finding)
{
    aph_value clauses = aph_field(finding, "clauses");
    aphi_buffer_str(out, "<p>");
    for (size_t i = 0; i < count_of(finding, "clauses") && i < NAMES_MAX; i++)
        add_between(out, "<span class=\"clause\">", aph_at(clauses, i), "</span>");
    if (has_text(finding, "waiver"))
        add_between(out, " <span class=\"waiver\">--waive ", aph_field(finding, "waiver"), "</span>");
    else
        aphi_buffer_str(out, " <span class=\"faint\">not covered by a waiver of the model</span>");
    aphi_buffer_str(out, "</p>\n");
}

static void add_numbers(aphi_buffer *out, aph_value finding)
{
    aphi_buffer_str(out, "<p class=\"faint\">");
    add_counted(out, finding, "requests", "request");
    aphi_buffer_str(out, "; found after ");
    add_duration(out, finding, "reject_ns");
    unsigned long long reproduced = number_of(aph_field(finding, "reproduced"));
    unsigned long long confirmed = number_of(aph_field(finding, "confirmed"));
    if (confirmed) {
        aphi_buffer_str(out, ", shrunk in ");
        add_duration(out, finding, "shrink_ns");
        aphi_buffer_format(out, "; reproduced in %llu of %llu runs on a fresh server%s", reproduced, confirmed,
                           aph_field(finding, "minimal") == aph_bool(true) ? "; locally minimal" : "");
    }
    aphi_buffer_str(out, ".");
    if (is_address(aph_field(finding, "page")))
        add_between(out, " <a href=\"", aph_field(finding, "page"), "\">All messages</a>");
    aphi_buffer_str(out, "</p>\n");
}

static void add_pre(aphi_buffer *out, aph_value finding, const char *name, const char *attributes)
{
    aph_value v = aph_field(finding, name);
    size_t n;
    if (!has_text(finding, name))
        return;
    const char *bytes = aph_bytes_of(&v, &n);
    aphi_buffer_format(out, "<pre %s>", attributes);
    aphi_utf8_html(out, bytes, n, PICTURE_BYTES, "\n");
    aphi_buffer_str(out, "</pre>\n");
}

static void add_finding(aphi_buffer *out, aph_value finding)
{
    aphi_buffer_str(out, "<article class=\"finding\">\n<h3>");
    add_field(out, finding, has_text(finding, "summary") ? "summary" : "why");
    aphi_buffer_str(out, "</h3>\n");
    add_clauses(out, finding);
    add_pre(out, finding, "picture",
            "class=\"wide\" tabindex=\"0\" role=\"img\" aria-label=\"The messages of the shrunk run\"");
    add_numbers(out, finding);
    add_pre(out, finding, "replay", "tabindex=\"0\" aria-label=\"The command that reproduces it\"");
    aphi_buffer_str(out, "</article>\n");
}

static void add_findings(aphi_buffer *out, aph_value server)
{
    aph_value findings = aph_field(server, "findings");
    size_t n = count_of(server, "findings");
    aphi_buffer_str(out, "<section class=\"card\">\n<h2>Violations</h2>\n");
    if (!n)
        aphi_buffer_str(out, "<p>None found: the model explains all observations.</p>\n");
    for (size_t i = 0; i < n && i < FINDINGS_MAX; i++)
        add_finding(out, aph_at(findings, i));
    aphi_buffer_str(out, "</section>\n");
}

/* ---- choices ----------------------------------------------------------------------------------------------------- */

static uint64_t sum_of(aph_value ways)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < aph_count(ways); i++)
        sum += number_of(aph_at(aph_at(ways, i), 1));
    return sum;
}

/* Rounds, but returns 0 and 100 only if they are exact. */
static int percent(uint64_t n, uint64_t of)
{
    int rounded = (int)((double)n * 100 / (double)of + 0.5);
    return n && !rounded ? 1 : n < of && rounded == 100 ? 99 : rounded;
}

static void add_option(aphi_buffer *out, aph_value way, uint64_t sum)
{
    uint64_t n = number_of(aph_at(way, 1));
    int share = percent(n, sum);
    aphi_buffer_format(out, "<li%s><span>", n ? "" : " class=\"none\"");
    add_text(out, aph_at(way, 0));
    aphi_buffer_format(out, "</span><meter min=\"0\" max=\"100\" value=\"%d\" aria-hidden=\"true\"></meter>"
                            "<span class=\"number\">", share);
    if (n) {
        aphi_buffer_format(out, "%d %% · ", share);
        aphi_report_count(out, n);
    } else {
        aphi_buffer_str(out, "never");
    }
    aphi_buffer_str(out, "</span></li>\n");
}

static void add_choice(aphi_buffer *out, aph_value choice)
{
    aph_value ways = aph_field(choice, "ways");
    uint64_t sum = ways && aph_kind_of(ways) == APH_ARRAY ? sum_of(ways) : 0;
    if (!sum)
        return;
    aphi_buffer_str(out, "<tr><td><ul class=\"ways\">\n");
    for (size_t i = 0; i < aph_count(ways) && i < NAMES_MAX; i++)
        add_option(out, aph_at(ways, i), sum);
    aphi_buffer_str(out, "</ul></td><td>");
    if (has_text(choice, "clause"))
        add_between(out, "<span class=\"clause\">", aph_field(choice, "clause"), "</span>");
    aphi_buffer_str(out, "</td></tr>\n");
}

static void add_choices(aphi_buffer *out, aph_value server)
{
    aph_value choices = aph_field(server, "choices");
    size_t n = count_of(server, "choices");
    aphi_buffer_str(out, "<section class=\"card\">\n<h2>Choices</h2>\n");
    if (!n) {
        aphi_buffer_str(out, "<p>Unknown, since no run passed.</p>\n</section>\n");
        return;
    }
    aphi_buffer_str(out, "<p class=\"faint\">Behaviour that the specification leaves to the server, counted in the "
                         "first explanation found for a run of ");
    add_counted(out, server, "observations", "message");
    aphi_buffer_str(out, ".</p>\n"
                         "<div class=\"scroll\"><table>\n<thead><tr><th scope=\"col\">choice</th>"
                         "<th scope=\"col\">clause</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < n && i < NAMES_MAX; i++)
        add_choice(out, aph_at(choices, i));
    aphi_buffer_str(out, "</tbody></table></div>\n</section>\n");
}

/* ---- coverage and facts ------------------------------------------------------------------------------------------ */

static void add_unreached(aphi_buffer *out, aph_value server)
{
    aph_value names = aph_field(server, "never");
    size_t n = count_of(server, "never");
    aphi_buffer_str(out, "<section class=\"card\">\n<h2>Not reached</h2>\n");
    if (!n)
        aphi_buffer_str(out, "<p>All named branches of the model were reached.</p>\n");
    else
        aphi_buffer_str(out, "<p class=\"faint\">Branches of the model that no explanation uses: the server does not "
                             "behave this way, or no request led there.</p>\n<ul class=\"never\">\n");
    for (size_t i = 0; i < n && i < NAMES_MAX; i++)
        add_between(out, "<li>", aph_at(names, i), "</li>\n");
    aphi_buffer_str(out, n ? "</ul>\n</section>\n" : "</section>\n");
}

static void add_fact(aphi_buffer *out, aph_value server, const char *name, const char *field)
{
    if (!has_text(server, field))
        return;
    aphi_buffer_format(out, "<dt>%s</dt><dd>", name);
    add_field(out, server, field);
    aphi_buffer_str(out, "</dd>\n");
}

static void add_names(aphi_buffer *out, aph_value names)
{
    for (size_t i = 0; i < aph_count(names) && i < NAMES_MAX; i++) {
        aphi_buffer_str(out, i ? ", " : "");
        add_text(out, aph_at(names, i));
    }
}

static void add_head(aphi_buffer *out, aph_value server)
{
    add_between(out, "<p><a href=\"index.html\">All servers</a></p>\n<h1>", aph_field(server, "name"),
                "</h1>\n<p class=\"lead\">");
    add_result(out, server);
    aphi_buffer_str(out, "</p>\n<dl class=\"facts\">\n");
    add_fact(out, server, "version", "version");
    add_fact(out, server, "started as", "subject");
    add_fact(out, server, "model", "model");
    if (!verdict_is(server, "pass"))
        add_fact(out, server, "why", "why");
    aphi_buffer_str(out, "<dt>tested</dt><dd>");
    add_counted(out, server, "messages", "message");
    aphi_buffer_str(out, " in ");
    add_counted(out, server, "runs", "run");
    aphi_buffer_str(out, ", ");
    add_duration(out, server, "ns");
    if (number_of(aph_field(server, "passed"))) {
        aphi_buffer_str(out, "; the last ");
        aphi_report_count(out, number_of(aph_field(server, "passed")));
        aphi_buffer_str(out, " without a further violation");
    }
    if (number_of(aph_field(server, "undecided"))) {
        aphi_buffer_str(out, "; ");
        add_counted(out, server, "undecided", "test");
        aphi_buffer_str(out, " without a verdict");
    }
    aphi_buffer_str(out, "</dd>\n");
    if (count_of(server, "waived")) {
        aphi_buffer_str(out, "<dt>waivers needed</dt><dd>");
        add_names(out, aph_field(server, "waived"));
        aphi_buffer_str(out, "</dd>\n");
    }
    add_fact(out, server, "when", "when");
    aphi_buffer_str(out, "</dl>\n");
}

void aphi_survey_page_write(aphi_buffer *out, aph_value server)
{
    begin_page(out);
    add_between(out, "<title>Antiphon: ", aph_field(server, "name"), "</title>\n</head>\n<body>\n<main>\n<header>\n");
    add_head(out, server);
    aphi_buffer_str(out, "</header>\n");
    add_findings(out, server);
    add_choices(out, server);
    add_unreached(out, server);
    end_page(out);
}

/* ---- the index --------------------------------------------------------------------------------------------------- */

static void add_summaries(aphi_buffer *out, aph_value server)
{
    aph_value findings = aph_field(server, "findings");
    size_t n = count_of(server, "findings");
    aphi_buffer_str(out, n ? "<ul>" : "none found");
    for (size_t i = 0; i < n && i < FINDINGS_MAX; i++) {
        aph_value finding = aph_at(findings, i);
        add_between(out, "<li>", aph_field(finding, has_text(finding, "summary") ? "summary" : "why"), "</li>");
    }
    aphi_buffer_str(out, n ? "</ul>" : "");
}

static void add_row(aphi_buffer *out, aph_value server)
{
    bool linked = is_address(aph_field(server, "name"));
    aphi_buffer_str(out, "<tr><td>");
    if (linked)
        add_between(out, "<a href=\"", aph_field(server, "name"), ".html\">");
    add_field(out, server, "name");
    aphi_buffer_str(out, linked ? "</a><br><span class=\"faint\">" : "<br><span class=\"faint\">");
    add_field(out, server, has_text(server, "version") ? "version" : "subject");
    aphi_buffer_str(out, "</span></td><td>");
    add_summaries(out, server);
    aphi_buffer_str(out, "</td><td>");
    add_result(out, server);
    aphi_buffer_str(out, "</td><td class=\"count\">");
    aphi_report_count(out, number_of(aph_field(server, "messages")));
    add_between(out, "</td><td>", aph_field(server, "when"), "</td></tr>\n");
}

void aphi_survey_page_index(aphi_buffer *out, aph_value servers)
{
    begin_page(out);
    aphi_buffer_str(out, "<title>Antiphon: servers</title>\n</head>\n<body>\n<main>\n<h1>Servers</h1>\n"
                         "<p class=\"faint\">Violations and choices found by Antiphon.</p>\n"
                         "<section class=\"card\"><div class=\"scroll\"><table>\n<thead><tr>"
                         "<th scope=\"col\">server</th>"
                         "<th scope=\"col\">violations</th><th scope=\"col\">verdict</th>"
                         "<th scope=\"col\">messages</th><th scope=\"col\">when</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < aph_count(servers); i++)
        add_row(out, aph_at(servers, i));
    aphi_buffer_str(out, "</tbody></table></div></section>\n");
    end_page(out);
}
