/* SPDX-License-Identifier: Apache-2.0
 *
 * check.h - check a recorded history of a server against a model.
 *
 *     aph_loaded_model loaded;
 *     aph_load_error error;
 *     if (aph_model_load("register", &loaded, &error)) {
 *         aph_check_result *r = aph_check_file(loaded.model, "history.log", NULL);
 *         puts(aph_check_verdict_name(r->verdict));
 *         aph_check_result_free(r);
 *         aph_model_unload(&loaded);
 *     }
 *
 * A check runs in the calling thread. It reads the trace with constant memory, feeds it to an oracle for each partition
 * of the state (oracle.h), and reads the trace again if partitions depend on each other or a search must keep more of
 * the history. It may call aph_collect, so the caller's values must be reachable from a root.
 */
#ifndef ANTIPHON_CHECK_H
#define ANTIPHON_CHECK_H

#include <antiphon/network.h>
#include <antiphon/oracle.h>

#include <signal.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- models by name or file -------------------------------------------------------------------------------------- */

typedef enum aph_model_source {
    APH_MODEL_BUILTIN, /* "register": the name of a built-in model */
    APH_MODEL_C,       /* "./mine.c": compiled with $CC or cc, and cached in $XDG_CACHE_HOME/antiphon */
    APH_MODEL_LIBRARY, /* "./mine.so": an already compiled model */
    APH_MODEL_PROG,    /* "./mine.prog": a program in the language Prog */
} aph_model_source;

typedef struct aph_loaded_model {
    const aph_model *model;  /* valid until aph_model_unload */
    aph_model_source source;
    const char *environment; /* the default for the model: "sync" for a program in Prog, else "tcp" */
    void *library;           /* private */
    aph_model *copy;         /* private */
} aph_loaded_model;

typedef enum aph_load_fault {
    APH_LOAD_NO_SUCH,     /* not a built-in model, and not a known kind of file */
    APH_LOAD_UNREADABLE,  /* the file cannot be read */
    APH_LOAD_SYNTAX,      /* syntax error in a program in Prog */
    APH_LOAD_COMPILE,     /* the compiler rejects the file; its messages are on stderr */
    APH_LOAD_SETUP,       /* no compiler, no headers, or no writable directory for the library */
    APH_LOAD_LIBRARY,     /* the library cannot be loaded */
    APH_LOAD_NO_MODEL,    /* the library has no aph_model_main, or aph_model_main returns no usable model */
    APH_LOAD_VERSION,     /* the model was compiled for another APH_MODEL_VERSION */
} aph_load_fault;

typedef struct aph_load_error {
    aph_load_fault fault;
    char message[1024];   /* without a trailing newline */
} aph_load_error;

/* Returns false if the model cannot be loaded; *error then has the reason, and nothing needs to be unloaded. */
bool aph_model_load(const char *spec, aph_loaded_model *loaded, aph_load_error *error);
/* Neither the model nor a tree made from it may still be in use. */
void aph_model_unload(aph_loaded_model *loaded);
/* Returns the bit of the named waiver in aph_model.waived, or 0 if the model has no such waiver. To allow a waiver, set
 * the bit in a copy of the model. */
uint64_t aph_waiver_bit(const aph_model *model, const char *name);

/* ---- networks by name or file ------------------------------------------------------------------------------------ */

typedef struct aph_loaded_network {
    const aph_network *network; /* valid until aph_network_unload */
    void *library;              /* private */
    aph_network *copy;          /* private */
} aph_loaded_network;

/* Loads "tcp", "tcp:N", "sync" or "udp" (NULL: "tcp"), a C source "./mine.c", which is compiled as a model is, or
 * "./mine.so". The faults are those of models. Returns false if the network cannot be loaded; nothing needs to be
 * unloaded then. */
bool aph_network_load(const char *spec, aph_loaded_network *loaded, aph_load_error *error);
void aph_network_unload(aph_loaded_network *loaded);
/* Returns true if spec is the name of a file, ending in .c or .so. */
bool aph_network_is_file(const char *spec);

/* ---- checks ------------------------------------------------------------------------------------------------------ */

/* docs/traces.md describes each format. */
typedef enum aph_trace_format {
    APH_FORMAT_AUTO,       /* recognized from the first bytes */
    APH_FORMAT_JSONL,      /* Antiphon's own: one JSON object per line */
    APH_FORMAT_JEPSEN_LOG, /* PROCESS :invoke|:ok|:fail|:info :OP VALUE, one per line */
    APH_FORMAT_EDN,        /* Jepsen operation maps in EDN, one after another or in one vector */
    APH_FORMAT_JSON,       /* Jepsen operation maps in JSON, one per line or in one array */
} aph_trace_format;

typedef struct aph_check_options {
    aph_oracle_options oracle;         /* environment, limits, promises; `order` is implied by `explain` */
    aph_trace_format format;
    bool explain;                      /* after a pass, return an explanation that an independent replay confirmed */
    bool ignore_times;                 /* trust the order of the lines, even if their times run backwards */
    const volatile sig_atomic_t *stop; /* if not NULL, the check stops within about 10 ms of *stop becoming nonzero */
    void (*progress)(void *context, uint64_t observations); /* called every few thousand observations; may be NULL */
    void *context;                     /* for progress */
    /* Decide by the derivation (docs/networks.md): slow, and without the promises of the model. Of the options of the
     * oracle, only environment, time_ms, memory and solver_ms are used; explain is not available. */
    bool derive;
    const aph_network *network;        /* replaces oracle.environment, and implies derive; NULL: none */
    uint64_t branches;                 /* of the derivation; 0: no limit */
    bool ignore_quiet;                 /* read the "quiet" lines of a trace as notes */
} aph_check_options;

typedef enum aph_check_verdict {
    APH_CHECK_PASS,    /* the model explains the history */
    APH_CHECK_FAIL,    /* the model does not explain the history; see evidence */
    APH_CHECK_UNKNOWN, /* a limit was reached first; see limit and line */
    APH_CHECK_ERROR,   /* the trace or the model is unusable; see error and message */
    APH_CHECK_VACUOUS, /* the history has no response, so the model explains it trivially; see message */
} aph_check_verdict;

typedef enum aph_check_error {
    APH_CHECK_NO_ERROR,
    APH_CHECK_OPTIONS,         /* unknown environment */
    APH_CHECK_TRACE_IO,        /* the file cannot be read, or cannot be read a second time */
    APH_CHECK_TRACE_FORMAT,    /* the format is not recognized */
    APH_CHECK_TRACE_MALFORMED,
    APH_CHECK_TRACE_TRUNCATED, /* the file ends inside an observation */
    APH_CHECK_TRACE_ORPHAN,    /* a response without a request */
    APH_CHECK_TRACE_OVERLAP,   /* a process has two operations in progress at once */
    APH_CHECK_TRACE_RANGE,     /* an integer beyond 64 bits */
    APH_CHECK_TRACE_FRACTION,  /* a number that is not an integer */
    APH_CHECK_TRACE_NUL,       /* a raw NUL byte */
    APH_CHECK_TRACE_TYPE,      /* an unknown operation type */
    APH_CHECK_TRACE_LONG,      /* a line or form is too long */
    APH_CHECK_TRACE_REQUEST,   /* the model does not know a request */
    APH_CHECK_TRACE_EMPTY,     /* the trace has no request */
    APH_CHECK_MODEL_CRASH,     /* see APH_FAULT_CRASH */
    APH_CHECK_MODEL_STUCK,     /* see APH_FAULT_STUCK */
    APH_CHECK_MODEL_IMPURE,    /* see APH_FAULT_IMPURE */
    APH_CHECK_MODEL_PROMISE,   /* see APH_FAULT_PROMISE */
    APH_CHECK_MODEL_CALL,      /* see APH_FAULT_CALL */
    APH_CHECK_TRACE_ORDER,     /* the times of the lines run backwards */
    APH_CHECK_TRACE_DEEP,      /* values are nested too deeply */
    APH_CHECK_MODEL_CODEC,     /* all messages that the model allows are unreadable; see APH_FAULT_CODEC */
} aph_check_error;

typedef struct aph_check_result {
    aph_check_verdict verdict;
    char *file;                /* the path that was given; "memory" for aph_check_memory */
    char *model;               /* the name of the model */
    aph_trace_format format;   /* as recognized; APH_FORMAT_AUTO if the trace could not be opened */

    aph_check_error error;     /* set if the verdict is APH_CHECK_ERROR */
    aph_limit limit;           /* set if the verdict is APH_CHECK_UNKNOWN; APH_LIMIT_STOPPED: by options.stop */
    char message[512];         /* describes the error, the step with too many branches, or why the explanation is
                                * invalid; otherwise "" */
    uint64_t line, column;     /* position of the error or limit, counted from 1; 0 if there is none */

    /* With APH_CHECK_FAIL, an object with these fields:
     *   line, connection   the position of the first response that has no explanation
     *   quiet              true if there is none for a silence (a "quiet" line); connection is then meaningless
     *   exact              false if the search for that response was cut short, and an earlier one may be the first
     *   observed, request  the response, and its request if the model is rpc
     *   window             operations around it: connection, request, answer, line, call, end, violated
     *   allowed            responses that the model allows instead: answer, state, given, because, clauses, and order,
     *                      the lines of the requests in the order in which the server took them
     *                      unreadable: why the codec of the model would not read this message, if it would not
     *   all_allowed        true if `allowed` is complete
     *   part               the part of the state, if the state has several parts */
    aph_value evidence;
    /* With APH_CHECK_PASS or APH_CHECK_VACUOUS and options.explain, an array with an object for each part of the state.
     * Its fields are the order in which the server took the requests (order: numbers of observations; lines), and the
     * server's choices (choices, named). */
    aph_value explanation;
    bool explanation_holds;    /* if false, Antiphon has a bug */

    uint64_t operations;       /* requests */
    uint64_t observations;
    uint64_t configurations, steps, solver_calls; /* as in aph_oracle_stats */
    uint64_t parts;            /* parts of the state that were checked separately */
    int64_t check_ns;          /* time in the oracle, excluding evidence_ns and reading the trace */
    int64_t evidence_ns;
    uint64_t resident_kb;      /* largest resident set of the process so far */
    uint64_t responses;        /* messages from the server; the other observations are requests and losses */
} aph_check_result;

/* These functions return a result that the caller frees; until then, its values are roots. options may be NULL. */
/* "-" is standard input. A file that cannot be read twice, such as a pipe, is checked with options.oracle.patient. */
aph_check_result *aph_check_file(const aph_model *model, const char *path, const aph_check_options *options);
aph_check_result *aph_check_memory(const aph_model *model, const void *bytes, size_t size,
                                   const aph_check_options *options);
/* Replays an explanation (aph_check_result.explanation) on the model, without a search or a solver. The verdict is
 * APH_CHECK_PASS if the explanation is valid for the history, otherwise APH_CHECK_FAIL with a message. */
aph_check_result *aph_check_explanation(const aph_model *model, const char *path, const aph_check_options *options,
                                        aph_value explanation);
void aph_check_result_free(aph_check_result *result);

/* Receives the result for paths[file] as soon as it is available, and frees it. Returns false to end the checks. */
typedef bool aph_check_receiver(void *context, size_t file, aph_check_result *result);
/* Checks many files in up to `jobs` worker processes (at most 256), or in the calling thread if jobs is 0 or 1. A
 * worker that dies yields APH_CHECK_MODEL_CRASH. After options.stop, only passes and fails are delivered. */
void aph_check_files(const aph_model *model, const char *const *paths, size_t count, const aph_check_options *options,
                     size_t jobs, aph_check_receiver *receive, void *context);

const char *aph_check_verdict_name(aph_check_verdict verdict); /* "pass" */
const char *aph_trace_format_name(aph_trace_format format);    /* "jepsen-log" */
/* Returns false if there is no format with that name. */
bool aph_trace_format_named(const char *name, aph_trace_format *format);
/* Returns the result as an object, for aph_json_write: the fields that docs/verdicts.md lists, with check_ns and
 * evidence_ns in place of check_ms and evidence_ms, and without exit. The object is not protected from aph_collect. */
aph_value aph_check_result_value(const aph_check_result *result);

#ifdef __cplusplus
}
#endif
#endif
