/* SPDX-License-Identifier: Apache-2.0
 *
 * respond.h - what is done for a request, and answered. */
#ifndef WEB_RESPOND_H
#define WEB_RESPOND_H

#include "buffer.h"
#include "request.h"

/* Does what a complete request asks for, and puts the answer behind what is in the buffer; a faulty one is answered,
 * too. The connection ends behind the answer if q->close is then true, and the answer says so. */
void respond(request *q, buffer *out);

#endif
