/* SPDX-License-Identifier: Apache-2.0
 *
 * refine_trace.h - the trace of a schedule: the observations of its clients. It is an array of entries [kind,
 * client, message]; the message may be the opening or an end of the connection, and is missing while a response is
 * incomplete. */
#ifndef APHI_REFINE_REFINE_TRACE_H
#define APHI_REFINE_REFINE_TRACE_H

#include <antiphon/model.h>

enum { APHI_REFINE_SENT, APHI_REFINE_RECEIVED }; /* kinds of entries */

aph_value aphi_refine_entry(int64_t kind, size_t client, aph_value message);
int64_t aphi_refine_entry_kind(aph_value entry);
size_t aphi_refine_entry_client(aph_value entry);
aph_value aphi_refine_entry_message(aph_value entry);
bool aphi_refine_entry_complete(aph_value entry);

/* Adds an entry; `sorted`: before adjacent entries of the same kind on connections with higher numbers. */
aph_value aphi_refine_trace_add(aph_value trace, aph_value entry, bool sorted);
/* Sets the message of the client's incomplete response. */
aph_value aphi_refine_trace_complete(aph_value trace, size_t client, aph_value message);
/* Removes the client's incomplete response, if there is one. */
aph_value aphi_refine_trace_drop_incomplete(aph_value trace, size_t client);
/* Finds the oldest request of the client without a response (`begun`: without the beginning of one). */
bool aphi_refine_trace_request(aph_value trace, size_t client, bool begun, aph_value *request);
/* Counts the complete responses; `ends`: also the ends of connections. */
size_t aphi_refine_trace_responses(aph_value trace, bool ends);

/* The trace as lines of a trace file. */
aph_value aphi_refine_trace_lines(aph_value trace);
/* Reads a line: returns true if the client sent *message. */
bool aphi_refine_line_sent(aph_value line, aph_value *message);

#endif
