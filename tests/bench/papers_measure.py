"""What the tables of papers consist of: kernels by gnnbench, epochs by gnntrain. Each gives (width or None, column, ms), or a word
in place of ms where one of several did not come through."""
import json
import re
import shutil
import statistics
import subprocess
import sys
import time

EPOCHS, UNTIMED = 12, 3


class OutOfTime(Exception):
    pass


class Failed(Exception):
    """The last line of what a program said."""


class Budget:
    """Of seconds; a program that does not end within them is ended."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def left(self):
        return self.end - time.monotonic()

    def run(self, command):
        if self.left() <= 0:
            raise OutOfTime
        try:
            done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=self.left())
        except subprocess.TimeoutExpired:
            raise OutOfTime from None
        if done.returncode != 0:
            said = (done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}").splitlines()
            raise Failed(next((line for line in said if re.match("gnn(data|bench|train): ", line)), said[-1]))
        return done.stdout


def lines(text):
    """Of gnnbench's JSON; what the shape says ("width 16") becomes a field, too."""
    for line in text.splitlines():
        if line.startswith("{"):
            fields = json.loads(line)
            yield {**{k: int(v) for k, v in re.findall(r"(nnz|width) (\d+)", fields.get("shape", ""))}, **fields}


def attempt(what, measure, *words, **settings):
    """Its value; a word where it failed, and why on stderr."""
    try:
        return measure(*words, **settings)
    except Failed as failed:
        print(f"papers: {what}: {failed}", file=sys.stderr)
        return "out of memory" if "memory" in str(failed) else "failed"


class Measure:
    """The programs, a device and a precision."""

    def __init__(self, bin_, device, precision, reps, budget, work):
        self.bin, self.device, self.precision, self.reps, self.budget, self.work = bin_, device, precision, reps, budget, work
        self.layouts = self.find_layouts() if device == "cuda" else ["auto"]  # a processor has one form

    def find_layouts(self):
        """What gnnbench can force, as its help says; the one that is chosen stands last."""
        known = re.search(r"--layout ([a-z|]+)", Budget(60).run([f"{self.bin}/gnnbench", "spmm", "--help"]))[1].split("|")
        return [layout for layout in known if layout != "auto"] + ["auto"]

    def bench(self, *words):
        common = ["--device", self.device, "--precision", self.precision, "--reps", self.reps, "--json"]
        return list(lines(self.budget.run([f"{self.bin}/gnnbench", *words, *common])))

    def kernels(self, path, table):
        """Every layout, and the other library. Those that --all does not know are forced one by one."""
        widths, seen = ",".join(map(str, table["widths"])), set()
        for line in self.bench("spmm", "--all", "--graph", path, "--width", widths):
            if line["op"] != "spmm all":
                continue
            if line["peer_ms"] > 0:
                yield line["width"], "cuSPARSE", line["peer_ms"]
            for layout in self.layouts:
                if f"{layout}_ms" in line:
                    seen.add(layout)
                    yield line["width"], layout, line[f"{layout}_ms"]
        for layout in self.layouts:
            if layout not in seen:
                forced = attempt(layout, self.bench, "spmm", "--dataset", path, "--layout", layout, "--width", widths)
                if isinstance(forced, str):
                    forced = [{"width": width, "ms": forced} for width in table["widths"]]
                yield from ((line["width"], layout, line["ms"]) for line in forced)

    def ablation(self, path, table):
        """GE-SpMM's techniques; a processor has none of them."""
        if self.device == "cpu":
            return
        for line in self.bench("spmm", "--ablate", "--graph", path, "--width", ",".join(map(str, table["widths"]))):
            if line["technique"].startswith("csr"):
                yield line["width"], line["technique"], line["ms"]
            if line["technique"] == "csr":
                yield line["width"], "auto", line["ms_without"]

    def hyper(self, path, table):
        """Every form that the device has, and the other library."""
        for line in self.bench("hyper", "--dataset", path, "--width", ",".join(map(str, table["widths"]))):
            if line["op"] == "auto" and line.get("peer_ms", 0) > 0:
                yield line["width"], "cuSPARSE", line["peer_ms"]
            if line["op"] != "cut":  # what preparing a form takes
                yield line["width"], line["op"], line["ms"]

    def epoch(self, path, model, **settings):
        """The median of the epochs after the third, every aggregate in each, all rows."""
        run, config = self.work / "run", self.work / "config.toml"
        shutil.rmtree(run, ignore_errors=True)
        given = {"dataset.path": path, "model.dropout": 0.0, "model.dropout_input": 0.0, "train.epochs": EPOCHS,
                 "train.eval_every": EPOCHS, "partition.method": "block", "partition.order": "given",
                 "runtime.device": self.device, "runtime.precision": self.precision, "runtime.once": "false",
                 "runtime.rows": "all", "log.dir": run, **{f"model.{key}": value for key, value in model.items()}, **settings}
        config.write_text("")
        words = [word for key, value in given.items() for word in ("--set", f"{key}={value}")]
        self.budget.run([f"{self.bin}/gnntrain", config, *words])
        epochs = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
        shutil.rmtree(run)
        return statistics.median([e["ms"] for e in epochs if "ms" in e][UNTIMED:])

    def epochs(self, path, table):
        for layout in self.layouts:
            if layout in table.get("layouts", self.layouts):
                yield None, layout, attempt(layout, self.epoch, path, table["model"], **{"runtime.layout": layout})

    def orders(self, path, table):
        layout = "selector" if "selector" in self.layouts else "auto"
        for order in ("given", "loa"):
            yield None, order, attempt(order, self.epoch, path, table["model"],
                                       **{"runtime.layout": layout, "partition.order": order})

    def of(self, path, table):
        return getattr(self, table["measures"])(path, table)
