/* SPDX-License-Identifier: Apache-2.0
 *
 * queues.c - stub */
#include "reach/queues.h"
void aphi_queues_refresh(aphi_situation *at) { (void)at; }
bool aphi_queues_stuck(aphi_situation *at) { (void)at; return false; }
