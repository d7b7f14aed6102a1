/* SPDX-License-Identifier: Apache-2.0
 *
 * check_trace.h - the model as it is checked in an environment. */
#ifndef APHI_CHECK_CHECK_TRACE_H
#define APHI_CHECK_CHECK_TRACE_H

#include <antiphon/check.h>

/* Returns a copy of the model without the promises that do not hold in the environment: where messages are lost and
 * duplicated, a response cannot be assigned to a request. */
aph_model aphi_model_in_environment(const aph_model *model, const char *environment);

#endif
