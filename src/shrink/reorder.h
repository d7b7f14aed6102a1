/* SPDX-License-Identifier: Apache-2.0
 *
 * reorder.h - orders in which the subject may have processed the requests of a run. */
#ifndef APHI_SHRINK_REORDER_H
#define APHI_SHRINK_REORDER_H

#include "base/choice.h"
#include "script/script.h"
#include "trace/run_event.h"

/* Returns the actions of a run in such an order, with new labels: at random, or with choice == NULL in the order of
 * their responses. events: all events of the run. */
aphi_script aphi_reorder(const aphi_script *script, const aphi_run_event *events, size_t count, aphi_choice *choice);

#endif
