/* SPDX-License-Identifier: Apache-2.0
 *
 * sequence_view.h - drawings of consecutive sequences of a model, each compared with the previous one. */
#ifndef APHI_REPORT_SEQUENCE_VIEW_H
#define APHI_REPORT_SEQUENCE_VIEW_H

#include "explore/sequence.h"

typedef struct aphi_sequence_view aphi_sequence_view;

/* Draws on stdout if `draws`, and on a page if `page` is not NULL. */
aphi_sequence_view *aphi_sequence_view_open(const aphi_compiled_model *model, bool draws, const char *page);
/* `wrong` is the error of the sequence, or NULL; `label` is the label of local events to mark as wrong, or SIZE_MAX. */
void aphi_sequence_view_add(aphi_sequence_view *k, aphi_sequence *s, const char *wrong, size_t label);
/* Writes the page, with `lead` as its introduction. Returns false with errno on failure. */
bool aphi_sequence_view_close(aphi_sequence_view *k, const char *lead);

#endif
