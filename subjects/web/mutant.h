/* SPDX-License-Identifier: Apache-2.0
 *
 * mutant.h - selection of mutants: PICK(n, right, wrong) is the wrong code in mutant n. */
#ifndef WEB_MUTANT_H
#define WEB_MUTANT_H

#ifndef MUTANT
#define MUTANT 0
#endif
#define PICK(n, right, wrong) (MUTANT == (n) ? (wrong) : (right))

#endif
