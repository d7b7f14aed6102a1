/* SPDX-License-Identifier: Apache-2.0
 *
 * cmd_init.c - antiphon init NAME: create a folder with a model to start from.
 *
 * The files are those of examples/init, embedded by the build (tools/embed), with @NAME@ replaced by the name. If one
 * cannot be written, the folder is removed. */
#include "base/plain_text.h"
#include "cli/commands.h"
#include "cli/exit_codes.h"

#include "templates.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME_LONGEST = 63 }; /* as in the header of a script */

static const struct template {
    const char *path; /* in the folder; with @NAME@ */
    const unsigned char *text;
    size_t n;
} templates[] = {
    {"@NAME@.c", model_c_in, sizeof model_c_in},
    {"Makefile", Makefile_in, sizeof Makefile_in},
    {"README.md", README_md_in, sizeof README_md_in},
};
enum { TEMPLATES = sizeof templates / sizeof *templates };

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name(const char *name)
{
    if (!is_letter(*name) || strlen(name) > NAME_LONGEST)
        return false;
    for (const char *c = name; *c; c++)
        if (!is_letter(*c) && !(*c >= '0' && *c <= '9') && *c != '-')
            return false;
    return true;
}

static void expand(aphi_buffer *out, const char *text, size_t n, const char *name)
{
    aphi_buffer_expand(out, text, n, (const char *const[][2]){{"@NAME@", name}, {NULL}});
}

static char *path_of(aphi_buffer *out, const struct template *t, const char *name)
{
    aphi_buffer_format(out, "%s/", name);
    expand(out, t->path, strlen(t->path), name);
    return aphi_buffer_text(out);
}

static bool write_template(const struct template *t, const char *name)
{
    aphi_buffer where = {0}, text = {0};
    const char *path = path_of(&where, t, name);
    expand(&text, (const char *)t->text, t->n, name);
    bool fine = aphi_buffer_save(&text, path);
    if (!fine)
        aphi_complain("%s cannot be written: %s", path, strerror(errno));
    aphi_buffer_free(&where);
    aphi_buffer_free(&text);
    return fine;
}

static void remove_folder(const char *name)
{
    for (size_t i = 0; i < TEMPLATES; i++) {
        aphi_buffer where = {0};
        unlink(path_of(&where, &templates[i], name));
        aphi_buffer_free(&where);
    }
    rmdir(name);
}

static aphi_exit write_folder(const char *name)
{
    if (mkdir(name, 0777) != 0) {
        if (errno == EEXIST)
            aphi_complain("%s: already exists; use another name or move it", name);
        else
            aphi_complain("%s: cannot be created: %s", name, strerror(errno));
        return APHI_EXIT_WRITE;
    }
    for (size_t i = 0; i < TEMPLATES; i++)
        if (!write_template(&templates[i], name)) {
            remove_folder(name);
            return APHI_EXIT_WRITE;
        }
    return APHI_EXIT_PASS;
}

static const aphi_option options[] = {{0}};

static int init_command(int count, char **words)
{
    int code = aphi_options_read(&aphi_command_init, NULL, &count, words);
    if (code >= 0)
        return code;
    const char *name = words[0];
    if (!is_name(name))
        return aphi_usage("init %s: not a name; use letters, digits, _ and -, at most %d, beginning with a letter or _",
                          name, NAME_LONGEST);
    if ((code = (int)write_folder(name)))
        return code;
    aphi_print(stdout, "%s/ contains a model of a lock server for you to adapt. To try it:\n\n"
           "  cd %s && make\n\n"
           "See %s/README.md.\n", name, name, name);
    return aphi_written(APHI_EXIT_PASS);
}

const aphi_command aphi_command_init = {
    .name = "init",
    .summary = "create a folder with a model to start from",
    .operands = "NAME",
    .description = "Create the folder NAME with a model to start from: NAME.c, a lock server with a codec, the shape "
                   "of its requests and two mutants; a Makefile that tests antiphon serve NAME.c against the model; "
                   "and a README.md. NAME consists of letters, digits, _ and -. Existing files are not changed.",
    .exit_codes = "0 written, 2 usage, 4 not written, or NAME exists.",
    .options = options, .operands_min = 1, .operands_max = 1, .run = init_command};
