"""Settings of gnntrain as Python values and as TOML."""
import json
import math
import os
import re

from gnntrain.error import Error, brief


def toml(value, key):
    """A value as TOML writes it."""
    value = value.item() if hasattr(value, "item") else value  # of numpy and torch
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else f"{value}"
    if isinstance(value, (str, os.PathLike)):
        return json.dumps(os.fspath(value), ensure_ascii=False)
    raise Error(f"{key} is {brief(value)}; a text, a number, True or False is expected")


def flat(settings, what):
    """From {"model": {"hidden": 64}} or {"model.hidden": 64} to the latter."""
    if not hasattr(settings, "items"):
        raise Error(f"{what} is {brief(settings)}; a dict of settings is expected")
    found = {}
    for key, value in settings.items():
        found.update({f"{key}.{name}": one for name, one in value.items()} if hasattr(value, "items") else {key: value})
    for key in found:
        if not re.fullmatch(r"[a-z_]+\.[a-z_]+", str(key)):
            raise Error(f"{what} has {brief(key)}; a key is SECTION.KEY, as model.hidden, or stands in the dict of its section")
    return found


def value_of(text):
    """Of a TOML value of one line; None where it is none that gnntrain writes."""
    text = text.strip()
    quoted = re.match(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'', text)
    if quoted:
        text = quoted.group()
        try:
            return json.loads(text, strict=False) if text[0] == '"' else text[1:-1]
        except ValueError:
            return text[1:-1]
    text = text.partition("#")[0].strip()
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text.replace("_", ""))
        except ValueError:
            pass
    return None


def parsed(text):
    """Sections to keys to values, of TOML with a setting a line, as gnntrain writes it and people mostly do."""
    found, section = {}, ""
    for line in text.splitlines():
        head = re.match(r"\s*\[\s*([A-Za-z_]+)\s*\]", line)
        entry = re.match(r"\s*(?:([A-Za-z_]+)\s*\.\s*)?([A-Za-z_]+)\s*=(.*)", line)
        if head:
            section = head[1]
        elif entry:
            found.setdefault(entry[1] or section, {})[entry[2]] = value_of(entry[3])
    return found
