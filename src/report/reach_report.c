/* SPDX-License-Identifier: Apache-2.0
 *
 * reach_report.c - results of antiphon reach. */
#include "report/reach_report.h"

/* ---- searches ---------------------------------------------------------------------------------------------------- */

void aphi_reach_report_json(aphi_buffer *out, const aphi_reach_result *r)
{
    const aphi_explore_stats *stats = &r->stats;
    char wide[APHI_UINT128_TEXT];
    aphi_buffer_format(out, "{\"model\":\"%s\",\"complete\":%s,\"%s\":%llu,\"deadlocks\":%llu,\"blocked\":%llu",
                       r->model, r->done && !r->sampled ? "true" : "false", r->sampled ? "sampled" : "po",
                       (unsigned long long)stats->sequences, (unsigned long long)stats->deadlocks,
                       (unsigned long long)stats->blocked);
    if (r->states)
        aphi_buffer_format(out, ",\"states\":%llu,\"transitions\":%llu", (unsigned long long)r->graph.states,
                           (unsigned long long)r->graph.transitions);
    if (r->total_orders && !r->graph.overflow)
        aphi_buffer_format(out, ",\"total_orders\":%s", aphi_uint128_text(r->graph.paths, wide));
    if (r->has_property)
        aphi_buffer_format(out, ",\"holds\":%s", r->violated ? "false" : "true");
    aphi_buffer_format(out, ",\"seconds\":%.6f}\n", (double)r->ns / 1e9);
}

static void put_graph(aphi_buffer *out, const aphi_reach_result *r)
{
    if (r->states) {
        aphi_buffer_str(out, "  interleaved: ");
        aphi_report_count(out, r->graph.states);
        aphi_buffer_str(out, " states and ");
        aphi_report_count(out, r->graph.transitions);
        aphi_buffer_str(out, " transitions, up to strong bisimulation\n");
    }
    if (r->total_orders) {
        char wide[APHI_UINT128_TEXT];
        aphi_buffer_format(out, "  total orders: %s\n",
                           r->graph.overflow ? "more than 2^128" : aphi_uint128_text(r->graph.paths, wide));
    }
}

void aphi_reach_report_text(aphi_buffer *out, const aphi_reach_result *r)
{
    const aphi_explore_stats *stats = &r->stats;
    aphi_buffer_format(out, "%s: ", r->model);
    aphi_report_count(out, stats->sequences);
    aphi_buffer_format(out, " %ssequence%s", r->sampled ? "random " : "", stats->sequences == 1 ? "" : "s");
    if (!r->done)
        aphi_buffer_str(out, " so far");
    aphi_buffer_str(out, ", ");
    aphi_report_count(out, stats->deadlocks);
    aphi_buffer_format(out, " of them deadlock%s, in ", stats->deadlocks == 1 ? "s" : "");
    aphi_report_duration(out, r->ns);
    aphi_buffer_byte(out, '\n');
    if (r->violated)
        aphi_buffer_format(out, "  sequence %llu fails: %s\n", (unsigned long long)r->number, r->why);
    else if (r->has_property)
        aphi_buffer_format(out, "  %s\n",
                           r->done ? "no sequence fails" : "no sequence fails so far");
    put_graph(out, r);
}

/* ---- counts ------------------------------------------------------------------------------------------------------ */

void aphi_reach_report_count_json(aphi_buffer *out, const aphi_alts *alts, const aphi_sequence_count *c, int64_t ns)
{
    char sequences[APHI_UINT128_TEXT], deadlocks[APHI_UINT128_TEXT];
    bool complete = !c->stopped && !c->overflow;
    aphi_buffer_format(out, "{\"model\":\"%s\",\"complete\":%s", alts->name, complete ? "true" : "false");
    if (complete)
        aphi_buffer_format(out, ",\"po\":%s,\"deadlocks\":%s", aphi_uint128_text(c->sequences, sequences),
               aphi_uint128_text(c->deadlocks, deadlocks));
    aphi_buffer_format(out, ",\"situations\":%zu,\"seconds\":%.6f}\n", c->states, (double)ns / 1e9);
}

void aphi_reach_report_count_text(aphi_buffer *out, const aphi_alts *alts, const aphi_sequence_count *c, int64_t ns)
{
    char text[APHI_UINT128_TEXT];
    aphi_buffer_format(out, "%s: ", alts->name);
    if (c->too_large) {
        aphi_buffer_str(out, "the memory limit was reached; use a larger --memory MB");
    } else if (c->stopped) {
        aphi_buffer_str(out, "interrupted before all sequences were counted");
    } else if (c->overflow) {
        aphi_buffer_str(out, "the number of sequences exceeds 128 bits");
    } else {
        aphi_report_digits(out, aphi_uint128_text(c->sequences, text));
        aphi_buffer_str(out, c->sequences == 1 ? " sequence, " : " sequences, ");
        aphi_report_digits(out, aphi_uint128_text(c->deadlocks, text));
        aphi_buffer_format(out, " of them deadlock%s", c->deadlocks == 1 ? "s" : "");
    }
    aphi_buffer_str(out, "; ");
    aphi_report_counted(out, c->states, "state");
    aphi_buffer_str(out, ", in ");
    aphi_report_duration(out, ns);
    aphi_buffer_byte(out, '\n');
}

/* ---- local sequences --------------------------------------------------------------------------------------------- */

static aphi_local_count total_of(const aphi_alts *alts, const aphi_local_sequences *s)
{
    aphi_local_count sum = {0};
    for (size_t i = 0; i < alts->component_count; i++) {
        if (__builtin_add_overflow(sum.events, s->counts[i].events, &sum.events))
            sum.events = UINT64_MAX;
        if (__builtin_add_overflow(sum.race_sets, s->counts[i].race_sets, &sum.race_sets))
            sum.race_sets = UINT64_MAX;
    }
    return sum;
}

void aphi_reach_report_local_json(aphi_buffer *out, const aphi_alts *alts, const aphi_local_sequences *s, bool races)
{
    aphi_local_count total = total_of(alts, s);
    aphi_buffer_str(out, "{\"model\":");
    aphi_buffer_json_text(out, alts->name);
    aphi_buffer_format(out, ",\"local_events\":%llu", (unsigned long long)total.events);
    if (races)
        aphi_buffer_format(out, ",\"local_race_sets\":%llu", (unsigned long long)total.race_sets);
    aphi_buffer_str(out, ",\"components\":[");
    for (size_t i = 0; i < alts->component_count; i++) {
        aphi_buffer_str(out, i > 0 ? ",{\"name\":" : "{\"name\":");
        aphi_buffer_json_text(out, alts->components[i].name);
        aphi_buffer_format(out, ",\"events\":%llu", (unsigned long long)s->counts[i].events);
        if (races)
            aphi_buffer_format(out, ",\"race_sets\":%llu", (unsigned long long)s->counts[i].race_sets);
        aphi_buffer_byte(out, '}');
    }
    aphi_buffer_format(out, "],\"seconds\":%.6f}\n", (double)s->ns / 1e9);
}

static void put_counts(aphi_buffer *out, aphi_local_count c, bool races)
{
    aphi_report_count(out, c.events);
    aphi_buffer_str(out, " by events");
    if (races) {
        aphi_buffer_str(out, ", ");
        aphi_report_count(out, c.race_sets);
        aphi_buffer_str(out, " with race sets");
    }
}

void aphi_reach_report_local_text(aphi_buffer *out, const aphi_alts *alts, const aphi_local_sequences *s, bool races)
{
    aphi_buffer_format(out, "%s: local sequences: ", alts->name);
    put_counts(out, total_of(alts, s), races);
    aphi_buffer_str(out, ", in ");
    aphi_report_duration(out, s->ns);
    aphi_buffer_byte(out, '\n');
    for (size_t i = 0; i < alts->component_count; i++) {
        aphi_buffer_format(out, "  %s: ", alts->components[i].name);
        put_counts(out, s->counts[i], races);
        aphi_buffer_byte(out, '\n');
    }
}
