"""Prints the structs of the tree that have too many fields to be read at a glance.

usage: find_wide_structs.py SOURCE

Each name that a struct declares counts; constants and types of a struct of C++ do not. A struct inside of another one
counts once there, and is looked at by itself. The sections of the configuration are lists of keys and may be long. Exit
status: 0: none; 1: some; 2: hardly a struct was found.
"""

import os
import re
import sys

FOLDERS = ("runtime", "io", "kernels", "partition", "models", "launch")
SOURCES = (".c", ".h", ".cpp", ".hpp", ".cu", ".cuh")
LISTS = ("runtime/config/config.h",)
MOST = 20
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"", re.S)
OPENING = re.compile(r"\b(?:struct|union)\s+(?:__\w+\([^)]*\)\s*)?(\w*)\s*\{")
NO_FIELD = re.compile(r"\s*(?:static|typedef|using|template|enum\s*\w*\s*\{\}\s*$|$)")


def blank(match):
    """The same number of lines without anything to read."""
    return "\n" * match.group().count("\n")


def body_at(text, start):
    """What stands in the braces that have been opened before `start`."""
    depth, end = 1, start
    while depth:
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    return text[start : end - 1]


def count_fields(body):
    inner = re.compile(r"\{[^{}]*\}|\([^()]*\)")
    marked = body.replace("()", "")
    while inner.search(marked):
        marked = inner.sub(lambda m: "" if m.group()[0] == "(" else "\0", marked)
    statements = marked.replace("\0", "{}").split(";")
    return sum(1 + s.count(",") for s in statements if not NO_FIELD.match(s))


def structs_of(path):
    """(line, name, fields) of each struct of a file."""
    with open(path, encoding="utf-8") as file:
        text = COMMENT.sub(blank, file.read())
    for match in OPENING.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield line, match.group(1) or "without a name", count_fields(body_at(text, match.end()))


def main():
    source, found, wide = sys.argv[1], 0, 0
    for folder in FOLDERS:
        for place, _, names in os.walk(os.path.join(source, folder)):
            for name in sorted(names):
                path = os.path.join(place, name)
                relative = os.path.relpath(path, source)
                if not name.endswith(SOURCES) or relative in LISTS:
                    continue
                for line, struct, fields in structs_of(path):
                    found += 1
                    if fields > MOST:
                        print(f"{relative}:{line}: struct {struct} has {fields} fields, more than {MOST}")
                        wide += 1
    if found < 100:
        print(source + ": has hardly a struct")
        return 2
    return 1 if wide else 0


if __name__ == "__main__":
    sys.exit(main())
