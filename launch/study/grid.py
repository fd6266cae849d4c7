"""The settings of a sweep: --grid KEY=VALUES read, and their product, or draws from it.

A setting is a dict from key to value, both texts as gnntrain's --set takes them, in the order of the --grid options.
"""
import hashlib
import itertools
import math
import random
import re

from study.common import Failure

MOST = 10000  # settings of a sweep
OWN_KEYS = ("log.dir", "log.overwrite")  # which the sweep gives each run
NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
RANGE = re.compile(rf"(log:)?({NUMBER})\.\.({NUMBER})")
PLAIN_NAME = re.compile(r"[\w.,=+-]{1,120}", re.ASCII)


def number_of(text):
    """The finite number that a value is, or None."""
    try:
        value = float(text) if re.fullmatch(NUMBER, text) else math.inf
    except ValueError:
        value = math.inf
    return value if math.isfinite(value) else None


class Values:
    """What is listed for a key."""
    is_range = False

    def __init__(self, key, values):
        self.key, self.ends, self.count = key, values, len(values)

    def draw(self, stream):
        return self.ends[int(stream.random() * self.count)]


class Range:
    """All numbers between two, of which settings are drawn; whole ones where both ends are written so."""
    is_range = True

    def __init__(self, key, logarithmic, low, high):
        self.key, self.ends, self.logarithmic = key, [low, high], logarithmic
        self.whole = all(re.fullmatch(r"[-+]?\d+", end) for end in self.ends)
        self.low, self.high = float(low), float(high)
        self.count = int(high) - int(low) + 1 if self.whole else math.inf
        if not self.low < self.high or not math.isfinite(self.high - self.low):
            raise Failure(f"--grid {key}={low}..{high}: the lower end comes first", 2)
        if logarithmic and self.low <= 0:
            raise Failure(f"--grid {key}=log:{low}..{high}: a logarithmic range is of numbers above 0", 2)

    def draw(self, stream):
        low, high = self.low, self.high + (1 if self.whole else 0)
        share = stream.random()
        value = low * (high / low) ** share if self.logarithmic else low + share * (high - low)
        return str(min(int(value // 1), int(self.high))) if self.whole else f"{value:.4g}"


def divided(text):
    """A list at its commas, but for those between quotes."""
    return [part.strip() for part in re.findall(r'(?:^|,)((?:"(?:\\.|[^"\\])*"|[^,"]|")*)', text)]


def repeated(values):
    """A value that is there twice, as the same number or the same text; None."""
    seen = set()
    for value in values:
        same = value if number_of(value) is None else number_of(value)
        if same in seen:
            return value
        seen.add(same)
    return None


def read_values(key, text):
    if RANGE.fullmatch(text):
        return Range(key, *RANGE.fullmatch(text).groups())
    values = divided(text)
    if not all(values):
        raise Failure(f"--grid {key}={text} lists {'an empty value' if any(values) else 'no value'}; "
                      "values stand with commas between them", 2)
    if text.startswith("log:") or any(RANGE.fullmatch(value) for value in values):
        raise Failure(f"--grid {key}={text}: a range is A..B or log:A..B, of two numbers, and stands alone", 2)
    if repeated(values) is not None:
        raise Failure(f"--grid {key} lists {repeated(values)} twice", 2)
    return Values(key, values)


def check_key(option, assignment):
    """KEY of KEY=VALUE."""
    key, equals, _ = assignment.partition("=")
    key = key.strip()
    if not equals or not key:
        raise Failure(f"{option} {assignment}: KEY=VALUE is expected, as model.hidden=64{',128' if option == '--grid' else ''}", 2)
    if key in OWN_KEYS:
        raise Failure(f"{option} {key}: a sweep gives each run a folder of its own in --out", 2)
    return key


def read(grids, sets, is_random):
    """The keys of a sweep, in their order, from the texts of --grid."""
    fixed = {check_key("--set", assignment) for assignment in sets}
    keys = []
    for assignment in grids:
        key = check_key("--grid", assignment)
        if key in (other.key for other in keys):
            raise Failure(f"--grid {key} is there twice; all values of a key stand in one list", 2)
        if key in fixed:
            raise Failure(f"{key} is both in --grid and in --set", 2)
        keys.append(read_values(key, assignment.partition("=")[2].strip()))
        if keys[-1].is_range and not is_random:
            raise Failure(f"--grid {assignment} is a range, of which --random N draws; without it values are listed", 2)
    return keys


def product(keys):
    count = math.prod(key.count for key in keys)
    if count > MOST:
        raise Failure(f"the product of all --grid has {count} settings, more than {MOST}; --random N draws N of them", 2)
    return [dict(zip((key.key for key in keys), values)) for values in itertools.product(*(key.ends for key in keys))]


def draws(keys, count, seed):
    """`count` distinct settings; those of a smaller count and the same seed are the first of them."""
    there = math.prod(key.count for key in keys)
    if count > min(there, MOST):
        raise Failure(f"--random {count}: " + (f"the product of all --grid has {there} settings" if there < count else
                                               f"at most {MOST} settings are drawn"), 2)
    stream, found = random.Random(seed), {}
    for _ in range(100 * MOST):
        if len(found) == count:
            break
        setting = {key.key: key.draw(stream) for key in keys}
        found.setdefault(tuple(setting.values()), setting)
    else:
        raise Failure(f"--random {count}: a range is so narrow that only {len(found)} different settings are drawn", 2)
    return list(found.values())


def name_of(setting):
    """The name of the folder of its run: readable, and another one for each setting."""
    name = ",".join(f"{key}={value}" for key, value in sorted(setting.items()))
    if PLAIN_NAME.fullmatch(name):
        return name
    digest = hashlib.sha256(repr(sorted(setting.items())).encode(errors="surrogateescape")).hexdigest()
    return f"{re.sub(r'[^A-Za-z0-9_.,=+-]', '_', name)[:100]}-{digest[:12]}"


def words_of(setting):
    """As the command line of gnntrain has it."""
    return [word for key, value in setting.items() for word in ("--set", f"{key}={value}")]
