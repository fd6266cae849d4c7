"""What every function of the package raises, and what several need."""
import importlib
import os
import secrets


class Error(Exception):
    """One sentence for whoever called. code: the exit code of the program: 1 failed; 2 bad input; 75 stopped by a signal."""

    def __init__(self, message, code=2):
        super().__init__(message)
        self.code = code


def brief(value, most=60):
    """A value on one line of a message."""
    text = " ".join(str(value).split())
    return text if len(text) <= most else text[:most - 3] + "..."


def needed(module, what, package=None):
    """The module, which only this function needs. Error where it is not there."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise Error(f"{what} needs {package or module}, which is not installed here ({brief(error, 100)})", 1) from None


def beside(path):
    """A name that nobody can guess: no link that somebody put there is written through."""
    return f"{path}.{secrets.token_hex(8)}.part"


def publish(path, write):
    """write(name) makes a file beside its place, which is then synced and renamed: it is there whole or not at all."""
    part = beside(path)
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        write(part)
        with open(part, "rb") as f:
            os.fsync(f.fileno())
        os.replace(part, path)
    except OSError as error:
        raise Error(f"{brief(path, 255)}: cannot be written: {error.strerror or brief(error)}", 1) from None
    finally:
        if os.path.exists(part):
            os.remove(part)
