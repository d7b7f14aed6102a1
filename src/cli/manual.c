/* SPDX-License-Identifier: Apache-2.0
 *
 * manual.c - the manual page, in roff. */
#include "cli/commands.h"
#include "cli/exit_codes.h"

static const char introduction[] =
    "A model is a server written as a small nondeterministic C function. A trace records requests as they were sent "
    "and responses as they arrived, on any number of connections. antiphon decides whether the model explains a "
    "trace: whether some order of the requests and some value for each hidden choice give the recorded responses.\n"
    "antiphon also tests running servers: it sends generated requests over many connections, checks the responses as "
    "they arrive, and shrinks a failing run to a small script.\n"
    "For message-passing programs, antiphon enumerates the partially ordered sequences of a model, explores programs "
    "that use libantiphon-threads, and tests such programs for conformance with a model.\n"
    "Durations have the units ms, s, m and h, as in 500ms; without a unit they are seconds, or milliseconds where an "
    "option takes MS. Sizes have the units K, M and G, as in 64M; without a unit they are megabytes.";

typedef struct entry {
    const char *name, *text;
} entry;

static const entry models[] = {
    {"register", "The name of a built-in model; antiphon models lists them."},
    {"./mine.c", "A model in C, which ends with APH_MODEL(name). It is compiled with the system's compiler, and again "
                 "when its text has changed."},
    {"./mine.so", "A compiled model: cc -shared -fPIC $(pkg-config --cflags antiphon) -o mine.so mine.c"},
    {"./mine.prog", "A program in Prog."},
    {NULL, NULL}};

static const entry variables[] = {
    {"CC", "The compiler for models in C (default: cc)."},
    {"ANTIPHON_INCLUDE", "The folder that holds antiphon/model.h (default: include, beside the program's folder)."},
    {"ANTIPHON_SERVERS", "Folders, separated by colons, that are searched for the programs of servers (default: PATH, "
                         "/usr/sbin and /usr/local/sbin)."},
    {"ANTIPHON_SUBJECTS", "The folder with Antiphon's own servers (default: subjects, beside the program)."},
    {"TMPDIR", "The folder for temporary files (default: /tmp)."},
    {"XDG_CACHE_HOME", "Compiled models are kept in the subfolder antiphon of this folder (default: ~/.cache)."},
    {NULL, NULL}};

static const entry files[] = {
    {".antiphon/trace.jsonl", "The trace of the last run of antiphon test."},
    {".antiphon/MODEL-HASH.script", "A failing script; .script.trace is the trace of its failing run."},
    {NULL, NULL}};

static const entry examples[] = {
    {"antiphon test ./mine.c --run './server --port {port}' --report r.html",
     "Test a server with your own model and write a page about the failure."},
    {"antiphon check register history.log", "Check a Jepsen log of a register."},
    {"antiphon check -j 0 --junit out.xml ./mine.c traces/*.jsonl",
     "Check many traces with your own model, on all processors, for a build server."},
    {"antiphon explain kv t.jsonl > e.json && antiphon explain kv t.jsonl e.json",
     "Find an explanation and confirm it."},
    {"antiphon serve kv --port 4242 --delay 10", "Run a key-value server with delayed messages."},
    {"antiphon fault --break skip-write --every 10 --target 127.0.0.1:8080",
     "Proxy a web server and drop every tenth write."},
    {"antiphon mutate server.c --build 'cc -O2 {source} -o {program}' --test './test.sh {program}'",
     "List the mutants that a test does not detect."},
    {NULL, NULL}};

static void put_section(FILE *out, const char *title, const entry *entries)
{
    fprintf(out, ".SH %s\n", title);
    for (; entries->name; entries++)
        aphi_roff_entry(out, entries->name, entries->text);
}

void aphi_manual_write(const aphi_command *const *commands, const char *version, FILE *out)
{
    fprintf(out, ".\\\" SPDX-License-Identifier: Apache-2.0\n.TH ANTIPHON 1 \"\" \"Antiphon %s\" \"User Commands\"\n"
                 ".SH NAME\nantiphon \\- model-based testing of servers and message-passing programs\n"
                 ".SH SYNOPSIS\n.B antiphon\n.IR COMMAND \" ...\"\n.SH DESCRIPTION\n", version);
    aphi_roff_text(out, introduction);
    fputs(".SH COMMANDS\n", out);
    for (const aphi_command *const *c = commands; *c; c++)
        aphi_roff_entry(out, (*c)->name, (*c)->summary);
    aphi_roff_entry(out, "help",
                    "print the help of a command; without a command, the list of commands and all exit codes");
    aphi_roff_entry(out, "version", "print the version");
    fputs(".PP\nEvery command has the option \\-h, \\-\\-help.\n", out);
    for (; *commands; commands++) {
        if (*commands == &aphi_command_mutate) {
            fflush(out);
            aphi_mutate_manual();
        } else {
            aphi_options_manual(*commands, out);
        }
    }
    put_section(out, "MODELS", models);
    put_section(out, "ENVIRONMENT", variables);
    fputs(".SH EXIT STATUS\n", out);
#define X(name, code, text) aphi_roff_entry(out, #code, text);
    APHI_EXITS(X)
#undef X
    put_section(out, "FILES", files);
    put_section(out, "EXAMPLES", examples);
}
