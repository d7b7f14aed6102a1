/* SPDX-License-Identifier: Apache-2.0
 *
 * compiler.h - an attribute for rarely called functions, to keep them out of hot code. */
#ifndef APHI_BASE_COMPILER_H
#define APHI_BASE_COMPILER_H

#define APHI_COLD __attribute__((noinline, cold))

#endif
