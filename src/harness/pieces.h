/* SPDX-License-Identifier: Apache-2.0
 *
 * pieces.h - removing actions from the best script, in large pieces first. */
#ifndef APHI_HARNESS_PIECES_H
#define APHI_HARNESS_PIECES_H

#include "harness/trial.h"

/* Keeps only the first actions, if it fails then. */
bool aphi_pieces_cut(aphi_trial *s, size_t count);
/* Keeps only what seems to matter. */
void aphi_pieces_guess(aphi_trial *s);
void aphi_pieces_connections(aphi_trial *s);
void aphi_pieces_actions(aphi_trial *s);

#endif
