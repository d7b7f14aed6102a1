/* SPDX-License-Identifier: Apache-2.0
 *
 * derived.c - the verdict of the derivation on a small history; see derived.h. */
#include "derived.h"

#include "derive/derivation.h"

#include <assert.h>

enum { BRANCHES_MOST = 20000 };

static void feed(aphi_derivation *d, const history_seen *seen, size_t i, bool lost)
{
    if (seen->quiet) {
        aphi_derivation_quiet(d, i);
    } else if (!seen->sent) {
        aphi_derivation_received(d, i, seen->connection, seen->message);
    } else {
        size_t request = aphi_derivation_sent(d, i, seen->connection, seen->message);
        if (lost)
            aphi_derivation_lost(d, request);
    }
}

static void mark_history(void *context)
{
    const history *h = context;
    for (size_t i = 0; i < h->count; i++)
        aph_mark(h->seen[i].message);
}

static derived verdict_of(aph_verdict verdict)
{
    return verdict == APH_PASS ? DERIVED_ACCEPTS : verdict == APH_FAIL ? DERIVED_REJECTS : DERIVED_GIVES_UP;
}

static derived_result decide_fed(aphi_derivation *d, const history *h, derived_options options)
{
    aph_verdict verdict = APH_PASS, quiet = APH_UNKNOWN;
    for (size_t i = 0; i < h->count && verdict == APH_PASS; i++) {
        feed(d, &h->seen[i], i, i < 64 && (options.lost >> i & 1));
        if (options.live && (verdict = aphi_derivation_decide(d)) == APH_PASS)
            quiet = aphi_derivation_may_be_quiet(d);
    }
    verdict = aphi_derivation_decide(d);
    return (derived_result){verdict_of(verdict), aphi_derivation_unexplained(d), verdict_of(quiet)};
}

derived_result derived_decide(const subject *s, const history *h, const aph_network *network, derived_options options)
{
    const char *message;
    aphi_derivation *d = aphi_derivation_open(
        s->model, network,
        &(aphi_derivation_options){.branches = BRANCHES_MOST, .solver_ms = 20000, .unguarded = true});
    aph_root_add(mark_history, (void *)h);
    derived_result result = decide_fed(d, h, options);
    if (aphi_derivation_fault(d, &message))
        printf("%s\n", message);
    assert(!aphi_derivation_fault(d, NULL));
    assert(result.verdict != DERIVED_GIVES_UP || aphi_derivation_limit(d) == APH_LIMIT_BRANCHES);
    aphi_derivation_close(d);
    aph_root_remove(mark_history, (void *)h);
    return result;
}

derived_result derived_decide_in(const subject *s, const history *h, const char *environment, derived_options options)
{
    aph_loaded_network loaded;
    aph_load_error error;
    bool found = aph_network_load(environment, &loaded, &error);
    assert(found);
    derived_result result = derived_decide(s, h, loaded.network, options);
    aph_network_unload(&loaded);
    return result;
}
