/* SPDX-License-Identifier: Apache-2.0
 *
 * options.c - the parser of command lines, and the help texts generated from the same tables. */
#include "base/options.h"

#include "base/plain_text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

static const aphi_option help_option = {.name = "help", .letter = 'h', .help = "print this help"};

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static void print_message(const char *format, va_list args)
{
    fputs("antiphon: ", stderr);
    aphi_print_args(stderr, format, args);
    fputc('\n', stderr);
}

void aphi_complain(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_message(format, args);
    va_end(args);
}

int aphi_usage(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_message(format, args);
    va_end(args);
    return APHI_OPTIONS_USAGE;
}

int aphi_written(int code)
{
    if (!fflush(stdout) && !ferror(stdout))
        return code;
    aphi_complain("stdout cannot be written: %s", strerror(errno));
    return APHI_OPTIONS_UNWRITTEN;
}

/* ---- numbers and units ------------------------------------------------------------------------------------------- */

typedef struct unit {
    const char *name;
    double factor;
} unit;

bool aphi_parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && !errno && *value >= least && *value <= most;
}

/* Parses digits with at most one point, followed by a unit. The first unit is the default. */
static bool parse_quantity(const char *text, const unit *units, double *value)
{
    size_t n = strspn(text, "0123456789."), digits = strspn(text, "0123456789");
    char *end;
    *value = strtod(text, &end);
    if (n == 0 || (n == 1 && digits == 0) || memchr(text + digits + (digits < n), '.', n - digits - (digits < n)))
        return false;
    for (; units->name; units++)
        if (!strcmp(text + n, units->name)) {
            *value *= units->factor;
            return *value < 9e18;
        }
    return false;
}

bool aphi_parse_duration(const char *text, int64_t bare_ns, int64_t *ns)
{
    const unit units[] = {{"", (double)bare_ns}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}, {NULL, 0}};
    double value;
    bool fine = parse_quantity(text, units, &value);
    *ns = fine ? (int64_t)(value + 0.5) : 0;
    return fine;
}

bool aphi_parse_size(const char *text, uint64_t *bytes)
{
    static const unit units[] = {{"", 1048576}, {"K", 1024}, {"M", 1048576}, {"G", 1073741824}, {NULL, 0}};
    double value;
    bool fine = parse_quantity(text, units, &value);
    *bytes = fine ? (uint64_t)value : 0;
    return fine;
}

/* ---- storing values ---------------------------------------------------------------------------------------------- */

static int store_number(const aphi_option *o, void *field, const char *text)
{
    uint64_t value;
    if (!aphi_parse_number(text, o->least, o->most, &value)) {
        if (o->most == UINT64_MAX)
            return aphi_usage("--%s %s: not a whole number of at least %llu", o->name, text,
                              (unsigned long long)o->least);
        return aphi_usage("--%s %s: not a whole number from %llu to %llu", o->name, text, (unsigned long long)o->least,
                          (unsigned long long)o->most);
    }
    if (o->size == sizeof(uint16_t))
        *(uint16_t *)field = (uint16_t)value;
    else if (o->size == sizeof(uint32_t))
        *(uint32_t *)field = (uint32_t)value;
    else
        *(uint64_t *)field = value;
    return 0;
}

static int store_duration(const aphi_option *o, int64_t *field, const char *text)
{
    int64_t ns;
    if (!aphi_parse_duration(text, o->bare_ns, &ns))
        return aphi_usage("--%s %s: not a duration; use a number of %s, or a unit as in 500ms, 20s, 2m or 1h", o->name,
                          text, o->bare_ns == APHI_MS_NS ? "milliseconds" : "seconds");
    if ((uint64_t)ns < o->least || (uint64_t)ns > o->most)
        return aphi_usage("--%s %s: out of range; use %gs to %gs", o->name, text, (double)o->least / 1e9,
                          (double)o->most / 1e9);
    *field = ns;
    return 0;
}

static int store_size(const aphi_option *o, size_t *field, const char *text)
{
    uint64_t bytes;
    if (!aphi_parse_size(text, &bytes) || bytes < o->least || bytes > o->most)
        return aphi_usage("--%s %s: not a size; use a number of megabytes, or a unit as in 512K, 64M or 2G", o->name,
                          text);
    *field = bytes;
    return 0;
}

static int store_choice(const aphi_option *o, int *field, const char *text)
{
    aphi_buffer names = {0};
    for (int i = 0; o->choices[i]; i++) {
        if (!strcmp(text, o->choices[i])) {
            *field = i;
            aphi_buffer_free(&names);
            return 0;
        }
        aphi_buffer_format(&names, "%s%s", i == 0 ? "" : o->choices[i + 1] ? ", " : " or ", o->choices[i]);
    }
    int code = aphi_usage("--%s %s: not one of %s", o->name, text, aphi_buffer_text(&names));
    aphi_buffer_free(&names);
    return code;
}

static int store_value(const aphi_option *o, void *options, const char *value)
{
    void *field = (char *)options + o->at;
    if (o->given)
        *(bool *)((char *)options + o->given - 1) = true;
    switch (o->kind) {
    case APHI_OPTION_FLAG: *(bool *)field = true; return 0;
    case APHI_OPTION_TEXT: *(const char **)field = value; return 0;
    case APHI_OPTION_CHOICE: return store_choice(o, field, value);
    case APHI_OPTION_NUMBER: return store_number(o, field, value);
    case APHI_OPTION_SIZE: return store_size(o, field, value);
    case APHI_OPTION_DURATION: return store_duration(o, field, value);
    case APHI_OPTION_CALL: return o->take(field, o->name, value);
    }
    return 0;
}

/* ---- finding options --------------------------------------------------------------------------------------------- */

/* Returns the option with that name, or the only option that begins with it. *matches: how many begin with it. */
static const aphi_option *option_named(const aphi_command *c, const char *name, size_t n, unsigned *matches)
{
    const aphi_option *found = NULL;
    *matches = 0;
    for (const aphi_option *o = c->options;; o++) {
        const aphi_option *is = o->name ? o : &help_option;
        if (!strncmp(is->name, name, n)) {
            found = is;
            ++*matches;
            if (!is->name[n]) {
                *matches = 1;
                return is;
            }
        }
        if (!o->name)
            return *matches == 1 ? found : NULL;
    }
}

static const aphi_option *option_lettered(const aphi_command *c, char letter)
{
    for (const aphi_option *o = c->options; o->name; o++)
        if (o->letter == letter)
            return o;
    return letter == help_option.letter ? &help_option : NULL;
}

/* ---- parsing ----------------------------------------------------------------------------------------------------- */

typedef struct parser {
    const aphi_command *command;
    void *options;
    char **next;      /* the next word */
} parser;

static int print_command(const parser *p, void (*print)(const aphi_command *, FILE *))
{
    print(p->command, stdout);
    return aphi_written(0);
}

/* value: the text after "=" or a letter, or NULL. Returns a negative number to continue, else the exit code. */
static int take_option(parser *p, const aphi_option *o, const char *value)
{
    if (o == &help_option)
        return print_command(p, aphi_options_help);
    if (!o->argument && value)
        return aphi_usage("--%s: takes no value; see antiphon %s --help", o->name, p->command->name);
    if (o->argument && !value && !(value = *p->next++))
        return aphi_usage("--%s: %s is missing; see antiphon %s --help", o->name, o->argument, p->command->name);
    int code = store_value(o, p->options, value);
    return code ? code : -1;
}

static int take_long(parser *p, const char *word)
{
    size_t n = strcspn(word, "=");
    unsigned matches;
    if (!strcmp(word, "--print-manual"))
        return print_command(p, aphi_options_manual);
    if (!strcmp(word, "--print-completion"))
        return print_command(p, aphi_options_complete);
    const aphi_option *o = option_named(p->command, word + 2, n - 2, &matches);
    if (!o)
        return aphi_usage("%.*s: %s; see antiphon %s --help", (int)n, word,
                          matches ? "an abbreviation of several options" : "no such option", p->command->name);
    return take_option(p, o, word[n] ? word + n + 1 : NULL);
}

/* Takes a letter with its value in the same word or the next one, or several flag letters. */
static int take_letters(parser *p, const char *word)
{
    int code = -1;
    for (const char *at = word + 1; *at && code < 0; at++) {
        const aphi_option *o = option_lettered(p->command, *at);
        if (!o)
            return aphi_usage("-%c: no such option; see antiphon %s --help", *at, p->command->name);
        code = take_option(p, o, o->argument && at[1] ? at + 1 : NULL);
        if (o->argument)
            break;
    }
    return code;
}

static int check_operands(const aphi_command *c, int n)
{
    if (n >= c->operands_min && (c->operands_max < 0 || n <= c->operands_max))
        return -1;
    return aphi_usage("%s: too %s operands; usage: antiphon %s %s", c->name, n < c->operands_min ? "few" : "many",
                      c->name, c->operands);
}

int aphi_options_read(const aphi_command *command, void *options, int *count, char **words)
{
    parser p = {command, options, words + 1};
    int n = 0, code = -1;
    bool ended = false;
    while (*p.next && code < 0) {
        char *word = *p.next++;
        if (ended || word[0] != '-' || !word[1]) {
            words[n++] = word;
            ended |= command->runs_program;
        } else if (!strcmp(word, "--")) {
            ended = true;
        } else {
            code = word[1] == '-' ? take_long(&p, word) : take_letters(&p, word);
        }
    }
    words[n] = NULL;
    *count = n;
    return code < 0 ? check_operands(command, n) : code;
}

/* ---- help -------------------------------------------------------------------------------------------------------- */

enum { WIDTH_MIN = 80, WIDTH_USUAL = 100, WIDTH_MAX = 120, SYNOPSIS_MAX = 22 };

/* Returns the width of the terminal, or the value of COLUMNS. */
static size_t help_width(FILE *out)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    size_t width = columns ? strtoul(columns, NULL, 10) : WIDTH_USUAL;
    if (ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col)
        width = size.ws_col;
    return width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : width;
}

/* Prints the text from the given column on, and indents the following lines to that column. */
static void print_wrapped(FILE *out, const char *text, size_t column, size_t width)
{
    size_t at = column;
    while (*text) {
        size_t n = strcspn(text, " \n");
        if (at > column && at + 1 + n > width) {
            fprintf(out, "\n%*s", (int)column, "");
            at = column;
        }
        at += (size_t)fprintf(out, "%s%.*s", at > column ? " " : "", (int)n, text);
        text += n;
        if (*text == '\n') {
            fprintf(out, "\n\n%*s", (int)column, "");
            at = column;
        }
        text += *text != 0;
    }
    fputc('\n', out);
}

static void format_synopsis(const aphi_option *o, char *text, size_t size)
{
    char letter[8] = "";
    if (o->letter)
        snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(text, size, "%s--%s%s%s", letter, o->name, o->argument ? " " : "", o->argument ? o->argument : "");
}

static size_t synopsis_width(const aphi_command *c)
{
    size_t widest = strlen("-h, --help");
    char text[80];
    for (const aphi_option *o = c->options; o->name; o++) {
        format_synopsis(o, text, sizeof text);
        size_t n = strlen(text);
        widest = n > widest && n <= SYNOPSIS_MAX ? n : widest;
    }
    return widest;
}

static void print_row(FILE *out, const char *left, const char *right, size_t indent, size_t widest, size_t width)
{
    size_t column = indent + widest + 2;
    fprintf(out, "%*s%-*s", (int)indent, "", (int)widest, left);
    if (strlen(left) > widest)
        fprintf(out, "\n%*s", (int)column, "");
    else
        fputs("  ", out);
    print_wrapped(out, right, column, width);
}

static void print_option(FILE *out, const aphi_option *o, size_t widest, size_t width)
{
    char text[80];
    const char *name, *meaning;
    format_synopsis(o, text, sizeof text);
    print_row(out, text, o->help, 2, widest, width);
    for (size_t i = 0; o->value_at && (name = o->value_at(i, &meaning)); i++)
        print_row(out, name, meaning, widest + 6, 12, width);
}

void aphi_options_help(const aphi_command *c, FILE *out)
{
    size_t width = help_width(out), widest = synopsis_width(c);
    fprintf(out, "usage: antiphon %s %s%s%s\n\n", c->name, c->options->name ? "[OPTION]..." : "",
            c->options->name && *c->operands ? " " : "", c->operands);
    print_wrapped(out, c->description, 0, width);
    fputc('\n', out);
    for (const aphi_option *o = c->options; o->name; o++)
        print_option(out, o, widest, width);
    print_option(out, &help_option, widest, width);
    fputs("\nexit codes: ", out);
    print_wrapped(out, c->exit_codes, strlen("exit codes: "), width);
    fputs("            antiphon help lists all\n", out);
}

void aphi_options_complete(const aphi_command *c, FILE *out)
{
    const char *name, *meaning;
    for (const aphi_option *o = c->options;; o++) {
        const aphi_option *is = o->name ? o : &help_option;
        fprintf(out, "--%s\t", is->name);
        if (is->argument && (!strcmp(is->argument, "FILE") || !strcmp(is->argument, "DIR")))
            fputs("files", out);
        for (size_t i = 0; is->choices && is->choices[i]; i++)
            fprintf(out, "%s%s", i > 0 ? " " : "", is->choices[i]);
        for (size_t i = 0; is->value_at && (name = is->value_at(i, &meaning)); i++)
            fprintf(out, "%s%s", i > 0 ? " " : "", name);
        fprintf(out, "\t%s\n", is->help);
        if (!o->name)
            return;
    }
}

/* ---- manual page ------------------------------------------------------------------------------------------------- */

/* Escapes the characters that roff interprets. */
void aphi_roff_text(FILE *out, const char *text)
{
    for (bool begins = true; *text; text++) {
        if (begins && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        begins = *text == '\n';
        if (*text == '\n')
            fputs("\n.PP", out);
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else if (*text == '\'')
            fputs("\\(aq", out);
        else
            fputc(*text, out);
    }
    fputc('\n', out);
}

void aphi_roff_entry(FILE *out, const char *tag, const char *text)
{
    fputs(".TP\n.B ", out);
    aphi_roff_text(out, tag);
    aphi_roff_text(out, text);
}

static void put_option(FILE *out, const aphi_option *o)
{
    char synopsis[80];
    const char *name, *meaning;
    format_synopsis(o, synopsis, sizeof synopsis);
    aphi_roff_entry(out, synopsis, o->help);
    if (!o->value_at)
        return;
    fputs(".RS\n", out);
    for (size_t i = 0; (name = o->value_at(i, &meaning)); i++)
        aphi_roff_entry(out, name, meaning);
    fputs(".RE\n", out);
}

void aphi_options_manual(const aphi_command *c, FILE *out)
{
    fprintf(out, ".SS antiphon %s %s", c->name, c->options->name ? "[OPTION]... " : "");
    aphi_roff_text(out, c->operands);
    aphi_roff_text(out, c->description);
    for (const aphi_option *o = c->options; o->name; o++)
        put_option(out, o);
    fputs(".PP\nExit codes: ", out);
    aphi_roff_text(out, c->exit_codes);
}
