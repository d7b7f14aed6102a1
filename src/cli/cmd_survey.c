/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_survey.c - antiphon survey SPEC: a page for each server with its choices and violations.
 *
 * Files:      DIR/NAME.html and DIR/NAME.json for each server; in DIR/NAME its scripts, traces and the pages of its
 *             findings; DIR/index.html from all NAME.json, including those of earlier surveys. */
#include "cli/commands.h"

#include "base/plain_text.h"
#include "cli/interrupt.h"
#include "cli/shared_options.h"
#include "cli/test_session.h"
#include "report/survey_page.h"
#include "subject/presets.h"
#include "tester/survey.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { SERVERS_MAX = 32, PAGE_MAX = 1 << 24 };

typedef struct server {
    bool preset;                  /* --subject; otherwise --run */
    const char *subject;
    char name[64];                /* of its files */
    char folder[4096];
} server;

typedef struct server_list {
    server at[SERVERS_MAX];
    size_t count;
} server_list;

typedef struct survey {
    aph_loaded_model spec;
    server_list servers;
    const char *folder;
    aphi_test_session_options session; /* of the current server */
    aph_value result;                  /* of the current server */
    size_t current;                    /* the current server */
    int code;                          /* of the last test */
} survey;

static int add_server(void *field, const char *option, const char *subject)
{
    server_list *servers = field;
    if (servers->count == SERVERS_MAX)
        return aphi_usage("--%s %s: too many servers; at most %d", option, subject, SERVERS_MAX);
    server *new = &servers->at[servers->count++];
    *new = (server){.preset = !strcmp(option, "subject"), .subject = subject};
    if (new->preset && strlen(subject) < sizeof new->name && !strchr(subject, '/'))
        snprintf(new->name, sizeof new->name, "%s", subject);
    else
        snprintf(new->name, sizeof new->name, "server-%zu", servers->count);
    return 0;
}

static const aphi_option options[] = {
    APHI_CALL(survey, servers, "subject", "NAME", add_server, "survey a known server; may be repeated"),
    APHI_CALL(survey, servers, "run", "COMMAND", add_server,
              "survey a server started with sh, as for antiphon test; may be repeated"),
    APHI_TEXT(survey, folder, "out", "DIR", "folder for the pages (default: survey)"),
    APHI_NUMBER(survey, session.campaign.messages, "messages", "N", 0, 1000000000000000,
                "a server passes after N messages without a violation (default: 20000)"),
    APHI_SECONDS(survey, session.campaign.time_ns, "time",
                 "a server passes after DURATION without a violation (default: 10s)"),
    APHI_DURATION(survey, session.campaign.shrink_ns, "shrink-time", "DURATION", APHI_SECOND_NS, APHI_MS_NS,
                  1000000 * (uint64_t)APHI_SECOND_NS, "shrink a failing run for at most DURATION (default: 30s)"),
    APHI_NUMBER(survey, session.campaign.connections, "connections", "N", 1, 1000,
                "open up to N connections at once (default: 10)"),
    APHI_NUMBER(survey, session.campaign.depth, "pipeline", "N", 1, 1000,
                "keep up to N requests pending on a connection (default: 1)"),
    APHI_NUMBER(survey, session.campaign.seed, "seed", "N", 0, UINT64_MAX, "seed for the random choices (default: 1)"),
    {0}};

/* ---- files ------------------------------------------------------------------------------------------------------- */

static bool make_folder(const char *path)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return true;
    aphi_complain("%s cannot be created: %s", path, strerror(errno));
    return false;
}

static bool make_folders(const char *path)
{
    char part[4096];
    for (size_t i = 1; path[i] && i < sizeof part; i++)
        if (path[i] == '/') {
            snprintf(part, sizeof part, "%.*s", (int)i, path);
            if (!make_folder(part))
                return false;
        }
    return make_folder(path);
}

static bool write_file(const char *folder, const char *name, const char *ending, const aphi_buffer *text)
{
    char path[4400];
    snprintf(path, sizeof path, "%s/%s%s", folder, name, ending);
    bool fine = aphi_buffer_save(text, path);
    if (!fine)
        aphi_complain("%s cannot be written: %s", path, strerror(errno));
    return fine;
}

static bool write_server(const survey *s, const server *at, aph_value result)
{
    const char *folder = s->folder, *name = at->name;
    aphi_buffer page = {0}, json = {0};
    size_t n;
    char *text = aph_json_text(result, &n);
    aphi_buffer_add(&json, text, n);
    aphi_buffer_byte(&json, '\n');
    aphi_survey_page_write(&page, result);
    bool fine = write_file(folder, name, ".html", &page) && write_file(folder, name, ".json", &json);
    free(text);
    aphi_buffer_free(&page);
    aphi_buffer_free(&json);
    return fine;
}

/* Reads a result of this or an earlier survey; returns APH_NIL if the file has none. */
static aph_value read_result(const char *folder, const char *name)
{
    char path[4400];
    aph_value v = APH_NIL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    aphi_buffer text = {0};
    if (!aphi_buffer_load(&text, path, PAGE_MAX) || !text.n || !aph_json_read(text.data, text.n, &v, NULL) ||
        aph_field(v, "survey") != aph_int(1))
        v = APH_NIL;
    aphi_buffer_free(&text);
    return v;
}

static int is_result(const struct dirent *entry)
{
    size_t n = strlen(entry->d_name);
    return n > 5 && !strcmp(entry->d_name + n - 5, ".json");
}

static bool write_index(const survey *s)
{
    struct dirent **entries;
    int n = scandir(s->folder, &entries, is_result, alphasort);
    aph_value all = aph_array(0, NULL);
    for (int i = 0; i < n; i++) {
        aph_value one = read_result(s->folder, entries[i]->d_name);
        if (one)
            all = aph_push(all, one);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    aphi_buffer page = {0};
    aphi_survey_page_index(&page, all);
    bool fine = write_file(s->folder, "index", ".html", &page);
    aphi_buffer_free(&page);
    return fine;
}

/* ---- one server -------------------------------------------------------------------------------------------------- */

static bool test_server(void *context, const aphi_survey_test *test, aph_value *result)
{
    survey *s = context;
    aphi_test_session_options o = s->session;
    o.model = *test->model;
    o.campaign.folder = test->folder;
    o.campaign.seed = test->seed;
    o.campaign.messages = test->messages;
    o.campaign.connections = test->connections;
    o.campaign.shrink = test->shrink;
    o.report.report = test->page;
    o.report.found = result;
    *result = APH_NIL;
    s->code = (int)aphi_test_session_run(&o);
    return *result && s->code != APHI_EXIT_INTERRUPTED && s->code != APHI_EXIT_WRITE &&
           !aph_str_is(aph_field(*result, "verdict"), "trouble");
}

static void print_finding(void *context, aph_value finding, const aph_waiver *w)
{
    const survey *s = context;
    char why[600], verdict[32];
    aphi_print(stdout, "%-10s %s after %.2f s, %lld requests: %s%s%s\n", s->servers.at[s->current].name,
           aphi_survey_text(finding, "verdict", verdict, sizeof verdict),
           (double)aphi_survey_number(finding, "reject_ns") / 1e9, (long long)aphi_survey_number(finding, "requests"),
           w ? w->name : aphi_survey_text(finding, "why", why, sizeof why), w ? ": " : "", w ? w->summary : "");
    fflush(stdout);
}

static void print_result(const server *at, aph_value r)
{
    char verdict[32];
    printf("%-10s %s after %lld messages in %.1f s; %zu known violations waived, %zu branches not reached", at->name,
           aphi_survey_text(r, "verdict", verdict, sizeof verdict), (long long)aphi_survey_number(r, "messages"),
           (double)aphi_survey_number(r, "ns") / 1e9, aph_count(aph_field(r, "waived")),
           aph_count(aph_field(r, "never")));
    if (aphi_survey_number(r, "undecided"))
        printf(", %lld tests without a verdict", (long long)aphi_survey_number(r, "undecided"));
    putchar('\n');
    fflush(stdout);
}

static aph_value with_origin(const survey *s, const server *at, aph_value r)
{
    char version[200] = "", now[40];
    time_t seconds = time(NULL);
    strftime(now, sizeof now, "%Y-%m-%d %H:%M UTC", gmtime(&seconds));
    if (at->preset)
        aphi_preset_version(at->subject, version, sizeof version);
    r = aph_put(aph_put(r, "survey", aph_int(1)), "name", aph_str(at->name));
    r = aph_put(aph_put(r, "subject", aph_str(at->subject)), "model", aph_str(s->spec.model->name));
    return aph_put(aph_put(r, "version", aph_str(version)), "when", aph_str(now));
}

static int survey_server(survey *s, const server *at)
{
    const aphi_campaign_options *c = &s->session.campaign;
    aphi_survey_options how = {.model = s->spec.model, .name = at->name, .folder = at->folder, .seed = c->seed,
                               .messages = c->messages, .connections = c->connections, .context = s,
                               .test = test_server, .found = print_finding};
    s->session.preset = at->preset ? at->subject : NULL;
    s->session.subject = (aphi_subject_options){.run = at->preset ? NULL : at->subject};
    if (!make_folders(at->folder))
        return APHI_EXIT_WRITE;
    if (!aphi_survey_run(&how, &s->result))
        return s->code;
    s->result = with_origin(s, at, s->result);
    print_result(at, s->result);
    return write_server(s, at, s->result) ? APHI_EXIT_PASS : APHI_EXIT_WRITE;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static void mark_result(void *context)
{
    const survey *s = context;
    aph_mark(s->result);
}

static int survey_all(survey *s)
{
    int code = 0;
    aph_root_add(mark_result, s);
    for (s->current = 0; s->current < s->servers.count && !code; s->current++)
        code = survey_server(s, &s->servers.at[s->current]);
    aph_root_remove(mark_result, s);
    if (code != APHI_EXIT_WRITE && !write_index(s)) /* even after an error, to list the earlier servers */
        code = code ? code : APHI_EXIT_WRITE;
    if (!code)
        aphi_print(stdout, "see %s/index.html\n", s->folder);
    return code;
}

/* Returns an exit code, or a negative number to continue. */
static int check_options(survey *s)
{
    if (!*s->folder)
        return aphi_usage("--out: the name of the folder is empty");
    if (!s->servers.count)
        return aphi_usage("no server; give --subject NAME or --run COMMAND at least once");
    for (server *at = s->servers.at; at < s->servers.at + s->servers.count; at++)
        snprintf(at->folder, sizeof at->folder, "%s/%s", s->folder, at->name);
    return -1;
}

static int survey_command(int count, char **words)
{
    survey s = {.folder = "survey", .session = aphi_test_session_defaults(NULL)};
    s.session.campaign.messages = 20000;
    s.session.campaign.time_ns = 10 * APHI_SECOND_NS;
    s.session.campaign.depth = s.session.campaign.seed = 1;
    int code = aphi_options_read(&aphi_command_survey, &s, &count, words);
    if (code < 0)
        code = check_options(&s);
    if (code >= 0 || (code = aphi_open_model(words[0], &s.spec)))
        return code;
    s.session.spec = words[0];
    aphi_interrupt_watch(NULL);
    code = survey_all(&s);
    aph_model_unload(&s.spec);
    return code;
}

const aphi_command aphi_command_survey = {
    .name = "survey",
    .summary = "report the choices and violations of servers, one page per server",
    .operands = "SPEC --subject NAME | --run COMMAND",
    .description = "Test each server repeatedly against the model SPEC. A violation is shrunk and, if a waiver of "
                   "the model explains it, waived in the next tests, until a test passes or no waiver explains a "
                   "violation. Write a page for each server, with the choices that it made, the "
                   "violated clauses and the branches not reached, and an index of all servers, including earlier "
                   "surveys.",
    .exit_codes = "0 the pages were written, 2 usage, 4 not written, 5 interrupted, 51 no subject.",
    .options = options, .operands_min = 1, .operands_max = 1, .run = survey_command};
