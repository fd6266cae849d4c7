"""What launch/report knows of a run: its folder's metrics.jsonl, config.toml and trace.json, and what gnntrain printed."""
import bisect
import json
import os
import re
import stat

from study.common import BadInput

METRICS = ("train", "val", "test")
CURVES = ("loss", "train_loss", "val_loss", "test_loss", *METRICS, "lr", "ms", "sent_bytes", "time")
FINAL = ("best_epoch", "epochs", "val", "test", "seconds", "peak_bytes")
LARGEST = 1e100  # of a number in a file
UNITS = ("B", "KiB", "MiB", "GiB", "TiB")

# The parts of an epoch and the regions of a profile that count for them, as models/train/epoch_breakdown.c has them.
PARTS = {
    "pack": ("pack",),
    "exchange": ("exchange",),
    "wait": ("wait",),
    "own part": ("own part", "late rows ahead", "own part of a level"),
    "halo part": ("halo part", "late rows", "halo part of a level"),
    "gemm": ("gemm", "spmm"),
    "update": ("update", "update_backward", "batch_norm_stats", "batch_norm_backward", "column_sums", "column_moments", "add",
               "dot", "dropout", "sparse_dropout", "attention_terms", "attention_rows", "attention_terms_backward",
               "dynamic_rows", "zero", "readout", "cosine_rows", "cosine_end"),
    "loss": ("loss",),
    "reduce": ("reduce",),
    "optimiser": ("optimiser",),
}
PART_OF = {region: part for part, regions in PARTS.items() for region in regions}
ROUNDING = .01  # microseconds; a trace has three digits


def text_of(path):
    """What a file holds; None where it is not there. Pipes and devices are not waited for."""
    try:
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise BadInput(f"{path}: is a folder, device or pipe; a file is expected")
            return file.read().decode(errors="replace")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def no_number(text):
    raise ValueError(f"{text} is no number")


def json_of(text, place):
    """The JSON object that a text is."""
    try:
        value = json.loads(text, parse_constant=no_number)
    except (ValueError, RecursionError):
        raise BadInput(f"{place}: is no JSON object") from None
    if not isinstance(value, dict):
        raise BadInput(f"{place}: is no JSON object")
    return value


def brief(value):
    text = json.dumps(value)
    return text if len(text) <= 40 else text[:37] + "..."


def real(row, name, place, least=0.0, most=LARGEST):
    """A number between these; None for null and where the line has none."""
    value = row.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
        limits = f" from {least:g} to {most:g}" if most < LARGEST else f" from {least:g} on" if least > -LARGEST else ""
        raise BadInput(f'{place}: "{name}" is {brief(value)}; a number{limits} is expected')
    return value


def whole(row, name, place, least):
    value = row.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= 2 ** 53:
        raise BadInput(f'{place}: "{name}" is {brief(value)}; a whole number from {least} on is expected')
    return value


def bytes_text(value):
    """As gnntrain writes it."""
    unit = 0
    while value >= 1024 and unit < len(UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.1f} {UNITS[unit]}" if unit else f"{value:.0f} B"


class Run:
    """A folder. curves[run][name]: points (epoch, value) of one of train.runs, where there are values; final[run]: its
    closing line."""

    def __init__(self, path):
        self.path = self.name = os.path.normpath(path)
        self.curves, self.final, self.settings, self.log = {}, {}, {}, None
        if not os.path.isdir(path):
            raise BadInput(f"{path}: is {'no folder' if os.path.exists(path) else 'not there'}; the folder of a run is expected")
        metrics, config = (text_of(os.path.join(path, name)) for name in ("metrics.jsonl", "config.toml"))
        if metrics is None and config is None:
            raise BadInput(f"{path}: is not the folder of a run: it has neither metrics.jsonl nor config.toml")
        self.read_metrics(metrics or "")
        self.read_settings(config or "")

    def read_metrics(self, text):
        lines = text.split("\n")[:-1]  # what is behind the last end of a line is being written, or was torn
        for number, line in enumerate(lines, 1):
            place = f"{self.path}/metrics.jsonl, line {number}"
            row = json_of(line, place)
            index = whole(row, "run", place, 0)
            if row.get("final") is True:
                self.final[index] = {name: real(row, name, place, most=1 if name in METRICS else LARGEST) for name in FINAL}
            else:
                self.add(index, row, place)

    def add(self, index, row, place):
        epoch = whole(row, "epoch", place, 1)
        curves = self.curves.setdefault(index, {name: [] for name in ("epochs", *CURVES)})
        if curves["epochs"] and epoch <= curves["epochs"][-1]:
            raise BadInput(f"{place}: epoch {epoch} of run {index} comes behind its epoch {curves['epochs'][-1]}")
        curves["epochs"].append(epoch)
        for name in CURVES:
            value = real(row, name, place, most=1 if name in METRICS else LARGEST)
            if value is not None:
                curves[name].append((epoch, value))

    def read_settings(self, text):
        section = None
        for number, line in enumerate(text.split("\n"), 1):
            head, entry = re.match(r"\[([a-z]+)\]\s*$", line), re.match(r"([a-z_]+) = (.*)$", line)
            if head:
                section = head[1]
            elif entry and section:
                self.settings[f"{section}.{entry[1]}"] = plain(entry[2])
            elif line.strip() and not line.startswith("#"):
                raise BadInput(f"{self.path}/config.toml, line {number}: is no setting as gnntrain writes them")

    def points(self, name):
        """Of each of train.runs that has any."""
        return {index: curves[name] for index, curves in sorted(self.curves.items()) if curves[name]}

    def epochs(self):
        """The last epoch of each of train.runs."""
        return {index: curves["epochs"][-1] for index, curves in sorted(self.curves.items())}

    def parts(self):
        """What the parts of an epoch take by the folder's trace.json: see parts_of_epoch; None without one, or without epochs."""
        path = os.path.join(self.path, "trace.json")
        text = text_of(path)
        return None if text is None else parts_of_epoch(events_of(text, path))


def plain(value):
    """A setting's value as people write it: texts without quotes."""
    try:
        return json.loads(value) if value.startswith('"') else value
    except ValueError:
        return value


def mean_of(curves):
    """The mean of several curves at the epochs that all of them have."""
    values = [dict(points) for points in curves]
    shared = sorted(set(values[0]).intersection(*values[1:])) if values else []
    return [(epoch, sum(v[epoch] for v in values) / len(values)) for epoch in shared]


def events_of(text, path):
    """(rank, track, start, length, name) of each region of a trace, in microseconds."""
    found = json_of(text, path).get("traceEvents")
    if not isinstance(found, list) or not all(isinstance(event, dict) for event in found):
        raise BadInput(f'{path}: is no trace of gnntrain: it has no list "traceEvents" of objects')
    events = []
    for number, event in enumerate(found, 1):
        if event.get("ph") != "X":
            continue
        place = f"{path}, event {number}"
        start, length = (real(event, name, place, -LARGEST if name == "ts" else 0) for name in ("ts", "dur"))
        if start is None or length is None or not isinstance(event.get("name"), str):
            raise BadInput(f"{place}: lacks name, ts or dur")
        events.append((whole(event, "pid", place, 0), whole(event, "tid", place, 0), start, length, event["name"]))
    return events


def parts_of_rank(events):
    """Epochs and microseconds of each part and of "epoch", from one rank's events in the order of the file. A region counts for
    the part of the outermost of it and its ancestors that has one."""
    epochs = sorted((e[2], e[2] + e[3], e[1]) for e in events if e[4] == "epoch")
    sums = {name: 0.0 for name in ("epoch", *PARTS)}
    starts, sums["epoch"] = [e[0] for e in epochs], sum(end - start for start, end, _ in epochs)
    busy = {}  # until when the part at hand lasts, on each track
    for _, track, start, length, name in sorted(reversed(events), key=lambda e: (e[2], -e[3])):
        at = bisect.bisect_right(starts, start + ROUNDING) - 1
        if name not in PART_OF or at < 0 or start >= epochs[at][1] - ROUNDING or start < busy.get(track, start) - ROUNDING:
            continue
        busy[track] = start + length
        sums[PART_OF[name]] += length
    return len(epochs), sums


def parts_of_epoch(events):
    """(epochs, ranks, {part: (ms, ms of the slowest rank)}) of an epoch, averaged over ranks; "epoch" is all of it, "other" what
    its parts leave over, the exchange aside, which runs beside them. None without epochs."""
    ranks = {}
    for event in events:
        ranks.setdefault(event[0], []).append(event)
    found = [parts_of_rank(of) for of in ranks.values()]
    if not found or min(epochs for epochs, _ in found) == 0:
        return None
    for _, sums in found:
        sums["other"] = max(0.0, sums["epoch"] - sum(sums[name] for name in PARTS if name != "exchange"))
    each = {name: [1e-3 * sums[name] / epochs for epochs, sums in found] for name in found[0][1]}
    return found[0][0], len(found), {name: (sum(ms) / len(ms), max(ms)) for name, ms in each.items()}


COUNT, SIZE = r"(\d{1,18})", r"(\d{1,18}(?:\.\d)?) (B|[KMGT]iB)"
DETAIL = re.compile(r"(partition|edge cut|rows|order): (\S.*)$")
FACT = re.compile(r"  (graph|hypergraph|data|model|training|ranks|device|partition|host memory|memory|GPU memory|epoch)"
                  r" {2,}(\S.*)$")
PEAK = re.compile(rf"{SIZE} on the fullest rank \(estimate {SIZE}\)$")
PART = re.compile(rf" {{10,}} *{SIZE}  (\S.*)$")
RANK = re.compile(rf" *{COUNT} +{COUNT} +\d+ +{COUNT} +\d+\.\d+$")  # rank, rows, non-zeros, halo rows, their quotient
HYPER_RANK = re.compile(rf" *{COUNT} +{COUNT} +\d+ +\d+ +{COUNT}$")  # rank, vertices, hyperedges, incidences, foreign vertices
WROTE = re.compile(r"  written to +(.*) \(metrics\.jsonl, |.*the checkpoint is in (.*): go on with --resume$")
METRIC = re.compile(r"  test +(accuracy|micro-F1|ROC-AUC) ")


class Log:
    """What a training of gnntrain printed, the last one of a file. facts: lines of its banner and of its results; folder: where
    it wrote; memory: {kind: (peak, estimate)}; of --verbose: estimates {kind: [(part, bytes)]}, ranks [(rank, own, halo)]."""

    def __init__(self, path):
        text = text_of(path)
        if text is None:
            raise BadInput(f"{path}: is not there; what gnntrain printed is expected")
        lines = text.replace("\r", "\n").split("\n")
        banners = [i for i, line in enumerate(lines) if re.match(r"gnntrain \d\S* ", line)]
        if not banners:
            raise BadInput(f"{path}: is not what gnntrain prints: no line begins with its name and version")
        self.facts, self.memory, self.estimates, self.ranks, self.folder, self.metric = {}, {}, {}, [], None, None
        for line in lines[banners[-1]:]:
            if line.startswith("region "):
                break  # regions of a profile are called as the facts
            self.read(line)

    def read(self, line):
        if found := FACT.match(line) or DETAIL.match(line):
            self.take(found[1], found[2])
        elif self.estimates and (found := PART.match(line)):
            list(self.estimates.values())[-1].append((found[3], size(found[1], found[2])))
        elif (found := RANK.match(line) or HYPER_RANK.match(line)) and int(found[1]) == len(self.ranks):
            self.ranks.append(tuple(int(number) for number in found.groups()))
        elif found := WROTE.match(line):
            self.folder = found[1] or found[2]
        elif found := METRIC.match(line):
            self.metric = found[1]

    def take(self, name, text):
        if found := PEAK.match(text):
            self.memory[name] = (size(found[1], found[2]), size(found[3], found[4]))
        elif text.startswith("about "):
            self.estimates[name] = []
        else:
            self.facts.setdefault(name, text)


def size(number, unit):
    return float(number) * 1024 ** UNITS.index(unit)
