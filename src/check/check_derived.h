/* SPDX-License-Identifier: Apache-2.0
 *
 * check_derived.h - the check of one trace by the derivation. */
#ifndef APHI_CHECK_CHECK_DERIVED_H
#define APHI_CHECK_CHECK_DERIVED_H

#include "trace/trace.h"

/* Reads the trace to its end and decides it over the network. Fills all of r but the error of the trace; returns false
 * if the trace has one. */
bool aphi_check_derived(const aph_model *model, const aph_network *network, const aph_check_options *options,
                        aphi_trace *trace, aph_check_result *r);

#endif
