/* SPDX-License-Identifier: Apache-2.0
 *
 * substitute.h - removal of a request while another changes, and replacement of values by simpler ones. */
#ifndef APHI_SHRINK_SUBSTITUTE_H
#define APHI_SHRINK_SUBSTITUTE_H

#include "shrink/shrink_runner.h"

/* Each tries all steps of its kind, and returns true if one was taken. */
bool aphi_substitute_request(aphi_shrink_runner *s);
bool aphi_substitute_simpler(aphi_shrink_runner *s);

#endif
