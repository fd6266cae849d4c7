"""Measurements as lines of JSON, as docs/results/data keeps them: one object a measurement.

  table, row, column   where it stands in docs/results: an id of docs/results/tables.toml and two keys
  value, unit          a number, or a word where there is none ("out of memory"); spread: its deviation over seeds or splits
  date, machine        when it was measured and on what
  command              what was run
  commit               of the program, where it is known
"""
import datetime
import json
import pathlib
import re
import shlex
import subprocess
import sys
from decimal import Decimal

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
NEEDED = ("table", "row", "column", "value", "unit", "date", "machine", "command")
ALLOWED = {*NEEDED, "spread", "commit"}
COUNTS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight"]


class Wrong(Exception):
    """One sentence that names the file and the line."""


def output_of(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def number_of(count):
    return COUNTS[count] if count < len(COUNTS) else str(count)


def gpus(count):
    """As "two H200s"; the first `count` that nvidia-smi lists."""
    names = output_of("nvidia-smi", "--query-gpu=name", "--format=csv,noheader").splitlines()[:count]
    name = names[0].removeprefix("NVIDIA ") if names else "GPU"
    return f"{number_of(count)} {name}{'s' * (count > 1)}"


def processor():
    """As "2 cores of an AMD EPYC 9B14"."""
    text = pathlib.Path("/proc/cpuinfo").read_text() if pathlib.Path("/proc/cpuinfo").exists() else ""
    names = re.findall(r"^model name\s*: (.*)$", text, re.MULTILINE)
    name = re.sub(r" \d+-Core Processor$", "", names[0]) if names else "a processor"
    return f"{len(names)} core{'s' * (len(names) != 1)} of an {name}"


def machine(device="cpu", count=1):
    return processor() if device == "cpu" else gpus(count)


def command_line():
    """This program as it was started, from the root of the project."""
    program = pathlib.Path(sys.argv[0]).resolve()
    name = program.relative_to(ROOT) if program.is_relative_to(ROOT) else program.name
    return shlex.join([str(name), *sys.argv[1:]])


def append(path, records, machine_, command=None):
    """Adds measurements of today; each has table, row, column, value, unit and perhaps spread."""
    common = {"date": datetime.date.today().isoformat(), "machine": machine_, "command": command or command_line()}
    commit = output_of("git", "rev-parse", "--short", "HEAD")
    with open(path, "a") as out:
        for record in records:
            line = {**record, **common, **({"commit": commit} if commit else {})}
            out.write(json.dumps(line, ensure_ascii=False) + "\n")


def fault_of(record):
    """What is wrong with the fields of a measurement; None where nothing is."""
    if not isinstance(record, dict):
        return "is no object"
    missing = [name for name in NEEDED if name not in record]
    if missing:
        return f"lacks {missing[0]}"
    unknown = sorted(set(record) - ALLOWED)
    if unknown:
        return f"has the unknown field {unknown[0]}"
    if not isinstance(record["value"], (int, Decimal, str)) or isinstance(record["value"], bool):
        return "has a value that is neither a number nor a word"
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", str(record["date"])):
        return f"has the date {record['date']!r}; as in 2026-01-31"
    return None


def read(path):
    """The measurements of a file, numbers with the digits that they were written with."""
    records = []
    for at, line in enumerate(path.read_text().splitlines(), 1):
        try:
            record = json.loads(line, parse_float=Decimal)
        except ValueError as error:
            raise Wrong(f"{path.name}, line {at}: {error}") from None
        fault = fault_of(record)
        if fault:
            raise Wrong(f"{path.name}, line {at}: {fault}")
        records.append(record)
    return records
