"""How measurements stand in a table of a page: numbers, cells, the calls that they come from, and the page's sentences."""
import re
from decimal import Decimal

import records

DIGITS = 4  # of a number that has more, where a table says nothing
KEY = re.compile(r"\{([^{}]*)\}")


def grouped(value):
    """1234567 -> 1,234,567; up to four digits stay together."""
    return f"{value:,}" if abs(value) >= 10000 else str(value)


def number(value, digits):
    """With at most so many significant digits; what was written with fewer keeps them."""
    if isinstance(value, int):
        return grouped(value)
    if value and abs(value) < Decimal("1e-3"):
        return f"{value:.{min(digits, len(value.as_tuple().digits)) - 1}e}"
    places = max(0, -value.as_tuple().exponent)
    least = max(0, digits - 1 - value.adjusted()) if value else places
    shown = f"{value:.{min(places, least)}f}"
    return shown if abs(value) < 10000 else grouped(int(Decimal(shown)))


class Table:
    """One table of a page: its description, and the newest measurement of every cell."""

    def __init__(self, description, page):
        self.page, self.text = page, description
        self.id, self.columns = description["id"], [self.column(c) for c in description["columns"]]
        self.keys = {key for _, template in self.columns for key in KEY.findall(template)}
        self.cells, self.rows, self.units = {}, [], {}

    @staticmethod
    def column(entry):
        """Head and template of the cells; a lone string is both."""
        return (entry, f"{{{entry}}}") if isinstance(entry, str) else tuple(entry)

    def add(self, record):
        row, column = record["row"], record["column"]
        if column not in self.keys:
            raise records.Wrong(f"{self.page}.jsonl: table {self.id} has no column {column!r}")
        if self.units.setdefault(column, record["unit"]) != record["unit"]:
            raise records.Wrong(f"{self.page}.jsonl: table {self.id} has {column!r} in {self.units[column]} and {record['unit']}")
        if row not in self.rows:
            self.rows.append(row)
        old = self.cells.get((row, column))
        if not old or old["date"] <= record["date"]:
            self.cells[row, column] = record

    def show(self, record):
        if record is None:
            return "-"
        if isinstance(record["value"], str):
            return record["value"]
        shown = number(record["value"], self.text.get("digits", DIGITS))
        return f"{shown} ± {number(record['spread'], DIGITS)}" if "spread" in record else shown

    def cell(self, row, template):
        keys = KEY.findall(template)
        if not any((row, key) in self.cells for key in keys):
            return ""
        return KEY.sub(lambda match: self.show(self.cells.get((row, match[1]))), template)

    def calls(self):
        """Where its numbers come from, in the order of the rows."""
        of = [self.cells[row, key] for row in self.rows for _, template in self.columns
              for key in KEY.findall(template) if (row, key) in self.cells]
        return list(dict.fromkeys((r["command"], r["date"], r["machine"]) for r in of))

    def calls_of(self, row, calls):
        used = {calls.index((r["command"], r["date"], r["machine"])) for (of, _), r in self.cells.items() if of == row}
        return ", ".join(letter(i) for i in sorted(used))

    def filled(self, text):
        """A sentence, its figures taken from the cells."""
        def figure(match):
            what, _, key = match[1].partition(":")
            if match[1] == "count":
                return str(len(self.rows))
            if what not in ("min", "max"):
                row, _, column = match[1].partition("|")
                return self.show(self.cells.get((row, column)))
            values = [r for (_, column), r in self.cells.items() if column == key and not isinstance(r["value"], str)]
            chosen = (min if what == "min" else max)(values, key=lambda r: r["value"], default=None)
            return "-" if chosen is None else number(chosen["value"], 3)
        return KEY.sub(figure, text)

    def heads(self):
        return [head for head, _ in self.columns]

    def cells_of(self, row):
        return [self.cell(row, template) for _, template in self.columns]

    def lines(self):
        calls, text = self.calls(), self.text
        several = len(calls) > 1
        head = [text["row"], *self.heads(), *(["call"] if several else [])]
        body = [[row, *self.cells_of(row), *([self.calls_of(row, calls)] if several else [])] for row in self.rows]
        yield from (f"## {text['title']}", "", self.filled(text["intro"].strip()), "")
        yield from (line(head), "|---|" + "---:|" * (len(head) - 1))
        yield from (line(row) for row in body)
        yield ""
        for i, (command, date, machine) in enumerate(calls):
            yield f"- {letter(i) + ': ' if several else ''}`{command}`, {date}, {machine}"
        if text["again"] not in [command for command, _, _ in calls]:
            yield f"- again: `{text['again']}`"
        yield ""


def letter(i):
    return chr(ord("a") + i) if i < 26 else f"{chr(ord('a') + i // 26 - 1)}{chr(ord('a') + i % 26)}"


def line(cells):
    return "| " + " | ".join(cells) + " |"


def anchor(title):
    """As GitHub names a heading."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
