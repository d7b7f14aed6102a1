#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# hardening.sh - the programs and the libraries are position-independent, have read-only relocations, a stack without execute
# permission, the stack protector and, on x86-64, the marks for indirect branches and shadow stacks. The optimized program uses
# the checked functions of the C library.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."
library=${ANTIPHON_LIBRARY:-build/libantiphon.so}
threads=${ANTIPHON_THREADS_LIBRARY:-build/libantiphon-threads.so}
program=${ANTIPHON:-build/antiphon}
command -v readelf >/dev/null || exit 77

bad=0
# wants FILE PATTERN PROPERTY READELF-OPTION...: the output of readelf must contain the pattern.
wants() {
    file=$1
    pattern=$2
    property=$3
    shift 3
    if ! readelf -W "$@" "$file" | grep -q -- "$pattern"; then
        echo "$file: no $property"
        bad=1
    fi
}

for file in "$program" "$(dirname "$program")/antiphon-mutate" "$library" "$threads"; do
    wants "$file" 'DYN (' 'position-independent code' --file-header
    wants "$file" 'GNU_RELRO' 'read-only relocations (-z relro)' --program-headers
    wants "$file" 'BIND_NOW' 'binding at startup (-z now)' --dynamic
    wants "$file" 'GNU_STACK .* RW  ' 'stack without execute permission' --program-headers
    wants "$file" '__stack_chk_fail' 'stack protector' --dyn-syms
    if [ "$(uname -m)" = x86_64 ]; then
        wants "$file" 'x86 feature: IBT, SHSTK' 'marks for indirect branches and shadow stacks' --notes
    fi
done
# Without optimization, the compiler does not know the sizes of objects.
if ! grep -q -- '-O0' "$(dirname "$program")/compile_commands.json"; then
    wants "$program" '__memcpy_chk\|__snprintf_chk' '_FORTIFY_SOURCE' --dyn-syms
fi
exit $bad
