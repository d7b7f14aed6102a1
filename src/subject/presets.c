/* SPDX-License-Identifier: Apache-2.0
 *
 * presets.c - subjects of one word: servers that Antiphon knows how to start.
 *
 * Idea:       A preset is a row of a table: a program, the files that it needs in the folder of the run, and a command
 *             that stays in the foreground. src/subject/subject.c writes the files, and starts, resets and stops it as
 *             any other.
 * Invariants: 1. All that a server writes lies in {dir}, and it listens on 127.0.0.1 alone: what is installed on the
 *                machine, its services and its configuration are neither read nor changed.
 *             2. A connection that is idle is kept: a server that closes one by a timer would look as if it had dropped
 *                it. So is one that has seen many requests.
 *             3. Each is as Debian ships it where clients can see it: what is set here is where things lie, how many
 *                may come, and that writing is allowed.
 * Cost:       Every step of shrinking starts one. So few modules are loaded and few processes started, and the end is
 *             SIGKILL: nothing of what they keep is wanted, and Apache's polite end takes longer than its start. */
#include "subject/presets.h"

#include "base/buffer.h"
#include "base/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { APACHE_PROCESSES = 2, APACHE_THREADS_LEAST = 24, APACHE_THREADS_SPARE = 6 };
#define APACHE_MODULES "/usr/lib/apache2/modules/"
#define LIGHTTPD_MODULES "/usr/lib/lighttpd/"

typedef struct preset {
    const char *name, *what;
    const char *program;  /* looked for where servers are */
    const char *package;  /* that has it; NULL: it is our own, looked for where our subjects are */
    const char *module;   /* a file that it loads and that may be missing although the program is here; NULL: none */
    const char *module_package;
    const char *arguments;
    const char *as_root;  /* more of them, if we are root */
    const char *owner;    /* the user as whom it then runs; NULL: ours */
    bool calls;
    const char *known[12]; /* the waivers of what it does wrong; docs/http.md has the clauses */
    const char *database; /* an empty one, a file beside these; NULL: none */
    aphi_subject_file files[APHI_PRESET_FILES];
    size_t file_count;
} preset;

/* ---- Apache ------------------------------------------------------------------------------------------------------ */

/* It refuses to serve as root, so it is the one that runs as another user then.
 * Two processes as there are many in real life, but never more or fewer: one that goes takes its idle connections
 * along. {threads} are those of a process. When none is free it closes idle connections, so there is one for each
 * connection, also if all come to the same process; but not many more: it makes them all before it answers anything. */
#define APACHE_COMMON \
    "ServerName 127.0.0.1\n" \
    "ServerRoot \"{dir}\"\n" \
    "Listen 127.0.0.1:{port}\n" \
    "PidFile \"{dir}/pid\"\n" \
    "DefaultRuntimeDir \"{dir}\"\n" \
    "Mutex \"file:{dir}\"\n" \
    "ErrorLog /dev/stderr\n" \
    "LogLevel crit\n" \
    "LoadModule mpm_event_module " APACHE_MODULES "mod_mpm_event.so\n" \
    "LoadModule authz_core_module " APACHE_MODULES "mod_authz_core.so\n" \
    "StartServers 2\n" \
    "ServerLimit 2\n" \
    "ThreadLimit {threads}\n" \
    "ThreadsPerChild {threads}\n" \
    "MaxRequestWorkers {workers}\n" \
    "MinSpareThreads 1\n" \
    "MaxSpareThreads {workers}\n" \
    "AsyncRequestWorkerFactor 32\n" \
    "KeepAlive On\n" \
    "KeepAliveTimeout 3600\n" \
    "MaxKeepAliveRequests 0\n" \
    "Timeout 3600\n"

static const char apache_conf[] =
    APACHE_COMMON
    "LoadModule dav_module " APACHE_MODULES "mod_dav.so\n"
    "LoadModule dav_fs_module " APACHE_MODULES "mod_dav_fs.so\n"
    "DavLockDB \"{dir}/locks\"\n"
    "DocumentRoot \"{dir}/www\"\n"
    "<Directory \"{dir}/www\">\n"
    "    Dav On\n"
    "    Require all granted\n"
    "</Directory>\n";

/* Via is off unless it is asked for, and RFC 9110 (7.6.3) demands it. */
static const char apache_proxy_conf[] =
    APACHE_COMMON
    "LoadModule proxy_module " APACHE_MODULES "mod_proxy.so\n"
    "LoadModule proxy_http_module " APACHE_MODULES "mod_proxy_http.so\n"
    "DocumentRoot \"{dir}/www\"\n"
    "ProxyRequests On\n"
    "ProxyVia On\n"
    "<Proxy \"*\">\n"
    "    Require all granted\n"
    "</Proxy>\n";

/* ---- nginx ------------------------------------------------------------------------------------------------------- */

static const char nginx_conf[] =
    "daemon off;\n"
    "worker_processes 2;\n"
    "worker_rlimit_nofile 4096;\n"
    "pid \"{dir}/pid\";\n"
    "error_log stderr crit;\n"
    "events {\n"
    "    worker_connections 2048;\n"
    "}\n"
    "http {\n"
    "    access_log off;\n"
    "    client_body_temp_path \"{dir}/body\";\n"
    "    proxy_temp_path \"{dir}/proxy\";\n"
    "    fastcgi_temp_path \"{dir}/fastcgi\";\n"
    "    uwsgi_temp_path \"{dir}/uwsgi\";\n"
    "    scgi_temp_path \"{dir}/scgi\";\n"
    "    default_type application/octet-stream;\n"
    "    sendfile on;\n"
    "    tcp_nopush on;\n"
    "    keepalive_timeout 3600s;\n"
    "    keepalive_time 24h;\n"
    "    keepalive_requests 1000000000;\n"
    "    client_header_timeout 3600s;\n"
    "    client_body_timeout 3600s;\n"
    "    server {\n"
    "        listen 127.0.0.1:{port};\n"
    "        root \"{dir}/www\";\n"
    "        dav_methods PUT DELETE;\n"
    "    }\n"
    "}\n";

/* ---- lighttpd ---------------------------------------------------------------------------------------------------- */

/* Without a type there are no tags; Debian's table has this one for names without an ending. */
#define LIGHTTPD_CONF \
    "server.modules = (\"mod_webdav\")\n" \
    "server.bind = \"127.0.0.1\"\n" \
    "server.port = {port}\n" \
    "server.document-root = \"{dir}/www\"\n" \
    "server.upload-dirs = (\"{dir}\")\n" \
    "server.max-fds = 4096\n" \
    "server.max-connections = 2048\n" \
    "server.max-keep-alive-requests = 65535\n" \
    "server.max-keep-alive-idle = 3600\n" \
    "server.max-read-idle = 3600\n" \
    "server.max-write-idle = 3600\n" \
    "mimetype.assign = (\"\" => \"application/octet-stream\")\n" \
    "webdav.activate = \"enable\"\n" \
    "webdav.is-readonly = \"disable\"\n"

static const char lighttpd_conf[] = LIGHTTPD_CONF;
/* After an empty PUT, what it remembers of a file is wrong, and no waiver helps where a body is cut short. */
static const char lighttpd_uncached_conf[] = LIGHTTPD_CONF "server.stat-cache-engine = \"disable\"\n";

/* ---- documents --------------------------------------------------------------------------------------------------- */

/* What has just been written is special to servers that tell versions apart by seconds: Apache's tags are weak then. So
 * there is something that is older than the test; and something that stays so, since tests do not write to it. */
static const char old_document[] = "what was there before\n", older_document[] = "what stays as it was before\n";
#define OLD_DOCUMENTS \
    {.name = "www/old", .text = old_document, .old = true}, {.name = "www/older", .text = older_document, .old = true}

/* ---- the table --------------------------------------------------------------------------------------------------- */

#define APACHE \
    .program = "apache2", .package = "apache2-bin", .arguments = " -f '{dir}/apache.conf' -DFOREGROUND", \
    .as_root = " -c 'User www-data' -c 'Group www-data'", .owner = "www-data"

#define LIGHTTPD \
    .program = "lighttpd", .package = "lighttpd", .module = LIGHTTPD_MODULES "mod_webdav.so", \
    .module_package = "lighttpd-mod-webdav", .arguments = " -D -f '{dir}/lighttpd.conf'", \
    .known = {"if-match-read-ignored", "if-unmodified-since-read-ignored", "if-unmodified-since-beside-if-match", \
              "if-none-match-strong", "last-modified-ahead"}

static const preset presets[] = {
    {.name = "apache", .what = "Apache with WebDAV", APACHE, .database = "locks",
     .module = APACHE_MODULES "mod_dav_fs.so", .module_package = "apache2-bin",
     .known = {"if-none-match-strong", "head-range", "if-unmodified-since-now", "weak-tag-ends-list",
               "if-unmodified-since-beside-if-match", "if-modified-since-beside-if-none-match",
               "if-none-match-beside-others", "if-match-beside-star", "epoch-is-no-date",
               "if-unmodified-since-range-ignored"},
     .files = {{.name = "www"}, {.name = "apache.conf", .text = apache_conf}, OLD_DOCUMENTS}, .file_count = 4},
    {.name = "apache-proxy", .what = "Apache as a forward proxy", APACHE, .calls = true,
     .module = APACHE_MODULES "mod_proxy_http.so", .module_package = "apache2-bin",
     .known = {"options-slash"},
     .files = {{.name = "www"}, {.name = "apache.conf", .text = apache_proxy_conf}}, .file_count = 2},
    {.name = "nginx", .what = "nginx with WebDAV", .program = "nginx", .package = "nginx",
     .arguments = " -p '{dir}' -c '{dir}/nginx.conf' -e stderr", .as_root = " -g 'user root root;'",
     .known = {"conditional-writes-ignored", "head-range", "if-unmodified-since-beside-if-match",
               "if-modified-since-beside-if-none-match", "405-without-allow", "last-modified-ahead"},
     .files = {{.name = "www"}, {.name = "nginx.conf", .text = nginx_conf}, OLD_DOCUMENTS}, .file_count = 4},
    {.name = "lighttpd", .what = "lighttpd with WebDAV", LIGHTTPD,
     .files = {{.name = "www"}, {.name = "lighttpd.conf", .text = lighttpd_conf}, OLD_DOCUMENTS}, .file_count = 4},
    {.name = "lighttpd-uncached", .what = "the same without its cache of what files are", LIGHTTPD,
     .files = {{.name = "www"}, {.name = "lighttpd.conf", .text = lighttpd_uncached_conf}, OLD_DOCUMENTS},
     .file_count = 4},
    {.name = "web", .what = "Antiphon's own web server", .program = "web", .arguments = " {port}"},
};
enum { PRESETS = sizeof presets / sizeof *presets };

static const preset *named(const char *name)
{
    for (int i = 0; i < PRESETS; i++)
        if (!strcmp(presets[i].name, name))
            return &presets[i];
    return NULL;
}

/* ---- where programs are ------------------------------------------------------------------------------------------ */

static bool is_program(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

/* The first of the folders, which colons divide, that has the program; the caller frees. NULL: none. */
static char *look_in(const char *folders, const char *program)
{
    while (folders && *folders) {
        size_t n = strcspn(folders, ":");
        aphi_buffer path = {0};
        aphi_buffer_format(&path, "%.*s/%s", (int)n, folders, program);
        if (n > 0 && folders[0] == '/' && is_program(aphi_buffer_text(&path)))
            return path.data;
        aphi_buffer_free(&path);
        folders += n + (folders[n] == ':');
    }
    return NULL;
}

/* Servers of the system. Who is not root seldom has /usr/sbin in the path. */
static char *look_for_server(const char *program)
{
    const char *own = getenv("ANTIPHON_SERVERS");
    if (own && *own)
        return look_in(own, program);
    char *path = look_in(getenv("PATH"), program);
    return path ? path : look_in("/usr/sbin:/usr/local/sbin", program);
}

/* Our subjects: in the build they are beside the program. */
static char *look_for_ours(const char *program)
{
    const char *own = getenv("ANTIPHON_SUBJECTS");
    if (own && *own)
        return look_in(own, program);
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0)
        return NULL;
    self[n] = 0;
    *strrchr(self, '/') = 0;
    aphi_buffer folders = {0};
    aphi_buffer_format(&folders, "%s/subjects:%s/../libexec/antiphon", self, self);
    char *path = look_in(aphi_buffer_text(&folders), program);
    aphi_buffer_free(&folders);
    return path;
}

/* The package that has the first thing that is missing; NULL: nothing is, and *program is the caller's to free. */
static const char *missing(const preset *p, char **program)
{
    *program = p->package ? look_for_server(p->program) : look_for_ours(p->program);
    if (!*program)
        return p->package ? p->package : "";
    if (!p->module || access(p->module, R_OK) == 0)
        return NULL;
    free(*program);
    *program = NULL;
    return p->module_package;
}

/* ---- what a preset becomes --------------------------------------------------------------------------------------- */

static void say_names(aphi_buffer *out)
{
    for (int i = 0; i < PRESETS; i++)
        aphi_buffer_format(out, "%s%s", i == 0 ? "" : i + 1 < PRESETS ? ", " : " and ", presets[i].name);
}

static aphi_preset_status say_unknown(const char *name, char *error, size_t size)
{
    aphi_buffer names = {0};
    say_names(&names);
    snprintf(error, size, "there is no subject %s; there are %s. Others are started with --run COMMAND", name,
             aphi_buffer_text(&names));
    aphi_buffer_free(&names);
    return APHI_PRESET_UNKNOWN;
}

static aphi_preset_status say_missing(const preset *p, const char *package, char *error, size_t size)
{
    const char *own = getenv("ANTIPHON_SERVERS");
    if (*package)
        snprintf(error, size, "%s is not installed%s; on Debian, as root: apt-get install %s", p->name,
                 own && *own ? " in what ANTIPHON_SERVERS names" : "", package);
    else
        snprintf(error, size, "the program %s is not here: it is built with Antiphon, into the folder subjects beside "
                 "the program; ANTIPHON_SUBJECTS names another folder", p->program);
    return APHI_PRESET_MISSING;
}

void aphi_quote(aphi_buffer *out, const char *text)
{
    aphi_buffer_byte(out, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            aphi_buffer_str(out, "'\\'");
        aphi_buffer_byte(out, *text);
    }
    aphi_buffer_byte(out, '\'');
}

/* The text with {threads} and {workers} filled in; the caller frees. */
static char *fill_in(const char *text, size_t threads)
{
    aphi_buffer out = {0};
    while (*text) {
        if (!strncmp(text, "{threads}", 9) || !strncmp(text, "{workers}", 9)) {
            aphi_buffer_format(&out, "%zu", text[1] == 't' ? threads : threads * APACHE_PROCESSES);
            text += 9;
        } else {
            aphi_buffer_byte(&out, *text++);
        }
    }
    return aphi_buffer_text(&out);
}

static void make_files(const preset *p, size_t connections, aphi_preset_made *made)
{
    size_t threads = connections + APACHE_THREADS_SPARE;
    if (threads < APACHE_THREADS_LEAST)
        threads = APACHE_THREADS_LEAST;
    for (size_t i = 0; i < p->file_count; i++) {
        made->texts[i] = p->files[i].text ? fill_in(p->files[i].text, threads) : NULL;
        made->files[i] = p->files[i];
        made->files[i].text = made->texts[i];
    }
    made->file_count = p->file_count;
}

/* Where several writes at once find no database of locks, all but one of them wait a second and more until it is made.
 * So it is made beforehand, by Apache's own tool if that is here: only it knows what kind of database this Apache has.
 */
static void make_database(const preset *p, aphi_preset_made *made)
{
    char *tool = p->database ? look_for_server("httxt2dbm") : NULL;
    if (!tool)
        return;
    aphi_buffer command = {0}, bytes = {0};
    aphi_buffer_str(&command, "folder=$(mktemp -d) && trap 'rm -rf \"$folder\"' EXIT && ");
    aphi_quote(&command, tool);
    aphi_buffer_str(&command, " -i /dev/null -o \"$folder/made\" >/dev/null 2>&1 && cat \"$folder/made\"");
    int status = aphi_process_run(&(aphi_process_options){.command = aphi_buffer_text(&command)}, &bytes);
    if (status == 0 && bytes.n) {
        made->texts[made->file_count] = bytes.data;
        made->files[made->file_count++] = (aphi_subject_file){.name = p->database, .text = bytes.data, .size = bytes.n};
    } else {
        aphi_buffer_free(&bytes);
    }
    free(tool);
    aphi_buffer_free(&command);
}

aphi_preset_status aphi_preset_make(const char *name, size_t connections, aphi_preset_made *made,
                                    aphi_subject_options *options, char *error, size_t size)
{
    const preset *p = named(name);
    if (!p)
        return say_unknown(name, error, size);
    char *program;
    const char *package = missing(p, &program);
    if (package)
        return say_missing(p, package, error, size);
    aphi_buffer run = {0};
    aphi_quote(&run, program);
    free(program);
    aphi_buffer_str(&run, p->arguments);
    if (p->as_root && geteuid() == 0)
        aphi_buffer_str(&run, p->as_root);
    *made = (aphi_preset_made){.run = aphi_buffer_text(&run), .calls = p->calls, .known = p->known};
    make_files(p, connections, made);
    make_database(p, made);
    options->run = made->run;
    options->name = p->name;
    options->files = made->file_count ? made->files : NULL;
    options->file_count = made->file_count;
    options->owner = p->owner;
    options->abrupt = true;
    return APHI_PRESET_READY;
}

/* Servers know -v; what they say may be on either output. */
void aphi_preset_version(const char *name, char *version, size_t size)
{
    const preset *p = named(name);
    char *program = NULL;
    *version = 0;
    if (!p || !p->package || missing(p, &program))
        return;
    aphi_buffer printed = {0};
    aphi_process_run(&(aphi_process_options){.argv = (char *[]){program, "-v", NULL}, .in = APHI_PROCESS_NULL, .err = 1},
                     &printed);
    snprintf(version, size, "%.*s", (int)strcspn(aphi_buffer_text(&printed), "\n"), printed.data);
    aphi_buffer_free(&printed);
    free(program);
}

void aphi_preset_free(aphi_preset_made *made)
{
    free(made->run);
    for (int i = 0; i < APHI_PRESET_FILES; i++)
        free(made->texts[i]);
    *made = (aphi_preset_made){0};
}

void aphi_preset_list(void)
{
    for (int i = 0; i < PRESETS; i++) {
        char *program;
        const char *package = missing(&presets[i], &program);
        printf("%-19s%-46s", presets[i].name, presets[i].what);
        if (!package)
            printf("%s\n", program);
        else if (*package)
            printf("not here: package %s\n", package);
        else
            printf("not built\n");
        free(program);
    }
}
