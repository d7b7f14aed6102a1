/* SPDX-License-Identifier: Apache-2.0
 *
 * buffer.h - bytes that grow. */
#ifndef APHI_BASE_BUFFER_H
#define APHI_BASE_BUFFER_H

#include <stddef.h>

typedef struct aphi_buffer {
    char *data; /* free() frees it; NUL-terminated after aphi_buffer_text */
    size_t n, capacity;
} aphi_buffer;

void aphi_buffer_add(aphi_buffer *b, const void *bytes, size_t n);
void aphi_buffer_byte(aphi_buffer *b, char c);
void aphi_buffer_str(aphi_buffer *b, const char *text);
void aphi_buffer_format(aphi_buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
char *aphi_buffer_text(aphi_buffer *b);
void aphi_buffer_free(aphi_buffer *b);

#endif
