#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# quartiles.sh - tools/quartiles prints the quartiles of the rejected tests, and draws one box per server and unit.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

find_python
quartiles() { "$python" "$ANTIPHON_ROOT/tools/quartiles" "$dir/figure.svg" >"$dir/out" 2>"$dir/err"; }

# Tests that passed have no cost; a quartile between two values is a weighted mean.
quartiles <<'END_OF_RUNS'
slow fail 4 50
slow starved 2 10
slow malformed 3 30
slow dead 1 20
slow fail 5 40
slow pass 60 9999
even fail 0.5 10
even fail 1.5 20
missed pass 60 9999
not-fixed fail 40 12
END_OF_RUNS
title='quartiles'
out 'slow                             5/6          2.000    3.000    4.000      20     30     40'
out 'even                             2/2          0.750    1.000    1.250      12     15     18'
out 'missed                           0/1'
out '2 mutants: the median is below 1 s for 0; the longest test took 5.0 s'
check 'the figure is not XML' "$python" -c 'import sys, xml.dom.minidom; xml.dom.minidom.parse(sys.argv[1])' "$dir/figure.svg"
check 'not three boxes for seconds' [ "$(grep -c 'class="seconds"' "$dir/figure.svg")" -eq 3 ]
check 'not three boxes for messages' [ "$(grep -c 'class="messages"' "$dir/figure.svg")" -eq 3 ]
check 'the missed mutant is not marked' grep -q 'missed (0/1)' "$dir/figure.svg"

if quartiles </dev/null; then fail 'no runs are not an error'; fi
err 'quartiles: stdin: no runs'
finish
