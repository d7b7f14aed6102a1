/* SPDX-License-Identifier: Apache-2.0
 *
 * dualize.h - the tester of Li, "Testing by dualization" (chapter 4), written as directly as C allows. */
#ifndef TESTS_SUPPORT_DUALIZE_H
#define TESTS_SUPPORT_DUALIZE_H

#include "histories.h"

typedef enum dualized {
    DUALIZE_REJECTS,
    DUALIZE_ACCEPTS,
    DUALIZE_GIVES_UP,      /* there were too many branches */
} dualized;

/* Decides whether some branch of the derived tester accepts the recorded history. The network is the one in figure
 * 4.9. */
dualized dualize(const subject *s, const history *h);

#endif
