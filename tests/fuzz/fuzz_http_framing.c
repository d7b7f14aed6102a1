/* SPDX-License-Identifier: Apache-2.0
 *
 * fuzz_http_framing.c - any input is split into pieces that together equal the input, for any segmentation;
 * injecting a fault does not change the number of messages.
 *
 * The first byte selects the direction and the kind of fault; the second selects the number of bytes per read. */
#include "fault/fault_kinds.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const kinds[] = {"599-as-598", "put-as-get", "wrong-path", "weaken-if-match", "drop-byte",
                                    "strip-weak-if-none-match", "flip-tag-bit", "add-byte", "wrong-field-name",
                                    "drop-byte:request", "add-byte:request", "drop-request-body", "drop-response-body",
                                    "200-as-304", "304-as-200", "drop-if-match"};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* The result of one segmentation. */
typedef struct reading {
    aphi_buffer passed;   /* the bytes after fault injection */
    aphi_buffer heads;    /* each head, line and end, followed by its kind; one mark for each run of data */
    size_t messages;
    bool opaque;
    bool complete;        /* the last message is complete */
} reading;

static void record(reading *r, const aphi_piece *p, const char *bytes)
{
    bool data = p->kind == APHI_PIECE_DATA || p->kind == APHI_PIECE_OPAQUE || p->kind == APHI_PIECE_BLANK;
    char mark = (char)('A' + (int)p->kind);
    if (data && r->heads.n && r->heads.data[r->heads.n - 1] == mark)
        return;
    if (!data)
        aphi_buffer_add(&r->heads, bytes, p->n);
    aphi_buffer_byte(&r->heads, mark);
    r->messages += p->kind == APHI_PIECE_END;
    r->opaque = r->opaque || p->kind == APHI_PIECE_OPAQUE;
}

static aphi_fault_effect head_effect(aphi_http_framing *s, aphi_fault *b, const char *bytes, size_t n, bool answers,
                                   aphi_buffer *out)
{
    aphi_head head;
    aphi_head_read(&head, bytes, n, answers, 0);
    aphi_http_framing_body(s, &head);
    return aphi_fault_head(b, &head, false, 0, out);
}

static reading read_all(const char *data, size_t size, size_t chunk, bool answers, const char *kind)
{
    reading r = {0};
    aphi_http_framing s = {0};
    aphi_fault_effect effect = {0};
    aphi_fault b;
    char error[200];
    assert(aphi_fault_parse(&b, kind, error, sizeof error));
    size_t start = 0, arrived = 0;
    for (;;) {
        size_t n = arrived - start;
        char *bytes = malloc(n ? n : 1); /* an exact copy, so that the sanitizer detects reads past the end */
        memcpy(bytes, data + start, n);
        aphi_piece p = aphi_http_framing_next(&s, bytes, n, arrived == size);
        assert(p.n <= n);
        if (p.kind != APHI_PIECE_MORE)
            record(&r, &p, bytes);
        if (p.kind == APHI_PIECE_HEAD)
            effect = head_effect(&s, &b, bytes, p.n, answers, &r.passed);
        else if (p.kind != APHI_PIECE_MORE)
            aphi_fault_effect_apply(&effect, &p, bytes, &r.passed);
        if (p.kind == APHI_PIECE_END)
            effect = (aphi_fault_effect){0};
        free(bytes);
        start += p.n;
        if (p.kind == APHI_PIECE_MORE && arrived == size)
            break;
        if (p.kind == APHI_PIECE_MORE)
            arrived = size - arrived < chunk ? size : arrived + chunk;
    }
    assert(start == size);
    r.complete = s.state == APHI_FRAMING_HEAD;
    if (!b.broken)
        assert(r.passed.n == size && (!size || !memcmp(r.passed.data, data, size)));
    return r;
}

static void compare(const aphi_buffer *a, const aphi_buffer *b)
{
    assert(a->n == b->n && (!a->n || !memcmp(a->data, b->data, a->n)));
}

static void drop(reading *r)
{
    aphi_buffer_free(&r->passed);
    aphi_buffer_free(&r->heads);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    bool answers = data[0] & 1;
    const char *kind = kinds[data[0] / 2 % KINDS], *bytes = (const char *)data + 2;
    size -= 2;
    reading whole = read_all(bytes, size, size ? size : 1, answers, kind);
    reading cut = read_all(bytes, size, data[1] % 16 + 1, answers, kind);
    compare(&whole.heads, &cut.heads);
    compare(&whole.passed, &cut.passed);
    if (!whole.opaque && whole.complete) {
        const char *passed = aphi_buffer_text(&whole.passed);
        reading again = read_all(passed, whole.passed.n, whole.passed.n + 1, answers, "599-as-598");
        assert(again.messages == whole.messages);
        drop(&again);
    }
    drop(&whole);
    drop(&cut);
    return 0;
}
