"""Used memory of the GPUs, contexts and libraries included, as NVML counts it; whoever measures, measures alike."""
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


class Peak:
    """The largest growth while the `with` block runs, looked at every few milliseconds."""

    def __enter__(self):
        self.base, self.bytes, self.done = used(), 0 if _devices else None, threading.Event()
        self.thread = threading.Thread(target=self._watch, daemon=True)
        self.thread.start()
        return self

    def _watch(self):
        while _devices and not self.done.is_set():
            self.bytes = max(self.bytes, growth(self.base))
            time.sleep(0.005)

    def __exit__(self, *_):
        self.done.set()
        self.thread.join()
