/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_program.c - any output of a program on the threads library yields recordings or an error with a message; the
 * race sets of a recording can be found, and a recording that is written reads back the same. */
#include <assert.h>
#include <fcntl.h>
#include <unistd.h>
#include "execute/program_run.h"

enum { PIPE_BYTES = 60000, RUNS_MAX = 3 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_and_read(aphi_layout *layout, const aphi_recording *r)
{
    aphi_recording again = {0};
    aphi_races races = {0};
    aphi_buffer text = {0};
    char error[300];
    aph_value v;
    aphi_races_find(layout, r, &races);
    aphi_recording_write(layout, r, &races, 1, &text);
    assert(aph_json_read(text.data, text.n, &v, NULL));
    if (aphi_recording_read(layout, v, &again, error, sizeof error))
        assert(again.event_count == r->event_count);
    aphi_races_free(&races);
    aphi_recording_free(&again);
    aphi_buffer_free(&text);
}

static void run(aphi_program *p)
{
    aphi_program_run_options options = aphi_program_run_options_default(1, 1000);
    aphi_recording r = {0};
    char error[300] = "";
    for (int i = 0; i < RUNS_MAX; i++) {
        if (!aphi_program_run(p, &options, &r, error, sizeof error)) {
            assert(*error);
            break;
        }
        write_and_read(aphi_program_layout(p), &r);
    }
    aphi_recording_free(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int ends[2], to = open("/dev/null", O_WRONLY | O_CLOEXEC);
    char error[300] = "";
    if (size > PIPE_BYTES || pipe(ends) < 0)
        return 0;
    assert(write(ends[1], data, size) == (ssize_t)size);
    close(ends[1]);
    aphi_program *p = aphi_program_attach(to, ends[0], "fuzz", 1000, error, sizeof error);
    assert(p || *error);
    if (p)
        run(p);
    aphi_program_close(p);
    aph_collect();
    return 0;
}
