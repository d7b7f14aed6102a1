/* SPDX-License-Identifier: Apache-2.0
 *
 * bench_derivation.c - the cost of a check by the derivation, by length of the history, clients and network.
 *
 * The histories are those of a register with concurrent clients, recorded over tcp and thus also valid over the other
 * networks. The last column of each kind is for a history whose last response is wrong, so that all branches are
 * refuted. bench_derivation [BRANCHES_MAX] */
#include "base/clock.h"
#include "derive/derivation.h"
#include "tests/support/histories.h"
#include "tests/support/odd_models.h"

#include <antiphon/check.h>

#include <stdlib.h>

typedef struct cost {
    aph_verdict verdict;
    uint64_t branches;
    double ms;
} cost;

static cost measure(const aph_network *network, const history *h, uint64_t branches_max)
{
    int64_t begin = aphi_clock_ns();
    aphi_derivation *d = aphi_derivation_open(subject_register.model, network,
                                              &(aphi_derivation_options){.branches = branches_max});
    for (size_t i = 0; i < h->count; i++)
        if (h->seen[i].sent)
            aphi_derivation_sent(d, i, h->seen[i].connection, h->seen[i].message);
        else
            aphi_derivation_received(d, i, h->seen[i].connection, h->seen[i].message);
    aph_verdict verdict = aphi_derivation_decide(d);
    cost c = {verdict, aphi_derivation_stats_of(d).branches, (double)(aphi_clock_ns() - begin) / 1e6};
    aphi_derivation_close(d);
    aph_collect();
    return c;
}

static void print_cost(cost c)
{
    printf("  %-7s %9llu %10.1f", aph_verdict_name(c.verdict), (unsigned long long)c.branches, c.ms);
}

static void mark(void *context)
{
    const history *h = context;
    for (size_t i = 0; i < h->count; i++)
        aph_mark(h->seen[i].message);
}

static void spoil(history *h)
{
    for (size_t i = h->count; i-- > 0;)
        if (!h->seen[i].sent) {
            h->seen[i].message = aph_str("wrong");
            return;
        }
}

static void run(const char *name, size_t requests, unsigned clients, uint64_t branches_max)
{
    history h = {0};
    aph_loaded_network loaded;
    aph_load_error error;
    aphi_choice choice = aphi_choice_seed(1);
    history_make(&h, &subject_register,
                 (history_shape){.requests = requests, .connections = clients, .whole = true, .paired = true}, &choice);
    aph_root_add(mark, &h);
    if (!aph_network_load(name, &loaded, &error)) {
        fprintf(stderr, "%s\n", error.message);
        exit(1);
    }
    printf("%-30s %8zu %7u", loaded.network->name, requests, clients);
    print_cost(measure(loaded.network, &h, branches_max));
    spoil(&h);
    print_cost(measure(loaded.network, &h, branches_max));
    printf("\n");
    fflush(stdout);
    aph_network_unload(&loaded);
    aph_root_remove(mark, &h);
    history_deinit(&h);
}

int main(int argc, char **argv)
{
    static const char *const networks[] = {"tcp", "udp", "examples/networks/datagrams.c",
                                           "examples/networks/duplicate.c"};
    uint64_t branches_max = argc > 1 ? strtoull(argv[1], NULL, 10) : 20000;
    printf("%-30s %8s %7s  %-28s  %-28s\n", "network", "requests", "clients", "recorded history: branches, ms",
           "wrong at the end: branches, ms");
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++)
        for (unsigned clients = 1; clients <= 5; clients += 2)
            for (size_t requests = i ? 10 : 50; requests <= (i ? 40 : 200); requests *= 4)
                run(networks[i], requests, clients, branches_max);
    return 0;
}
