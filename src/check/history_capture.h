/* SPDX-License-Identifier: Apache-2.0
 *
 * history_capture.h - a whole trace in memory, split into parts like the check, for explanations. */
#ifndef APHI_CHECK_HISTORY_CAPTURE_H
#define APHI_CHECK_HISTORY_CAPTURE_H

#include "env/env.h"
#include "oracle/history.h"
#include "trace/lookahead.h"

typedef struct aphi_partition_history {
    aph_value part;        /* APH_NIL if the state is not split */
    aphi_history history;
} aphi_partition_history;

typedef struct aphi_history_capture {
    const aph_model *model;
    aphi_env env;
    bool split;            /* each part has its own history */
    aphi_partition_history *parts; /* in the order of their first requests */
    size_t count, capacity;
    struct aphi_open_request {
        int64_t connection;
        size_t part, event;
    } *open;               /* pending requests, oldest first */
    size_t open_count, open_capacity;
} aphi_history_capture;

/* The values of the history are roots until aphi_history_capture_deinit. split: split the history by the model's
 * parts. */
void aphi_history_capture_init(aphi_history_capture *h, const aph_model *model, const char *environment, bool split);
void aphi_history_capture_deinit(aphi_history_capture *h);
void aphi_history_capture_add(aphi_history_capture *h, const aphi_lookahead_event *o, bool paired);

#endif
