"""Runs of a sweep on this machine, some side by side: each has its own GPUs, or its share of the processors.

SIGTERM, SIGINT and SIGHUP are passed on to all runs, which save a checkpoint and end; nothing new is begun.
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import time

from study import grid, results
from study.common import Failure

STOPPED = 75  # the exit code of gnntrain after a signal
AGAIN = 5  # seconds after which ranks that start just now are told once more


def gpus():
    """What CUDA_VISIBLE_DEVICES may name here, one each; of a GPU that is divided its parts."""
    named = os.environ.get("CUDA_VISIBLE_DEVICES")
    if named is not None:
        return [name.strip() for name in named.split(",") if name.strip() not in ("", "-1", "NoDevFiles")]
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return []
    found = []
    for whole, part in re.findall(r"^GPU \d+: .*\(UUID: (GPU-[^)]+)\)|^ +MIG .*\(UUID: *(MIG-[^)]+)\)", listed, re.MULTILINE):
        if part and found and found[-1].startswith("GPU-"):
            found.pop()
        found.append(whole or part)
    return found


def quota():
    """The processors' worth of time that a container grants; None."""
    try:
        most, period = pathlib.Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return int(most) / int(period)
    except (OSError, ValueError):
        return None


def processors():
    there = len(os.sched_getaffinity(0))
    return max(1, min(there, int(quota() or there)))


def ranks_of(launcher):
    """The ids of its children that are gnntrain: those of other hosts have none here."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = (path / "stat").read_text(errors="replace").rpartition(")")[2].split()[1]
            command = (path / "cmdline").read_text(errors="replace").split("\0") if parent == str(launcher) else []
        except (OSError, IndexError):
            continue
        if any(os.path.basename(word) == "gnntrain" for word in command[:2]):
            found.append(int(path.name))
    return found


def send(function, process, number):
    try:
        function(process, number)
    except ProcessLookupError:
        pass  # it has just ended


class Run:
    """A process group that trains a setting."""

    def __init__(self, row, command, environment, launched):
        self.row, self.launched, self.began = row, launched, time.monotonic()
        self.told, self.gone = False, 0  # ranks were told to end; how often none was there since
        folder = row["folder"]
        folder.mkdir(parents=True, exist_ok=True)
        log = folder / "output.txt"
        log.unlink(missing_ok=True)
        with open(log, "x") as out:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                            env=environment, start_new_session=True)

    def ask(self, number, first):
        """To save and end. An mpirun gives its ranks too little time for it: at first they are asked themselves."""
        if self.process.returncode is not None:
            return
        if not first or not self.launched:
            send(os.killpg, self.process.pid, signal.SIGTERM if first else number)
            return
        ranks = ranks_of(self.process.pid)
        for process in ranks or [self.process.pid]:
            send(os.kill, process, signal.SIGUSR1)
        self.told, self.gone = self.told or bool(ranks), 0 if ranks else self.gone + 1
        if self.told and self.gone == 3:  # an mpirun may wait for ever for ranks that ended while they started
            send(os.killpg, self.process.pid, signal.SIGABRT)

    def seconds(self):
        return time.monotonic() - self.began

    def finish(self):
        """Puts into the row what it has come to."""
        code, folder = self.process.returncode, self.row["folder"]
        self.row.update({"reason": None, **results.read(folder)})
        if self.row["state"] in ("done", "stopped"):
            return
        if code in (STOPPED, 128 + signal.SIGUSR1, 128 + signal.SIGABRT, -signal.SIGABRT) and (code == STOPPED or self.told):
            self.row.update(state="stopped")
        elif self.row["state"] != "failed":
            end = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
            self.row.update(state="failed", reason=f"{end}; its output is in {folder}/output.txt")


class Runner:
    """args: config, build, mpirun, ranks, at_once, set. tell(row, left): called when a run has ended."""

    def __init__(self, args, tell):
        self.args, self.tell = args, tell
        self.free = list(range(args.at_once))
        self.running, self.signals, self.durations = {}, [], []
        self.gpus, self.threads = gpus(), max(1, processors() // (args.at_once * args.ranks))

    def check(self, rows):
        """Whether there are GPUs for all that are to run side by side. Nothing is said of those without any."""
        wanted = self.args.at_once * self.args.ranks
        if self.gpus and wanted > len(self.gpus) and any(self.takes_gpus(row) for row in rows):
            raise Failure(f"--at-once {self.args.at_once} and --ranks {self.args.ranks} take {wanted} GPUs, and there "
                          f"{'is 1' if len(self.gpus) == 1 else f'are {len(self.gpus)}'}", 2)

    def takes_gpus(self, row):
        device = row["resolved"].get("runtime.device", '"auto"').strip('"')
        return self.gpus and device != "cpu" and self.args.has_gpus

    def take_signals(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, self.take)
        signal.signal(signal.SIGALRM, self.ask_again)

    def take(self, number, _frame):
        self.signals.append(number)
        for run in self.running.values():
            run.ask(number, first=len(self.signals) == 1)
        signal.alarm(AGAIN)

    def ask_again(self, _number, _frame):
        for run in self.running.values():
            if run.launched:
                run.ask(self.signals[-1], first=True)
        signal.alarm(AGAIN if self.running else 0)

    def command(self, row):
        args, folder = self.args, row["folder"]
        start = [*args.mpirun, "-n", str(args.ranks)] if args.ranks > 1 else []
        words = [*start, os.path.join(args.build, "gnntrain"), args.config, "--resume"]
        for assignment in args.set:
            words += ["--set", assignment]
        words += [*grid.words_of(row["setting"]), "--set", f"log.dir={json.dumps(str(folder), ensure_ascii=False)}"]
        if args.at_once > 1 and row["resolved"].get("runtime.threads") == "0":
            words += ["--set", f"runtime.threads={self.threads}"]
        return words

    def environment(self, row, slot):
        if not self.takes_gpus(row):
            return None
        ranks = self.args.ranks
        return {**os.environ, "CUDA_VISIBLE_DEVICES": ",".join(self.gpus[slot * ranks:(slot + 1) * ranks])}

    def begin(self, row):
        slot = self.free.pop(0)
        row.update(state="begun", reason="it trains now")
        try:
            self.running[slot] = Run(row, self.command(row), self.environment(row, slot), self.args.ranks > 1)
        except OSError as error:
            self.free.append(slot)
            row.update(state="failed", reason=f"{error.filename}: {error.strerror}")
            return
        for number in self.signals[:1]:  # that came before there was a process
            self.running[slot].ask(number, first=True)

    def collect(self, left):
        """Waits until one has ended; Popen then asks for its exit code itself."""
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOWAIT)
        for slot, run in list(self.running.items()):
            if run.process.poll() is None:
                continue
            del self.running[slot]
            self.free.append(slot)
            run.finish()
            if run.row["state"] == "done":
                self.durations.append(run.seconds())
            self.tell(run.row, self.time_left(left + len(self.running)))

    def time_left(self, runs):
        """An estimate in seconds; None as long as nothing has been trained."""
        if not self.durations or self.signals:
            return None
        each = sum(self.durations) / len(self.durations)
        passed = sum(min(run.seconds(), each) for run in self.running.values())
        return (each * runs - passed) / min(self.args.at_once, max(1, runs))

    def run(self, rows):
        """Trains all of them, or those until a signal comes."""
        left = list(rows)
        try:
            while self.running or (left and not self.signals):
                while left and self.free and not self.signals:
                    self.begin(left.pop(0))
                if self.running:
                    self.collect(len(left))
        finally:
            self.end_all()
        signal.alarm(0)

    def end_all(self):
        """Where something went wrong in this program, its runs do not go on alone."""
        for run in self.running.values():
            run.ask(signal.SIGTERM, first=True)
        for run in self.running.values():
            run.process.wait()
