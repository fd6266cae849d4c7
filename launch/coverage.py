#!/usr/bin/env python3
"""launch/coverage.py BUILD FOLDER...: of the C and C++ files below each folder that BUILD compiled with --coverage, the
lines and branches that were run, by folder and in all, and the ten files with the most lines that were not. Branches
are those that gcov counts without the ways of exceptions. Files that no test loads count with none of their lines."""
import collections
import json
import os
import subprocess
import sys


def counts(build):
    """{file: ({line: runs}, {(line, branch): runs})} of all objects; a header, or a file compiled twice, is one."""
    root = os.getcwd()
    files = collections.defaultdict(lambda: (collections.Counter(), collections.Counter()))
    notes = [os.path.join(folder, name) for folder, _, names in os.walk(build) for name in names if name.endswith(".gcno")]
    for first in range(0, len(notes), 64):
        command = ["gcov", "--json-format", "--branch-probabilities", "--stdout", *notes[first:first + 64]]
        said = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
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
    print(f"{name:16s}  {shares[0]}   {shares[1]}")


def main():
    build, folders = sys.argv[1], sys.argv[2:]
    files = {name: file for name, file in counts(build).items() if name.split("/")[0] in folders}
    if not files:
        sys.exit(f"coverage.py: nothing below {build} was compiled with --coverage from here")
    print(f"{'folder':16s}  {'lines':>22s}   {'branches':>22s}")
    below = collections.defaultdict(list)
    for name, file in files.items():
        below[os.path.dirname(name)].append(file)
    for folder in sorted(below):
        row(folder, below[folder])
    row("all", files.values())
    missed = {name: sum(count == 0 for count in file[0].values()) for name, file in files.items()}
    print("\nmost lines that were not run:")
    for name in sorted(missed, key=missed.get, reverse=True)[:10]:
        print(f"  {missed[name]:4d} of {len(files[name][0]):4d}  {name}")


main()
