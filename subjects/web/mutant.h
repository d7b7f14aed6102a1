/* SPDX-License-Identifier: Apache-2.0
 *
 * mutant.h - which wrong server this is: PICK(n, right, wrong) is what mutant n has wrong. */
#ifndef WEB_MUTANT_H
#define WEB_MUTANT_H

#ifndef MUTANT
#define MUTANT 0
#endif
#define PICK(n, right, wrong) (MUTANT == (n) ? (wrong) : (right))

#endif
