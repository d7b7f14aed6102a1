/* SPDX-License-Identifier: Apache-2.0
 *
 * test_ctokens.c - tokens of C sources: each kind, line splices, invalid sources; and the words of a parser. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>
#include "base/buffer.h"
#include "mutate/csource.h"

static const char letters[] = {[APHI_C_SPACE] = '_', [APHI_C_COMMENT] = '/', [APHI_C_DIRECTIVE] = '#',
                               [APHI_C_IDENTIFIER] = 'i', [APHI_C_NUMBER] = 'n', [APHI_C_CHARACTER] = 'c',
                               [APHI_C_STRING] = 's', [APHI_C_PUNCTUATOR] = 'p'};

/* Compares the tokens other than spaces; each is written as a letter for its kind, then its bytes. Checks that the
 * tokens cover the source. */
static void assert_tokens(const char *text, const char *expected)
{
    aphi_ctokens tokens;
    aphi_cerror error;
    aphi_buffer is = {0};
    if (!aphi_ctokens_read(text, strlen(text), &tokens, &error))
        fail_msg("%u:%u: %s: %s", error.line, error.column, error.message, text);
    size_t at = 0;
    for (size_t i = 0; i < tokens.n; i++) {
        const aphi_ctoken *t = &tokens.items[i];
        assert_int_equal(t->begin, at);
        assert_true(t->end > t->begin);
        at = t->end;
        if (t->kind != APHI_C_SPACE)
            aphi_buffer_format(&is, "%s%c:%.*s", is.n ? " " : "", letters[t->kind], (int)(t->end - t->begin),
                               text + t->begin);
    }
    assert_int_equal(at, strlen(text));
    assert_string_equal(aphi_buffer_text(&is), expected);
    aphi_buffer_free(&is);
    aphi_ctokens_free(&tokens);
}

static void assert_error(const char *text, unsigned line, unsigned column, const char *message)
{
    aphi_ctokens tokens;
    aphi_cerror error;
    assert_false(aphi_ctokens_read(text, strlen(text), &tokens, &error));
    assert_int_equal(error.line, line);
    assert_int_equal(error.column, column);
    assert_string_equal(error.message, message);
    assert_null(tokens.items);
}

static void identifiers(void **unused)
{
    (void)unused;
    assert_tokens("", "");
    assert_tokens("int _a1 $b\tif", "i:int i:_a1 i:$b i:if");
    assert_tokens("gr\xc3\xbc\xc3\x9f" "e \\u00e4x", "i:gr\xc3\xbc\xc3\x9f" "e i:\\u00e4x");
    assert_tokens("L u8 U LL", "i:L i:u8 i:U i:LL");
}

static void numbers(void **unused)
{
    (void)unused;
    assert_tokens("0 42 0x1F 017 0b11 1ULL", "n:0 n:42 n:0x1F n:017 n:0b11 n:1ULL");
    assert_tokens("1.5 .5 1. 1e5 1e+5 1E-5f 0x1.8p-3 0xap+1",
                  "n:1.5 n:.5 n:1. n:1e5 n:1e+5 n:1E-5f n:0x1.8p-3 n:0xap+1");
    /* Each is one preprocessing number in the C standard, although not a valid constant. */
    assert_tokens("0xe+1 1..2", "n:0xe+1 n:1..2");
    assert_tokens("a.b 1-1 a...", "i:a p:. i:b n:1 p:- n:1 i:a p:...");
}

static void strings_and_characters(void **unused)
{
    (void)unused;
    assert_tokens("\"a b\" \"\" \"\\\"\" \"\\\\\"", "s:\"a b\" s:\"\" s:\"\\\"\" s:\"\\\\\"");
    assert_tokens("u8\"x\" L\"x\" u\"x\" U\"x\"R\"x\"", "s:u8\"x\" s:L\"x\" s:u\"x\" s:U\"x\" i:R s:\"x\"");
    assert_tokens("'a' '\\'' L'\"' u8'x' '\\\\' 'ab'", "c:'a' c:'\\'' c:L'\"' c:u8'x' c:'\\\\' c:'ab'");
    assert_tokens("\"a\tb\" 'c\td'", "s:\"a\tb\" c:'c\td'");
    assert_tokens("\"/* no */ // no\"", "s:\"/* no */ // no\"");
}

static void comments(void **unused)
{
    (void)unused;
    assert_tokens("a/**/b/* \" ' */c// d\ne", "i:a /:/**/ i:b /:/* \" ' */ i:c /:// d i:e");
    assert_tokens("a /* x\n# y */ b // z \\\n still\nc", "i:a /:/* x\n# y */ i:b /:// z \\\n still i:c");
    assert_tokens("/*/ */ a /***/ /", "/:/*/ */ i:a /:/***/ p:/");
}

static void punctuators(void **unused)
{
    (void)unused;
    assert_tokens("a+++++b", "i:a p:++ p:++ p:+ i:b");
    assert_tokens("<<= >>= << >> <= >= == != && || -> ... ##",
                  "p:<<= p:>>= p:<< p:>> p:<= p:>= p:== p:!= p:&& p:|| p:-> "
                  "p:... p:##");
    assert_tokens("*= /= %= += -= &= ^= |= ++ --", "p:*= p:/= p:%= p:+= p:-= p:&= p:^= p:|= p:++ p:--");
    assert_tokens("a <: 1 :> <% %> a<::>b", "i:a p:<: n:1 p::> p:<% p:%> i:a p:<: p::> i:b");
    assert_tokens("x ?y:z ~!^|&", "i:x p:? i:y p:: i:z p:~ p:! p:^ p:| p:&");
}

static void directives(void **unused)
{
    (void)unused;
    assert_tokens("#include <a b.h>\nx", "#:#include <a b.h> i:x");
    assert_tokens("  # define X \"/*\" 1\nx", "#:# define X \"/*\" 1 i:x");
    assert_tokens("#define A \\\n  b \\\r\n  c\nx", "#:#define A \\\n  b \\\r\n  c i:x");
    assert_tokens("#error don't\nx", "#:#error don't i:x");
    assert_tokens("/* y */ #pragma once /* a\nb */ c\nx", "/:/* y */ #:#pragma once /* a\nb */ c i:x");
    assert_tokens("%:if 0 // '\nx", "#:%:if 0 // ' i:x");
    assert_tokens("#define\tA\t~1\nx", "#:#define\tA\t~1 i:x");
    assert_tokens("#if a // /* b\nx", "#:#if a // /* b i:x");
    assert_tokens("#define D a/b* /c *d ~/*\n*/ e\nx", "#:#define D a/b* /c *d ~/*\n*/ e i:x");
    assert_tokens("#define S z\"/* b\" '/*' c\nx", "#:#define S z\"/* b\" '/*' c i:x");
    assert_tokens("#define E (a)*b*c/(d)/e\nx", "#:#define E (a)*b*c/(d)/e i:x");
    assert_tokens("#if z/*z\n*/\nx", "#:#if z/*z\n*/ i:x");
    assert_tokens("x # y", "i:x p:# i:y");
    assert_tokens("#", "#:#");
}

static void joined_lines(void **unused)
{
    (void)unused;
    assert_tokens("a \\\n b", "i:a i:b");
    assert_tokens("a\\\nb", "i:a\\\nb");
    assert_tokens("\"a\\\nb\" 1\\\n2 <\\\n<=", "s:\"a\\\nb\" n:1\\\n2 p:<\\\n<=");
    assert_tokens("/\\\n* x *\\\n/ y", "/:/\\\n* x *\\\n/ i:y");
    aphi_ctokens tokens;
    aphi_cerror error;
    assert_true(aphi_ctokens_read("a\\\nb c", 6, &tokens, &error));
    assert_true(tokens.items[0].spliced);
    assert_false(tokens.items[2].spliced);
    assert_int_equal(tokens.items[2].line, 2);
    assert_int_equal(tokens.items[2].column, 3);
    aphi_ctokens_free(&tokens);
}

static void invalid_sources(void **unused)
{
    (void)unused;
    assert_error("a\n \"b\nc\"", 2, 2, "unterminated string");
    assert_error("'a", 1, 1, "unterminated character constant");
    assert_error("\"\\", 1, 1, "unterminated string");
    assert_error("x\n\n/* y\n", 3, 1, "unterminated comment");
    assert_error("#if /* y\n\n", 1, 5, "unterminated comment");
    assert_error("a @", 1, 3, "invalid character");
    assert_error("/* a\n */ \\ b", 2, 5, "invalid character");
    aphi_ctokens tokens;
    aphi_cerror error;
    assert_false(aphi_ctokens_read("a\0b", 3, &tokens, &error));
    assert_string_equal(error.message, "NUL byte");
    assert_false(aphi_ctokens_read("a\n \"\0\"", 6, &tokens, &error));
    assert_true(error.line == 2 && error.column == 3);
}

/* ---- words ------------------------------------------------------------------------------------------------------- */

static void assert_words(const char *text, const char *expected)
{
    aphi_csource s;
    aphi_cerror error;
    aphi_buffer is = {0};
    assert_true(aphi_csource_open(&s, text, strlen(text), &error));
    for (size_t i = 0; i < s.n; i++) {
        const aphi_ctoken *t = aphi_csource_token(&s, i);
        aphi_buffer_format(&is, "%.*s", (int)(t->end - t->begin), text + t->begin);
    }
    assert_string_equal(aphi_buffer_text(&is), expected);
    aphi_buffer_free(&is);
    aphi_csource_close(&s);
}

static void conditional_parts(void **unused)
{
    (void)unused;
    assert_words("a\n#if X\nb {\n#else\nc {\n#endif\nd }\n", "ab{d}");
    assert_words("#if 0\nb (\n#else\nc\n#endif\n", "c");
    assert_words("#ifdef X\na\n#elif Y\nb\n# else\nc\n#endif\nd", "ad");
    assert_words("#if 0\n#if 1\na\n#else\nb\n#endif\n#else\nc\n#endif\n", "c");
    assert_words("#if 00\na\n#endif\n#endif\n#else\nb", "ab");
}

static void brackets(void **unused)
{
    (void)unused;
    aphi_csource s;
    aphi_cerror error;
    assert_true(aphi_csource_open(&s, "a(b<:c:>)<%%>", 13, &error));
    assert_int_equal(s.match[1], 6);
    assert_int_equal(s.match[6], 1);
    assert_int_equal(s.match[3], 5);
    assert_int_equal(s.match[0], 0);
    assert_true(aphi_csource_is(&s, 7, "{") && aphi_csource_is(&s, 3, "["));
    aphi_csource_close(&s);
    assert_false(aphi_csource_open(&s, "a\n(b]", 5, &error));
    assert_true(error.line == 2 && error.column == 3);
    assert_string_equal(error.message, "closing bracket without an opening one");
    assert_false(aphi_csource_open(&s, "{ a", 3, &error));
    assert_string_equal(error.message, "unclosed bracket");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identifiers), cmocka_unit_test(numbers),      cmocka_unit_test(strings_and_characters),
        cmocka_unit_test(comments),    cmocka_unit_test(punctuators),  cmocka_unit_test(directives),
        cmocka_unit_test(joined_lines), cmocka_unit_test(invalid_sources),        cmocka_unit_test(conditional_parts),
        cmocka_unit_test(brackets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
