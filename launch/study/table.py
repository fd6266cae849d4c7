"""The table of a sweep: on the terminal, as JSON and as CSV."""
import csv
import io
import json
import shlex

from study import grid, results


def percent(values):
    """Mean and, of several runs, deviation, as gnntrain prints them."""
    if not values:
        return "-"
    spread = results.deviation(values)
    return f"{100 * results.mean(values):.2f}%" + ("" if spread is None else f" +- {100 * spread:.2f}")


def duration(seconds):
    whole = round(seconds)
    if whole >= 3600:
        return f"{whole // 3600}:{whole // 60 % 60:02}:{whole % 60:02}"
    return f"{whole // 60}:{whole % 60:02}" if whole >= 60 else f"{whole} s"


def setting_text(setting):
    return " ".join(f"{key}={value}" for key, value in setting.items())


def counts(rows):
    """As "12 settings: 9 done, 1 failed, 2 waiting"."""
    states = [row["state"] for row in rows]
    parts = [f"{states.count(state)} {state}" for state in ("done", "begun", "stopped", "failed", "waiting") if state in states]
    return f"{len(rows)} setting{'s' * (len(rows) != 1)}: {', '.join(parts)}"


def ms_text(row):
    return "-" if row.get("ms") is None else f"{row['ms']:.2f}"


def epochs_text(row):
    return " ".join(f"{epoch}" for epoch in sorted({epoch for epoch in row["best_epoch"] if epoch is not None}))[:12]


def best_of(rows):
    """The row to choose: by validation alone. None where none is done."""
    first = results.sort(rows)[:1]
    return first[0] if first and first[0]["state"] == "done" else None


def command_of(args, row):
    """The line that trains it."""
    start = [*args.mpirun, "-n", str(args.ranks)] if args.ranks > 1 else []
    words = [*start, f"{args.build}/gnntrain", args.config]
    for assignment in args.set:
        words += ["--set", assignment]
    return shlex.join([*words, *grid.words_of(row["setting"])])


def columns(lines):
    """Aligned at their right; the last one is as long as it is."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]) - 1)]
    return ["  ".join([*(f"{cell:>{width}}" for cell, width in zip(line, widths)), line[-1]]).rstrip() for line in lines]


def text(args, rows):
    """As it is printed."""
    rows = results.sort(rows)
    keys = list(rows[0]["setting"])
    lines = [["validation", "test", "ms/epoch", "best epoch", *keys, ""]]
    for row in rows:
        values = list(row["setting"].values())
        if row["state"] == "done":
            lines.append([percent(row["validation"]), percent(row["test"]), ms_text(row), epochs_text(row), *values, ""])
        else:
            lines.append([row["state"], "", "", "", *values, row.get("reason") or ""])
    out = [f"{counts(rows)}; {args.config}" + (f", {args.metric}" if args.metric else ""), *columns(lines)]
    best = best_of(rows)
    if best:
        out += [f"best by validation: {setting_text(best['setting'])}", f"  train it: {command_of(args, best)}",
                f"  its weights: {best['folder']}/best.h5"]
    return "\n".join(out)


def as_json(args, rows):
    found = []
    for row in results.sort(rows):
        entry = {"setting": row["setting"], "folder": str(row["folder"]), "state": row["state"]}
        for name in ("validation", "test"):
            entry[name] = results.mean(row.get(name))
            entry[f"{name}_deviation"] = results.deviation(row.get(name))
            entry[f"{name}_of_runs"] = row.get(name)
        entry.update(ms=row.get("ms"), best_epoch=row.get("best_epoch"), reason=row.get("reason"))
        found.append(entry)
    best = best_of(rows)
    return json.dumps({"config": args.config, "set": args.set, "build": args.build, "ranks": args.ranks, "job": args.job, "metric": args.metric,
                       "rows": found, "best": best and {"setting": best["setting"], "command": command_of(args, best)}},
                      indent=1) + "\n"


def as_csv(rows):
    rows, out = results.sort(rows), io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    table.writerow([*rows[0]["setting"], "state", "validation", "validation_deviation", "test", "test_deviation", "ms", "best_epoch",
                    "folder", "reason"])
    for row in rows:
        moments = [f(row.get(name)) for name in ("validation", "test") for f in (results.mean, results.deviation)]
        table.writerow([*row["setting"].values(), row["state"], *moments, row.get("ms"),
                        " ".join(f"{epoch}" for epoch in row.get("best_epoch") or []), row["folder"], row.get("reason")])
    return out.getvalue()
