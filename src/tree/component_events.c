/* SPDX-License-Identifier: Apache-2.0
 *
 * component_events.c - the events of a component of a message-passing program.
 *
 * These events have the kind APH_EVENT_OTHER and are distinguished by their names (component_events.h). */
#include "tree/component_events.h"

#include "tree/step.h"

#include <antiphon/component.h>

static void perform_label(aph *m, const char *name, int port, aph_value label)
{
    aphi_step_perform(m, &(aph_event){.kind = APH_EVENT_OTHER, .name = name, .to = port, .value = label});
}

void aph_post(aph *m, int port, aph_value label)
{
    perform_label(m, APHI_EVENT_POST, port, label);
}

void aph_pass(aph *m, int port, aph_value label)
{
    perform_label(m, APHI_EVENT_PASS, port, label);
}

void aph_note(aph *m, const char *label)
{
    perform_label(m, APHI_EVENT_NOTE, 0, aph_str(label));
}

/* open: the value of APHI_EVENT_SELECT. */
static int64_t perform_select(aph *m, aph_value open, const char *if_none)
{
    if (aph_count(open) == 0)
        aphi_step_miscalled(m, "%s; end a component with aph_halt", if_none);
    return aph_int_of(aphi_step_perform(m, &(aph_event){.kind = APH_EVENT_OTHER, .name = APHI_EVENT_SELECT,
                                                        .value = open}));
}

int aph_select(aph *m, size_t n, const aph_alternative *alternatives)
{
    aph_value open = aph_array(0, NULL);
    for (size_t i = 0; i < n; i++) {
        const aph_alternative *a = &alternatives[i];
        if (a->open)
            open = aph_push(open, APH_ARRAY_OF(aph_int(a->port), a->label, aph_int((int64_t)i)));
    }
    return (int)perform_select(m, open, "aph_select: no open alternative");
}

aph_value aph_take(aph *m, int port, aph_value labels)
{
    aph_value open = aph_array(0, NULL);
    for (size_t i = 0; i < aph_count(labels); i++)
        open = aph_push(open, APH_ARRAY_OF(aph_int(port), aph_at(labels, i), aph_int((int64_t)i)));
    return aph_at(labels, (size_t)perform_select(m, open, "aph_take: no label to receive"));
}

void aph_program_step(aph *m, aph_value *state)
{
    (void)state;
    aphi_step_miscalled(m, "a message-passing program, not a server; use antiphon reach");
}

void aph_halt(aph *m)
{
    for (;;) /* this event is never answered: the step is abandoned */
        perform_label(m, APHI_EVENT_HALT, 0, APH_NIL);
}
