/* SPDX-License-Identifier: Apache-2.0
 *
 * antiphon.h - all public headers of the library. */
#ifndef ANTIPHON_H
#define ANTIPHON_H
#include <antiphon/check.h>
#include <antiphon/codec.h>
#include <antiphon/component.h>
#include <antiphon/generate.h>
#include <antiphon/model.h>
#include <antiphon/oracle.h>
#include <antiphon/value.h>
#endif
