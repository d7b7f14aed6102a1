/* SPDX-License-Identifier: Apache-2.0
 *
 * agenda.h - what is to happen when: delays drawn at random, and a queue by time. */
#ifndef APHI_HARNESS_AGENDA_H
#define APHI_HARNESS_AGENDA_H

#include "base/choice.h"

#include <stddef.h>

typedef struct aphi_due {
    int64_t ns;          /* of the clock */
    uint64_t order;      /* set by aphi_agenda_add: of two at one time, the first added comes first */
    uint32_t kind;       /* what this is and what it is about: the rest is the user's */
    int64_t owner;
    uint64_t detail;
} aphi_due;

/* Starts as {0}. */
typedef struct aphi_agenda {
    aphi_due *heap;
    size_t count, capacity;
    uint64_t order;
} aphi_agenda;

void aphi_agenda_add(aphi_agenda *a, aphi_due due);
/* The earliest, if it is not later than now. */
bool aphi_agenda_next(aphi_agenda *a, int64_t now, aphi_due *due);
/* When the earliest is; -1 if there is none. */
int64_t aphi_agenda_when(const aphi_agenda *a);
void aphi_agenda_deinit(aphi_agenda *a);

/* A delay: the mean is as given, and one in four may be five times as long, so that much overtakes much else. */
int64_t aphi_delay(aphi_choice *c, int64_t mean_ns);

#endif
