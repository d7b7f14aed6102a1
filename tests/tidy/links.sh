#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# links.sh - every relative link, file name and make target in the documents exists.
#
# Checks links with their anchors (target headings) and, outside code blocks, each `src/...`, `file.c`, `bench_NAME`
# and `make TARGET`. A pattern with * must match a file. The names in architecture.svg are checked as well.
set -eu
cd "$(dirname "$0")/../.."
command -v python3 >/dev/null || exit 77

python3 - README.md CONTRIBUTING.md docs/*.md examples/README.md subjects/*/README.md <<'END'
import glob, os, re, sys

FOLDERS = ("src/", "include/", "models/", "subjects/", "examples/", "tests/", "bench/", "tools/", "docs/")
EXTENSIONS = (".c", ".h", ".sh", ".py", ".js", ".css", ".txt")
PLACEHOLDERS = {"echo.c", "name.c"}  # not files of the tree

names = {"page.h", "templates.h"}  # files that the build generates
for folder in FOLDERS:
    for _, _, files in os.walk(folder):
        names.update(files)
targets = set(re.findall(r"^([a-z][a-z-]*):", open("Makefile").read(), re.M))
bad = count = 0


def complain(file, line, text):
    global bad
    bad += 1
    print(f"{file}:{line}: {text}")


def prose(file):
    """The numbered lines of a document outside code blocks."""
    code = False
    for number, line in enumerate(open(file, encoding="utf-8").read().split("\n"), 1):
        if line.startswith("```"):
            code = not code
        elif not code and not line.startswith("    "):
            yield number, line


def anchors(file):
    """The anchors that GitHub makes of the headings."""
    found = set()
    for _, line in prose(file):
        if line.startswith("#"):
            title = re.sub(r"[`*]|\[|\]\([^)]*\)", "", line.lstrip("#").strip()).lower()
            found.add(re.sub(r"[^\w\- ]", "", title).replace(" ", "-"))
    return found


def check_link(file, line, link):
    if re.match(r"[a-z]+:", link):
        return
    path, _, anchor = link.partition("#")
    target = os.path.normpath(os.path.join(os.path.dirname(file), path)) if path else file
    if not os.path.exists(target):
        complain(file, line, f"{link}: no such file")
    elif anchor and anchor not in anchors(target):
        complain(file, line, f"{link}: no such heading")


def check_name(file, line, text):
    made = re.match(r"make ([a-z][a-z-]*)$", text)
    if made and made[1] not in targets:
        complain(file, line, f"{text}: no such target")
    word = text.split(" ")[0]
    bench = re.match(r"(?:build/)?(bench_\w+)$", word)
    if bench and bench[1] + ".c" not in names:
        complain(file, line, f"{text}: no such benchmark")
    if re.search(r"[<>{}|$A-Z]", os.path.dirname(word)) or "<" in word or word.startswith("/") or word in PLACEHOLDERS:
        return
    if word.startswith(FOLDERS):
        if not glob.glob(word):
            complain(file, line, f"{text}: no such file")
    elif word.endswith(EXTENSIONS) and re.match(r"[\w.*-]+(/[\w.*-]+)*$", word):
        pattern = re.compile(re.escape(os.path.basename(word)).replace(r"\*", ".*") + "$")
        if not word.startswith(".") and not any(pattern.match(name) for name in names):
            complain(file, line, f"{text}: no file of that name")


for file in sys.argv[1:]:
    text = list(prose(file))
    joined = "\n".join(line for _, line in text)
    for number, line in text:
        for name in re.findall(r"`([^`]+)`", line):
            check_name(file, number, name)
            count += 1
    for match in re.finditer(r"\]\(([^()\s]+)\)", joined):
        check_link(file, text[joined.count("\n", 0, match.start())][0], match[1])
        count += 1
drawing = "docs/architecture.svg"
for number, line in enumerate(open(drawing, encoding="utf-8"), 1):
    for name in re.findall(r"\b(?:src/[a-z]+(?:/\w+\.c)?|\w+\.c)\b", line):
        check_name(drawing, number, name)
        count += 1
if not bad:
    print(f"{count} links and names exist")
sys.exit(bad > 0)
END
