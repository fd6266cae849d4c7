"""Reads a page of launch/report back. From test_run_report.sh:

  check_run_report.py page REPORT.html...           # it wants nothing from outside, its tags close, nothing of others' is a tag
  check_run_report.py curves REPORT.html FIGURE:METRIC:FACTOR:LABEL... -- RUN...   # its curves are what metrics.jsonl says
  check_run_report.py parts REPORT.html LOG         # an epoch's parts are those that gnntrain --profile printed
  check_run_report.py confusion REPORT.html TABLE CONFUSION.csv SPLIT   # a confusion matrix is what the table says
  check_run_report.py events FOLDER RUN             # TensorBoard's files there say what metrics.jsonl says
  check_run_report.py colours REPORT.html           # told apart on light and dark paper, and by colour-blind eyes
"""
import csv
import html.parser
import itertools
import json
import math
import pathlib
import re
import struct
import sys
import xml.etree.ElementTree as tree

sys.dont_write_bytecode = True
LEFT, RIGHT, TOP, BOTTOM = 66, 618, 26, 266  # where curves lie in a picture
TAGS = set("html head meta title style body h1 h2 h3 p section div dl dt dd table thead tbody tr th td figure figcaption ul li svg "
           "path text circle rect footer code small".split())


class Tags(html.parser.HTMLParser):
    """Every tag is one that a report has, closes where it should, and leads nowhere."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attributes):
        assert tag in TAGS, f"<{tag}>"
        for name, value in attributes:
            assert not name.startswith("on") and name not in ("href", "src", "xlink:href", "style", "action", "data"), (tag, name)
            assert "//" not in (value or "") and "url(" not in (value or "") or name == "aria-label", (tag, name, value)
        self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"


def check_page(text):
    tags = Tags()
    tags.feed(text)
    tags.close()
    assert not tags.open, tags.open
    style = re.search(r"<style>(.*?)</style>", text, re.S)[1]
    assert not re.search(r"@import|url\(|//", style), "the style leads elsewhere"
    assert "default-src 'none'" in text
    for identity in figures(text):
        check_room(figures(text)[identity])


def figures(text):
    found = re.findall(r'<figure id="([^"]+)">.*?</figure>', text, re.S)
    assert len(found) == len(set(found)), found
    return {m[1]: tree.fromstring(m[0]) for m in re.finditer(r'<figure id="([^"]+)">.*?</figure>', text, re.S)}


def check_room(figure):
    """No text lies among the curves, and no curve outside of the axes."""
    plot = figure.find("svg[@class='plot']")
    if plot is None:
        return
    for text in plot.iter("text"):
        x, y = float(text.get("x")), float(text.get("y"))
        assert x < LEFT or y > BOTTOM or y < TOP, (text.text, x, y)
    for points in (points_of(path) for path in plot.iter("path") if path.get("class").startswith("curve")):
        assert all(LEFT - .01 <= x <= RIGHT + .01 and TOP - .01 <= y <= BOTTOM + .01 for x, y in points)


def points_of(path):
    numbers = [float(n) for n in re.findall(r"-?[\d.]+", path.get("d"))]
    assert re.fullmatch(r"M[-\d. ]+(L[-\d. ]+)*", path.get("d")), path.get("d")
    return list(zip(numbers[::2], numbers[1::2]))


def scale(plot, axis):
    """From pixels to values, by the ticks, which must agree; and the values of a pixel there."""
    ticks = [(float(t.get(axis)), float(t.text.replace(",", ""))) for t in plot.iter("text") if t.get("class") == f"tick {axis}"]
    assert len(ticks) >= 2, ticks
    logarithmic = axis == "y" and any("logarithmic" in (t.text or "") for t in plot.iter("text"))
    into, back = (math.log10, lambda v: 10 ** v) if logarithmic else (float, float)
    (a, low), (b, high) = ticks[0], ticks[-1]
    slope = (into(high) - into(low)) / (b - a)
    for at, value in ticks:
        assert abs(into(low) + slope * (at - a) - into(value)) < abs(slope) * .02, (axis, ticks)
        if not logarithmic and value:
            round_number(abs(ticks[1][1] - ticks[0][1]))
    return lambda at: back(into(low) + slope * (at - a))


def round_number(step):
    first = step / 10 ** math.floor(math.log10(step) + 1e-9)
    assert min(abs(first - f) for f in (1, 2, 2.5, 5, 10)) < 1e-6, step


def drawn(figure):
    """Of each curve its name: (kind, points as values, how far they may be off)."""
    plot, found = figure.find("svg[@class='plot']"), {}
    x, y = scale(plot, "x"), scale(plot, "y")
    for path in plot.iter("path"):
        if not path.get("class").startswith("curve"):
            continue
        name, kind = path.find("title").text, path.get("class").split()[-1]
        assert name not in found, name
        found[name] = kind, [(x(a), y(b), abs(y(b + .02) - y(b)), abs(x(a + .02) - x(a))) for a, b in points_of(path)]
    return found


def recorded(run, metric, factor):
    """Of each of train.runs its points."""
    found = {}
    for line in (pathlib.Path(run) / "metrics.jsonl").read_text().splitlines():
        row = json.loads(line)
        if "epoch" in row and row.get(metric) is not None:
            found.setdefault(row["run"], []).append((row["epoch"], factor * row[metric]))
    return found


def same(name, points, expected):
    assert len(points) == len(expected), (name, len(points), len(expected))
    for (x, y, off_y, off_x), (epoch, value) in zip(points, expected):
        assert abs(x - epoch) <= off_x and abs(y - value) <= off_y, (name, (x, y), (epoch, value))


def check_curves(text, wanted, runs):
    found = figures(text)
    for item in wanted:
        figure, metric, factor, label = item.split(":")
        curves = drawn(found[figure])
        for run in runs:
            values, name = recorded(run, metric, float(factor)), label or pathlib.Path(run).name
            assert values, (run, metric)
            if len(values) == 1:
                assert curves[name][0] == "line"
                same(name, curves[name][1], *values.values())
                continue
            for index, points in values.items():
                assert curves[f"{name}, run {index}"][0] == "thin"
                same(name, curves[f"{name}, run {index}"][1], points)
            kind, points = curves[f"{name}: mean of {len(values)} runs"]
            assert kind == "mean"
            epochs = [epoch for epoch, _ in min(values.values(), key=len)]
            same(name, points, [(epoch, sum(dict(of)[epoch] for of in values.values()) / len(values)) for epoch in epochs])
        lines = [c for c in curves.values() if c[0] != "thin"]
        assert label or len(lines) == len(runs), (figure, list(curves))


def ms_of(text):
    number, unit = text.split()[:2]
    return float(number) * {"µs": 1e-3, "ms": 1, "s": 1e3}[unit]


def check_parts(text, log):
    """Printed with four digits behind the point; the trace has three of a microsecond, over many regions."""
    printed = {}
    said = pathlib.Path(log).read_text()
    table = re.search(r"^an epoch, mean of (\d+) on (\d+) ranks?: ([\d.]+) ms\n.*\n((?:  .*\n)+?)  hidden", said, re.M)
    for line in table[4].splitlines():
        name, ms, slowest = re.match(r"  (\S.*?)(?: \*)? +([\d.]+) +([\d.]+) ", line).groups()
        printed[name] = float(ms), float(slowest)
    bars = figures(text)["parts-0"]
    note = bars.find("p[@class='note']").text
    assert f"mean of {table[1]} on {table[2]} ranks" in note and abs(ms_of(note) - float(table[3])) < 1e-3 * float(table[3]), note
    labels = [t.text for t in bars.find("svg").iter("text")]
    shown = {name: [ms_of(part) for part in said.split(", slowest rank ")] for name, said in zip(labels[::2], labels[1::2])}
    assert set(shown) >= set(printed) and "own part" in shown and "wait" in shown, (shown, printed)
    for name, values in printed.items():
        for ours, theirs in zip(shown[name], values):
            assert abs(ours - theirs) < 2e-4 + .005 * theirs, (name, shown[name], values)
    rects, widths = [(r.get("y"), float(r.get("width"))) for r in bars.find("svg").iter("rect")], {}
    for label, y in zip(labels[::2], dict(rects)):
        widths[label] = sum(width for at, width in rects if at == y)
    longest = max(shown, key=lambda name: shown[name][0])
    for name in shown:
        assert abs(widths[name] / widths[longest] - shown[name][0] / shown[longest][0]) < .006, (name, widths, shown)


def linear(colour):
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return [c / 12.92 if c <= .04045 else ((c + .055) / 1.055) ** 2.4 for c in parts]


def light(rgb):
    return .2126 * rgb[0] + .7152 * rgb[1] + .0722 * rgb[2]


# What eyes without one kind of cones see: Machado, Oliveira and Fernandes 2009, of full severity.
EYES = {"all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
        "no red": ((.152286, 1.052583, -.204868), (.114503, .786281, .099216), (-.003882, -.048116, 1.051998)),
        "no green": ((.367322, .860646, -.227968), (.280085, .672501, .047413), (-.01182, .04294, .968881)),
        "no blue": ((1.255528, -.076749, -.178779), (-.078411, .930809, .147602), (.004733, .691367, .3039))}


def lab(rgb):
    def root(t):
        return t ** (1 / 3) if t > .008856 else 7.787 * t + 16 / 116
    x, y, z = (root(v) for v in ((.4124 * rgb[0] + .3576 * rgb[1] + .1805 * rgb[2]) / .9505, light(rgb),
                                 (.0193 * rgb[0] + .1192 * rgb[1] + .9505 * rgb[2]) / 1.089))
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def check_colours(text):
    papers = re.findall(r":root \{(.*?)\}", text, re.S)
    assert len(papers) == 3, "light, dark and printed"
    for paper in papers:
        colour = {name: linear(value) for name, value in re.findall(r"--(\w+): (#[0-9a-f]{6})", paper)}
        for name, least in [("ink", 7), ("soft", 4.5), *((name, 3) for name in colour if re.fullmatch(r"c\d", name))]:
            a, b = sorted((light(colour[name]), light(colour["paper"])))
            assert (b + .05) / (a + .05) >= least, name
        for eyes, rows in EYES.items():
            seen = {name: lab([min(1, max(0, sum(m * c for m, c in zip(row, rgb)))) for row in rows])
                    for name, rgb in colour.items() if re.fullmatch(r"c\d", name)}
            for a, b in itertools.combinations(seen, 2):
                assert math.dist(seen[a], seen[b]) > 20, (eyes, a, b)


def crc32c(data):
    """Bit by bit, as RFC 3720 defines it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def unmasked(crc):
    rotated = (crc - 0xA282EAD8) & 0xFFFFFFFF
    return (rotated >> 17 | rotated << 15) & 0xFFFFFFFF


def message(data):
    """Fields of a message of protocol buffers: (number, value)."""
    at, found = 0, []

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            value |= (data[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if data[at - 1] < 128:
                return value

    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            value = varint()
        else:
            size = {1: 8, 5: 4}.get(kind) or varint()
            value, at = data[at:at + size], at + size
            value = struct.unpack("<d", value)[0] if kind == 1 else struct.unpack("<f", value)[0] if kind == 5 else value
        found.append((key >> 3, value))
    return found


def records(data):
    at = 0
    while at < len(data):
        size, = struct.unpack_from("<Q", data, at)
        assert unmasked(struct.unpack_from("<I", data, at + 8)[0]) == crc32c(data[at:at + 8])
        body = data[at + 12:at + 12 + size]
        assert unmasked(struct.unpack_from("<I", data, at + 12 + size)[0]) == crc32c(body)
        yield dict(message(body))
        at += 16 + size
    assert at == len(data)


def check_events(folder, run):
    lines = [json.loads(line) for line in (pathlib.Path(run) / "metrics.jsonl").read_text().splitlines()]
    for index in {line["run"] for line in lines}:
        place = folder / f"run-{index}" if len({line["run"] for line in lines}) > 1 else folder
        rest = []
        for path in sorted(place.glob("events.out.tfevents.*")):
            first, *more = records(path.read_bytes())
            assert first[3] == b"brain.Event:2" and first[2] == 0
            if more and 7 in more[0]:  # a start: TensorBoard drops what it has from that step on
                start = more.pop(0)
                assert dict(message(start[7])) == {1: 1}
                rest = [event for event in rest if event[2] < start[2]]
            rest += more
        epochs = [line for line in lines if line["run"] == index and "epoch" in line]
        assert [event[2] for event in rest] == [line["epoch"] for line in epochs]
        for event, line in zip(rest, epochs):
            assert event[1] == line["time"]
            values = {tag.decode(): value for (_, tag), (_, value) in (message(v) for _, v in message(event[5]))}
            wanted = {"loss/training": "loss", "loss/val": "val_loss", "metric/test": "test", "rate": "lr", "ms": "ms"}
            for tag, name in wanted.items():
                assert (tag in values) == (line[name] is not None), tag
                assert tag not in values or math.isclose(values[tag], line[name], rel_tol=1e-6), (tag, values[tag], line[name])


def check_confusion(text, identity, path, split):
    """Counts and shares of every cell, row by row; nodes behind them."""
    with open(path, newline="") as file:
        lines = [line for line in csv.DictReader(file) if line["split"] == split]
    count = {(int(line["label"]), int(line["prediction"])): int(line["count"]) for line in lines}
    name = {int(line[of]): line.get(f"{of}_class") for line in lines for of in ("label", "prediction")}
    classes = sorted(name)
    body = tree.fromstring(re.search(rf'<table class="confusion(?: dense)?" id="{identity}">.*?</table>', text, re.S)[0])
    head = [th.text for th in body.find("thead/tr")]
    rows = [list(row) for row in body.find("tbody")]
    assert len(rows) == len(classes) and len(head) == len(classes) + 2, (head, classes)
    for label, (first, *cells, last) in zip(classes, rows):
        assert first.text in (name[label] or str(label), f"{label} {name[label]}"), first.text
        nodes = sum(value for (of, _), value in count.items() if of == label)
        assert int(last.text.replace(",", "")) == nodes
        for prediction, cell in zip(classes, cells, strict=True):
            value = count.get((label, prediction), 0)
            if not value:
                assert cell.text is None and len(cell) == 0
                continue
            assert int(cell.text.replace(",", "")) == value and cell[0].text == f"{100 * value / nodes:.1f}%"
            assert cell.get("class").split()[0] == ("right" if label == prediction else "wrong")


def main():
    what, page, *rest = sys.argv[1:]
    if what == "events":
        check_events(pathlib.Path(page), *rest)
        return
    text = pathlib.Path(page).read_text()
    if what == "page":
        for path in (page, *rest):
            check_page(pathlib.Path(path).read_text())
    elif what == "curves":
        check_curves(text, rest[:rest.index("--")], rest[rest.index("--") + 1:])
    elif what == "confusion":
        check_confusion(text, *rest)
    elif what == "parts":
        check_parts(text, *rest)
    else:
        check_colours(text)


if __name__ == "__main__":
    main()
