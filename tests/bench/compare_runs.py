"""What tests/bench/compare starts: made datasets, gnntrain, the peers; each with a time limit and its own log."""
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.append(str(ROOT / "launch"))
from study import gpu  # noqa: E402

WARMUP = 3
TYPES = ["gcn", "sage", "sage-max", "gin", "gat", "agnn", "gcnii", "hgnn"]
PROFILE_ROW = re.compile(r"^( *)(\S.*?) +\d+ +([\d.]+) +[\d.]+ +[\d.]+ +[\d.]+ ")


class Failed(Exception):
    pass


def spoken(log):
    """What a log says of a failure: gnntrain's sentence, else its last line with something in it."""
    lines = [line.strip() for line in pathlib.Path(log).read_text(errors="replace").splitlines()]
    lines = [line for line in lines if line and not line.startswith("-----")]
    sentence = next((line for line in lines if "out of memory" in line or line.startswith("gnntrain: ")), None)
    return (sentence or (lines[-1] if lines else "no output"))[:160]


def run(commands, log, seconds, environments=(None,)):
    """Runs the commands side by side; when one fails, the others end, too. What they said lies in `log`. Raises Failed."""
    started = []
    with open(log, "w") as out:
        try:
            for command, environment in zip(commands, environments):
                started.append(subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=ROOT, stdin=subprocess.DEVNULL,
                                                env={**os.environ, **(environment or {})}, start_new_session=True))
            code = first_failure(started, time.monotonic() + seconds)
        except OSError as error:
            raise Failed(f"{commands[0][0]}: {error.strerror}")
        finally:
            for process in started:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                process.wait()
    if code is None:
        raise Failed(f"not done after {seconds:.0f} s")
    if code:
        raise Failed(f"exit code {code}: {spoken(log)}")


def first_failure(processes, end):
    """Waits for all, or for one to fail: its exit code, 0 when none has, None when time was up."""
    while time.monotonic() < end:
        codes = [process.poll() for process in processes]
        if any(codes):
            return next(code for code in codes if code)
        if None not in codes:
            return 0
        time.sleep(0.01)
    return None


def synth_line(config):
    """Options of gnndata synth as the comment in a configuration gives them, its output file left out."""
    text = re.sub(r"\\\n#", " ", pathlib.Path(config).read_text())
    line = re.search(r"^#\s+gnndata synth (.*)$", text, re.MULTILINE)
    if not line:
        raise Failed(f"{config}: no comment with the line of gnndata synth")
    words = shlex.split(line[1])
    return [word for word in words if not word.endswith(".h5")]


def weight(config):
    """How much of the time a graph gets: large ones twice as much."""
    try:
        words = synth_line(config)
    except Failed:  # it has a dataset
        return 1
    number = {name: float(words[words.index(name) + 1]) for name in ("--nodes", "--degree")}
    return 2 if number["--nodes"] * number["--degree"] > 2e7 else 1


def make_dataset(args, config, seconds):
    """All nodes to train on, labels that say nothing. Made once for its line."""
    if args.dataset:
        return pathlib.Path(args.dataset).resolve()
    options = synth_line(config) + ["--train", "1", "--val", "0", "--label-noise", "1"]
    path = args.work / f"{pathlib.Path(config).stem}.h5"
    line = path.with_suffix(".line")
    if not path.exists() or not line.exists() or line.read_text() != shlex.join(options):
        run([[f"{args.build}/gnndata", "synth", str(path), *options]], path.with_suffix(".log"), seconds)
        line.write_text(shlex.join(options))
        shutil.rmtree(f"{path}.parts", ignore_errors=True)
    return path


def precisions(args):
    """Those that gnntrain knows on this device."""
    text = subprocess.run([f"{args.build}/gnntrain", "--help"], capture_output=True, text=True).stdout
    allowed = re.search(r"runtime\.precision .*\n +(.*);", text)
    known = re.findall(r'"([\w-]+)"', allowed[1]) if allowed else []
    return [p for p in args.precisions if p in known]


def ours_command(args, config, dataset, ranks, settings):
    every = {"dataset.path": dataset, "dataset.normalize": "none", "model.type": "gcn", "model.dropout": 0.0, "model.dropout_input": 0.0,
             "model.bias": "false", "model.norm": "none", "model.residual": "false", "train.epochs": args.epochs, "train.eval_every": 1000000,
             "train.lr": 0.01, "train.optimizer": "adam", "train.schedule": "constant", "train.warmup": 0, "train.clip": 0,
             "train.weight_decay": 0, "train.weight_decay_convolutions": 0, "train.runs": 1, "train.patience": 0, "checkpoint.every": args.epochs - 1,
             "checkpoint.keep": 2, "runtime.device": args.device, "log.overwrite": "true", "log.progress": 1000000, **settings}
    start = [] if ranks == 1 else [*shlex.split(args.mpirun), "-n", str(ranks)]
    command = [*start, f"{args.build}/gnntrain", str(config)]
    for key, value in every.items():
        command += ["--set", f"{key}={value}"]
    return command


def partition_settings(partition):
    order = "given" if partition == "block" else "metis"
    return {"partition.method": partition, "partition.order": order}


def model_settings(model, once, precision):
    layers, hidden = model.split("x")
    return {"model.layers": layers, "model.hidden": hidden, "runtime.once": str(once).lower(), "runtime.precision": precision}


def type_settings(kind, model):
    """What a type has besides what all have, as peer_models.py and peer_formulas.py have it."""
    layers, _ = model.split("x")
    settings = {"gat": {"heads": 8, "heads_last": 1, "activation": "elu", "dropout_attention": 0.0},  # heads of 1/8 of the width
                "sage": {"aggregator": "mean"}, "sage-max": {"aggregator": "max"}, "gin": {"eps": 0.0, "learn_eps": "false"},
                "agnn": {"layers": int(layers) + 2},  # those of the model between two linear ones
                "gcnii": {"alpha": 0.1, "lambda": 0.5}, "hgnn": {"self_hyperedges": "false"}}.get(kind, {})
    return {"model.type": kind.split("-")[0], **{f"model.{key}": value for key, value in settings.items()}}


def train(args, kind, config, dataset, ranks, partition, model, once, precision, seconds):
    """A gnntrain run: median ms, memory, and what the peers' --check wants to hold against float64."""
    name = model if kind == "gcn" else f"{kind}-{model}"
    folder = args.work / f"run-{pathlib.Path(config).stem}-{ranks}-{partition}-{name}-{'once' if once else 'always'}-{precision}"
    record = {"type": kind, "peer": "ours", "ranks": ranks, "partition": partition, "model": model, "once": once,
              "precision": precision}
    settings = {**partition_settings(partition), **model_settings(model, once, precision), **type_settings(kind, model),
                "log.dir": folder}
    with gpu.Peak() as peak:
        try:
            run([ours_command(args, config, dataset, ranks, settings)], f"{folder}.log", seconds)
        except Failed as failed:
            return {**record, "failed": str(failed)}, None
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    epochs = [row for row in rows if not row.get("final")]
    record["ms"] = round(statistics.median(row["ms"] for row in epochs[WARMUP:]), 4)
    record["gib"] = None if peak.bytes is None else round(peak.bytes / 2**30, 3)
    checkpoints = folder / "checkpoints"
    key = f"{kind} {ranks} {partition} {model} {once} {precision}"
    return record, {"key": key, "type": kind, "model": model, "before": str(checkpoints / f"epoch-0-{args.epochs - 1}.h5"),
                    "loss": epochs[-1]["loss"], "after": str(checkpoints / f"epoch-0-{args.epochs}.h5"), "record": record}


def phases(text):
    """Seconds of setting up, from gnntrain --profile: the regions below the whole run until the epochs begin, and `order`,
    which is a part of partition."""
    found = {}
    for line in text.splitlines():
        row = PROFILE_ROW.match(line)
        if row and len(row[1]) == 2 and row[2] == "epoch":
            break
        if row and (len(row[1]) == 2 or row[2] == "order"):
            found[row[2]] = found.get(row[2], 0) + float(row[3]) / 1e3
    return {name: round(seconds, 3) for name, seconds in found.items() if seconds >= 0.0005}


def wall(args, kind, config, dataset, ranks, partition, model, once, precision, seconds):
    """From the command to its end, by phase; `cold` when no parts are kept from before."""
    parts = pathlib.Path(f"{dataset}.parts")
    cold = not parts.exists() or not any(parts.iterdir())
    folder = args.work / f"wall-{pathlib.Path(config).stem}-{ranks}-{partition}"
    settings = {**partition_settings(partition), **model_settings(model, once, precision), "log.dir": folder,
                "checkpoint.every": 0}
    record = {"type": kind, "peer": "ours", "ranks": ranks, "partition": partition, "model": model, "once": once,
              "precision": precision, "epochs": args.epochs, "cold": cold}
    begun = time.monotonic()
    try:
        run([[*ours_command(args, config, dataset, ranks, settings), "--profile"]], f"{folder}.log", seconds)
    except Failed as failed:
        return {**record, "failed": str(failed)}
    total = time.monotonic() - begun
    found = phases(pathlib.Path(f"{folder}.log").read_text())
    found["epochs"] = round(json.loads((folder / "metrics.jsonl").read_text().splitlines()[-1])["seconds"], 3)
    inside = sum(s for name, s in found.items() if name != "order")
    return {**record, "wall": {**found, "start and rest": round(max(0, total - inside), 3)}}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def peer(args, script, dataset, log, seconds, ranks=1, options=()):
    """The lines of JSON that a peer printed; when it fails, one more line says so."""
    command = [args.python, str(HERE / script), str(dataset), "--device", args.device, "--epochs", str(args.epochs),
               "--budget", str(max(5, seconds - 6)), "--memory", json.dumps(gpu.used()), *options]
    if script == "peer_torch.py":
        command += ["--began", str(time.time())]
    world = {"WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
    environments = [{**world, "RANK": str(r), "LOCAL_RANK": str(r)} if ranks > 1 else None for r in range(ranks)]
    failed = None
    try:
        run([command] * ranks, log, seconds, environments)
    except Failed as error:
        failed = str(error)
    records = [json.loads(line) for line in pathlib.Path(log).read_text(errors="replace").splitlines() if line.startswith('{"')]
    if failed:
        records.append({"note": f"{script} ended early: {failed}"})
    return records


def cora(args, kind, model, config, dataset):
    """The recipe of a type as it stands, on one rank, evaluated at its end only where it has no patience."""
    records, patient = [], "patience" in config.read_text()
    for precision in precisions(args):
        folder = args.work / f"run-cora-{kind}-{precision}"
        record = {"type": kind, "peer": "ours", "ranks": 1, "model": model, "precision": precision}
        command = [f"{args.build}/gnntrain", str(config)]
        for setting in (f"dataset.path={dataset}", f"log.dir={folder}", "log.overwrite=true", "log.progress=1000000",
                        f"train.eval_every={1 if patient else 1000000}", f"runtime.device={args.device}",
                        f"runtime.precision={precision}"):
            command += ["--set", setting]
        try:
            run([command], f"{folder}.log", 60)
        except Failed as failed:
            records.append({**record, "failed": str(failed)})
            continue
        rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        ms = statistics.median(row["ms"] for row in rows[WARMUP:] if not row.get("final"))
        records.append({**record, "ms": round(ms, 4), "test": rows[-1]["test"]})
    return records
