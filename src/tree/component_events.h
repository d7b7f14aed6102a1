/* SPDX-License-Identifier: Apache-2.0
 *
 * component_events.h - the names of the events of a component (component_events.c). */
#ifndef APHI_TREE_COMPONENT_EVENTS_H
#define APHI_TREE_COMPONENT_EVENTS_H

#define APHI_EVENT_POST "post"     /* to: the port; value: the label */
#define APHI_EVENT_PASS "pass"     /* as for post */
#define APHI_EVENT_SELECT "select" /* value: [[port, label, answer], ...]; answered by one of the answers */
#define APHI_EVENT_NOTE "note"     /* value: the label */
#define APHI_EVENT_HALT "halt"     /* never answered */

#endif
