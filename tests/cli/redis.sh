#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# redis.sh - the model of counters in docs/writing-models.md: it compiles, its server is accepted, and reports show
# messages as redis-cli does.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

cd "$dir" || exit 1
# The block of C that uses aph_resp_words.
awk '/^```c$/ { block = ""; inside = 1; next }
     /^```$/ { if (inside && block ~ /aph_resp_words/) printf "%s", block; inside = 0 }
     inside { block = block $0 "\n" }' "$ANTIPHON_ROOT/docs/writing-models.md" >block
{ printf '#include <antiphon/model.h>\n#include <antiphon/resp.h>\n' && cat block && echo 'APH_MODEL(counters)'; } >counters.c
check 'no model in the document' grep -q 'name = "counters"' counters.c

run 0 test ./counters.c --run "'$ANTIPHON' serve ./counters.c --port {port} --delay 0" --messages 400 --seed 1
out pass
printf '%s\n' '{"conn":0,"send":["INCR","a"]}' '{"conn":0,"recv":{"error":"ERR no"}}' >trace
run 1 check ./counters.c trace
out '["INCR","a"] → (error) ERR no'
out 'expected 1'
finish
