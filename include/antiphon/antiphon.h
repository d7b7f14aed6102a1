/* SPDX-License-Identifier: Apache-2.0
 *
 * antiphon.h - values, models, components and the oracle in one header. check.h and threads.h are separate. */
#ifndef ANTIPHON_H
#define ANTIPHON_H
#include <antiphon/codec.h>
#include <antiphon/component.h>
#include <antiphon/generate.h>
#include <antiphon/http.h>
#include <antiphon/model.h>
#include <antiphon/network.h>
#include <antiphon/oracle.h>
#include <antiphon/resp.h>
#include <antiphon/value.h>
#endif
