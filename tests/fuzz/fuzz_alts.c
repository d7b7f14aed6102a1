/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_alts.c - both model formats: any input yields a model or an error with a line number; a model
 * that is written reads back the same. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "alts/alts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *write_to_string(const aphi_alts *a, size_t *n)
{
    char *text;
    FILE *out = open_memstream(&text, n);
    aphi_alts_write(a, out);
    fclose(out);
    return text;
}

static void test_alts(const char *data, size_t size)
{
    aphi_alts a, again;
    char why[300] = "";
    size_t n, m;
    if (!aphi_alts_read("fuzz", data, size, &a, why, sizeof why)) {
        assert(!strncmp(why, "fuzz:", 5));
        return;
    }
    char *text = write_to_string(&a, &n);
    assert(aphi_alts_read("again", text, n, &again, why, sizeof why));
    char *twice = write_to_string(&again, &m);
    assert(n == m && !memcmp(text, twice, n));
    if (aphi_alts_check(&a, why, sizeof why) == APHI_ALTS_CYCLIC && aphi_alts_unroll(&a, 2, why, sizeof why))
        assert(aphi_alts_check(&a, why, sizeof why) == APHI_ALTS_SOUND);
    free(text);
    free(twice);
    aphi_alts_free(&again);
    aphi_alts_free(&a);
}

static void test_aldebaran(const char *data, size_t size)
{
    static const char head[] = "alts m\ncomponent A\ncomponent B\nport p of A\nport q of B\n"
                               "behaviour A states 1 initial 0\nbehaviour B states 1 initial 0\n";
    aphi_alts a;
    char why[300] = "";
    assert(aphi_alts_read("head", head, sizeof head - 1, &a, why, sizeof why));
    if (!aphi_aut_read("fuzz", data, size, &a, 0, why, sizeof why))
        assert(!strncmp(why, "fuzz:", 5));
    else
        aphi_alts_check(&a, why, sizeof why);
    aphi_alts_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    test_alts((const char *)data, size);
    test_aldebaran((const char *)data, size);
    return 0;
}
