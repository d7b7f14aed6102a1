/* SPDX-License-Identifier: Apache-2.0
 *
 * buffer.h - a growing array of bytes. */
#ifndef APHI_BASE_BUFFER_H
#define APHI_BASE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct aphi_buffer {
    char *data; /* for free(); NUL-terminated after aphi_buffer_text */
    size_t n, capacity;
} aphi_buffer;

void aphi_buffer_add(aphi_buffer *b, const void *bytes, size_t n);
void aphi_buffer_byte(aphi_buffer *b, char c);
void aphi_buffer_str(aphi_buffer *b, const char *text);
void aphi_buffer_format(aphi_buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void aphi_buffer_int(aphi_buffer *b, int64_t i);
/* Appends a JSON string in quotes. A byte XX that is not part of valid UTF-8 is written as \udcXX. */
void aphi_buffer_json_string(aphi_buffer *b, const char *bytes, size_t n);
void aphi_buffer_json_text(aphi_buffer *b, const char *text);
/* Appends the text with each name replaced by its value. The list of (name, value) pairs ends with NULL. */
void aphi_buffer_expand(aphi_buffer *b, const char *text, size_t n, const char *const pairs[][2]);
/* Reads to the end of the file, or until the buffer has `most` bytes or slightly more. Returns false with errno if
 * reading failed. */
bool aphi_buffer_load(aphi_buffer *b, const char *path, size_t most);
/* Like aphi_buffer_load, for a descriptor. */
bool aphi_buffer_read_fd(aphi_buffer *b, int fd, size_t most);
/* Writes n bytes, and continues after interruptions. Returns the number of bytes written; if fewer than n, errno is
 * set. */
size_t aphi_write_all(int fd, const void *bytes, size_t n);
/* Writes a file as a whole, as aphi_file does. Returns false with errno if it fails. */
bool aphi_buffer_save(const aphi_buffer *b, const char *path);
char *aphi_buffer_text(aphi_buffer *b);
/* Like getline, for a line of any length that fits in memory. */
ssize_t aphi_read_line(char **line, size_t *capacity, FILE *in);
void aphi_buffer_free(aphi_buffer *b);

#define APHI_UTF8_INVALID UINT32_MAX

/* Decodes the first code point of n > 0 bytes and returns its length in bytes. An invalid byte, also of an overlong
 * form or a surrogate, is decoded as APHI_UTF8_INVALID. */
size_t aphi_utf8_next(const char *bytes, size_t n, uint32_t *point);
void aphi_utf8_add(aphi_buffer *out, uint32_t point);
/* The value of a hexadecimal digit; -1 if it is not one. */
int aphi_hex_digit(char c);

/* Returns the FNV-1a hash, which never changes between versions. */
uint64_t aphi_hash_bytes(const void *bytes, size_t n);

/* Writes i in decimal, without a NUL. Returns the number of characters. Keys and trace lines contain many integers, and
 * printf takes ten times as long. */
#define APHI_DECIMAL_MAX 20
size_t aphi_decimal(char to[APHI_DECIMAL_MAX], int64_t i);

#endif
