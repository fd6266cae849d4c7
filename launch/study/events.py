"""The curves of a run as a file of TensorBoard's events: records of TFRecord's framing, each an Event of its protocol buffers
(tensorflow/core/util/event.proto and framework/summary.proto)."""
import struct

POLYNOMIAL = 0x82F63B78  # of CRC-32C, reflected
TAGS = {"loss": "loss/training", "train_loss": "loss/train", "val_loss": "loss/val", "test_loss": "loss/test",
        "train": "metric/train", "val": "metric/val", "test": "metric/test", "lr": "rate", "ms": "ms"}


def _table():
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (POLYNOMIAL if byte & 1 else 0)
        table.append(byte)
    return table


TABLE = _table()


def masked(data):
    """CRC-32C of some bytes, masked as TFRecord has it: so that a sum of sums is none."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(data):
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked(length)) + data + struct.pack("<I", masked(data))


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out) + bytes([number])


def field(number, data):
    """A field of bytes, a text or a message."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def event(time, step, rest):
    """wall_time, step and one field more."""
    return record(b"\x09" + struct.pack("<d", time) + b"\x10" + varint(step) + rest)


def events_of(curves, time):
    """The bytes of a file: a line of metrics.jsonl is an event. curves: of one of a run's train.runs (run.py); time: of those
    that have none of their own."""
    values = {}
    for name, tag in TAGS.items():
        for epoch, value in curves[name]:
            values.setdefault(epoch, []).append((tag, value))
    times = dict(curves["time"])
    out = [event(times.get(min(values, default=0), time), 0, field(3, b"brain.Event:2"))]
    for epoch, found in sorted(values.items()):
        summary = b"".join(field(1, field(1, tag.encode()) + b"\x15" + struct.pack("<f", value)) for tag, value in found)
        out.append(event(times.get(epoch, time), epoch, field(5, summary)))
    return b"".join(out)
