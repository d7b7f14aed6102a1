/* SPDX-License-Identifier: Apache-2.0
 *
 * jury.h - one oracle for each part of the state, or one for all. */
#ifndef APHI_ORACLE_JURY_H
#define APHI_ORACLE_JURY_H

#include "oracle/search.h"

typedef struct aphi_jury aphi_jury;

typedef struct aphi_seat {
    aph_value part;
    aph_oracle *oracle;    /* NULL while nothing goes on in the part: then core is all there is to know of it */
    aphi_core core;
    bool rests, let_go;
} aphi_seat;

/* Are parts taken apart? If the model has parts, unless options->whole or options->distrust. */
bool aphi_jury_apart(const aph_model *model, const aph_oracle_options *options);
aphi_jury *aphi_jury_open(const aph_model *model, const aph_oracle_options *options, char *error, size_t error_size);
void aphi_jury_close(aphi_jury *j);

/* As the oracle's own; line is the caller's name for the observation. After a failure only the oracle that failed
 * listens, while aphi_jury_wants_more. */
aph_verdict aphi_jury_sent(aphi_jury *j, uint64_t line, int64_t connection, aph_value message,
                           const aph_foresight *known);
aph_verdict aphi_jury_received(aphi_jury *j, uint64_t line, int64_t connection, aph_value message);
/* foretold: the request was sent with that known. */
aph_verdict aphi_jury_lost(aphi_jury *j, uint64_t line, int64_t connection, bool foretold);
/* As aphi_oracle_quiet. */
aph_verdict aphi_jury_quiet(aphi_jury *j);
/* Count from now on which named branches of the model explanations take; an object of counts by name. */
void aphi_jury_count_branches(aphi_jury *j);
aph_value aphi_jury_branches(const aphi_jury *j);
bool aphi_jury_wants_more(const aphi_jury *j);

/* A connection had requests of different parts in flight at once. Its order ties the parts together, so they cannot be
 * judged apart: ask again with options->whole. */
bool aphi_jury_tied(const aphi_jury *j);
/* The oracle that did not pass; NULL if all did. */
const aphi_seat *aphi_jury_dissenter(const aphi_jury *j);
const aphi_seat *aphi_jury_seats(const aphi_jury *j, size_t *n);
aph_oracle_stats aphi_jury_stats(const aphi_jury *j);

#endif
