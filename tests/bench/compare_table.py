"""The tables of tests/bench/compare."""
# Of the loss, relative, and of the gradients over their largest element: in rounded numbers a value next to 0 may fall on
# the other side of ReLU's kink, which moves single columns of a gradient. With labels at random gradients nearly cancel,
# and this shows: on arxiv-like the processor's fp32 differs from its fp64 by 9e-4 in the weights below the ReLU and by 3e-7
# in those above.
TOLERANCE = {"fp64": (1e-9, 1e-6), "fp32": (1e-5, 5e-3), "fp32-strict": (1e-5, 5e-3), "tf32": (1e-3, 1e-2),
             "bf16": (1e-2, 5e-2)}


def number(value, digits=3):
    if value is None:
        return "-"
    return f"{value:.{max(0, digits - 1 - (value >= 10) - (value >= 100) - (value >= 1000))}f}"


def ratio(theirs, ours):
    return "-" if theirs is None or not ours else f"{theirs / ours:.2f}"


def right(record):
    """Whether loss and gradients of a run of ours are float64's, within what its precision allows."""
    loss, gradient = TOLERANCE[record["precision"]]
    if "loss_error" not in record:
        return "not checked"
    return "ok" if record["loss_error"] <= loss and (record["gradient_error"] or 0) <= gradient else "WRONG"


def show(head, rows):
    """Columns as wide as their content; the first to the left."""
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    for row in [head, *rows]:
        cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  " + "  ".join(cells).rstrip())


def modes_of(ranks):
    return ["eager", "captured", "compiled"] if ranks == 1 else ["eager", "captured", "overlapped"]


def best(records, key="ms"):
    return min((r[key] for r in records if r.get(key) is not None and r.get("right", True)), default=None)


def where(records, **wanted):
    return [r for r in records if all(r.get(k) == v for k, v in wanted.items())]


def name_of(record):
    if record["type"] != "gcn":
        return f"{record['type']} {record['model']}" + (" P X once" if record["once"] else "")
    return f"{record['model']} {'A X once' if record['once'] else 'A X always'}"


def rows_of_ours(ours, torch, pyg):
    rows = []
    for o in ours:
        same = where(torch, model=o["model"], once=o["once"])
        eager, alike = where(same, mode="eager"), where(same, precision=o["precision"])
        of_mode = [best(where(alike, mode=mode)) for mode in modes_of(o["ranks"])]
        fastest = min((t for t in alike if t.get("ms") and t.get("right", True)), key=lambda t: t["ms"], default={})
        slow = where(pyg, model=o["model"])
        label = name_of(o) + (f" {o['partition']}" if o["ranks"] > 1 else "")
        if "failed" in o:
            rows.append([label, o["precision"], "failed"] + [""] * 12)
            continue
        rows.append([label, o["precision"], number(o["ms"])] + [number(ms) for ms in of_mode] +
                    [ratio(best(peers), o["ms"]) for peers in (alike, eager, same, slow)] +
                    [number(o["gib"]), number(fastest.get("gib")), number(best(slow, "gib")),
                     "-" if "loss_error" not in o else errors_of(o), right(o)])
    return rows


def rows_beside_geometric(ours, pyg):
    """The other types, whose only peer is PyTorch Geometric: its fastest of fp32 and tf32, and of all precisions."""
    rows = []
    for o in ours:
        if "failed" in o:
            rows.append([name_of(o), o["precision"], "failed"] + [""] * 11)
            continue
        same = [p for p in where(pyg, model=o["model"]) if p.get("ms")]
        cells = []
        for of in [p for p in same if p["precision"] != "bf16"], same:
            fastest = min(of, key=lambda p: p["ms"], default={})
            cells += [number(fastest.get("ms")), f"{fastest['mode']} {fastest['precision']}" if fastest else "-",
                      ratio(fastest.get("ms"), o["ms"]), number(fastest.get("gib"))]
        rows.append([name_of(o), o["precision"], number(o["ms"]), number(o["gib"]), *cells,
                     "-" if "loss_error" not in o else f"{o['loss_error']:.0e}", right(o)])
    return rows


def errors_of(record):
    gradient = record["gradient_error"]
    return f"{record['loss_error']:.0e} " + ("-" if gradient is None else f"{gradient:.0e}")


def print_tables(kind, name, ranks, epochs, records):
    timed = [r for r in records if "wall" not in r and "cold" not in r]
    ours, torch, pyg = (where(timed, peer=peer) for peer in ("ours", "torch", "pyg"))
    print(f"\n{name} on {ranks} rank{'s' * (ranks > 1)}: ms an epoch, ratios peer / ours, GiB of GPU memory")
    if kind == "gcn":
        show(["GCN", "precision", "ours", *modes_of(ranks), "same precision", "best eager", "best", "PyG",
              "GiB ours", "torch", "PyG", "error loss, grad", "fp64"], rows_of_ours(ours, torch, pyg))
        print("  PyTorch's modes in the precision of the row; ratios over the best of that precision, the best eager one of any "
              "precision, the best of any; PyTorch Geometric as it is: A X always")
    else:
        show([kind.upper(), "precision", "ours", "GiB", "PyG fp32, tf32", "fastest", "over ours", "GiB", "PyG any", "fastest",
              "over ours", "GiB", "error of loss", "fp64"], rows_beside_geometric(ours, pyg))
        print("  PyTorch Geometric's layers as they are, P X always: its fastest of fp32 and tf32, and of all precisions; our losses "
              "are held against our own formula in float64")
    listed = [r for r in torch + pyg if r.get("ms")]
    if listed:
        print(f"\n{name} on {ranks} rank{'s' * (ranks > 1)}: every peer, ms an epoch")
        for key in dict.fromkeys((r["peer"], r["model"], r["once"], r["precision"]) for r in listed):
            of = [r for r in listed if (r["peer"], r["model"], r["once"], r["precision"]) == key]
            times = ", ".join(f"{r['mode']} {number(r['ms'])}" + ("" if r["right"] else " (WRONG LOSS)") for r in of)
            print(f"  {'PyTorch' if key[0] == 'torch' else 'PyG'} {name_of(of[0])} {key[3]}: {times}")
    print_walls(name, ranks, epochs, records)
    for r in records:
        if "failed" in r:
            print(f"  failed: {r['peer']} {name_of(r)} {r['precision']} {r.get('mode', '')}: {r['failed']}")
        if "note" in r:
            print(f"  note: {r['note']}")
    print(flush=True)


def print_walls(name, ranks, epochs, records):
    walls = [r for r in records if "wall" in r]
    if not walls:
        return
    print(f"\n{name} on {ranks} rank{'s' * (ranks > 1)}: wall seconds from the command to the end of {epochs} epochs")
    for r in sorted(walls, key=lambda r: r["peer"]):
        kind = "" if r["peer"] != "ours" else f" {r['partition']}, {'cold' if r['cold'] else 'parts kept'}"
        parts = ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in r["wall"].items())
        total = sum(seconds for phase, seconds in r["wall"].items() if phase != "order")  # which partition holds
        program = "gnntrain" if r["peer"] == "ours" else "PyTorch eager"
        print(f"  {program} {name_of(r)} {r['precision']}{kind}: {total:.2f}  ({parts})")


def print_cora(kind, records):
    print(f"\nCora by its recipe of {kind}, 1 rank: ms an epoch")
    peers = [r for r in records if r.get("peer") == "pyg" and r.get("ms")]
    for r in records:
        if "failed" in r or "note" in r:
            print(f"  {r.get('peer', '')} {r.get('precision', '')} {r.get('mode', '')} failed: {r.get('failed', r.get('note'))}")
        elif r["peer"] == "ours":
            print(f"  gnntrain {r['precision']}: {number(r['ms'])}; best PyG / ours {ratio(best(peers), r['ms'])}; "
                  f"test {100 * r['test']:.1f}%")
        else:
            print(f"  PyG {r['mode']} {r['precision']}: {number(r['ms'])}")
    print(flush=True)
