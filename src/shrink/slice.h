/* SPDX-License-Identifier: Apache-2.0
 *
 * slice.h - a guess at which actions of a failing script matter. */
#ifndef APHI_SHRINK_SLICE_H
#define APHI_SHRINK_SLICE_H

#include "script/script.h"

typedef enum aphi_script_slice {
    APHI_SLICE_NONE,
    APHI_SLICE_DISTANT, /* shares a value with one that matters, over any number of steps */
    APHI_SLICE_SHARES,  /* shares a value with the last request */
    APHI_SLICE_REFERS,  /* the last request, and what its holes refer to */
} aphi_script_slice;

/* One for each action. What a request refers to matters at least as much as the request. Does not collect. */
void aphi_script_slice_guess(const aphi_script *s, aphi_script_slice *levels);

#endif
