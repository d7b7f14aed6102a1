#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# prose.sh - patterns of unclear English in comments, messages and documents do not become more frequent.
#
# prose-ceilings.txt has a ceiling for each place and pattern. A count above its ceiling is a failure.
#
#   tests/tidy/prose.sh --list     print the lines that match
#   tests/tidy/prose.sh --lower    lower the ceilings to the counts; never raises one
set -eu
cd "$(dirname "$0")/../.."
command -v python3 >/dev/null || exit 77

python3 - "$@" <<'END'
import os, re, sys

PATTERNS = {
    "what": r"\b[Ww]hat (is|was|it|the|they|he|she|we|a|an|has|have|had|can|may|must|came|comes|there|stands|passes|waits|does|did"
            r"|would|will|are|were|one|each|its|this|that|to|of|in|no|nobody|some|goes|went|happened|happens|follows|remains"
            r"|belongs|makes)\b",
    "say": r"\b(tell|tells|told|telling|say|says|said|saying|ask|asks|asked|asking|hear|hears|heard|hearing)\b",
    "who": r"\b([Ww]ho|[Ww]hoever|[Ww]homever|[Ww]hatever|[Nn]obody|[Ss]omebody)\b",
    "so many": r"\b(so (many|long|often|much)|anew|as often as)\b",
    "is no": r"(?<![Tt]here )\b(is|are|was|were|be) no (?!longer)[a-z]+\b",
    "idiom": r"\b(comes? (of|to) it|came (of|to)|goes? on|one by one|of its own|have it otherwise|owes?|owed)\b",
}
PATTERNS = {kind: re.compile(pattern) for kind, pattern in PATTERNS.items()}
FOLDERS = ("include", "src", "models", "subjects", "examples", "tests", "bench", "tools", "docs")
CEILINGS = "tests/tidy/prose-ceilings.txt"


def files():
    for folder in FOLDERS:
        for path, folders, names in os.walk(folder):
            folders[:] = sorted(f for f in folders if f not in ("seeds", "__pycache__"))
            yield from (os.path.join(path, name) for name in sorted(names))
    yield from ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile", "meson.build")


def document(text):
    code = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            code = not code
        elif not code and not line.startswith("    "):
            yield "documents", number, re.sub(r"`[^`]*`", "", line)


def c_source(text, messages):
    for match in re.finditer(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"', text, re.S):
        place = "messages" if match[0].startswith('"') else "comments"
        first = text.count("\n", 0, match.start()) + 1
        if place == "comments" or messages:
            yield from ((place, first + i, line) for i, line in enumerate(match[0].split("\n")))


def script(text):
    for number, line in enumerate(text.split("\n"), 1):
        comment = re.search(r"(^|\s)#(?!!)(.*)", line)
        if comment:
            yield "comments", number, comment[2]


def lines(file):
    if file.endswith("tests/tidy/prose.sh") or file.endswith(".txt"):
        return
    try:
        text = open(file, encoding="utf-8").read()
    except UnicodeDecodeError:
        return
    if file.endswith(".md"):
        yield from document(text)
    elif file.endswith((".c", ".h")):
        yield from c_source(text, file.startswith("src/"))
    elif file.endswith((".sh", ".py", ".build", ".bash", ".zsh")) or "." not in os.path.basename(file):
        yield from script(text)


counts = {(place, kind): 0 for place in ("comments", "messages", "documents") for kind in PATTERNS}
for file in files():
    for place, number, line in lines(file):
        for kind, pattern in PATTERNS.items():
            hits = len(pattern.findall(line))
            counts[place, kind] += hits
            if hits and "--list" in sys.argv:
                print(f"{file}:{number}: [{place}, {kind}] {line.strip()}")

ceilings = {}
for line in open(CEILINGS) if os.path.exists(CEILINGS) else ():
    number, place, kind = line.split(maxsplit=2)
    ceilings[place, kind.strip()] = int(number)
bad = False
for key, count in counts.items():
    ceiling = ceilings.get(key, count)
    if count > ceiling:
        print(f'{key[0]}, pattern "{key[1]}": {count} matches, at most {ceiling} allowed; --list shows them')
        bad = True
    elif count < ceiling:
        print(f'{key[0]}, pattern "{key[1]}": the ceiling {ceiling} can be lowered to {count}')
if "--lower" in sys.argv:
    with open(CEILINGS, "w") as out:
        for key, count in counts.items():
            out.write(f"{min(count, ceilings.get(key, count)):5} {key[0]:9} {key[1]}\n")
if not bad:
    print(f"{sum(counts.values())} matches in all")
sys.exit(bad)
END
