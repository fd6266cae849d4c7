"""Used memory and energy of the GPUs, as NVML counts them: contexts and libraries included, and all that others do there."""
import ctypes
import os
import threading
import time


class _Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


def _visible(count):
    """Numbers of the GPUs that programs see here: others may be busy with other work."""
    names = os.environ.get("CUDA_VISIBLE_DEVICES")
    if names is None or not all(name.strip().isdigit() for name in names.split(",")):
        return list(range(count))
    return [int(name) for name in names.split(",") if int(name) < count]


def _handles():
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None, []
    count = ctypes.c_uint()
    if library.nvmlInit_v2() or library.nvmlDeviceGetCount_v2(ctypes.byref(count)):
        return None, []
    numbers = _visible(count.value)
    handles = [ctypes.c_void_p() for _ in numbers]
    for number, handle in zip(numbers, handles):
        library.nvmlDeviceGetHandleByIndex_v2(number, ctypes.byref(handle))
    return library, handles


_library, _devices = _handles()


def names():
    """Of the visible GPUs, as "2 NVIDIA H100 80GB HBM3"; "" where there is none."""
    text, found = ctypes.create_string_buffer(96), []
    for device in _devices:
        found.append(text.value.decode(errors="replace") if _library.nvmlDeviceGetName(device, text, 96) == 0 else "GPU")
    return ", ".join(f"{found.count(name)} {name}" if found.count(name) > 1 else name for name in dict.fromkeys(found))


def used():
    """Bytes in use on each visible GPU; an empty list where there is none."""
    memory, bytes_used = _Memory(), []
    for device in _devices:
        _library.nvmlDeviceGetMemoryInfo(device, ctypes.byref(memory))
        bytes_used.append(memory.used)
    return bytes_used


def growth(base):
    """Of the GPU whose use grew most since used() was `base`; None where there is no GPU."""
    return max((now - then for now, then in zip(used(), base)), default=None)


def joules():
    """What the visible GPUs have taken since their driver was loaded; None where one does not count it, or there is none."""
    total, millijoules = 0, ctypes.c_ulonglong()
    for device in _devices:
        if _library.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(millijoules)):
            return None
        total += millijoules.value
    return total / 1e3 if _devices else None


class Peak:
    """The largest growth while the `with` block runs, looked at every few milliseconds."""

    def __enter__(self):
        self.base, self.bytes, self.done = used(), 0 if _devices else None, threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()
        return self

    def look(self):
        self.bytes = max(self.bytes, growth(self.base))

    def _watch(self):
        while _devices and not self.done.is_set():
            self.look()
            time.sleep(0.005)

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()


class Meter(Peak):
    """The same, with the energy: `taken` is (seconds since 1970, joules), some a second, the first and the last at both ends."""

    def __enter__(self):
        self.taken = []
        self.read()
        return super().__enter__()

    def read(self):
        joules_now = joules()
        if joules_now is not None:
            self.taken.append((time.time(), joules_now))

    def look(self):
        super().look()
        if not self.taken or time.time() - self.taken[-1][0] >= 0.05:
            self.read()

    def __exit__(self, *_):
        super().__exit__()
        self.read()

    def between(self, begin, end):
        """Joules between two moments, of which there have to be some readings; else None."""
        inside = [taken for taken in self.taken if begin <= taken[0] <= end]
        if len(inside) < 5:
            return None
        (first, before), (last, after) = inside[0], inside[-1]
        return (after - before) * (end - begin) / (last - first)

    def all(self):
        return self.taken[-1][1] - self.taken[0][1] if len(self.taken) > 1 else None
