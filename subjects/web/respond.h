/* SPDX-License-Identifier: Apache-2.0
 *
 * respond.h - what is done for a request, and answered. */
#ifndef WEB_RESPOND_H
#define WEB_RESPOND_H

#include "buffer.h"
#include "request.h"

/* Does what a request that is complete asks for, and puts the answer behind what is in the buffer. For a faulty one, the answer
 * says so. What asks to close the connection is answered so: q->close may become true. */
void respond(request *q, buffer *out);

#endif
