"""What the peers share: weights to start from, timing, memory, lines of JSON."""
import gc
import json
import pathlib
import statistics
import sys
import time

import torch

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "launch"))
from study import gpu  # noqa: E402

WARMUP = 3


def widths(model, rows):
    """"2x256" with the dataset's features and classes: [602, 256, 41]."""
    layers, hidden = (int(n) for n in model.split("x"))
    return [rows.features] + [hidden] * (layers - 1) + [rows.classes]


def first_weights(dims):
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(i, o, generator=generator) * (2 / (i + o)) ** 0.5 for i, o in zip(dims, dims[1:])]


def loss_error(loss, right):
    """Relative; of losses below 1, which training may drive to nothing, absolute, as the tests of agreement have it."""
    return abs(loss - right) / max(1.0, right)


def say(**record):
    print(json.dumps(record), flush=True)


def add_timing(parser):
    """The options of a peer's timing."""
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=0.3, help="of timing a variant (default: %(default)s)")
    parser.add_argument("--budget", type=float, default=60, help="seconds after which nothing new is begun")
    parser.add_argument("--memory", type=json.loads, default=[], help="used bytes of each GPU before the program, as JSON")


def warm_up(step):
    """On a stream of its own, as what will be captured wants it."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARMUP):
            step()
    torch.cuda.current_stream().wait_stream(side)


def wait(device):
    if device.type == "cuda":
        torch.cuda.synchronize()


def forget():
    """Gives cached memory back, so that the next variant's memory is its own."""
    gc.collect()
    if torch.cuda.is_available():
        if hasattr(torch._C, "_cuda_clearCublasWorkspaces"):
            torch._C._cuda_clearCublasWorkspaces()  # one made inside a graph would hold that graph's memory
        torch.cuda.empty_cache()


def clock(step, device, epochs, seconds):
    """Median ms of a step over at most `epochs` after the warm-up, or as many as fit into `seconds` (3 at least). On
    a GPU between events in the stream, so that the host may run ahead."""
    for _ in range(WARMUP):
        step()
    wait(device)
    if device.type != "cuda":
        return _host_clock(step, epochs, seconds)
    begun = time.perf_counter()
    step()
    torch.cuda.synchronize()
    count = max(3, min(epochs, int(seconds / (time.perf_counter() - begun))))
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]
    marks[0].record()
    for mark in marks[1:]:
        step()
        mark.record()
    torch.cuda.synchronize()
    return statistics.median(a.elapsed_time(b) for a, b in zip(marks, marks[1:]))


def _host_clock(step, epochs, seconds):
    times, begun = [], time.perf_counter()
    while len(times) < 3 or len(times) < epochs and time.perf_counter() - begun < seconds:
        then = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - then))
    return statistics.median(times)


def gib(base):
    grown = gpu.growth(base)
    return None if grown is None else round(grown / 2**30, 3)


def failure(error):
    """One line of an exception; out of memory is named as such."""
    out_of_memory = getattr(torch.cuda, "OutOfMemoryError", ())
    if isinstance(error, out_of_memory) or "out of memory" in str(error):
        return "out of memory"
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0][:120] if str(error).strip() else ''}"
