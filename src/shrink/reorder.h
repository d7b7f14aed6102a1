/* SPDX-License-Identifier: Apache-2.0
 *
 * reorder.h - orders in which the subject may have dealt with the requests of a run. */
#ifndef APHI_SHRINK_REORDER_H
#define APHI_SHRINK_REORDER_H

#include "base/choice.h"
#include "script/script.h"
#include "trace/run_event.h"

/* The actions of a run in such an order, labelled anew: at random, or without a choice in the order of their answers.
 * The moments are all of the run. */
aphi_script aphi_reorder(const aphi_script *script, const aphi_run_event *moments, size_t count, aphi_choice *choice);

#endif
