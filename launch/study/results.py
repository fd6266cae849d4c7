"""What the run of a setting has come to, read from its folder: metrics.jsonl, config.toml and output.txt.

A row is a dict with the setting, its folder, a state and what goes with it:
  done      validation, test    a number a run of train.runs, at its best validation
            ms, best_epoch      median over all epochs; a number a run
  failed    reason              a sentence
  stopped   reason              by a signal, after a checkpoint
  begun     reason              how far it has come: it trains, or was ended without a word
  waiting
"""
import json
import math
import re
import statistics

from study.common import text_of

OF_THE_RESULT = ("dataset.", "model.", "train.", "runtime.precision")  # settings that results depend on
METRIC = re.compile(r"^  validation +(\S+) ", re.MULTILINE)
BANNER = re.compile(r"^gnntrain \d.*$", re.MULTILINE)
SENTENCE = re.compile(r"^gnntrain: (.+)$", re.MULTILINE)


def settings_of(text):
    """{"section.key": value as it is written} of a configuration that gnntrain has written."""
    section, found = "", {}
    for line in text.splitlines():
        if re.fullmatch(r"\[[a-z]+\]", line):
            section = line[1:-1]
        elif " = " in line:
            key, _, value = line.partition(" = ")
            found[f"{section}.{key}"] = value
    return found


def difference(folder, wanted):
    """The first setting, with both values, in which the run of a folder is none of what is wanted; None."""
    try:
        there = settings_of(text_of(folder / "config.toml"))
    except OSError:
        return None
    for key, value in there.items():
        if key.startswith(OF_THE_RESULT) and key in wanted and wanted[key] != value:
            return key, value, wanted[key]
    return None


def objects(path):
    """The lines of metrics.jsonl; one that is being written is left out."""
    try:
        lines = text_of(path).splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return [row for row in found if isinstance(row, dict)]


def number(row, name):
    value = row.get(name)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value) else None


def count_of(settings, key, otherwise):
    return int(settings[key]) if re.fullmatch(r"\d{1,15}", settings.get(key, "")) else otherwise


def words_of(folder):
    """What the newest start of gnntrain has said."""
    try:
        text = text_of(folder / "output.txt")
    except OSError:
        return ""
    starts = [found.start() for found in BANNER.finditer(text)]
    return text[starts[-1]:] if starts else text


def last_sentence(words):
    found = SENTENCE.findall(words)
    return found[-1] if found else None


def metric_of(folder):
    """The name of the metric, as gnntrain has it."""
    found = METRIC.search(words_of(folder))
    return found[1] if found else None


def done(finals, epochs):
    """What goes with a run whose last lines are there; by the row of each run."""
    validation = [number(row, "val") for row in finals]
    if None in validation:
        return {"state": "failed", "reason": "there is no validation metric to choose by: the split has no validation nodes, "
                                             "or no epoch was evaluated"}
    tests, times = [number(row, "test") for row in finals], [number(row, "ms") for row in epochs]
    return {"state": "done", "validation": validation, "test": None if None in tests else tests,
            "best_epoch": [number(row, "best_epoch") for row in finals],
            "ms": statistics.median(times) if times and None not in times else None}


def unfinished(folder, rows, settings):
    """Of a run that has begun."""
    sentence, at = last_sentence(words_of(folder)), None
    if rows:
        of = f" of {settings['train.epochs']}" if "train.epochs" in settings else ""
        run = f"run {number(rows[-1], 'run')}, " if settings.get("train.runs", "1") != "1" else ""
        at = f"{run}epoch {number(rows[-1], 'epoch')}{of}"
    if sentence and sentence.startswith("stopped by a signal"):
        return {"state": "stopped", "reason": at or "before it trained"}
    if sentence:
        return {"state": "failed", "reason": sentence}
    return {"state": "begun", "reason": at} if at else {"state": "waiting"}


def read(folder):
    """State and results of the run of a folder."""
    try:
        settings = settings_of(text_of(folder / "config.toml"))
    except OSError:
        settings = {}
    rows = objects(folder / "metrics.jsonl") if settings else []
    finals = {row.get("run"): row for row in rows if row.get("final") is True}
    runs = count_of(settings, "train.runs", 1)
    if settings and all(run in finals for run in range(runs)):
        return done([finals[run] for run in range(runs)], [row for row in rows if row.get("final") is not True])
    return unfinished(folder, [row for row in rows if row.get("final") is not True], settings)


def mean(values):
    return statistics.fmean(values) if values else None


def deviation(values):
    """Of the sample; None of a single value."""
    return statistics.stdev(values) if values and len(values) > 1 else None


def sort(rows):
    """Best validation first, then the others in their order."""
    order = {"done": 0, "begun": 1, "stopped": 2, "waiting": 3, "failed": 4}
    return sorted(rows, key=lambda row: (order[row["state"]], -mean(row.get("validation") or [0])))
