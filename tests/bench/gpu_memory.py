"""Used memory of the GPUs, contexts and libraries included, as NVML counts it; whoever measures, measures alike."""
import ctypes
import threading
import time


class _Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


def _handles():
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None, []
    count = ctypes.c_uint()
    if library.nvmlInit_v2() or library.nvmlDeviceGetCount_v2(ctypes.byref(count)):
        return None, []
    handles = [ctypes.c_void_p() for _ in range(count.value)]
    for i, handle in enumerate(handles):
        library.nvmlDeviceGetHandleByIndex_v2(i, ctypes.byref(handle))
    return library, handles


_library, _devices = _handles()


def used():
    """Bytes in use on each GPU of the machine; an empty list where there is none."""
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
