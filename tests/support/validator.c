/* SPDX-License-Identifier: Apache-2.0
 *
 * validator.c - the validator of Li, "Testing by dualization", figure 3.1, and random programs for it.
 *
 * Idea:       a validation state is a map from addresses to variables and a list of constraints. The list is in order
 *             of creation: a variable is introduced (havoc, or write with its equation) before its first use. So
 *             satisfiability is decided by walking along the list, trying each value of a free variable, and
 *             backtracking if a constraint does not hold.
 * Differences from the paper: a free variable is a choice within the declared bounds of the program; and an undefined
 *             result (of a division by zero) may be written, but no comparison with it holds. */
#include "validator.h"

#include "base/memory.h"
#include "tests/support/brute.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { VARIABLES = 32, CONSTRAINTS = 64, EXPRESSIONS = 256 };

/* ---- random programs --------------------------------------------------------------------------------------------- */

static int add(validator_program *p, validator_node n)
{
    assert(p->count < VALIDATOR_NODES);
    p->node[p->count] = n;
    return p->count++;
}

static int random_expression(validator_program *p, aphi_choice *c, int depth)
{
    if (depth == 0 || aphi_choice_chance(c, 1, 2)) {
        if (aphi_choice_chance(c, 1, 3))
            return add(p, (validator_node){.kind = V_CONSTANT, .number = aphi_choice_within(c, -3, 3)});
        return add(p, (validator_node){.kind = V_ADDRESS, .number = aphi_choice_within(c, 0, VALIDATOR_ADDRESSES - 1)});
    }
    int a = random_expression(p, c, depth - 1), b = random_expression(p, c, depth - 1);
    return add(p, (validator_node){.kind = V_OPERATION, .op = "+-*/"[aphi_choice_below(c, 4)], .a = a, .b = b});
}

static int random_body(validator_program *p, aphi_choice *c, int depth)
{
    uint64_t what = depth == 0 ? 0 : aphi_choice_below(c, 6);
    if (what == 0)
        return add(p, (validator_node){.kind = V_RETURN});
    int a = random_expression(p, c, 2);
    if (what < 4) {
        int64_t to = aphi_choice_within(c, 0, VALIDATOR_ADDRESSES - 1);
        return add(p, (validator_node){.kind = V_WRITE, .number = to, .a = a, .next = random_body(p, c, depth - 1)});
    }
    int b = random_expression(p, c, 1), next = random_body(p, c, depth - 1), otherwise = random_body(p, c, depth - 1);
    return add(p, (validator_node){.kind = V_IF, .a = a, .b = b, .next = next, .otherwise = otherwise});
}

__attribute__((format(printf, 2, 3))) static void write_text(validator_program *p, const char *format, ...)
{
    size_t n = strlen(p->text);
    va_list args;
    va_start(args, format);
    vsnprintf(p->text + n, sizeof p->text - n, format, args);
    va_end(args);
    assert(strlen(p->text) + 1 < sizeof p->text);
}

static void write_expression(validator_program *p, int i)
{
    const validator_node *n = &p->node[i];
    if (n->kind != V_OPERATION) {
        write_text(p, n->kind == V_ADDRESS ? "!%lld" : "%lld", (long long)n->number);
        return;
    }
    write_text(p, "(");
    write_expression(p, n->a);
    write_text(p, " %c ", n->op);
    write_expression(p, n->b);
    write_text(p, ")");
}

static void write_body(validator_program *p, int i)
{
    const validator_node *n = &p->node[i];
    if (n->kind == V_RETURN) {
        write_text(p, "return\n");
    } else if (n->kind == V_WRITE) {
        write_text(p, "!%lld := ", (long long)n->number);
        write_expression(p, n->a);
        write_text(p, ";\n");
        write_body(p, n->next);
    } else {
        write_text(p, "if ");
        write_expression(p, n->a);
        write_text(p, " <= ");
        write_expression(p, n->b);
        write_text(p, " then\n");
        write_body(p, n->next);
        write_text(p, "else\n");
        write_body(p, n->otherwise);
    }
}

/* Most programs end by writing a response that depends on the state; the others return the query. */
void validator_random_program(validator_program *p, aphi_choice *c)
{
    p->count = 0;
    p->low = aphi_choice_within(c, -3, 1);
    p->high = p->low + aphi_choice_within(c, 0, 5);
    p->body = random_body(p, c, 3);
    p->text[0] = 0;
    write_text(p, "choices %lld..%lld\n", (long long)p->low, (long long)p->high);
    write_body(p, p->body);
}

/* ---- validation states ------------------------------------------------------------------------------------------- */

/* VExp: an expression of the program with variables in place of addresses. */
typedef struct vexp {
    enum { X_CONSTANT, X_VARIABLE, X_OPERATION } kind;
    int64_t number;        /* the constant, or the variable */
    char op;
    short a, b;
} vexp;

typedef enum relation { IS_FREE, IS, AT_MOST, BELOW } relation;

/* Variable a is free or equals the expression b; or the expression a is at most, below, or equal to b. */
typedef struct constraint {
    relation relation;
    bool defines;          /* IS: a is a variable */
    int a, b;
} constraint;

typedef struct validation {
    int vs[VALIDATOR_ADDRESSES];
    constraint cs[CONSTRAINTS];
    vexp exp[EXPRESSIONS];
    int variables, constraints, expressions;
} validation;

typedef struct states {
    validation *at;
    size_t count, capacity;
} states;

static void add_state(states *s, const validation *v)
{
    APHI_RESERVE(s->at, s->capacity, s->count + 1);
    s->at[s->count++] = *v;
}

static int make(validation *v, vexp e)
{
    assert(v->expressions < EXPRESSIONS);
    v->exp[v->expressions] = e;
    return v->expressions++;
}

static int constant(validation *v, int64_t number)
{
    return make(v, (vexp){.kind = X_CONSTANT, .number = number});
}

static void constrain(validation *v, constraint c)
{
    assert(v->constraints < CONSTRAINTS);
    v->cs[v->constraints++] = c;
}

static int fresh(validation *v)
{
    assert(v->variables < VARIABLES);
    return v->variables++;
}

/* e^vs */
static int translate(const validator_program *p, validation *v, int i)
{
    const validator_node *n = &p->node[i];
    if (n->kind == V_CONSTANT)
        return constant(v, n->number);
    if (n->kind == V_ADDRESS)
        return make(v, (vexp){.kind = X_VARIABLE, .number = v->vs[n->number]});
    int a = translate(p, v, n->a), b = translate(p, v, n->b);
    return make(v, (vexp){.kind = X_OPERATION, .op = n->op, .a = (short)a, .b = (short)b});
}

/* ---- solvable ---------------------------------------------------------------------------------------------------- */

typedef struct assignment {
    const validator_program *program;
    const validation *v;
    brute_meaning value[VARIABLES];
} assignment;

/* e^asgn */
static brute_meaning evaluate(const assignment *x, int i)
{
    const vexp *e = &x->v->exp[i];
    if (e->kind == X_CONSTANT)
        return (brute_meaning){BRUTE_INT, e->number, APH_NIL};
    if (e->kind == X_VARIABLE)
        return x->value[e->number];
    aph_op op = e->op == '+' ? APH_ADD : e->op == '-' ? APH_SUB : e->op == '*' ? APH_MUL : APH_DIV;
    return brute_apply(op, evaluate(x, e->a), evaluate(x, e->b));
}

static bool holds(const assignment *x, const constraint *c)
{
    brute_meaning a = evaluate(x, c->a), b = evaluate(x, c->b);
    if (a.kind == BRUTE_WRONG || b.kind == BRUTE_WRONG)
        return false;
    return c->relation == IS ? a.i == b.i : c->relation == AT_MOST ? a.i <= b.i : a.i < b.i;
}

static bool solvable_from(assignment *x, int i)
{
    for (; i < x->v->constraints; i++) {
        const constraint *c = &x->v->cs[i];
        if (c->relation == IS_FREE)
            break;
        if (c->defines)
            x->value[c->a] = evaluate(x, c->b);
        else if (!holds(x, c))
            return false;
    }
    if (i == x->v->constraints)
        return true;
    for (int64_t value = x->program->low; value <= x->program->high; value++) {
        x->value[x->v->cs[i].a] = (brute_meaning){BRUTE_INT, value, APH_NIL};
        if (solvable_from(x, i + 1))
            return true;
    }
    return false;
}

static bool solvable(const validator_program *p, const validation *v)
{
    assignment x = {.program = p, .v = v};
    return solvable_from(&x, 0);
}

/* ---- figure 3.1 -------------------------------------------------------------------------------------------------- */

/* havoc(d, (vs, cs)): rule 3. */
static void havoc(validation *v, int64_t d)
{
    int x = fresh(v);
    v->vs[d] = x;
    constrain(v, (constraint){.relation = IS_FREE, .a = x});
}

/* write(d, e, (vs, cs)): rule 1; e is already translated. */
static void write_to(validation *v, int64_t d, int e)
{
    int x = fresh(v);
    v->vs[d] = x;
    constrain(v, (constraint){.relation = IS, .defines = true, .a = x, .b = e});
}

/* exec(p, (vs, cs)): rule 2. Adds the resulting validation states to `out`. */
static void exec(const validator_program *p, int i, validation v, states *out)
{
    for (const validator_node *n = &p->node[i]; n->kind != V_RETURN; n = &p->node[i]) {
        int a = translate(p, &v, n->a);
        if (n->kind == V_WRITE) {
            write_to(&v, n->number, a);
            i = n->next;
            continue;
        }
        int b = translate(p, &v, n->b);
        validation other = v;
        constrain(&other, (constraint){.relation = BELOW, .a = b, .b = a});
        exec(p, n->otherwise, other, out);
        constrain(&v, (constraint){.relation = AT_MOST, .a = a, .b = b});
        i = n->next;
    }
    add_state(out, &v);
}

/* vstep'_p(q, a)(v0): rules 4 and 5. */
static void vstep_one(const validator_program *p, const int64_t pair[2], const validation *v0, states *out)
{
    states ran = {0};
    validation v = *v0;
    havoc(&v, 0);
    write_to(&v, 1, constant(&v, pair[0]));
    exec(p, p->body, v, &ran);
    for (size_t i = 0; i < ran.count; i++) {
        validation *v3 = &ran.at[i];
        int answer = make(v3, (vexp){.kind = X_VARIABLE, .number = v3->vs[1]});
        constrain(v3, (constraint){.relation = IS, .a = answer, .b = constant(v3, pair[1])});
        if (solvable(p, v3))
            add_state(out, v3);
    }
    free(ran.at);
}

/* vstep_p(q, a)(v): rule 6. Returns false if no validation state is left. */
static bool vstep(const validator_program *p, const int64_t pair[2], states *v)
{
    states next = {0};
    for (size_t i = 0; i < v->count; i++)
        vstep_one(p, pair, &v->at[i], &next);
    free(v->at);
    *v = next;
    return v->count > 0;
}

bool validator_accepts(const validator_program *p, size_t n, int64_t (*pairs)[2], size_t *reached)
{
    /* All addresses are variable 0, which is 0. */
    states v = {0};
    validation first = {.variables = 1};
    constrain(&first, (constraint){.relation = IS, .defines = true, .a = 0, .b = constant(&first, 0)});
    add_state(&v, &first);
    for (*reached = 0; *reached < n && vstep(p, pairs[*reached], &v); ++*reached)
        continue;
    free(v.at);
    return *reached == n;
}
