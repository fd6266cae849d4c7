"""HDF5 files of gnntrain, which say what they are by the attribute `format` of their root."""
import contextlib

import h5py

from gnntrain.error import Error, brief


def text_of(value):
    return value.decode(errors="replace") if isinstance(value, bytes) else value


@contextlib.contextmanager
def opened(path, form, kind):
    """The open file. Error where there is none, where it is no `kind`, and where HDF5 finds it damaged."""
    try:
        with h5py.File(path, "r") as f:
            if text_of(f.attrs.get("format")) != form:
                raise Error(f"{path}: is no {kind}: the attribute format = \"{form}\" is expected")
            yield f
    except FileNotFoundError:
        raise Error(f"{path}: is not there") from None
    except (OSError, RuntimeError) as error:
        raise Error(f"{path}: cannot be read as a {kind}: {brief(error, 120)}") from None
    except KeyError as error:
        raise Error(f"{path}: a {kind} has more than this file: {brief(error, 120)}") from None


def is_of(path, form):
    """Whether there is a file of that format."""
    try:
        with h5py.File(path, "r") as f:
            return text_of(f.attrs.get("format")) == form
    except OSError:
        return False


def read(f, place):
    """An array that nobody may write to. Error where the file has a group there, or nothing."""
    found = f.get(place)
    if not isinstance(found, h5py.Dataset):
        raise Error(f"{f.filename}: /{place}: is {'no array' if found is not None else 'missing'}")
    values = found[()]
    if hasattr(values, "setflags"):
        values.setflags(write=False)
    return values


def places(f):
    """Of all arrays of a file."""
    found = []
    f.visititems(lambda place, thing: found.append(place) if isinstance(thing, h5py.Dataset) else None)
    return found
