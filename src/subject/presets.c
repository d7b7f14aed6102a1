/* SPDX-License-Identifier: Apache-2.0
 *
 * presets.c - subjects by name: servers that Antiphon can start.
 *
 * Idea:       A preset is a row of a table: a program, its files in the folder of the run, and a command that stays in
 *             the foreground. subject.c writes the files, and starts, resets and stops the server like any other
 *             subject.
 * Invariants: 1. A server writes only into {dir} and listens only on 127.0.0.1; the services and the configuration of
 *                the machine are neither read nor changed.
 *             2. Idle connections and connections with many requests are kept: a close by a timer or a limit would look
 *                like a dropped connection.
 *             3. Behaviour that clients can observe is Debian's default; only paths, limits and write permission are
 *                configured here.
 * Cost:       Each step of shrinking starts a server. So few modules are loaded, few processes are started, and the
 *             server is stopped with SIGKILL: its data is not needed, and Apache takes longer to exit than to start. */
#include "subject/presets.h"

#include "base/buffer.h"
#include "base/process.h"
#include "base/plain_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { APACHE_PROCESSES = 2, APACHE_THREADS_LEAST = 24, APACHE_THREADS_SPARE = 6 };
#define APACHE_MODULES "/usr/lib/apache2/modules"
#define LIGHTTPD_MODULES "/usr/lib/lighttpd"

typedef struct preset {
    const char *name, *what;
    const char *program;  /* searched for by find_server */
    const char *package;  /* of the program; NULL: our own program, searched for by find_own */
    const char *modules;  /* the folder of its modules, unless there is a folder modules beside the program */
    const char *module;   /* one that it loads, which may be missing even if the program is installed; NULL: none */
    const char *module_package;
    const char *arguments;
    const char *as_root;  /* more arguments if we are root */
    const char *owner;    /* its user in that case; NULL: ours */
    bool calls;
    const char *known[12]; /* waivers of its known violations; docs/http.md has the clauses */
    const char *database; /* a further file, an empty database; NULL: none */
    aphi_subject_file files[APHI_PRESET_FILES];
    size_t file_count;
} preset;

/* ---- Apache ------------------------------------------------------------------------------------------------------ */

/* Apache refuses to serve as root, so under root, only this preset runs as another user. It has exactly two processes:
 * more than one, as in practice, but a fixed number, since a process that ends closes its idle connections. {threads}
 * is the number of threads per process. Apache closes idle connections when no thread is free, so there is one for each
 * connection, even if all reach the same process; but not many more, since all are created before the first
 * response. */
#define APACHE_COMMON \
    "ServerName 127.0.0.1\n" \
    "ServerRoot \"{dir}\"\n" \
    "Listen 127.0.0.1:{port}\n" \
    "PidFile \"{dir}/pid\"\n" \
    "DefaultRuntimeDir \"{dir}\"\n" \
    "Mutex \"file:{dir}\"\n" \
    "ErrorLog /dev/stderr\n" \
    "LogLevel crit\n" \
    "LoadModule mpm_event_module \"{modules}/mod_mpm_event.so\"\n" \
    "LoadModule authz_core_module \"{modules}/mod_authz_core.so\"\n" \
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
    "LoadModule dav_module \"{modules}/mod_dav.so\"\n"
    "LoadModule dav_fs_module \"{modules}/mod_dav_fs.so\"\n"
    "DavLockDB \"{dir}/locks\"\n"
    "DocumentRoot \"{dir}/www\"\n"
    "<Directory \"{dir}/www\">\n"
    "    Dav On\n"
    "    Require all granted\n"
    "</Directory>\n";

/* RFC 9110 (7.6.3) requires Via, which Apache does not send by default. */
static const char apache_proxy_conf[] =
    APACHE_COMMON
    "LoadModule proxy_module \"{modules}/mod_proxy.so\"\n"
    "LoadModule proxy_http_module \"{modules}/mod_proxy_http.so\"\n"
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

/* lighttpd sends no tags for files without a type. This is Debian's type for names without an extension. */
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
/* After an empty PUT, lighttpd's cache of file attributes is stale, and no waiver covers a truncated body. */
static const char lighttpd_uncached_conf[] = LIGHTTPD_CONF "server.stat-cache-engine = \"disable\"\n";

/* ---- documents --------------------------------------------------------------------------------------------------- */

/* Servers that distinguish versions by seconds treat new files differently; Apache, for example, gives them weak tags.
 * These files are older than the test; tests write to the first, but not to the second. */
static const char old_document[] = "what was there before\n", older_document[] = "what stays as it was before\n";
#define OLD_DOCUMENTS \
    {.name = "www/old", .text = old_document, .old = true}, {.name = "www/older", .text = older_document, .old = true}

/* ---- the table --------------------------------------------------------------------------------------------------- */

#define APACHE \
    .program = "apache2", .package = "apache2-bin", .modules = APACHE_MODULES, \
    .arguments = " -f '{dir}/apache.conf' -DFOREGROUND", \
    .as_root = " -c 'User www-data' -c 'Group www-data'", .owner = "www-data"

#define LIGHTTPD \
    .program = "lighttpd", .package = "lighttpd", .modules = LIGHTTPD_MODULES, .module = "mod_webdav.so", \
    .module_package = "lighttpd-mod-webdav", .arguments = " -D -f '{dir}/lighttpd.conf'", \
    .known = {"if-match-read-ignored", "if-unmodified-since-read-ignored", "if-unmodified-since-beside-if-match", \
              "if-none-match-strong", "last-modified-ahead"}

static const preset presets[] = {
    {.name = "apache", .what = "Apache with WebDAV", APACHE, .database = "locks",
     .module = "mod_dav_fs.so", .module_package = "apache2-bin",
     .known = {"if-none-match-strong", "head-range", "if-unmodified-since-now", "weak-tag-ends-list",
               "if-unmodified-since-beside-if-match", "if-modified-since-beside-if-none-match",
               "if-none-match-beside-others", "if-match-beside-star", "epoch-is-no-date",
               "if-unmodified-since-range-ignored"},
     .files = {{.name = "www"}, {.name = "apache.conf", .text = apache_conf}, OLD_DOCUMENTS}, .file_count = 4},
    {.name = "apache-proxy", .what = "Apache as a forward proxy", APACHE, .calls = true,
     .module = "mod_proxy_http.so", .module_package = "apache2-bin",
     .known = {"options-slash"},
     .files = {{.name = "www"}, {.name = "apache.conf", .text = apache_proxy_conf}}, .file_count = 2},
    {.name = "nginx", .what = "nginx with WebDAV", .program = "nginx", .package = "nginx",
     .arguments = " -p '{dir}' -c '{dir}/nginx.conf' -e stderr", .as_root = " -g 'user root root;'",
     .known = {"conditional-writes-ignored", "head-range", "if-unmodified-since-beside-if-match",
               "if-modified-since-beside-if-none-match", "405-without-allow", "last-modified-ahead"},
     .files = {{.name = "www"}, {.name = "nginx.conf", .text = nginx_conf}, OLD_DOCUMENTS}, .file_count = 4},
    {.name = "lighttpd", .what = "lighttpd with WebDAV", LIGHTTPD,
     .files = {{.name = "www"}, {.name = "lighttpd.conf", .text = lighttpd_conf}, OLD_DOCUMENTS}, .file_count = 4},
    {.name = "lighttpd-uncached", .what = "lighttpd without its cache of file attributes", LIGHTTPD,
     .files = {{.name = "www"}, {.name = "lighttpd.conf", .text = lighttpd_uncached_conf}, OLD_DOCUMENTS},
     .file_count = 4},
    {.name = "web", .what = "Antiphon's own web server", .program = "web", .arguments = " {port}"},
};
enum { PRESETS = sizeof presets / sizeof *presets };

static const preset *find_preset(const char *name)
{
    for (int i = 0; i < PRESETS; i++)
        if (!strcmp(presets[i].name, name))
            return &presets[i];
    return NULL;
}

/* ---- programs ---------------------------------------------------------------------------------------------------- */

static bool is_program(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode) && access(path, X_OK) == 0;
}

/* Returns the path of the program in the first folder that contains it, for free(); NULL if none does. Colons separate
 * folders. */
static char *find_in(const char *folders, const char *program)
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

/* Finds an installed server. /usr/sbin is rarely in the path of users other than root. */
static char *find_server(const char *program)
{
    const char *own = getenv("ANTIPHON_SERVERS");
    if (own && *own)
        return find_in(own, program);
    char *path = find_in(getenv("PATH"), program);
    return path ? path : find_in("/usr/sbin:/usr/local/sbin", program);
}

/* Finds one of our own subjects, which are in the build folder next to the program. */
static char *find_own(const char *program)
{
    const char *own = getenv("ANTIPHON_SUBJECTS");
    if (own && *own)
        return find_in(own, program);
    char self[PATH_MAX], *slash = strrchr(aphi_process_self(self), '/');
    if (!slash)
        return NULL;
    *slash = 0;
    aphi_buffer folders = {0};
    aphi_buffer_format(&folders, "%s/subjects:%s/../libexec/antiphon", self, self);
    char *path = find_in(aphi_buffer_text(&folders), program);
    aphi_buffer_free(&folders);
    return path;
}

/* Returns the path of the folder with the modules of the program, for free(). A server that was built, not installed,
 * brings its own modules: those of another version need not fit. */
static char *find_modules(const preset *p, const char *program)
{
    aphi_buffer folder = {0}, module = {0};
    const char *slash = strrchr(program, '/');
    aphi_buffer_format(&folder, "%.*s/modules", (int)(slash - program), program);
    aphi_buffer_format(&module, "%s/%s", aphi_buffer_text(&folder), p->module);
    if (access(aphi_buffer_text(&module), R_OK) != 0) {
        aphi_buffer_free(&folder);
        aphi_buffer_str(&folder, p->modules);
    }
    aphi_buffer_free(&module);
    return aphi_buffer_text(&folder);
}

static bool has_module(const preset *p, const char *program)
{
    char *folder = find_modules(p, program);
    aphi_buffer module = {0};
    aphi_buffer_format(&module, "%s/%s", folder, p->module);
    bool found = access(aphi_buffer_text(&module), R_OK) == 0;
    aphi_buffer_free(&module);
    free(folder);
    return found;
}

/* Returns the package of the first missing file. If none is missing, returns NULL, and the caller frees *program. */
static const char *find_missing(const preset *p, char **program)
{
    *program = p->package ? find_server(p->program) : find_own(p->program);
    if (!*program)
        return p->package ? p->package : "";
    if (!p->module || has_module(p, *program))
        return NULL;
    free(*program);
    *program = NULL;
    return p->module_package;
}

/* ---- options of a subject ---------------------------------------------------------------------------------------- */

static aphi_preset_status fail_unknown(const char *name, char *error, size_t size)
{
    aphi_buffer names = {0};
    for (int i = 0; i < PRESETS; i++)
        aphi_buffer_format(&names, "%s%s", i == 0 ? "" : i + 1 < PRESETS ? ", " : " and ", presets[i].name);
    snprintf(error, size, "%s: unknown subject; known: %s; start others with --run COMMAND", name,
             aphi_buffer_text(&names));
    aphi_buffer_free(&names);
    return APHI_PRESET_UNKNOWN;
}

static aphi_preset_status fail_missing(const preset *p, const char *package, char *error, size_t size)
{
    const char *own = getenv("ANTIPHON_SERVERS");
    if (*package)
        snprintf(error, size, "%s is not installed%s; on Debian, as root: apt-get install %s", p->name,
                 own && *own ? " in the folders of ANTIPHON_SERVERS" : "", package);
    else
        snprintf(error, size, "%s: not built; Antiphon builds it into the folder subjects beside the program; set "
                 "ANTIPHON_SUBJECTS to another folder", p->program);
    return APHI_PRESET_MISSING;
}

static void make_files(const preset *p, const char *program, size_t connections, aphi_preset_made *made)
{
    size_t threads = connections + APACHE_THREADS_SPARE;
    if (threads < APACHE_THREADS_LEAST)
        threads = APACHE_THREADS_LEAST;
    char count[24], workers[24];
    snprintf(count, sizeof count, "%zu", threads);
    snprintf(workers, sizeof workers, "%zu", threads * APACHE_PROCESSES);
    char *modules = p->module ? find_modules(p, program) : NULL;
    const char *const values[][2] = {{"{threads}", count}, {"{workers}", workers},
                                     {modules ? "{modules}" : NULL, modules}, {NULL}};
    for (size_t i = 0; i < p->file_count; i++) {
        aphi_buffer text = {0};
        made->files[i] = p->files[i];
        if (!p->files[i].text)
            continue;
        aphi_buffer_expand(&text, p->files[i].text, strlen(p->files[i].text), values);
        made->files[i].text = made->texts[i] = aphi_buffer_text(&text);
    }
    free(modules);
    made->file_count = p->file_count;
}

/* Creates Apache's lock database with Apache's own tool, if it is installed, because the format depends on the version.
 * If Apache itself had to create the database, concurrent first writes would wait for more than a second. */
static void make_database(const preset *p, aphi_preset_made *made)
{
    char *tool = p->database ? find_server("httxt2dbm") : NULL;
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
    const preset *p = find_preset(name);
    if (!p)
        return fail_unknown(name, error, size);
    char *program;
    const char *package = find_missing(p, &program);
    if (package)
        return fail_missing(p, package, error, size);
    aphi_buffer run = {0};
    aphi_quote(&run, program);
    aphi_buffer_str(&run, p->arguments);
    if (p->as_root && geteuid() == 0)
        aphi_buffer_str(&run, p->as_root);
    *made = (aphi_preset_made){.run = aphi_buffer_text(&run), .calls = p->calls, .known = p->known};
    make_files(p, program, connections, made);
    free(program);
    make_database(p, made);
    options->run = made->run;
    options->name = p->name;
    options->files = made->file_count ? made->files : NULL;
    options->file_count = made->file_count;
    options->owner = p->owner;
    options->abrupt = true;
    return APHI_PRESET_READY;
}

/* All servers print their version for -v, on stdout or stderr. */
void aphi_preset_version(const char *name, char *version, size_t size)
{
    const preset *p = find_preset(name);
    char *program = NULL;
    *version = 0;
    if (!p || !p->package || find_missing(p, &program))
        return;
    aphi_buffer printed = {0};
    char *argv[] = {program, "-v", NULL};
    aphi_process_run(&(aphi_process_options){.argv = argv, .in = APHI_PROCESS_NULL, .err = 1}, &printed);
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
        const char *package = find_missing(&presets[i], &program);
        printf("%-19s%-46s", presets[i].name, presets[i].what);
        if (!package)
            printf("%s\n", program);
        else if (*package)
            printf("not installed: package %s\n", package);
        else
            printf("not built\n");
        free(program);
    }
}
