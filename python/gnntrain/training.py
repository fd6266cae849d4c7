"""train: trainings by the program, an epoch after the other."""
import atexit
import json
import os
import tempfile
import time
import weakref

from gnntrain.error import Error
from gnntrain.program import Job, start_of
from gnntrain.settings import flat, parsed, toml

LONGEST_WAIT = 0.2  # seconds between looks at the metrics
_OPEN = weakref.WeakSet()  # trainings, which end with Python at the latest


@atexit.register
def _close_all():
    for training in list(_OPEN):
        training.close()


def folder_of(config, settings, out):
    """The folder of the run, as the program finds it: log.dir, else runs/ and the configuration's name, of a dict the
    dataset's."""
    if out is not None:
        return os.fspath(out)
    if isinstance(config, dict):
        path = str(config.get("dataset.path", ""))
        name = "synth" if path.startswith("synth:") else os.path.splitext(os.path.basename(path))[0] or "gnntrain"
        return settings.get("log.dir") or config.get("log.dir") or f"runs/{name}"
    try:
        with open(config, encoding="utf-8") as f:
            text = f.read()
    except FileNotFoundError:
        raise Error(f"{config}: is not there") from None
    except (OSError, UnicodeDecodeError):
        text = ""  # the program says what is wrong with it
    name = os.path.splitext(os.path.basename(config))[0]
    return settings.get("log.dir") or parsed(text).get("log", {}).get("dir") or f"runs/{name}"


class Rows:
    """The lines of a run's metrics.jsonl that are new: not those of an earlier run, nor those that a resumed one keeps."""

    def __init__(self, path, resume):
        self.path, self.at, self.rest = path, 0, b""
        self.former, self.kept = None, []
        try:
            with open(path, "rb") as f:
                self.former = os.fstat(f.fileno())
                self.kept = f.read().splitlines() if resume else []
        except OSError:
            pass  # none is there

    def new(self):
        """Dicts of whole lines that have come since the last call."""
        try:
            with open(self.path, "rb") as f:
                if self.former and os.path.samestat(self.former, os.fstat(f.fileno())):
                    return []  # the run writes a file of its own
                f.seek(self.at)
                block = f.read()
        except OSError:
            return []
        self.at += len(block)
        *lines, self.rest = (self.rest + block).split(b"\n")
        return [json.loads(line) for line in lines if not self.is_kept(line)]

    def is_kept(self, line):
        """A resumed run begins its file with the first lines of the one before."""
        if self.kept and self.kept[0] == line:
            del self.kept[0]
            return True
        self.kept = []
        return False


class Training:
    """An iterator over the epochs of a training: dicts of run, epoch, loss, train, val, test and ms (docs/data.md).

    The job starts with the first of them. close(), the end of a `with` block and KeyboardInterrupt have it save a
    checkpoint and end, and so does a loop that is left. Error: the program's sentence, with its exit code.

    dir: the folder of the run; best: its best weights; config: all its settings, as a file. result: the dict of a run's
    end, None before it; results: those of all runs, where train.runs is more than 1. output: what the program has
    printed, and code its exit code, once it has ended.
    """

    def __init__(self, config, ranks, settings, epochs, resume, program, mpirun, out):
        settings = flat(settings or {}, "settings")
        self._text = None
        if hasattr(config, "items"):
            config = flat(config, "config")
            self._text = "".join(f"{key} = {toml(value, key)}\n" for key, value in config.items())
        else:
            config = os.fspath(config)
        self.dir = folder_of(config, settings, out)
        self.best = os.path.join(self.dir, "best.h5")
        self.config, self._file = os.path.join(self.dir, "config.toml"), config
        self.results, self.output, self.code = [], "", None
        if self._text is not None or out is not None:
            settings["log.dir"] = self.dir
        if epochs is not None:
            settings["train.epochs"] = epochs
        arguments = [f"--set={key}={toml(value, key)}" for key, value in settings.items()]
        if resume:
            arguments.append("--resume" if resume is True else f"--resume={os.fspath(resume)}")
        self._start, self._arguments = start_of(program, ranks, mpirun), arguments
        self._resume = bool(resume)
        self._epochs = _epochs(weakref.proxy(self))
        _OPEN.add(self)

    @property
    def result(self):
        return self.results[-1] if self.results else None

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._epochs)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Where it still trains, it saves a checkpoint first. Waits for its end."""
        self._epochs.close()

    def wait(self):
        """Trains to the end and returns the result."""
        with self:  # an interrupt between two epochs, too, has it save and end
            for _ in self:
                pass
        return self.result


def _epochs(training):
    """The generator behind a Training, which it does not keep alive: one that nobody has any more ends its job."""
    with tempfile.TemporaryDirectory() as folder:
        config = training._file
        if training._text is not None:
            config = os.path.join(folder, os.path.basename(training.dir) + ".toml")
            with open(config, "x", encoding="utf-8") as f:
                f.write(training._text)
        rows = Rows(os.path.join(training.dir, "metrics.jsonl"), training._resume)
        results = training.results
        job = Job(training._start, [config, *training._arguments])
        try:
            yield from _rows(job, rows, results)
        finally:
            job.stop()
            _note_end(training, job)
    if job.code:
        raise job.failure()


def _note_end(training, job):
    try:
        training.output, training.code = job.output(), job.code
    except ReferenceError:
        pass  # nobody has it any more


def _rows(job, rows, results):
    """Epochs until the job has ended; results of runs go into the list."""
    pause = 0.01
    while True:
        ended = job.ended()  # before the rows are read: none comes after
        found = rows.new()
        for row in found:
            if row.get("final"):
                results.append(row)
            else:
                yield row
        if ended:
            return
        pause = 0.01 if found else min(LONGEST_WAIT, 1.5 * pause)
        time.sleep(pause)


def train(config, ranks=1, settings=None, epochs=None, resume=False, program=None, mpirun="mpirun", out=None):
    """Trains, and returns a Training: an iterator over the epochs.

    config: a file, or a dict of settings, {"model": {"hidden": 64}} or {"model.hidden": 64}; settings: such a dict of
    what differs. epochs: train.epochs. resume: True goes on from the newest checkpoint, a path from that one. out: the
    folder of the run (log.dir). mpirun: what starts several ranks, with its options. program: the path of gnntrain;
    None: that of GNNTRAIN_BIN, PATH or the source tree's build/.
    """
    return Training(config, ranks, settings, epochs, resume, program, mpirun, out)
