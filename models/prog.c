/* SPDX-License-Identifier: Apache-2.0
 *
 * prog.c - parser and interpreter of Prog programs, as models.
 *
 * Idea:       a recursive-descent parser builds a tree of nodes; the step of the model interprets it. The memory of the
 *             integer machine is the state: an object from decimal addresses to their contents.
 * Invariants: 1. An address that contains 0 is absent, so equal memories are equal objects.
 *             2. Addresses 0 and 1 are not in the state: each step overwrites both before the program can read them.
 *             3. The choice is made when !0 is first read, not at the start of the step as in the paper. The difference
 *                is not observable, and a step that does not read !0 creates no unknown.
 *             4. Recursion in the parser and the tree is limited to DEPTH_MAX for any text: nodes store their height,
 *                and sequences of writes and else-if are loops.
 * Cost:       linear in the text; a step is linear in the nodes on its path.
 * Read next:  docs/writing-models.md, tests/unit/test_prog.c */
#include "prog.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 500 };

/* ---- programs ---------------------------------------------------------------------------------------------------- */

typedef enum node_kind { CONSTANT, ADDRESS, OPERATION, WRITE, IF, RETURN } node_kind;

typedef struct node node;
struct node {
    node *allocated;     /* the node allocated before this one */
    node_kind kind;
    int height;          /* of an expression */
    aph_op op;           /* OPERATION */
    int64_t number;      /* CONSTANT; ADDRESS and WRITE: the address */
    node *a, *b;         /* OPERATION: operands; WRITE: a is the source; IF: a <= b */
    node *next;          /* WRITE: the next node; IF: the branch if a <= b */
    node *otherwise;     /* IF: the branch if a > b */
    char name[32];       /* IF: its position */
};

typedef struct program {
    aph_model model; /* must be first: a pointer to it is a pointer to the program */
    node *body, *allocated;
    bool bounded;
    int64_t low, high; /* range of the choice, if bounded */
    char name[];
} program;

static void *allocate(size_t bytes)
{
    return aph_allocate(bytes);
}

static node *make(program *p, node_kind kind, int64_t number)
{
    node *n = allocate(sizeof *n);
    *n = (node){.allocated = p->allocated, .kind = kind, .number = number, .height = 1};
    return p->allocated = n;
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

typedef enum token {
    T_END,
    T_NUMBER,
    T_CHOICES,
    T_ELSE,
    T_IF,
    T_RETURN,
    T_THEN,
    T_ASSIGN,
    T_LE,
    T_RANGE,
    T_BANG,
    T_SEMICOLON,
    T_PLUS,
    T_MINUS,
    T_TIMES,
    T_OVER,
    T_OPEN,
    T_CLOSE,
    T_WRONG,
} token;

/* The symbols of the paper are accepted, too. */
static const struct {
    const char *text;
    token token;
} signs[] = {
    {":=", T_ASSIGN}, {"\u2190", T_ASSIGN}, {"<=", T_LE},  {"\u2264", T_LE}, {"..", T_RANGE},
    {"!", T_BANG},    {";", T_SEMICOLON},   {"+", T_PLUS}, {"-", T_MINUS},   {"*", T_TIMES},
    {"\u00d7", T_TIMES}, {"/", T_OVER},     {"\u00f7", T_OVER}, {"(", T_OPEN}, {")", T_CLOSE},
};

static const struct {
    const char *text;
    token token;
} words[] = {
    {"choices", T_CHOICES}, {"else", T_ELSE}, {"if", T_IF}, {"return", T_RETURN}, {"then", T_THEN},
};

typedef struct parser {
    program *program;
    const char *at, *end; /* after the token */
    const char *start;    /* of the token */
    const char *line_start;
    int line;
    token token;
    uint64_t number;      /* of T_NUMBER, at most 2^63 */
    int depth;
    bool failed;
    aph_prog_error *error;
} parser;

/* Keeps the first error. Afterwards every token is the end of the text, so all loops stop. */
__attribute__((format(printf, 2, 3))) static void fail(parser *p, const char *format, ...)
{
    if (!p->failed) {
        va_list args;
        va_start(args, format);
        vsnprintf(p->error->message, sizeof p->error->message, format, args);
        va_end(args);
        p->error->line = p->line;
        p->error->column = (int)(p->start - p->line_start) + 1;
    }
    p->failed = true;
    p->token = T_END;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static void skip_blanks(parser *p)
{
    for (; p->at < p->end; p->at++) {
        if (*p->at == '#')
            while (p->at + 1 < p->end && p->at[1] != '\n')
                p->at++;
        else if (*p->at == '\n')
            p->line++, p->line_start = p->at + 1;
        else if (*p->at != ' ' && *p->at != '\t' && *p->at != '\r')
            return;
    }
}

static token read_number(parser *p)
{
    for (p->number = 0; p->at < p->end && is_digit(*p->at); p->at++) {
        unsigned digit = (unsigned)(*p->at - '0');
        if (p->number > ((uint64_t)INT64_MAX + 1 - digit) / 10) {
            fail(p, "this integer does not fit in 64 bits");
            return T_END;
        }
        p->number = p->number * 10 + digit;
    }
    return T_NUMBER;
}

static token read_word(parser *p)
{
    while (p->at < p->end && (is_letter(*p->at) || is_digit(*p->at)))
        p->at++;
    size_t n = (size_t)(p->at - p->start);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].text) == n && !memcmp(words[i].text, p->start, n))
            return words[i].token;
    return T_WRONG;
}

static token read_sign(parser *p)
{
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
        size_t n = strlen(signs[i].text);
        if (n <= (size_t)(p->end - p->at) && !memcmp(signs[i].text, p->at, n)) {
            p->at += n;
            return signs[i].token;
        }
    }
    p->at++;
    return T_WRONG;
}

static void next(parser *p)
{
    if (p->failed)
        return;
    skip_blanks(p);
    p->start = p->at;
    if (p->at == p->end)
        p->token = T_END;
    else if (is_digit(*p->at))
        p->token = read_number(p);
    else
        p->token = is_letter(*p->at) ? read_word(p) : read_sign(p);
}

/* ---- parsing ----------------------------------------------------------------------------------------------------- */

static void fail_expected(parser *p, const char *expected)
{
    unsigned char c = p->start < p->end ? (unsigned char)*p->start : 0;
    int n = p->at - p->start > 20 ? 20 : (int)(p->at - p->start);

    if (p->token == T_END)
        fail(p, "expected %s, found the end of the program", expected);
    else if (p->token == T_WRONG && (c < 0x20 || c > 0x7e))
        fail(p, "expected %s, found the byte 0x%02x", expected, c);
    else
        fail(p, "expected %s, found '%.*s'", expected, n, p->start);
}

static bool accept(parser *p, token t)
{
    if (p->failed || p->token != t)
        return false;
    next(p);
    return true;
}

static void expect(parser *p, token t, const char *expected)
{
    if (!p->failed && !accept(p, t))
        fail_expected(p, expected);
}

/* Enters a level of nesting; leave() ends it. */
static bool enter(parser *p)
{
    if (++p->depth > DEPTH_MAX)
        fail(p, "nested too deeply: more than %d levels", DEPTH_MAX);
    return !p->failed;
}

static void leave(parser *p)
{
    p->depth--;
}

/* Parses an integer; negates it if a minus sign was read before. */
static int64_t parse_number(parser *p, bool minus, const char *expected)
{
    uint64_t number = p->number;
    if (p->token == T_NUMBER && !minus && number > INT64_MAX)
        fail(p, "this integer does not fit in 64 bits");
    expect(p, T_NUMBER, expected);
    return minus ? (int64_t)(0 - number) : (int64_t)number;
}

static node *parse_sum(parser *p);

static node *operation(parser *p, aph_op op, node *a, node *b)
{
    node *n = make(p->program, OPERATION, 0);
    n->op = op;
    n->a = a;
    n->b = b;
    n->height = 1 + (a->height > b->height ? a->height : b->height);
    if (n->height > DEPTH_MAX)
        fail(p, "this expression is too long: more than %d operations deep", DEPTH_MAX);
    return n;
}

static node *parse_operand(parser *p)
{
    node *n;
    if (!enter(p)) {
        n = make(p->program, CONSTANT, 0);
    } else if (accept(p, T_BANG)) {
        n = make(p->program, ADDRESS, parse_number(p, false, "an address after '!'"));
    } else if (accept(p, T_OPEN)) {
        n = parse_sum(p);
        expect(p, T_CLOSE, "')'");
    } else if (!accept(p, T_MINUS)) {
        n = make(p->program, CONSTANT, parse_number(p, false, "an integer, an address such as !1, or '('"));
    } else if (p->token == T_NUMBER) {
        n = make(p->program, CONSTANT, parse_number(p, true, "an integer"));
    } else {
        node *operand = parse_operand(p);
        n = operation(p, APH_SUB, make(p->program, CONSTANT, 0), operand);
    }
    leave(p);
    return n;
}

static node *parse_product(parser *p)
{
    node *n = parse_operand(p);
    while (p->token == T_TIMES || p->token == T_OVER) {
        aph_op op = p->token == T_TIMES ? APH_MUL : APH_DIV;
        next(p);
        node *right = parse_operand(p);
        n = operation(p, op, n, right);
    }
    return n;
}

static node *parse_sum(parser *p)
{
    node *n = parse_product(p);
    while (p->token == T_PLUS || p->token == T_MINUS) {
        aph_op op = p->token == T_PLUS ? APH_ADD : APH_SUB;
        next(p);
        node *right = parse_product(p);
        n = operation(p, op, n, right);
    }
    return n;
}

static node *parse_write(parser *p)
{
    node *n = make(p->program, WRITE, parse_number(p, false, "an address after '!'"));
    expect(p, T_ASSIGN, "':='");
    n->a = parse_sum(p);
    expect(p, T_SEMICOLON, "';' or an operator");
    return n;
}

static node *parse_body(parser *p);

/* Parses up to the else; the caller parses the rest. */
static node *parse_if(parser *p, int line, int column)
{
    node *n = make(p->program, IF, 0);
    snprintf(n->name, sizeof n->name, "if at %d:%d", line, column);
    n->a = parse_sum(p);
    expect(p, T_LE, "'<=' or an operator");
    n->b = parse_sum(p);
    expect(p, T_THEN, "'then' or an operator");
    if (enter(p))
        n->next = parse_body(p);
    leave(p);
    expect(p, T_ELSE, "'else'");
    return n;
}

static node *parse_body(parser *p)
{
    node *body = NULL, **slot = &body;
    while (!p->failed) {
        int line = p->line, column = (int)(p->start - p->line_start) + 1;
        if (accept(p, T_RETURN)) {
            *slot = make(p->program, RETURN, 0);
            return body;
        } else if (accept(p, T_BANG)) {
            *slot = parse_write(p);
            slot = &(*slot)->next;
        } else if (accept(p, T_IF)) {
            *slot = parse_if(p, line, column);
            slot = &(*slot)->otherwise;
        } else {
            fail_expected(p, "'if', 'return' or a write such as !1 := 0;");
        }
    }
    return body;
}

static int64_t parse_bound(parser *p)
{
    bool minus = accept(p, T_MINUS);
    return parse_number(p, minus, "an integer");
}

static void parse_choices(parser *p)
{
    program *g = p->program;
    if (!accept(p, T_CHOICES))
        return;
    g->bounded = true;
    g->low = parse_bound(p);
    expect(p, T_RANGE, "'..'");
    g->high = parse_bound(p);
    if (!p->failed && g->low > g->high)
        fail(p, "empty range of choices: the lower bound is above the upper one");
}

static bool parse(program *g, const char *text, size_t n, aph_prog_error *error)
{
    parser p = {.program = g, .error = error, .at = text, .end = text + n, .line = 1, .line_start = text};
    next(&p);
    parse_choices(&p);
    g->body = parse_body(&p);
    expect(&p, T_END, "the end of the program (only the else of an if may follow a return)");
    return !p.failed;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

typedef struct machine {
    aph *m;
    const program *program;
    aph_value memory;
    bool chosen; /* !0 contains this step's choice, or a value that the program wrote */
} machine;

static void store(machine *x, int64_t address, aph_value v)
{
    x->memory = v == aph_int(0) ? aph_remove(x->memory, aph_int(address)) : aph_set(x->memory, aph_int(address), v);
    x->chosen |= address == 0;
}

static aph_value choose(machine *x)
{
    const program *g = x->program;
    return g->bounded ? aph_choose_within(x->m, g->low, g->high, "choice") : aph_choose(x->m, APH_INT, "choice");
}

static aph_value load(machine *x, int64_t address)
{
    if (address == 0 && !x->chosen)
        store(x, 0, choose(x));
    aph_value v = aph_get(x->memory, aph_int(address));
    return v ? v : aph_int(0);
}

static aph_value evaluate(machine *x, const node *n)
{
    if (n->kind == CONSTANT)
        return aph_int(n->number);
    if (n->kind == ADDRESS)
        return load(x, n->number);
    aph_value a = evaluate(x, n->a);
    return aph_term(n->op, a, evaluate(x, n->b));
}

/* An undefined result (division by zero, overflow) may be stored, but not used in a condition or a response. */
static aph_value existing(machine *x, aph_value v)
{
    if (aph_kind_of(v) == APH_TERM && aph_term_op(v) == APH_WRONG)
        aph_never(x->m);
    return v;
}

static const node *branch(machine *x, const node *n)
{
    aph_value a = evaluate(x, n->a);
    aph_value condition = existing(x, aph_le(a, evaluate(x, n->b)));
    return aph_decide(x->m, condition, n->name) ? n->next : n->otherwise;
}

static void run(machine *x)
{
    for (const node *n = x->program->body; n->kind != RETURN;) {
        if (n->kind == IF) {
            n = branch(x, n);
        } else {
            store(x, n->number, evaluate(x, n->a));
            n = n->next;
        }
    }
}

static void step(aph *m, aph_value *state)
{
    aph_request q = aph_recv(m);
    machine x = {.m = m, .program = aph_data(m), .memory = *state};

    if (!aph_is_int(q.message))
        aph_unknown_request(m, "a request must be an integer");
    store(&x, 1, q.message);
    run(&x);
    aph_send(m, q.from, existing(&x, load(&x, 1)));
    *state = aph_remove(aph_remove(x.memory, aph_int(0)), aph_int(1));
}

/* ---- generation -------------------------------------------------------------------------------------------------- */

/* Sends small numbers, so that comparisons vary, and values of earlier responses. */
static const char shape[] = APH_SHAPE([
    {"weight": 4, "of": {"int": [-3, 3]}},
    {"int": [-1000, 1000]},
    {"weight": 2, "of": {"seen": [], "else": 0}}
]);

/* ---- models ------------------------------------------------------------------------------------------------------ */

aph_model *aph_prog_read(const char *text, size_t n, const char *name, aph_prog_error *error)
{
    program *p = allocate(sizeof *p + strlen(name) + 1);
    strcpy(p->name, name);
    p->model = (aph_model){.version = APH_MODEL_VERSION, .name = p->name, .summary = "a server in Prog", .step = step,
                           .data = p, .rpc = true, .shape = shape, .ignores_connections = true};
    if (parse(p, text, n, error))
        return &p->model;
    aph_prog_free(&p->model);
    return NULL;
}

void aph_prog_free(aph_model *model)
{
    program *p = (program *)model;
    if (!p)
        return;
    for (node *n = p->allocated, *before; n; n = before) {
        before = n->allocated;
        free(n);
    }
    free(p);
}
