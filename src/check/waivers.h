/* SPDX-License-Identifier: Apache-2.0
 *
 * waivers.h - the waivers that a trace needs, and those that would let it pass. */
#ifndef APHI_CHECK_WAIVERS_H
#define APHI_CHECK_WAIVERS_H

#include <antiphon/check.h>

#include "base/buffer.h"

/* Allows the waivers in the NULL-terminated list; names of unknown waivers are skipped. Returns the bits that were
 * newly set. */
uint64_t aphi_waive_known(const char *const *known, aph_model *model);
/* Maps the name of each allowed waiver to "needed" if the trace is rejected without it, "not needed", or "unclear".
 * Returns APH_NIL if none is allowed. progress, if not NULL, is called with the number of waivers decided so far. */
aph_value aphi_waive_needs(const aph_model *model, const char *trace, const char *environment,
                           void (*progress)(uint64_t));
/* Appends "; --waive NAME would allow it: SUMMARY" for each further waiver with which a failing trace passes within
 * 100 ms. */
void aphi_waive_hint(aphi_buffer *out, const aph_model *model, const char *trace, const char *environment);
/* Appends a line for each waiver that is not needed and whose bit is not in `known`. */
void aphi_waive_tell(aphi_buffer *out, const aph_model *model, uint64_t known, aph_value needs);

#endif
