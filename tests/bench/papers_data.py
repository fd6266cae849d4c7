"""The data sets of a paper: what configs/papers/SEED says of them, and dataset files of them, imported or made.

  datasets.tsv   name; where it is published; files in --data DIR and, in the same order, their sha256 where it is known and the
                 arguments of gnndata import (several: " | " between, the first that lies there is taken); nodes; edges: arcs, of
                 a hypergraph incidences; hyperedges; features; classes; options of gnndata synth that shape a stand-in; the
                 source of the sizes
  published.tsv  table, data set ("all": over all of them), method, GPU, width, value, unit ("ms", "times"), source
  paper.toml     the tables: what they measure, at what widths, by what model
"""
import csv
import dataclasses
import hashlib
import pathlib
import shlex
import tomllib

import records

CONFIGS = records.ROOT / "configs/papers"
BARE = ("edgelist", "mtx", "metis", "konect")  # formats without features, labels and splits
MEASURES = ("kernels", "ablation", "epochs", "orders", "hyper")


class Unavailable(Exception):
    """Why a data set is left out, in words."""


@dataclasses.dataclass
class Dataset:
    name: str
    files: list  # (path below --data, sha256 or "", arguments of import)
    nodes: int   # 0: not known
    edges: int
    hyperedges: int
    features: int
    classes: int
    make: list   # options of synth, as "power=.87"

    def made(self, with_features):
        """The options of gnndata synth for a stand-in. Without features one column has to do."""
        features, classes = (self.features, self.classes) if with_features else (1, 2)
        options = {"nodes": self.nodes, "degree": f"{self.edges / self.nodes:.6g}", "features": features, "classes": classes,
                   "train": ".98", "val": ".01"}
        if self.hyperedges:
            options["hyperedges"] = self.hyperedges
        options.update(option.split("=") for option in self.make)
        return [word for name, value in options.items() for word in (f"--{name}", str(value))]


def split(cell):
    return [part.strip() for part in cell.split("|")] if cell.strip() else []


def rows(path):
    with open(path, newline="") as file:
        reader = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        found = list(reader)
    for at, row in enumerate(found, 2):
        if None in row or None in row.values():
            raise records.Wrong(f"{path.name}, line {at}: has not as many fields as line 1")
    return found


def number(row, column):
    return int(row[column] or 0)


def dataset_of(row):
    paths, sums, imports = split(row["file"]), split(row["sha256"]), split(row["import"])
    if len(paths) != len(imports) or sums and len(sums) != len(paths):
        raise records.Wrong(f"datasets.tsv: {row['name']} has {len(paths)} files, {len(imports)} imports and {len(sums)} sums")
    files = list(zip(paths, sums or [""] * len(paths), imports))
    return Dataset(row["name"], files, *(number(row, c) for c in ("nodes", "edges", "hyperedges", "features", "classes")),
                   row["make"].split())


def read(folder):
    """(paper.toml, data sets with the smallest first and those of no known size last, published values)."""
    with open(folder / "paper.toml", "rb") as file:
        paper = tomllib.load(file)
    datasets = [dataset_of(row) for row in rows(folder / "datasets.tsv")]
    names = {d.name for d in datasets}
    published = rows(folder / "published.tsv")
    tables = {table["id"] for table in paper["table"]}
    for table in paper["table"]:
        if table["measures"] not in MEASURES:
            raise records.Wrong(f"paper.toml: table {table['id']} measures {table['measures']!r}; one of {', '.join(MEASURES)}")
        if set(table.get("datasets", names)) - names:
            raise records.Wrong(f"paper.toml: table {table['id']} has a data set that datasets.tsv lacks")
    for row in published:
        if row["table"] not in tables or row["dataset"] not in names | {"all"}:
            raise records.Wrong(f"published.tsv: no table {row['table']!r} or no data set {row['dataset']!r}")
        float(row["value"])
    for table in paper["table"]:
        table.setdefault("datasets", [d.name for d in datasets])
    return paper, sorted(datasets, key=lambda d: (not d.edges, d.edges)), published


def checked(path, known):
    """A file whose sum is known has that sum."""
    if known and hashlib.sha256(path.read_bytes()).hexdigest() != known:
        raise records.Wrong(f"{path} is not the file whose sha256 datasets.tsv has")
    return path


def found(dataset, data):
    """(path, arguments of import) of the first of its files that lies there; None: there is none."""
    for name, known, words in dataset.files if data else ():
        path = pathlib.Path(data) / name
        if path.exists():
            return checked(path, known), shlex.split(words.replace("{folder}", shlex.quote(str(path.parent))))
    return None


def command(dataset, data, gnndata, out, with_features):
    """The command that makes its file, and whether it makes a stand-in."""
    real = found(dataset, data)
    if real:
        path, (form, *options) = real
        if form in BARE:
            features, classes = (dataset.features, dataset.classes) if with_features else (1, 2)
            options += ["--features", f"random:{features}", "--labels", f"random:{classes}", "--split", "random:0.98,0.01"]
        return [gnndata, "import", form, str(path), str(out), *options], False
    if not dataset.nodes or not dataset.edges:
        raise Unavailable("no file, and no size to make a stand-in of")
    return [gnndata, "synth", str(out), *dataset.made(with_features)], True
