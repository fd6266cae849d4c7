"""The table of a sweep as a page that needs nothing else, with a plot for each key whose values are numbers."""
import html
import math

from study import grid, results, table

STYLE = """body { font: 14px sans-serif; margin: 2em; color: #222 }
table { border-collapse: collapse } th, td { padding: .25em .8em; text-align: right; border-bottom: 1px solid #ddd }
td:last-child { text-align: left } tr.best { background: #e8f4e8; font-weight: bold } tr.failed { color: #b00 }
tr.waiting, tr.begun, tr.stopped { color: #777 } pre { background: #f4f4f4; padding: .8em; overflow-x: auto } svg { margin: 1em 1em 0 0 }"""


def cells(tag, texts):
    return "".join(f"<{tag}>{html.escape(str(text))}</{tag}>" for text in texts)


def table_of(rows, best):
    lines = [f"<tr>{cells('th', ['validation', 'test', 'ms/epoch', 'best epoch', *rows[0]['setting'], ''])}</tr>"]
    for row in results.sort(rows):
        if row["state"] == "done":
            first, last = [table.percent(row["validation"]), table.percent(row["test"]), table.ms_text(row), table.epochs_text(row)], ""
        else:
            first, last = [row["state"], "", "", ""], row.get("reason") or ""
        lines.append(f"<tr class=\"{'best' if row is best else row['state']}\">{cells('td', [*first, *row['setting'].values(), last])}</tr>")
    return "<table>\n" + "\n".join(lines) + "\n</table>"


class Axis:
    """Numbers on a line from `begin` to `end`; logarithmic where they are above 0 and span a factor of 20 or more."""

    def __init__(self, values, begin, end, may_be_logarithmic=True):
        low, high = min(values), max(values)
        self.logarithmic = may_be_logarithmic and low > 0 and high / low >= 20
        self.low, self.high = self.of(low), self.of(high)
        if self.low == self.high:
            self.low, self.high = self.low - (abs(self.low) / 10 or 1), self.high + (abs(self.high) / 10 or 1)
        self.begin, self.end = begin, end

    def of(self, value):
        return math.log10(value) if self.logarithmic else value

    def place(self, value):
        return self.begin + (self.of(value) - self.low) / (self.high - self.low) * (self.end - self.begin)

    def marks(self, count=5):
        for i in range(count):
            value = self.low + i / (count - 1) * (self.high - self.low)
            yield 10 ** value if self.logarithmic else value


LEFT, RIGHT, TOP, BOTTOM = 70, 380, 34, 210


def frame(key, x, y):
    parts = [f'<text x="{LEFT}" y="18" font-weight="bold">{html.escape(key)}{" (logarithmic)" if x.logarithmic else ""}</text>']
    for value in y.marks():
        parts.append(f'<path d="M{LEFT} {y.place(value):.1f}H{RIGHT}" stroke="#ddd"/>'
                     f'<text x="{LEFT - 8}" y="{y.place(value) + 4:.1f}" text-anchor="end">{100 * value:.2f}%</text>')
    for value in x.marks(4):
        parts.append(f'<text x="{x.place(value):.1f}" y="{BOTTOM + 26}" text-anchor="middle">{value:.3g}</text>')
    return parts


def point(row, key, x, y, is_best):
    """A circle at the mean, with a line of the deviation on each side; what it is shows where the pointer rests."""
    value, height = x.place(grid.number_of(row["setting"][key])), results.mean(row["validation"])
    spread, colour = results.deviation(row["validation"]) or 0, "#2ca02c" if is_best else "#1f77b4"
    said = html.escape(f"{table.setting_text(row['setting'])}: {table.percent(row['validation'])}")
    return (f'<path d="M{value:.1f} {y.place(height - spread):.1f}V{y.place(height + spread):.1f}" stroke="{colour}" opacity=".5"/>'
            f'<circle cx="{value:.1f}" cy="{y.place(height):.1f}" r="{6 if is_best else 4}" fill="{colour}" opacity=".8">'
            f'<title>{said}</title></circle>')


def plot(rows, key, best):
    """Validation against a key, of all that is done; nothing where a value is no number or all are the same."""
    values = [grid.number_of(row["setting"][key]) for row in rows]
    if None in values or len(set(values)) < 2:
        return ""
    edges = [results.mean(row["validation"]) + sign * (results.deviation(row["validation"]) or 0) for row in rows for sign in (-1, 1)]
    x, y = Axis(values, LEFT + 12, RIGHT - 12), Axis(edges, BOTTOM, TOP, may_be_logarithmic=False)
    points = [point(row, key, x, y, row is best) for row in sorted(rows, key=lambda row: row is best)]
    return ('<svg width="400" height="250" viewBox="0 0 400 250" font-family="sans-serif" font-size="12">\n' +
            "\n".join(frame(key, x, y) + points) + "\n</svg>")


def text(args, rows):
    best, done = table.best_of(rows), [row for row in rows if row["state"] == "done"]
    plots = [plot(done, key, best) for key in rows[0]["setting"]] if done else []
    body = [f"<h1>Sweep of {html.escape(args.config)}</h1>",
            f"<p>{html.escape(table.counts(rows))}. Sorted by the validation metric{html.escape(f' ({args.metric})' if args.metric else '')} "
            "of the best epoch; with several runs a setting, mean +- deviation.</p>"]
    if best:
        body.append(f"<p>Best by validation; the line that trains it:</p>\n<pre>{html.escape(table.command_of(args, best))}</pre>")
    return ('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f"<title>Sweep of {html.escape(args.config)}</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n" +
            "\n".join([*body, table_of(rows, best), *filter(None, plots)]) + "\n</body>\n</html>\n")
