/* SPDX-License-Identifier: Apache-2.0
 *
 * sink.h - where a codec puts bytes: a buffer. */
#ifndef APHI_HARNESS_SINK_H
#define APHI_HARNESS_SINK_H

#include <antiphon/codec.h>
#include "base/buffer.h"

struct aph_sink {
    aphi_buffer *buffer;
};

#endif
