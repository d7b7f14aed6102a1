/* SPDX-License-Identifier: Apache-2.0
 *
 * substitute.h - one request less, if another one says something else; and as many, if one says what is simpler. */
#ifndef APHI_SHRINK_SUBSTITUTE_H
#define APHI_SHRINK_SUBSTITUTE_H

#include "shrink/shrink_runner.h"

/* Each tries all steps of its kind; true if one was taken. */
bool aphi_substitute_request(aphi_shrink_runner *s);
bool aphi_substitute_simpler(aphi_shrink_runner *s);

#endif
