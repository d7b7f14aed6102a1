/* SPDX-License-Identifier: Apache-2.0
 *
 * programs.c - built-in message-passing programs: the list of families, and construction of programs. */
#include "programs.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const aph_family *const families[] = {&aph_family_dp, &aph_family_tdme, &aph_family_dme};

static const size_t count = sizeof families / sizeof *families;

const aph_family *const *aph_families(size_t *n)
{
    *n = count;
    return families;
}

/* Returns the size in the name, 0 if the family has no sizes, or -1 if the name does not belong to this family. */
static int parse_size(const aph_family *f, const char *name)
{
    size_t n = strlen(f->name);
    if (strncmp(name, f->name, n) != 0)
        return -1;
    if (f->most == 0)
        return name[n] ? -1 : 0;
    if (name[n] != '-' || name[n + 1] < '1' || name[n + 1] > '9')
        return -1;
    char *end;
    long size = strtol(name + n + 1, &end, 10);
    return !*end && size >= f->least && size <= f->most ? (int)size : -1;
}

aph_program *aph_program_named(const char *name)
{
    for (size_t i = 0; i < count; i++) {
        int size = parse_size(families[i], name);
        if (size >= 0)
            return families[i]->make(size);
    }
    return NULL;
}

/* ---- construction ------------------------------------------------------------------------------------------------ */

__attribute__((format(printf, 1, 0))) static char *format_name(const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    size_t size = (size_t)vsnprintf(NULL, 0, format, again) + 1;
    va_end(again);
    char *text = aph_allocate(size);
    vsnprintf(text, size, format, args);
    return text;
}

aph_program *aph_program_make(const char *summary, int components, int ports, const char *name, ...)
{
    aph_program *p = aph_allocate(sizeof *p);
    va_list args;
    va_start(args, name);
    p->name = format_name(name, args);
    va_end(args);
    p->summary = summary;
    p->component_count = components;
    p->port_count = ports;
    p->components = aph_allocate((size_t)components * sizeof *p->components);
    p->ports = aph_allocate((size_t)ports * sizeof *p->ports);
    return p;
}

void aph_program_component(aph_program *p, int index, aph_step *step, const void *data, size_t size, const char *name,
                           ...)
{
    aph_component *c = (aph_component *)&p->components[index];
    void *copy = aph_allocate(size);
    va_list args;
    va_start(args, name);
    *c = (aph_component){.name = format_name(name, args), .step = step, .data = memcpy(copy, data, size)};
    va_end(args);
}

void aph_program_port(aph_program *p, int index, int owner, aph_medium medium, int capacity, const char *name, ...)
{
    aph_port *port = (aph_port *)&p->ports[index];
    va_list args;
    va_start(args, name);
    *port = (aph_port){.name = format_name(name, args), .owner = owner, .medium = medium, .capacity = capacity};
    va_end(args);
}

void aph_program_free(aph_program *p)
{
    for (int i = 0; i < p->component_count; i++) {
        free((char *)p->components[i].name);
        free((void *)p->components[i].data);
    }
    for (int i = 0; i < p->port_count; i++)
        free((char *)p->ports[i].name);
    free((void *)p->components);
    free((void *)p->ports);
    free((char *)p->name);
    free(p);
}
