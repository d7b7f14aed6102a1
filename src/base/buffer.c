/* SPDX-License-Identifier: Apache-2.0
 *
 * buffer.c - a growing array of bytes. */
#include "base/buffer.h"

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

/* Length of the UTF-8 sequence at s, or 0 if it is invalid. */
static size_t utf8_length(const unsigned char *s, size_t n)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = s[0] < 0x80 ? 1 : s[0] >> 5 == 6 ? 2 : s[0] >> 4 == 14 ? 3 : s[0] >> 3 == 30 ? 4 : 0;
    if (length < 2 || length > n)
        return length == 1;
    uint32_t code = s[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if (s[i] >> 6 != 2)
            return 0;
        code = code << 6 | (s[i] & 63);
    }
    return code >= least[length] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? length : 0;
}

void aphi_buffer_json_string(aphi_buffer *b, const char *bytes, size_t n)
{
    static const char named[] = "\b\f\n\r\t\"\\", names[] = "bfnrt\"\\";
    const unsigned char *s = (const unsigned char *)bytes;
    aphi_buffer_byte(b, '"');
    for (size_t i = 0, length; i < n; i += length ? length : 1) {
        length = utf8_length(s + i, n - i);
        const char *special = s[i] ? strchr(named, s[i]) : NULL;
        if (!length)
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
    FILE *file = fopen(path, "we");
    bool written = file && fwrite(b->data, 1, b->n, file) == b->n;
    return file && !fclose(file) && written;
}

void aphi_buffer_free(aphi_buffer *b)
{
    free(b->data);
    *b = (aphi_buffer){0};
}
