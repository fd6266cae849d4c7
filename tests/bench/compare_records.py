"""What tests/bench/compare measured, as measurements of docs/results (records.py): of a case, and of a recipe."""
from compare_table import best, where

OURS = ("bf16", "fp32")  # the precisions that the pages have


class Row:
    """Measurements of one row of a table; what was not measured is left out."""

    def __init__(self, page, table, row):
        self.page, self.of, self.found = page, {"table": table, "row": row}, []

    def add(self, column, value, unit):
        if value is not None and value != "":
            self.found.append((self.page, {**self.of, "column": column, "value": value, "unit": unit}))
        return self

    def times(self, column, theirs, ours):
        return self.add(column, round(theirs / ours, 3) if theirs and ours else None, "ratio")


def long(model):
    return model.replace("x", " x ")


def fastest(records):
    timed = [r for r in records if r.get("ms") is not None and r.get("right", True)]
    return min(timed, key=lambda r: r["ms"], default={})


def ours_of(ours, model, once):
    """ms and GiB by precision."""
    return {r["precision"]: r for r in where(ours, model=model, once=once) if r["precision"] in OURS and "ms" in r}


def beside(row, peer, name, ours):
    """The columns of a peer, of ours, and of the peer over ours."""
    row.add(name, peer.get("ms"), "ms").add(f"{name} in", peer.get("precision"), "")
    for precision, run in ours.items():
        row.add(precision, run["ms"], "ms").times(f"{precision} x", peer.get("ms"), run["ms"])
    return row.found


def gcn(case, ranks, model, once, ours, torch):
    same = where(torch, model=model, once=once)
    if ranks == 1:
        label = f"{case}, {long(model)}, A X {'once' if once else 'always'}"
        return beside(Row("epochs", "torch", label), fastest(where(same, mode="eager")), "PyTorch", ours)
    found = []
    for precision, run in ours.items():
        row = Row("scaling", "torch-ranks", f"{case}, {long(model)}, {ranks} GPUs" + (", fp32" if precision == "fp32" else ""))
        row.add("ours", run["ms"], "ms")
        theirs = best(same)
        found += row.add("PyTorch", theirs, "ms").times("PyTorch x", theirs, run["ms"]).found
    return found


def geometric(case, kind, model, once, ours, pyg):
    """Beside PyTorch Geometric: the fastest of fp32 and tf32, memory, and the error of the loss."""
    name = {"gcn": "A X", "sage": "P X", "gin": "P X", "hgnn": "P X"}.get(kind)
    aggregate = f", {name} {'once' if once else 'always'}" if name else ""
    label = f"{case}, {kind} {long(model)}{aggregate}"
    peers = [p for p in where(pyg, model=model) if p["precision"] != "bf16"]
    if kind == "hgnn":
        found = hypergraph(Row("epochs", "hyper", label), where(peers, precision="fp32"), ours)
    else:
        found = beside(Row("epochs", "pyg", label), fastest(peers), "PyG", ours)
    memory, error = Row("memory", "pyg", label), Row("accuracy", "loss-error", label)
    memory.add("PyG", fastest(peers).get("gib"), "GiB")
    for precision, run in ours.items():
        memory.add(precision, run.get("gib"), "GiB")
        error.add(precision, run.get("loss_error"), "relative")
    return found + memory.found + error.found


def hypergraph(row, peers, ours):
    eager, captured = (best(where(peers, mode=mode)) for mode in ("eager", "captured"))
    row.add("PyG eager", eager, "ms").add("PyG captured", captured, "ms")
    for precision, run in ours.items():
        row.add(precision, run["ms"], "ms")
    return row.times("fp32 x", eager, ours.get("fp32", {}).get("ms")).found


def of_case(case, ranks, records):
    """Page and measurement of everything that a case on some ranks measured, blocks of consecutive nodes alone."""
    timed = [r for r in records if "wall" not in r and "cold" not in r]
    all_ours = where(timed, peer="ours", partition="block")
    found = []
    for kind, model, once in dict.fromkeys((r["type"], r["model"], r["once"]) for r in all_ours):
        alike = where(timed, type=kind)
        ours = ours_of(where(all_ours, type=kind), model, once)
        if not ours:
            continue
        pyg = where(alike, peer="pyg")
        if kind == "gcn" and where(alike, peer="torch"):
            found += gcn(case, ranks, model, once, ours, where(alike, peer="torch"))
        if ranks == 1 and (kind != "gcn" or pyg):
            found += geometric(case, kind, model, once, ours, pyg)
    return found


def of_recipe(kind, records):
    """Cora by its recipe."""
    pyg, ours = (where(records, peer=peer) for peer in ("pyg", "ours"))
    model = next((r["model"] for r in ours), "")
    row = Row("epochs", "small", f"cora, {kind} {model}")
    row.add("PyG index", best(where(pyg, mode="edge_index")), "ms").add("PyG CSR", best(where(pyg, mode="csr")), "ms")
    for run in (r for r in ours if r["precision"] in OURS and "ms" in r):
        row.add(run["precision"], run["ms"], "ms").times(f"{run['precision']} x", best(pyg), run["ms"])
    return row.found
