/* SPDX-License-Identifier: Apache-2.0
 *
 * derived.c - the verdict of the derivation on a small history; see derived.h. */
#include "derived.h"

#include "derive/derivation.h"

#include <assert.h>

enum { BRANCHES_MOST = 20000 };

static void feed(aphi_derivation *d, const history_seen *seen, size_t i)
{
    if (seen->quiet)
        aphi_derivation_quiet(d, i);
    else if (seen->sent)
        aphi_derivation_sent(d, i, seen->connection, seen->message);
    else
        aphi_derivation_received(d, i, seen->connection, seen->message);
}

static void mark_history(void *context)
{
    const history *h = context;
    for (size_t i = 0; i < h->count; i++)
        aph_mark(h->seen[i].message);
}

derived derived_decide(const subject *s, const history *h, const aph_network *network, bool live, size_t *reached)
{
    const char *message;
    aphi_derivation *d = aphi_derivation_open(
        s->model, network,
        &(aphi_derivation_options){.branches = BRANCHES_MOST, .solver_ms = 20000, .unguarded = true});
    aph_verdict verdict = APH_PASS;
    aph_root_add(mark_history, (void *)h);
    for (size_t i = 0; i < h->count && verdict == APH_PASS; i++) {
        feed(d, &h->seen[i], i);
        if (live)
            verdict = aphi_derivation_decide(d);
    }
    verdict = aphi_derivation_decide(d);
    *reached = aphi_derivation_unexplained(d);
    if (aphi_derivation_fault(d, &message))
        printf("%s\n", message);
    assert(!aphi_derivation_fault(d, NULL));
    assert(verdict != APH_UNKNOWN || aphi_derivation_limit(d) == APH_LIMIT_BRANCHES);
    aphi_derivation_close(d);
    aph_root_remove(mark_history, (void *)h);
    return verdict == APH_PASS ? DERIVED_ACCEPTS : verdict == APH_FAIL ? DERIVED_REJECTS : DERIVED_GIVES_UP;
}

derived derived_decide_in(const subject *s, const history *h, const char *environment, bool live, size_t *reached)
{
    aph_loaded_network loaded;
    aph_load_error error;
    bool found = aph_network_load(environment, &loaded, &error);
    assert(found);
    derived verdict = derived_decide(s, h, loaded.network, live, reached);
    aph_network_unload(&loaded);
    return verdict;
}
