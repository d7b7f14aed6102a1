/* SPDX-License-Identifier: Apache-2.0
 *
 * rare.h - a word for functions that are hardly ever called: they are kept out of the way of the code that is. */
#ifndef APHI_BASE_RARE_H
#define APHI_BASE_RARE_H

#define APHI_RARE __attribute__((noinline, cold))

#endif
