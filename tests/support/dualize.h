/* SPDX-License-Identifier: Apache-2.0
 *
 * dualize.h - the tester of Li, "Testing by dualization" (chapter 4), rendered as directly as C allows. */
#ifndef TESTS_SUPPORT_DUALIZE_H
#define TESTS_SUPPORT_DUALIZE_H

#include "history.h"

/* Does some branch of the derived tester accept the recorded history? The network is that of figure 4.9. */
bool dualize_accepts(const subject *s, const history *h);

#endif
