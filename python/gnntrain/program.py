"""The program gnntrain: where it is, and a job of it that runs."""
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time

from gnntrain.error import Error, brief

BUILD = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir, "build")
PATIENCE = 60  # seconds that ranks have to save before they are asked again


def find_program(program=None):
    """The path of gnntrain: as given, in $GNNTRAIN_BIN, in PATH, in build/ of the source tree that this package lies in."""
    if program is not None:
        found = shutil.which(os.fspath(program))
        if not found:
            raise Error(f"{program}: is no program that can be run")
        return os.path.abspath(found)
    for folder in (os.environ.get("GNNTRAIN_BIN"), os.environ.get("PATH"), BUILD):
        found = shutil.which("gnntrain", path=folder) if folder else None
        if found:
            return os.path.abspath(found)
    raise Error("gnntrain is neither in PATH nor in the folder of GNNTRAIN_BIN; launch/build release builds it, and "
                "program=... names it")


def start_of(program, ranks, mpirun):
    """The words that start it on so many ranks; its own path is the last."""
    program = find_program(program)
    if not isinstance(ranks, int) or ranks < 1:
        raise Error(f"ranks is {brief(ranks)}; a whole number from 1 on is expected")
    if ranks == 1:
        return [program]
    try:
        launcher = shlex.split(mpirun) if isinstance(mpirun, str) else [*mpirun]
    except ValueError as error:
        raise Error(f"mpirun = {mpirun!r} cannot be divided into words: {str(error).lower()}") from None
    if not launcher or not shutil.which(launcher[0]):
        raise Error(f"mpirun names no program that is there: {launcher[0] if launcher else ''!r}")
    return [*launcher, "-n", str(ranks), program]


def descendants(pid):
    """Processes that a process has started, and that these have, with the names of their programs."""
    children = {}
    for entry in os.listdir("/proc") if os.path.isdir("/proc/self") else []:
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as f:
                head, _, tail = f.read().rpartition(")")
        except OSError:
            continue  # it has just ended
        children.setdefault(int(tail.split()[1]), []).append((int(entry), head.partition("(")[2]))
    found, waiting = [], [pid]
    while waiting:
        of_one = children.get(waiting.pop(), [])
        found += of_one
        waiting += [child for child, _ in of_one]
    return found


class Job:
    """gnntrain with its arguments, in a session of its own, with what it says in files without a name."""

    def __init__(self, start, arguments):
        self.name, self.out = os.path.basename(start[-1]), tempfile.TemporaryFile()
        self.error = tempfile.TemporaryFile()
        try:
            self.process = subprocess.Popen([*start, *arguments], stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.error,
                                            start_new_session=True)
        except OSError as error:
            raise Error(f"{start[0]}: cannot be started: {error.strerror}", 1) from None

    def ended(self):
        return self.process.poll() is not None

    @property
    def code(self):
        return self.process.returncode

    def said(self, stream):
        stream.seek(0)
        return stream.read().decode(errors="replace")

    def output(self):
        """All that it has said so far, warnings last."""
        return self.said(self.out) + self.said(self.error)

    def failure(self):
        """An Error with the program's sentence and its exit code."""
        code, lines = self.code if self.code > 0 else 128 - self.code, self.said(self.error).splitlines()
        ours = [line.partition(": ")[2] for line in lines if line.startswith("gnntrain: ")]
        said = [line.strip() for line in lines if line.strip(" -\t")]
        if code == 75:
            return Error("stopped by a signal; resume=True goes on from the newest checkpoint", code)
        return Error(ours[0] if ours else f"{self.name} ended with exit code {code}" +
                     (f": {brief(' '.join(said[-3:]), 300)}" if said else ""), code)

    def stop(self):
        """Asks the ranks to save and end, and waits until they have. mpirun would give them two seconds, and is asked itself
        only where it has no rank here. Ranks that have saved are not to be hit while they end: who has not heard it, since
        it has just started, is asked again after a while."""
        try:
            while not self.ended():
                ranks = [pid for pid, name in descendants(self.process.pid) if name == self.name[:15]]
                self.kill(signal.SIGTERM, ranks or [self.process.pid])
                self.wait(PATIENCE)
        except BaseException:  # asked once more to end: without waiting
            if not self.ended():
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
            raise

    @staticmethod
    def kill(number, processes):
        for pid in processes:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass  # it has just ended

    def wait(self, seconds):
        """Until it has ended, or so many seconds have passed."""
        end = time.monotonic() + seconds
        while not self.ended() and time.monotonic() < end:
            time.sleep(0.02)

    def finish(self):
        """Waits for its end. Error where its exit code is not 0."""
        try:
            self.process.wait()
        except BaseException:
            self.stop()
            raise
        if self.code:
            raise self.failure()
