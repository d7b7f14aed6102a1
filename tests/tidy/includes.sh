#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# includes.sh - the modules of src/ include only modules that come before them in the list below.
#
# threads is a separate library and mutate a separate program; no other module includes them. mutate includes only base.
# Public headers, models and examples include only public headers, C library headers, and headers in their own folder;
# models/http also includes the HTTP parser, codec/http_*.h.
set -eu
cd "$(dirname "$0")/../.."

files=$(find src include models examples -name '*.[ch]' 2>/dev/null | LC_ALL=C sort)
# shellcheck disable=SC2086 # one word a file
awk '
BEGIN {
    modules = split("threads mutate base value solve tree env derive oracle trace check codec script generate subject shrink tester server fault refine alts explore local execute report mpi cli", names, " ")
    for (i = 1; i <= modules; i++) rank[names[i]] = i
}
function wrong(why) {
    printf "%s:%d: %s: %s\n", FILENAME, FNR, why, $0
    bad = 1
}
# Checks a quoted header in a module of src/.
function inside(folder, header,    parts) {
    if (split(header, parts, "/") == 1) return # in the same folder
    if ((folder == "cli" || folder == "check") && header ~ /^models\//) return # built-in models
    if (!(parts[1] in rank)) {
        wrong("not a module")
    } else if (parts[1] ~ /^(threads|mutate)$/ && folder != parts[1]) {
        wrong(parts[1] " stands alone")
    } else if (folder == "mutate" ? parts[1] !~ /^(base|mutate)$/ : rank[parts[1]] > rank[folder]) {
        wrong(parts[1] " is below " folder)
    }
}
# Checks a quoted header outside src/: it must be in the same folder.
function outside(header) {
    if (FILENAME ~ /^include\//) wrong("a public header includes <antiphon/...> only")
    else if (directory == "models/http" && header ~ /^codec\/http_/) return
    else if (header ~ /\// || (getline line < (directory "/" header)) < 0) wrong("not public")
    else close(directory "/" header)
}
FNR == 1 {
    directory = FILENAME
    sub(/\/[^\/]*$/, "", directory)
    split(FILENAME, path, "/")
    if (path[1] == "src" && !(path[2] in rank)) wrong("src/" path[2] " has no place in the list")
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
    header = $0
    sub(/^[^"]*"/, "", header)
    sub(/".*/, "", header)
    if (path[1] == "src") inside(path[2], header)
    else outside(header)
}
/^[ \t]*#[ \t]*include[ \t]*<antiphon\// {
    header = $0
    sub(/^[^<]*</, "", header)
    sub(/>.*/, "", header)
    if (path[1] == "src" && path[2] == "mutate") wrong("mutate includes base only")
    if ((getline line < ("include/" header)) < 0) wrong("no such public header")
    else close("include/" header)
}
END { exit bad }' $files </dev/null
echo "$(echo "$files" | wc -l) files include what they may"
