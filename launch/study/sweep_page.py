"""The table of a sweep as a page, with a plot for each key whose values are numbers."""
from html import escape

from study import grid, html, results, svg, table


def table_of(rows, best):
    lines, kinds = [], []
    for row in results.sort(rows):
        if row["state"] == "done":
            first, last = [table.percent(row["validation"]), table.percent(row["test"]), table.ms_text(row), table.epochs_text(row)], ""
        else:
            first, last = [row["state"], "", "", ""], row.get("reason") or ""
        lines.append([*first, *row["setting"].values(), last])
        kinds.append("best" if row is best else row["state"])
    return html.table("settings-tried", ["validation", "test", "ms/epoch", "best epoch", *rows[0]["setting"], ""], lines, kinds)


def plot(rows, key, best, metric):
    """Validation against a key, of all that is done; nothing where a value is no number or all are the same."""
    values = [grid.number_of(row["setting"][key]) for row in rows]
    if None in values or len(set(values)) < 2:
        return ""
    points = [svg.Point(value, 100 * results.mean(row["validation"]), 100 * (results.deviation(row["validation"]) or 0),
                        f"{table.setting_text(row['setting'])}: {table.percent(row['validation'])}", row is best)
              for value, row in zip(values, rows)]
    return svg.scatter(f"by-{key}", key, key, f"{metric}, validation, %", points)


def text(args, rows):
    best, done = table.best_of(rows), [row for row in rows if row["state"] == "done"]
    metric = args.metric or "metric"
    plots = "".join(plot(done, key, best, metric) for key in rows[0]["setting"]) if done else ""
    body = (f"<p>{escape(table.counts(rows))}. Sorted by the validation metric ({escape(metric)}) of the best epoch; with several runs a "
            "setting, mean +- deviation.</p>\n")
    if best:
        body += f"<p>Best by validation; the line that trains it:</p>\n<pre>{escape(table.command_of(args, best))}</pre>\n"
    body += table_of(rows, best) + html.section("Validation by setting", html.figures(plots))
    return html.document("launch/sweep", f"Sweep of {args.config}", body)
