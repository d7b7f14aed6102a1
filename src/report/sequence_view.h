/* SPDX-License-Identifier: Apache-2.0
 *
 * sequence_view.h - sequences of a model drawn one after the other, each compared with the one before. */
#ifndef APHI_REPORT_SEQUENCE_VIEW_H
#define APHI_REPORT_SEQUENCE_VIEW_H

#include "explore/sequence.h"

typedef struct aphi_sequence_view aphi_sequence_view;

/* Draws on stdout, if `draws`; on a page, if it has a name. */
aphi_sequence_view *aphi_sequence_view_open(const aphi_compiled_model *plan, bool draws, const char *page);
/* wrong: what is wrong with the sequence, or NULL; label: local events that have to do with it, or SIZE_MAX. */
void aphi_sequence_view_add(aphi_sequence_view *k, aphi_sequence *s, const char *wrong, size_t label);
/* Writes the page, with a sentence about all sequences. False: it could not; errno says why. */
bool aphi_sequence_view_close(aphi_sequence_view *k, const char *lead);

#endif
