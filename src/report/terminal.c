/* SPDX-License-Identifier: Apache-2.0
 *
 * terminal.c - capabilities of the output terminal, and a progress line.
 *
 * Cost: aphi_progress_at is a decrement, except once in `interval` calls, when it reads the clock. The interval doubles
 *       while two readings are less than a millisecond apart and falls back to 1 when they are over 20 ms apart. */
#include "report/terminal.h"

#include "base/clock.h"
#include "report/utf8.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define COLUMNS_DEFAULT 100
#define COLUMNS_MIN 40
#define COLUMNS_MAX 1000

#define MS_NS INT64_C(1000000)
#define SECOND_NS (1000 * MS_NS)
#define PROGRESS_FIRST_NS SECOND_NS
#define PROGRESS_EVERY_NS (100 * MS_NS)
#define INTERVAL_MAX 65536

/* ---- capabilities ------------------------------------------------------------------------------------------------ */

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value;
}

static bool wants_colour(bool interactive, aphi_colour colour)
{
    if (colour != APHI_COLOUR_AUTO)
        return colour == APHI_COLOUR_ALWAYS;
    const char *term = getenv("TERM");
    return interactive && !is_set("NO_COLOR") && term && *term && strcmp(term, "dumb") != 0;
}

static bool locale_is_utf8(void)
{
    const char *locale = is_set("LC_ALL") ? getenv("LC_ALL") : is_set("LC_CTYPE") ? getenv("LC_CTYPE") : getenv("LANG");
    const char *charset = locale ? strchr(locale, '.') : NULL;
    return charset && (!strncasecmp(charset, ".utf-8", 6) || !strncasecmp(charset, ".utf8", 5));
}

static size_t columns_of(int fd, bool interactive)
{
    struct winsize size;
    unsigned long columns = 0;
    if (interactive && !ioctl(fd, TIOCGWINSZ, &size))
        columns = size.ws_col;
    if (!columns && is_set("COLUMNS"))
        columns = strtoul(getenv("COLUMNS"), NULL, 10);
    if (!columns)
        columns = COLUMNS_DEFAULT;
    return columns < COLUMNS_MIN ? COLUMNS_MIN : columns > COLUMNS_MAX ? COLUMNS_MAX : columns;
}

aphi_terminal aphi_terminal_of(FILE *stream, aphi_colour colour)
{
    int fd = fileno(stream);
    bool interactive = fd >= 0 && isatty(fd);
    return (aphi_terminal){
        .interactive = interactive,
        .colour = wants_colour(interactive, colour),
        .unicode = locale_is_utf8(),
        .columns = columns_of(fd, interactive),
    };
}

/* ---- ink --------------------------------------------------------------------------------------------------------- */

const char *aphi_terminal_ink(const aphi_terminal *t, aphi_ink ink)
{
    static const char *const codes[] = {
        [APHI_INK_NONE] = "\33[0m", [APHI_INK_RED] = "\33[31m", [APHI_INK_GREEN] = "\33[32m",
        [APHI_INK_YELLOW] = "\33[33m", [APHI_INK_DIM] = "\33[2m", [APHI_INK_BOLD] = "\33[1m",
        [APHI_INK_ALARM] = "\33[1;31m",
    };
    return t->colour ? codes[ink] : "";
}

void aphi_terminal_paint(aphi_buffer *out, const aphi_terminal *t, aphi_ink ink, const char *text)
{
    bool plain = ink == APHI_INK_NONE;
    aphi_buffer_str(out, plain ? "" : aphi_terminal_ink(t, ink));
    aphi_utf8_clean(out, text, t->unicode);
    aphi_buffer_str(out, plain ? "" : aphi_terminal_ink(t, APHI_INK_NONE));
}

void aphi_terminal_line(aphi_buffer *out, const aphi_terminal *t, aphi_ink ink, const char *before, const char *text)
{
    aphi_buffer line = {0};
    aphi_buffer_format(&line, "%s%s", before, text);
    aphi_terminal_paint(out, t, ink, aphi_buffer_text(&line));
    aphi_buffer_byte(out, '\n');
    aphi_buffer_free(&line);
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

void aphi_report_digits(aphi_buffer *out, const char *digits)
{
    for (size_t n = strlen(digits), i = 0; i < n; i++) {
        aphi_buffer_str(out, i && (n - i) % 3 == 0 ? "," : "");
        aphi_buffer_byte(out, digits[i]);
    }
}

void aphi_report_count(aphi_buffer *out, uint64_t count)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%llu", (unsigned long long)count);
    aphi_report_digits(out, digits);
}

void aphi_report_counted(aphi_buffer *out, uint64_t count, const char *noun)
{
    aphi_report_count(out, count);
    aphi_buffer_format(out, " %s%s", noun, count == 1 ? "" : "s");
}

void aphi_report_duration(aphi_buffer *out, int64_t ns)
{
    if (ns >= 60 * SECOND_NS) {
        long long s = (ns + SECOND_NS / 2) / SECOND_NS;
        aphi_buffer_format(out, "%lld min %02lld s", s / 60, s % 60);
        return;
    }
    /* 999.5 of a unit would be printed as 1000, so the next unit starts at that value. */
    static const struct { int64_t unit; const char *name; } units[] = {{1, "ns"}, {1000, "us"}, {MS_NS, "ms"}};
    double value = (double)ns / (double)SECOND_NS;
    const char *name = "s";
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        double v = (double)ns / (double)units[i].unit;
        if (v < 999.5) {
            value = v;
            name = units[i].name;
            break;
        }
    }
    bool whole = value == (double)(int64_t)value && *name == 'n';
    int decimals = whole || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    aphi_buffer_format(out, "%.*f %s", decimals, value, name);
}

/* ---- progress ---------------------------------------------------------------------------------------------------- */

static struct {
    bool on;        /* begun, and stderr is a terminal */
    bool shown;     /* the line is on the screen */
    aphi_terminal terminal;
    const char *title;
    uint64_t total;
    int64_t begun_ns, read_ns, next_ns;
    uint32_t interval, left; /* calls between two readings of the clock; calls left */
    int64_t rated_ns;        /* time of the last rate of a live run, */
    uint64_t rated, rate;    /* messages at that time, and the rate */
} progress;

/* Uses whole seconds: finer digits would change too fast to read. */
static void add_time_left(aphi_buffer *out, int64_t ns)
{
    int64_t s = (ns + SECOND_NS - 1) / SECOND_NS;
    if (s < 60)
        aphi_buffer_format(out, "%lld s left", (long long)s);
    else
        aphi_buffer_format(out, "%lld min %02lld s left", (long long)(s / 60), (long long)(s % 60));
}

void aphi_progress_text(aphi_buffer *out, const aphi_terminal *t, const char *title, uint64_t done, uint64_t total,
                        int64_t ns)
{
    aphi_buffer line = {0}, clean = {0};
    aphi_buffer_format(&line, "%s  ", title);
    aphi_report_count(&line, done);
    if (total) {
        aphi_buffer_str(&line, " of ");
        aphi_report_count(&line, total);
        double part = (double)done / (double)total;
        aphi_buffer_format(&line, " (%d%%)", done >= total ? 100 : (int)(part * 100));
    }
    if (ns < 60 * SECOND_NS) {
        aphi_buffer_format(&line, "  %lld s", (long long)(ns / SECOND_NS));
    } else {
        aphi_buffer_str(&line, "  ");
        aphi_report_duration(&line, ns);
    }
    if (done && done < total) { /* assumes constant speed */
        aphi_buffer_str(&line, ", about ");
        add_time_left(&line, (int64_t)((double)ns * (double)(total - done) / (double)done));
    }
    aphi_utf8_clean(&clean, aphi_buffer_text(&line), t->unicode);
    /* The last column stays free: writing to it wraps the line. */
    aphi_utf8_cut(out, aphi_buffer_text(&clean), t->columns - 1, t->unicode);
    aphi_buffer_free(&clean);
    aphi_buffer_free(&line);
}

/* ---- the line of a live run -------------------------------------------------------------------------------------- */

typedef enum live_part { PART_MESSAGES, PART_RATE, PART_EXPLANATIONS, PART_BRANCHES, PART_LEFT, PARTS } live_part;

static void add_part(aphi_buffer *out, live_part part, const aphi_live *l)
{
    switch (part) {
    case PART_MESSAGES: aphi_report_counted(out, l->messages, "message"); break;
    case PART_RATE:
        aphi_report_count(out, l->rate);
        aphi_buffer_str(out, "/s");
        break;
    case PART_EXPLANATIONS: aphi_report_counted(out, l->explanations, "explanation"); break;
    case PART_BRANCHES:
        aphi_buffer_str(out, "branches ");
        aphi_report_count(out, l->reached);
        aphi_buffer_byte(out, '/');
        aphi_report_count(out, l->branches);
        break;
    case PART_LEFT: add_time_left(out, l->left_ns); break;
    case PARTS: break;
    }
}

/* Adds the selected parts of the line, in order. */
static void add_parts(aphi_buffer *out, const bool *is_in, const aphi_live *l)
{
    for (live_part p = 0; p < PARTS; p++) {
        if (!is_in[p])
            continue;
        aphi_buffer_str(out, out->n ? "  " : "");
        add_part(out, p, l);
    }
}

void aphi_live_text(aphi_buffer *out, const aphi_terminal *t, const char *title, const aphi_live *l)
{
    static const live_part dispensable[] = {PART_EXPLANATIONS, PART_BRANCHES, PART_RATE, PART_LEFT};
    enum { TITLE_MIN = 8 };
    bool is_in[PARTS] = {true, l->rate > 0, true, l->branches > 0, l->left_ns >= 0};
    size_t columns = t->columns - 1; /* writing to the last column wraps the line */
    aphi_buffer parts = {0}, clean = {0};
    aphi_utf8_clean(&clean, title, t->unicode);
    add_parts(&parts, is_in, l);
    for (size_t i = 0; parts.n + 2 + TITLE_MIN > columns && i < sizeof dispensable / sizeof *dispensable; i++) {
        is_in[dispensable[i]] = false;
        parts.n = 0;
        add_parts(&parts, is_in, l);
    }
    if (parts.n + 2 + TITLE_MIN <= columns) {
        aphi_utf8_cut(out, aphi_buffer_text(&clean), columns - parts.n - 2, t->unicode);
        aphi_buffer_str(out, "  ");
    }
    aphi_utf8_cut(out, aphi_buffer_text(&parts), columns, t->unicode);
    aphi_buffer_free(&clean);
    aphi_buffer_free(&parts);
}

/* ---- output ------------------------------------------------------------------------------------------------------ */

/* Replaces the line on the screen with text, and frees text. */
static void put_line(aphi_buffer *text)
{
    fprintf(stderr, "\r%s%s%s\33[K", aphi_terminal_ink(&progress.terminal, APHI_INK_DIM), aphi_buffer_text(text),
            aphi_terminal_ink(&progress.terminal, APHI_INK_NONE));
    fflush(stderr);
    aphi_buffer_free(text);
    progress.shown = true;
}

void aphi_progress_begin(const char *title, uint64_t total)
{
    aphi_progress_end();
    aphi_terminal terminal = aphi_terminal_of(stderr, APHI_COLOUR_AUTO);
    const char *term = getenv("TERM");
    if (!terminal.interactive || !term || !strcmp(term, "dumb"))
        return; /* not a terminal, or one that cannot erase the line */
    int64_t now = aphi_clock_ns();
    progress.on = true;
    progress.terminal = terminal;
    progress.title = title;
    progress.total = total;
    progress.begun_ns = progress.read_ns = progress.rated_ns = now;
    progress.rated = progress.rate = 0;
    progress.next_ns = now + PROGRESS_FIRST_NS;
    progress.interval = progress.left = 1;
}

/* Returns true, and the time, if the line is due for an update. */
static bool is_due(int64_t *now)
{
    if (!progress.on || --progress.left)
        return false;
    *now = aphi_clock_ns();
    int64_t passed = *now - progress.read_ns;
    if (passed < MS_NS && progress.interval < INTERVAL_MAX)
        progress.interval *= 2;
    else if (passed > 20 * MS_NS)
        progress.interval = 1;
    progress.left = progress.interval;
    progress.read_ns = *now;
    if (*now < progress.next_ns)
        return false;
    progress.next_ns = *now + PROGRESS_EVERY_NS;
    return true;
}

void aphi_progress_at(uint64_t done)
{
    int64_t now;
    if (!is_due(&now))
        return;
    aphi_buffer text = {0};
    aphi_progress_text(&text, &progress.terminal, progress.title, done, progress.total, now - progress.begun_ns);
    put_line(&text);
}

/* Averages over at least a second, so that the rate is readable. */
static uint64_t rate_of(uint64_t messages, int64_t now)
{
    int64_t passed = now - progress.rated_ns;
    if (passed >= SECOND_NS && messages >= progress.rated) {
        progress.rate = (uint64_t)((double)(messages - progress.rated) * (double)SECOND_NS / (double)passed);
        progress.rated = messages;
        progress.rated_ns = now;
    }
    return progress.rate;
}

void aphi_progress_live(const aphi_live *live)
{
    int64_t now;
    if (!is_due(&now))
        return;
    aphi_buffer text = {0};
    aphi_live shown = *live;
    shown.rate = rate_of(live->messages, now);
    aphi_live_text(&text, &progress.terminal, progress.title, &shown);
    put_line(&text);
}

void aphi_progress_hide(void)
{
    if (!progress.shown)
        return;
    fputs("\r\33[K", stderr);
    fflush(stderr);
    progress.shown = false;
}

void aphi_progress_end(void)
{
    aphi_progress_hide();
    progress.on = false;
}
