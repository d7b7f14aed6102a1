/* SPDX-License-Identifier: Apache-2.0
 *
 * recall.h - keep a whole trace in memory, taken apart as it is judged, for explanations. */
#ifndef APHI_CLI_RECALL_H
#define APHI_CLI_RECALL_H

#include "env/env.h"
#include "oracle/history.h"
#include "trace/lookahead.h"

typedef struct aphi_part_history {
    aph_value part;        /* APH_NIL if the state is in one piece */
    aphi_history history;
} aphi_part_history;

typedef struct aphi_histories {
    const aph_model *model;
    aphi_env env;
    bool apart;            /* requests of different parts go to different histories */
    aphi_part_history *parts; /* in the order of their first requests */
    size_t count, capacity;
    struct aphi_open_request {
        int64_t connection;
        size_t part, event;
    } *open;               /* requests without an end, oldest first */
    size_t open_count, open_capacity;
} aphi_histories;

/* The parts are roots of the values in them until aphi_histories_deinit. */
void aphi_histories_init(aphi_histories *h, const aph_model *model, const char *environment, bool apart);
void aphi_histories_deinit(aphi_histories *h);
void aphi_histories_add(aphi_histories *h, const aphi_lookahead_event *o, bool paired);

#endif
