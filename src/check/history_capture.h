/* SPDX-License-Identifier: Apache-2.0
 *
 * history_capture.h - keep a whole trace in memory, taken apart as it is judged, for explanations. */
#ifndef APHI_CHECK_HISTORY_CAPTURE_H
#define APHI_CHECK_HISTORY_CAPTURE_H

#include "env/env.h"
#include "oracle/history.h"
#include "trace/lookahead.h"

typedef struct aphi_partition_history {
    aph_value part;        /* APH_NIL if the state is in one piece */
    aphi_history history;
} aphi_partition_history;

typedef struct aphi_history_capture {
    const aph_model *model;
    aphi_env env;
    bool apart;            /* requests of different parts go to different histories */
    aphi_partition_history *parts; /* in the order of their first requests */
    size_t count, capacity;
    struct aphi_open_request {
        int64_t connection;
        size_t part, event;
    } *open;               /* requests without an end, oldest first */
    size_t open_count, open_capacity;
} aphi_history_capture;

/* The parts are roots of the values in them until aphi_history_capture_deinit. */
void aphi_history_capture_init(aphi_history_capture *h, const aph_model *model, const char *environment, bool apart);
void aphi_history_capture_deinit(aphi_history_capture *h);
void aphi_history_capture_add(aphi_history_capture *h, const aphi_lookahead_event *o, bool paired);

#endif
