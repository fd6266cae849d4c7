"""Prints the circles among the modules of the tree: none may depend on itself by way of others.

usage: find_circles.py SOURCE BUILD

A module is what shares a name: x.c, x.h, x.cu, x.cuh. It depends on another when one of its files includes a header
of the other, or when its object uses a symbol that the other's object defines (BUILD has the objects). A circle is a
strongly connected component of more than one module. Exit status: 0: none beyond ALLOWED; 1: one; 2: no objects, or
an entry of ALLOWED that is no circle any more.
"""

import os
import re
import subprocess
import sys

FOLDERS = ("runtime", "io", "kernels", "partition", "models", "launch")
SOURCES = (".c", ".cpp", ".cu")
HEADERS = (".h", ".hpp", ".cuh")
INCLUDE = re.compile(r'\s*#\s*include\s*"([^"]+)"')
OBJECT = re.compile(r"(.*)CMakeFiles/[^/]*\.dir/(.*)\.o$")

# Circles that are known, each with its reason. An entry allows those of its modules alone.
ALLOWED = ()


def module_of(path):
    return os.path.splitext(path)[0]


def read_includes(source):
    """Of each module the modules that it includes."""
    uses = {}
    for folder in FOLDERS:
        for place, _, names in os.walk(os.path.join(source, folder)):
            for name in names:
                if not name.endswith(SOURCES + HEADERS):
                    continue
                path = os.path.join(place, name)
                used = uses.setdefault(module_of(os.path.relpath(path, source)), set())
                with open(path, encoding="utf-8") as file:
                    used.update(module_of(m.group(1)) for m in map(INCLUDE.match, file) if m)
    return uses


def find_objects(source, build):
    """(module, path) of each object whose source is in the tree."""
    objects = []
    for place, folders, names in os.walk(build):
        if place == build:
            folders[:] = [name for name in folders if name != "tests"]
        for name in names:
            match = OBJECT.match(os.path.relpath(os.path.join(place, name), build))
            path = match and match.group(1) + match.group(2)
            if path and path.startswith(FOLDERS) and os.path.exists(os.path.join(source, path)):
                objects.append((module_of(path), os.path.join(place, name)))
    return objects


def read_symbols(objects):
    """Who defines each symbol, and what each module asks of others."""
    module_at = {path: module for module, path in objects}
    owner, wanted = {}, {}
    symbols = subprocess.run(["nm", "-gA", *module_at], check=True, capture_output=True, text=True).stdout
    for line in symbols.splitlines():
        path, symbol = line.split(":", 1)
        kind, name = symbol.split()[-2:]
        if kind == "U":
            wanted.setdefault(module_at[path], set()).add(name)
        elif kind not in "uvVwW":  # weak: inline functions, in any object
            owner[name] = module_at[path]
    return owner, wanted


def add_symbols(uses, source, build):
    objects = find_objects(source, build)
    if not objects:
        return 0
    owner, wanted = read_symbols(objects)
    for module, names in wanted.items():
        uses[module].update(owner[name] for name in names if name in owner)
    return len(objects)


def find_circles(uses):
    """Strongly connected components (Tarjan 1972) of more than one module."""
    number, lowest, path, circles = {}, {}, [], []

    def visit(module):
        number[module] = lowest[module] = len(number)
        path.append(module)
        for other in sorted(uses[module]):
            if other not in uses:
                continue
            if other not in number:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in path:
                lowest[module] = min(lowest[module], number[other])
        if lowest[module] == number[module]:
            start = path.index(module)
            circle, path[start:] = path[start:], []
            if len(circle) > 1:
                circles.append(set(circle))

    sys.setrecursionlimit(10000)
    for module in sorted(uses):
        if module not in number:
            visit(module)
    return circles


def print_circle(circle, uses):
    print("circle:", " ".join(sorted(circle)))
    for module in sorted(circle):
        print("  " + module, "->", " ".join(sorted(uses[module] & circle - {module})))


def main():
    source, build = sys.argv[1:]
    uses = read_includes(source)
    if add_symbols(uses, source, build) == 0:
        print(build + ": has no objects of the tree")
        return 2
    circles = find_circles(uses)
    unknown = [circle for circle in circles if not any(circle <= allowed for allowed in ALLOWED)]
    for circle in unknown:
        print_circle(circle, uses)
    for allowed in ALLOWED:
        if not any(circle <= allowed for circle in circles):
            print("no circle any more, but allowed:", " ".join(sorted(allowed)))
            return 2
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
