/* SPDX-License-Identifier: Apache-2.0
 *
 * slice.h - a guess at the relevant actions of a failing script. */
#ifndef APHI_SHRINK_SLICE_H
#define APHI_SHRINK_SLICE_H

#include "script/script.h"

typedef enum aphi_script_slice {
    APHI_SLICE_NONE,
    APHI_SLICE_DISTANT, /* shares a value with a relevant action, over any number of steps */
    APHI_SLICE_SHARES,  /* shares a value with the last request */
    APHI_SLICE_REFERS,  /* the last request, and the requests that its holes refer to */
} aphi_script_slice;

/* Fills in the level of each action. A request that another one refers to is at least as relevant. Does not collect. */
void aphi_script_slice_guess(const aphi_script *s, aphi_script_slice *levels);

#endif
