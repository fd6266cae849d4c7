"""The pages docs/results/papers-SEED.md and what tests/bench/papers prints: a paper's table joined with what was measured.

A row is "NAME", "NAME, stand-in" where the graph was made, each with ", WIDTH" behind where a table has several columns of X and
with ", PRECISION" in another one than fp32. Beside it stands what published.tsv has for that name and width.
"""
import math
from decimal import Decimal

import papers_data
import records
from report_table import Table, number

STAND_IN = "stand-in"


def label(name, made, width, precision):
    parts = [name, STAND_IN if made else "", str(width or ""), precision if precision != "fp32" else ""]
    return ", ".join(part for part in parts if part)


def name_of(row):
    return row.partition(", ")[0]


def width_of(row):
    return next((part for part in row.split(", ")[1:] if part.isdigit()), "")


def times(values):
    """As "1.2 to 3.4"."""
    least, most = number(min(values), 3), number(max(values), 3)
    return least if least == most else f"{least} to {most}"


def mean(ratios):
    """The geometric one."""
    return Decimal(math.prod(float(r) ** (1 / len(ratios)) for r in ratios))


class PaperTable(Table):
    """Columns: the published values of each method and GPU; what was measured, as it comes; ratios to cuSPARSE."""

    def __init__(self, description, seed, published):
        super().__init__({"row": "data set", "columns": [], "claim": "", **description}, f"papers-{seed}")
        self.text["again"] = f"tests/bench/papers {seed} --data DIR --device cuda --record docs/results/data"
        self.published = [p for p in published if p["table"] == self.id]
        self.technique, self.baseline = description["technique"], description.get("baseline")

    def add(self, record):
        if record["column"] not in self.keys:
            self.keys.add(record["column"])
            self.columns.append((record["column"], f"{{{record['column']}}}"))
        super().add(record)

    @property
    def methods(self):
        """(method, GPU) of which a value is published for one of the rows."""
        known = dict.fromkeys((p["method"], p["gpu"]) for p in self.published if p["dataset"] != "all")
        return [method for method in known if any(self.said(row, method) for row in self.rows)]

    def said(self, row, method):
        """The published value of a row; None: there is none."""
        for p in self.published:
            if (p["method"], p["gpu"]) == method and p["dataset"] == name_of(row) and p["width"] in ("", width_of(row)):
                return Decimal(p["value"])
        return None

    def measured(self):
        """Names of data sets."""
        return list(dict.fromkeys(name_of(row) for row in self.rows))

    def ms(self, row, column):
        cell = self.cells.get((row, column))
        return None if cell is None or isinstance(cell["value"], str) else Decimal(cell["value"])

    def ratio(self, row, column):
        """How many times as fast as cuSPARSE."""
        theirs, ours = self.ms(row, "cuSPARSE"), self.ms(row, column)
        return theirs / ours if theirs and ours else None

    def ratio_said(self, row):
        """The same of what is published, of method and baseline on one GPU."""
        for method, gpu in self.methods:
            theirs, own = self.said(row, (self.baseline, gpu)), self.said(row, (method, gpu))
            if method == self.text["method"] and theirs and own:
                return theirs / own
        return None

    def compared(self):
        """The columns whose ratio to cuSPARSE is shown."""
        return [c for c in dict.fromkeys((self.technique, "auto")) if any(self.ratio(row, c) for row in self.rows)]

    def has_said(self):
        return any(self.ratio_said(row) for row in self.rows)

    def heads(self):
        return [*(f"{method}, {gpu}" for method, gpu in self.methods), *super().heads(),
                *(f"cuSPARSE over {c}" for c in self.compared()),
                *([f"{self.baseline} over {self.text['method']}, published"] if self.has_said() else [])]

    def cells_of(self, row):
        ratios = [self.ratio(row, c) for c in self.compared()] + ([self.ratio_said(row)] if self.has_said() else [])
        return [*(self.shown(self.said(row, method), 4) for method in self.methods), *super().cells_of(row),
                *(self.shown(ratio, 3) for ratio in ratios)]

    @staticmethod
    def shown(value, digits):
        return "" if value is None else number(value, digits)

    def machines(self):
        return " and ".join(dict.fromkeys(machine for _, _, machine in self.calls()))

    def counted(self, ratios):
        faster, middle = sum(r > 1 for r in ratios), number(mean(ratios), 3)
        return f"in {faster} of {len(ratios)} cases ({times(ratios)} times as fast, {middle} by the geometric mean)"

    def verdict(self, ratios):
        """On what the paper says of its technique, where most of its data sets were measured."""
        if 2 * len(self.measured()) < len(self.text["datasets"]):
            return f"That is too few of the data sets to say whether `{self.technique}` is the faster one."
        return f"That `{self.technique}` is the faster one {'holds' if mean(ratios) > 1 else 'does not hold'} here on the whole."

    def here(self):
        """What was measured, in sentences."""
        ratios = {c: [r for r in (self.ratio(row, c) for row in self.rows) if r] for c in self.compared()}
        if ratios:
            yield from (f"On {self.machines()} `{c}` beats cuSPARSE {self.counted(found)}." for c, found in ratios.items())
            if self.technique in ratios:
                yield self.verdict(ratios[self.technique])
            else:
                yield f"The program has no `{self.technique}` yet." if self.technique not in self.keys else \
                      f"`{self.technique}` came through nowhere."
            return
        plain = next((c for c in ("given", "gather", "csr") if c in self.keys and c != self.technique), None)
        pairs = [(self.ms(row, plain), self.ms(row, self.technique)) for row in self.rows]
        found = [a / b for a, b in pairs if a and b]
        if found:
            yield f"On {self.machines()} `{self.technique}` beats `{plain}` {self.counted(found)}."
            yield self.verdict(found)
            return
        ours = [value for value in (self.ms(row, "auto") for row in self.rows) if value]
        if ours:
            yield f"On {self.machines()} `auto` takes {times(ours)} ms; nothing was measured beside it."

    def published_sentences(self):
        ratios = [r for r in (self.ratio_said(row) for row in self.rows) if r]
        if ratios:
            yield f"Published: {self.text['method']} beats {self.baseline} {self.counted(ratios)}."
        elif not self.methods:
            yield "No published time of these data sets was found in text."

    def coverage(self):
        """What is not in the table, and what was made for it."""
        names = self.measured()
        if len(names) < len(self.text["datasets"]):
            yield f"Measured: the smallest {len(names)} of {len(self.text['datasets'])} data sets."
        made = dict.fromkeys(name_of(row) for row in self.rows if f", {STAND_IN}" in row)
        if made:
            yield f"{len(made)} of {len(names)} data sets have a stand-in."

    def filled(self, text):
        """The claim of a table is what holds; other texts have no figures."""
        return text or " ".join([*self.here(), *self.published_sentences(), *self.coverage()])

    def sources(self):
        """Of the values that stand in the table."""
        rows = {(name_of(row), width) for row in self.rows for width in ("", width_of(row))}
        return dict.fromkeys(p["source"] for p in self.published if (p["dataset"], p["width"]) in rows)

    def lines(self):
        *above, _ = super().lines()
        yield from above
        yield from (f"- published: {source}" for source in self.sources())
        yield from (f"- published over all data sets: {p['method']}, {p['value']} times ({p['gpu']}; {p['source']})"
                    for p in self.published if p["dataset"] == "all")
        yield ""


def descriptions(root):
    """Of the pages of papers that have measurements."""
    found = {}
    for folder in sorted(path.parent for path in (root / "configs/papers").glob("*/paper.toml")):
        page = f"papers-{folder.name}"
        if (root / f"docs/results/data/{page}.jsonl").exists():
            paper, _, published = papers_data.read(folder)
            found[page] = {**paper, "published": published, "seed": folder.name,
                           "beside": f"`configs/papers/{folder.name}`"}
    return found


def tables_of(page, description, data):
    """The tables that have measurements, in the order of the paper."""
    tables = tables_with(description, description["seed"], description["published"], records.read(data / f"{page}.jsonl"))
    return [table for table in tables if table.rows]


def tables_with(paper, seed, published, measured):
    tables = {d["id"]: PaperTable(d, seed, published) for d in paper["table"]}
    for record in measured:
        if record["table"] not in tables:
            raise records.Wrong(f"papers-{seed}.jsonl: no table {record['table']!r} in configs/papers/{seed}/paper.toml")
        tables[record["table"]].add(record)
    return list(tables.values())

