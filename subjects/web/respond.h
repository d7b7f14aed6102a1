/* SPDX-License-Identifier: Apache-2.0
 *
 * respond.h - execution of requests and their responses. */
#ifndef WEB_RESPOND_H
#define WEB_RESPOND_H

#include "buffer.h"
#include "request.h"

/* Executes a complete request, or handles a faulty one, and appends the response to the buffer. If q->close is then
 * true, the caller must close the connection after the response, which announces the close. */
void respond(request *q, buffer *out);

#endif
