/* SPDX-License-Identifier: Apache-2.0
 *
 * load_client.h - a served model, and a client that sends many concurrent requests to it and records a trace. */
#ifndef TESTS_SUPPORT_LOAD_CLIENT_H
#define TESTS_SUPPORT_LOAD_CLIENT_H

#include <antiphon/model.h>

#include "base/random_choice.h"

#include <netinet/in.h>
#include <stdio.h>
#include <sys/types.h>

/* A process of `antiphon serve`. */
typedef struct served {
    pid_t pid;
    FILE *out;                 /* its output after the first line */
    struct sockaddr_in at;
} served;

/* Starts `$ANTIPHON serve` with a NULL-terminated list of arguments, and waits until it listens. */
served served_start(const char *const *words);
/* Sends SIGTERM. Returns the exit code, or -1 if a signal ended the process. */
int served_stop(served *s);

/* A generator of requests. */
typedef struct load_client {
    const aph_model *model;
    aphi_choice choice;
    aph_value tags;            /* array of observed tags */
    uint64_t keys; /* number of keys, if the model has keys; large, so that few concurrent requests share a key */
    uint64_t made;             /* number of requests so far */
    aph_value (*request)(struct load_client *a);
    void (*answered)(struct load_client *a, aph_value answer); /* may be NULL */
} load_client;

/* A generator for a built-in model. */
load_client load_client_of(const aph_model *model, uint64_t seed);

typedef struct load_options {
    unsigned connections;
    unsigned depth;            /* pending requests per connection */
    unsigned requests;         /* total number */
    bool datagrams;            /* use UDP; a request without a response within a time limit counts as lost */
    FILE *trace;               /* receives a trace in jsonl; may be NULL */
} load_options;

/* Sends all requests and waits for all responses. Returns false, with a message on stderr, if a response is malformed,
 * a connection is closed, or nothing arrives for ten seconds. */
bool load_client_run(load_client *a, const served *s, const load_options *how);

#endif
