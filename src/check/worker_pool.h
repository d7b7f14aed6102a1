/* SPDX-License-Identifier: Apache-2.0
 *
 * worker_pool.h - judge many files, several at a time. */
#ifndef APHI_CHECK_WORKER_POOL_H
#define APHI_CHECK_WORKER_POOL_H

#include "check/check_trace.h"

/* Called with each result as it comes, `file` being its place in files; returns false to stop early. */
typedef bool aphi_worker_pool_result(void *context, size_t file, aph_value result);

/* Judge the files with `jobs` worker processes (1: in this one). A worker that dies gives a result that says so. */
void aphi_worker_pool_run(const aph_model *model, size_t n, char **files, const aphi_check_options *options,
                          size_t jobs, aphi_worker_pool_result *result, void *context);
/* Set by a signal: finish what is under way no more, report what there is. */
bool aphi_worker_pool_interrupted(void);

#endif
