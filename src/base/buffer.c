/* SPDX-License-Identifier: Apache-2.0
 *
 * buffer.c - bytes that grow. */
#include "base/buffer.h"

#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

char *aphi_buffer_text(aphi_buffer *b)
{
    APHI_RESERVE(b->data, b->capacity, b->n + 1);
    b->data[b->n] = '\0';
    return b->data;
}

void aphi_buffer_read(aphi_buffer *b, FILE *from, size_t most)
{
    char piece[1 << 14];
    for (size_t n; b->n < most && (n = fread(piece, 1, sizeof piece, from)) > 0;)
        aphi_buffer_add(b, piece, n);
}

void aphi_buffer_free(aphi_buffer *b)
{
    free(b->data);
    *b = (aphi_buffer){0};
}
