"""What launch/scaling, launch/sweep and launch/report share: sentences that end them, their folders, and files that are there
whole."""
import os
import pathlib
import secrets
import shlex
import shutil
import tempfile


class Failure(Exception):
    """One sentence, the exit code, and what of it goes into a table."""

    def __init__(self, message, code=1, reason=None):
        super().__init__(message)
        self.code, self.reason = code, reason or message


class BadInput(Failure):
    def __init__(self, message):
        super().__init__(message, 2)


def words(option, text):
    try:
        return shlex.split(text)
    except ValueError as error:
        raise Failure(f"{option} {text!r} cannot be divided into words: {str(error).lower()}", 2) from None


def launcher_of(text):
    """The words of --mpirun, whose first is a program."""
    launcher = words("--mpirun", text)
    if not launcher or not shutil.which(launcher[0]):
        raise Failure(f"--mpirun names no program that is there: {launcher[0] if launcher else ''!r}", 2)
    return launcher


def own_programs():
    """The folder of the programs where none is named: build/ of the project, or bin/ of the installation that this is in."""
    share = pathlib.Path(__file__).resolve().parent.parent.parent
    return "build" if (share / "CMakeLists.txt").exists() else str(share.parent.parent / "bin")


def check_programs(build, *names):
    for name in names:
        path = os.path.join(build, name)
        if not os.path.isfile(path) or not os.access(path, os.X_OK):
            raise Failure(f"--build {build} has no program {name}; the folder of the built programs is expected", 2)


def make_folder(out):
    """Makes the folder of --out, and finds out now what would be in the way after hours."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=out).close()
    except OSError as error:
        raise Failure(f"--out {out} is no folder that can be written: {error.strerror}", 2) from None


def text_of(path):
    return path.read_text(errors="replace")


def publish(path, content):
    """Beside, synced, then renamed: the file is there whole, or the one before. A text or bytes."""
    beside = path.with_name(f"{path.name[:100]}.{secrets.token_hex(8)}.part")
    try:
        with open(beside, "xb") as out:  # anew: no link that somebody put there is written through
            out.write(content if isinstance(content, bytes) else content.encode("utf-8", "backslashreplace"))
            out.flush()
            os.fsync(out.fileno())
        os.replace(beside, path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise Failure(f"{path} cannot be written: {error.strerror}") from None


def extend(path, content):
    """Where the file holds what the bytes begin with, the rest is appended, so that who reads it as it grows goes on; else as publish."""
    try:
        before = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        if before and content.startswith(before):
            with open(path, "ab", opener=lambda name, flags: os.open(name, flags | os.O_NOFOLLOW)) as out:
                out.write(content[len(before):])
            return
    except OSError as error:
        raise Failure(f"{path} cannot be written: {error.strerror}") from None
    publish(path, content)
