/* SPDX-License-Identifier: Apache-2.0
 *
 * validator.h - random programs in Prog, and the validator of Li, "Testing by dualization", figure 3.1, for them. */
#ifndef TESTS_SUPPORT_VALIDATOR_H
#define TESTS_SUPPORT_VALIDATOR_H

#include "histories.h"

enum { VALIDATOR_NODES = 128, VALIDATOR_ADDRESSES = 4, VALIDATOR_TEXT = 4096 };

/* An expression or a statement; operands and successors are indices of nodes. */
typedef struct validator_node {
    enum { V_CONSTANT, V_ADDRESS, V_OPERATION, V_WRITE, V_IF, V_RETURN } kind;
    char op;               /* V_OPERATION: + - * / */
    int64_t number;        /* V_CONSTANT; V_ADDRESS and V_WRITE: the address */
    int a, b;              /* V_OPERATION: operands; V_WRITE: a is the source; V_IF: a <= b */
    int next, otherwise;   /* V_WRITE: the next statement; V_IF: the next statements if a <= b and if not */
} validator_node;

typedef struct validator_program {
    validator_node node[VALIDATOR_NODES];
    int count, body;
    int64_t low, high;     /* bounds of the internal choice */
    char text[VALIDATOR_TEXT];
} validator_program;

void validator_random_program(validator_program *p, aphi_choice *c);
/* Returns true if the validator accepts the query-response pairs in sequence. *reached is the number of accepted
 * pairs. */
bool validator_accepts(const validator_program *p, size_t n, int64_t (*pairs)[2], size_t *reached);

#endif
