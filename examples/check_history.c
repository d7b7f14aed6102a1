/* SPDX-License-Identifier: Apache-2.0
 *
 * check_history.c - a program that checks a recorded history with libantiphon:
 *
 *     cc check_history.c $(pkg-config --cflags --libs antiphon) -o check_history
 *     ./check_history register histories/stale-read.log
 */
#include <antiphon/check.h>

#include <stdio.h>

int main(int count, char **words)
{
    aph_loaded_model loaded;
    aph_load_error error;
    if (count != 3) {
        fprintf(stderr, "usage: check_history MODEL FILE\n");
        return 2;
    }
    if (!aph_model_load(words[1], &loaded, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 2;
    }
    aph_check_options options = {.oracle = {.environment = loaded.environment, .time_ms = 60000}};
    aph_check_result *r = aph_check_file(loaded.model, words[2], &options);
    printf("%s: %s\n", r->file, aph_check_verdict_name(r->verdict));
    if (r->verdict == APH_CHECK_FAIL) {
        aph_value allowed = aph_field(r->evidence, "allowed");
        printf("line %lld: ", (long long)aph_int_of(aph_field(r->evidence, "line")));
        aph_json_write(stdout, aph_field(r->evidence, "request"));
        printf(" was answered ");
        aph_json_write(stdout, aph_field(r->evidence, "observed"));
        for (size_t i = 0; allowed && i < aph_count(allowed); i++) {
            printf("%s", i ? " or " : "; the model allows ");
            aph_json_write(stdout, aph_field(aph_at(allowed, i), "answer"));
        }
        printf("\n");
    } else if (r->verdict == APH_CHECK_ERROR) {
        printf("%llu:%llu: %s\n", (unsigned long long)r->line, (unsigned long long)r->column, r->message);
    }
    int code = r->verdict == APH_CHECK_PASS ? 0 : 1;
    aph_check_result_free(r);
    aph_model_unload(&loaded);
    return code;
}
