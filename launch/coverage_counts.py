#!/usr/bin/env python3
"""launch/coverage_counts.py BUILD FOLDER...: of the C and C++ files below each folder that BUILD compiled with --coverage, the
lines and branches that were run, by folder and in all, and the ten files with the most of both that were not; of a file
in place of a folder, its lines that were not run (-) and those with branches that were not (?), too. Branches are those
that gcov counts, without the ways of exceptions and those of assert, which only a mistake of our own would take; where
a call failed, the way out of TRY counts as any other. Files that no test loads count with none of their lines."""
import collections
import json
import os
import re
import subprocess
import sys


def asserts(path):
    """The numbers of the lines that an assert of that file begins or goes on in."""
    numbers = set()
    with open(path) as file:
        text = file.read()
    for found in re.finditer(r"\bassert\(", text):
        end, depth = found.end(), 1
        while depth > 0:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        first = text.count("\n", 0, found.start())
        numbers.update(range(first + 1, first + text.count("\n", found.start(), end) + 2))
    return numbers


def counts(build):
    """{file: ({line: runs}, {(line, branch): runs})} of all objects; a header, or a file compiled twice, is one."""
    root = os.getcwd()
    files = collections.defaultdict(lambda: (collections.Counter(), collections.Counter()))
    notes = [os.path.join(folder, name) for folder, _, names in os.walk(build) for name in names if name.endswith(".gcno")]
    for first in range(0, len(notes), 64):
        command = ["gcov", "--json-format", "--branch-probabilities", "--stdout", *notes[first:first + 64]]
        said = subprocess.run(command, check=False, capture_output=True, text=True)
        wrong = [line for line in said.stderr.splitlines() if "mismatch" in line]
        if wrong or said.returncode:
            sys.exit(f"coverage_counts.py: {(wrong or said.stderr.splitlines())[-1]}; launch/coverage counts anew")
        for report in said.stdout.splitlines():
            for file in json.loads(report)["files"]:
                lines, branches = files[os.path.relpath(os.path.join(root, file["file"]), root)]
                for line in file["lines"]:
                    lines[line["line_number"]] += line["count"]
                    ways = [branch for branch in line["branches"] if not branch["throw"]]
                    for number, branch in enumerate(ways):
                        branches[line["line_number"], number] += branch["count"]
    return files


def row(name, files):
    lines = [count for file in files for count in file[0].values()]
    branches = [count for file in files for count in file[1].values()]
    shares = []
    for all_of in lines, branches:
        run = sum(count > 0 for count in all_of)
        shares.append(f"{run:6d} of {len(all_of):6d} {100 * run / max(len(all_of), 1):6.1f}%")
    print(f"{name:24s}  {shares[0]}   {shares[1]}")


def most(what, files, which):
    """Prints the ten files with the most lines (which: 0) or branches (1) that were not run."""
    missed = {name: sum(count == 0 for count in file[which].values()) for name, file in files.items()}
    print(f"\nmost {what} that were not run:")
    for name in sorted(missed, key=missed.get, reverse=True)[:10]:
        print(f"  {missed[name]:4d} of {len(files[name][which]):4d}  {name}")


def lines_missed(name, lines, branches):
    half = {line for (line, _), count in branches.items() if count == 0}
    with open(name) as file:
        for number, text in enumerate(file, 1):
            if number in lines and lines[number] == 0 or number in half:
                print(f"{name}:{number}: {'-' if lines[number] == 0 else '?'} {text.rstrip()}")


def main():
    build, places = sys.argv[1], sys.argv[2:]
    files = {name: file for name, file in counts(build).items()
             if os.path.exists(name) and
             any(name == place or name.startswith(place.rstrip("/") + "/") for place in places)}
    if not files:
        sys.exit(f"coverage_counts.py: nothing below {build} was compiled with --coverage from here")
    for name, (_, branches) in files.items():
        of_asserts = asserts(name)
        for key in [key for key in branches if key[0] in of_asserts]:
            del branches[key]
    for place in places:
        if place in files:
            lines_missed(place, *files[place])
    print(f"{'folder':24s}  {'lines':>22s}   {'branches':>22s}")
    below = collections.defaultdict(list)
    for name, file in files.items():
        below[os.path.dirname(name)].append(file)
    for folder in sorted(below):
        row(folder, below[folder])
    most("lines", files, 0)
    most("branches", files, 1)
    print()
    row("all", files.values())


main()
