/* SPDX-License-Identifier: Apache-2.0
 *
 * buffer.c - a growing array of bytes. */
#include "base/buffer.h"

#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void aphi_buffer_add(aphi_buffer *b, const void *bytes, size_t n)
{
    if (!n)
        return;
    APHI_RESERVE(b->data, b->capacity, b->n + n);
    memcpy(b->data + b->n, bytes, n);
    b->n += n;
}

void aphi_buffer_byte(aphi_buffer *b, char c)
{
    aphi_buffer_add(b, &c, 1);
}

void aphi_buffer_str(aphi_buffer *b, const char *text)
{
    aphi_buffer_add(b, text, strlen(text));
}

void aphi_buffer_format(aphi_buffer *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0)
        return;
    APHI_RESERVE(b->data, b->capacity, b->n + (size_t)n + 1);
    va_start(args, format);
    vsnprintf(b->data + b->n, (size_t)n + 1, format, args);
    va_end(args);
    b->n += (size_t)n;
}

uint64_t aphi_hash_bytes(const void *bytes, size_t n)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (const unsigned char *at = bytes; n > 0; n--)
        hash = (hash ^ *at++) * 0x100000001b3u;
    return hash;
}

size_t aphi_decimal(char to[APHI_DECIMAL_MAX], int64_t i)
{
    char digits[APHI_DECIMAL_MAX];
    size_t n = 0, at = 0;
    uint64_t rest = i < 0 ? -(uint64_t)i : (uint64_t)i;
    do
        digits[n++] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (i < 0)
        to[at++] = '-';
    while (n)
        to[at++] = digits[--n];
    return at;
}

void aphi_buffer_int(aphi_buffer *b, int64_t i)
{
    APHI_RESERVE(b->data, b->capacity, b->n + APHI_DECIMAL_MAX);
    b->n += aphi_decimal(b->data + b->n, i);
}

size_t aphi_utf8_next(const char *bytes, size_t n, uint32_t *point)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = (unsigned char)bytes[0];
    if (first < 0x80) {
        *point = first;
        return 1;
    }
    size_t length = first >= 0xf8 ? 0 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 0;
    *point = APHI_UTF8_INVALID;
    if (!length || length > n)
        return 1;
    uint32_t p = first & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if (((unsigned char)bytes[i] & 0xc0) != 0x80)
            return 1;
        p = p << 6 | ((unsigned char)bytes[i] & 0x3f);
    }
    if (p < least[length] || p > 0x10ffff || (p >= 0xd800 && p <= 0xdfff))
        return 1;
    *point = p;
    return length;
}

void aphi_utf8_add(aphi_buffer *out, uint32_t p)
{
    if (p < 0x80) {
        aphi_buffer_byte(out, (char)p);
        return;
    }
    int more = p < 0x800 ? 1 : p < 0x10000 ? 2 : 3;
    aphi_buffer_byte(out, (char)((0xff00u >> (more + 1) & 0xff) | p >> 6 * more));
    while (more--)
        aphi_buffer_byte(out, (char)(0x80 | (p >> 6 * more & 0x3f)));
}

int aphi_hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

void aphi_buffer_json_string(aphi_buffer *b, const char *bytes, size_t n)
{
    static const char named[] = "\b\f\n\r\t\"\\", names[] = "bfnrt\"\\";
    const unsigned char *s = (const unsigned char *)bytes;
    aphi_buffer_byte(b, '"');
    for (size_t i = 0, length; i < n; i += length) {
        uint32_t point = s[i];
        length = point < 0x80 ? 1 : aphi_utf8_next(bytes + i, n - i, &point);
        const char *special = s[i] ? strchr(named, s[i]) : NULL;
        if (point == APHI_UTF8_INVALID)
            aphi_buffer_format(b, "\\udc%02x", s[i]);
        else if (special)
            aphi_buffer_format(b, "\\%c", names[special - named]);
        else if (s[i] < ' ')
            aphi_buffer_format(b, "\\u%04x", s[i]);
        else
            aphi_buffer_add(b, s + i, length);
    }
    aphi_buffer_byte(b, '"');
}

void aphi_buffer_json_text(aphi_buffer *b, const char *text)
{
    aphi_buffer_json_string(b, text, strlen(text));
}

ssize_t aphi_read_line(char **line, size_t *capacity, FILE *in)
{
    errno = 0;
    ssize_t n = getline(line, capacity, in);
    if (n < 0 && errno == ENOMEM)
        aphi_memory_exhausted("a line of a file");
    return n;
}

char *aphi_buffer_text(aphi_buffer *b)
{
    APHI_RESERVE(b->data, b->capacity, b->n + 1);
    b->data[b->n] = '\0';
    return b->data;
}

/* The pair whose name begins the text. */
static const char *const *find_pair(const char *text, size_t n, const char *const pairs[][2])
{
    for (; pairs[0][0]; pairs++)
        if (strlen(pairs[0][0]) <= n && !memcmp(text, pairs[0][0], strlen(pairs[0][0])))
            return pairs[0];
    return NULL;
}

void aphi_buffer_expand(aphi_buffer *b, const char *text, size_t n, const char *const pairs[][2])
{
    for (const char *const *pair; n > 0;) {
        size_t used = (pair = find_pair(text, n, pairs)) ? strlen(pair[0]) : 1;
        aphi_buffer_add(b, pair ? pair[1] : text, pair ? strlen(pair[1]) : 1);
        text += used;
        n -= used;
    }
}

bool aphi_buffer_read_fd(aphi_buffer *b, int fd, size_t most)
{
    char piece[1 << 14];
    ssize_t n = 1;
    while (b->n < most && n != 0) {
        n = read(fd, piece, sizeof piece);
        if (n < 0 && errno != EINTR)
            return false;
        aphi_buffer_add(b, piece, n > 0 ? (size_t)n : 0);
    }
    return true;
}

bool aphi_buffer_load(aphi_buffer *b, const char *path, size_t most)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool read = fd >= 0 && aphi_buffer_read_fd(b, fd, most);
    int failure = errno;
    if (fd >= 0)
        close(fd);
    errno = failure;
    return read;
}

size_t aphi_write_all(int fd, const void *bytes, size_t n)
{
    size_t at = 0;
    while (at < n) {
        ssize_t written = write(fd, (const char *)bytes + at, n - at);
        if (written < 0 && errno != EINTR)
            break;
        at += written > 0 ? (size_t)written : 0;
    }
    return at;
}

bool aphi_buffer_save(const aphi_buffer *b, const char *path)
{
    aphi_file file;
    if (!aphi_file_create(&file, path))
        return false;
    fwrite(b->data, 1, b->n, file.stream); /* a failure is observed by commit */
    return aphi_file_commit(&file);
}

void aphi_buffer_free(aphi_buffer *b)
{
    free(b->data);
    *b = (aphi_buffer){0};
}
