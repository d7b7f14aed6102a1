#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# demo.sh - the demonstration completes: a server passes, a mutant fails, and the report is written.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
: "${ANTIPHON_SUBJECTS:?names the folder of the subjects}"

title='make demo'
unset DISPLAY WAYLAND_DISPLAY
REPORT=$dir/report.html FOLDER=$dir/demo bash "$ANTIPHON_ROOT/examples/demo.sh" >"$dir/out" 2>"$dir/err" </dev/null
check 'the demonstration does not complete' [ $? -eq 0 ]
out 'pass  swap at'
out 'shrunk to '
out 'expected'
out 'no explanation for this response'
check 'the report is not a page' grep -q '</svg>\|<script' "$dir/report.html"
finish
