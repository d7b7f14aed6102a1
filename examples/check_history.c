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
    if (count != 3 || !aph_model_load(words[1], &loaded, &error)) {
        fprintf(stderr, "%s\n", count == 3 ? error.message : "usage: check_history MODEL FILE");
        return 2;
    }
    aph_check_options options = {.oracle = {.environment = loaded.environment, .time_ms = 60000}};
    aph_check_result *r = aph_check_file(loaded.model, words[2], &options);
    printf("%s: %s %s\n", r->file, aph_check_verdict_name(r->verdict), r->message);
    if (r->evidence)
        aph_json_write(stdout, r->evidence);
    int code = r->verdict == APH_CHECK_PASS ? 0 : 1;
    aph_check_result_free(r);
    aph_model_unload(&loaded);
    return code;
}
