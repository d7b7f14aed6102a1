/* SPDX-License-Identifier: Apache-2.0
 *
 * compiler.h - a word for functions that are hardly ever called: they are kept out of the way of the code that is. */
#ifndef APHI_BASE_COMPILER_H
#define APHI_BASE_COMPILER_H

#define APHI_COLD __attribute__((noinline, cold))

#endif
