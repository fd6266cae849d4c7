"""Pictures as SVG inside a page, whose style sheet (page.css) has the colours and the fonts: curves over epochs, points, and bars. Names of lines stand in a list above the picture, so that they never lie on a curve."""
import math
from html import escape

WIDTH, LEFT, RIGHT, TOP, BOTTOM = 640, 66, 22, 26, 44  # of a picture and of the margins around its curves
HEIGHT, BAR, GAP = 310, 18, 10
COLOURS, DASHES = 6, 4  # classes c0, c1, ... and d0, d1, ... of page.css
MOST_POINTS, MOST_MARKERS = 1500, 60
LOG_FROM = 50  # a quotient of the largest and the smallest value from which an axis may be logarithmic


class Line:
    """A curve: points (x, y), ascending in x, and how it is drawn. kind: "line", "thin" (one of several runs) or "mean"."""

    def __init__(self, name, points, colour=0, dash=0, kind="line", listed=True):
        self.name, self.points, self.kind, self.listed = name, points, kind, listed
        self.style = f"c{colour % COLOURS} d{dash % DASHES}"


def steps(low, high, count, whole=False):
    """Round numbers, 1, 2, 2.5 or 5 times a power of ten apart, from the last one up to low to the first one from high on."""
    raw = max(1.0, (high - low) / count) if whole else (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(f * power for f in (1, 2, 2.5, 5, 10) if f * power >= raw * (1 - 1e-9) and not (whole and f * power == 2.5))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [i * step for i in range(first, last + 1)], step


def powers(low, high):
    """Ends and ticks of a logarithmic axis: powers of ten, over few of them with 2 and 5 times them."""
    first, last = math.floor(math.log10(low) + 1e-9), math.ceil(math.log10(high) - 1e-9)
    fine = [f * 10.0 ** e for e in range(first, last + 1) for f in (1, 2, 5)]
    below, above = max(t for t in fine if t <= low * (1 + 1e-9)), min(t for t in fine if t >= high * (1 - 1e-9))
    apart = 1 + (last - first) // 7
    ticks = fine if above / below <= 1001 else [10.0 ** e for e in range(first, last + 1, apart)]
    return below, above, [t for t in ticks if below <= t <= above]


def shown(value, step, largest):
    """A number beside its axis, where steps (None: there are none) and the largest number are these: as many digits as needed."""
    if value == 0:
        return "0"
    if largest >= 1e7 or largest < 1e-3:
        mantissa, _, exponent = f"{value:.4e}".partition("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    if step is None:
        return f"{value:,.10f}".rstrip("0").rstrip(".")
    digits = next((d for d in range(10) if abs(round(step, d) - step) < 1e-6 * step), 10)
    return f"{value:,.{digits}f}"


class Axis:
    """Where values lie between the pixels `start` and `end`."""

    def __init__(self, values, start, end, zero=False, log=False, whole=False, count=5, most=None):
        low, high = min(values), max(values)
        self.start, self.end = start, end
        self.log = log and low > 0 and high / low >= LOG_FROM
        if self.log:
            (low, high, self.ticks), step = powers(low, high), None
        else:
            low = min(low, 0) if zero or 0 < low < high / 2 else low
            if high - low < 1e-4 * max(abs(high), abs(low), 1e-300):
                low, high = (0, 1) if high == 0 else (min(0, 2 * high), max(0, 2 * high))
            self.ticks, step = steps(low, high, count, whole)
        if most is not None:
            self.ticks = [t for t in self.ticks if t <= most] if high <= most else self.ticks
        self.low, self.high = (low, high) if whole or self.log else (self.ticks[0], self.ticks[-1])
        self.ticks = [t for t in self.ticks if self.low <= t <= self.high]
        largest = max(abs(self.ticks[0]), abs(self.ticks[-1]))
        self.labels = [(t, shown(t, step, abs(t) if self.log else largest)) for t in self.ticks]

    def place(self, value):
        f = math.log10 if self.log else float
        return self.start + (f(value) - f(self.low)) / (f(self.high) - f(self.low)) * (self.end - self.start)


def thinned(points):
    """At most a few points a pixel: of each stretch the first and the last, the lowest and the highest."""
    if len(points) <= MOST_POINTS:
        return points
    kept, size = [], math.ceil(len(points) / (MOST_POINTS // 4))
    for i in range(0, len(points), size):
        part = points[i:i + size]
        ends = {part[0], part[-1], min(part, key=lambda p: p[1]), max(part, key=lambda p: p[1])}
        kept += sorted(ends)
    return kept


def key(line):
    """What stands for a line in the list of names."""
    return (f'<li><svg class="key" viewBox="0 0 34 10" width="34" height="10" aria-hidden="true">'
            f'<path class="{line.style} {line.kind}" d="M1 5H33"/></svg>{escape(line.name)}</li>')


def curve(line, x, y):
    points = [(x.place(a), y.place(b)) for a, b in thinned(line.points)]
    path = "L".join(f"{a:.2f} {b:.2f}" for a, b in points)
    text = f'<path class="curve {line.style} {line.kind}" d="M{path}"><title>{escape(line.name)}</title></path>'
    if line.kind == "thin" or len(points) > MOST_MARKERS:
        return text + (dot(points[0], line) if len(points) == 1 else "")
    return text + "".join(dot(p, line) for p in points)


def dot(point, line):
    return f'<circle class="{line.style}" cx="{point[0]:.2f}" cy="{point[1]:.2f}" r="2.4"/>'


def frame(x, y, x_name, y_name):
    """Grid, numbers and names of both axes."""
    bottom = HEIGHT - BOTTOM
    parts = []
    for value, label in y.labels:
        at = y.place(value)
        parts.append(f'<path class="grid" d="M{LEFT} {at:.2f}H{WIDTH - RIGHT}"/>'
                     f'<text class="tick y" x="{LEFT - 8}" y="{at:.2f}" dy=".35em" text-anchor="end">{label}</text>')
    for value, label in x.labels:
        at = x.place(value)
        parts.append(f'<path class="axis" d="M{at:.2f} {bottom}v4"/>'
                     f'<text class="tick x" x="{at:.2f}" y="{bottom + 18}" text-anchor="middle">{label}</text>')
    parts.append(f'<path class="axis" d="M{LEFT} {bottom}H{WIDTH - RIGHT}"/>'
                 f'<text class="name" x="2" y="12">{escape(y_name)}</text>'
                 f'<text class="name" x="{WIDTH - RIGHT}" y="{HEIGHT - 6}" text-anchor="end">{escape(x_name)}</text>')
    return "".join(parts)


def square(shape, name):
    return f'<li><svg class="key" viewBox="0 0 14 14" width="14" height="14" aria-hidden="true">{shape}</svg>{escape(name)}</li>'


def names(keys, kind="keys"):
    return f'<ul class="{kind}">{keys}</ul>' if keys else ""


def figure(identity, title, svg, keys="", note=""):
    below = f'<p class="note">{escape(note)}</p>' if note else ""
    return (f'<figure id="{identity}"><figcaption>{escape(title)}</figcaption>{names(keys)}\n{svg}{below}</figure>\n')


def curves(identity, title, y_name, lines, mark=None, named=True, **axis):
    """A figure of lines over epochs; "" where there is no point. mark: (x, y, text), a ring, with its text among the names.
    named: whether the names of lines stand above it. axis: see Axis."""
    lines = [line for line in lines if line.points]
    if not lines:
        return ""
    last = max(p[0] for line in lines for p in line.points)
    first = min(p[0] for line in lines for p in line.points)
    x = Axis([0 if first <= 1 + last / 5 else first, last], LEFT, WIDTH - RIGHT, whole=True, count=7)
    y = Axis([p[1] for line in lines for p in line.points], HEIGHT - BOTTOM, TOP, **axis)
    y_name += ", logarithmic" if y.log else ""
    order = sorted(lines, key=lambda line: line.kind == "mean")  # means lie on top
    body = frame(x, y, "epoch", y_name) + "".join(curve(line, x, y) for line in order)
    keys = "".join(key(line) for line in lines if line.listed) if named else ""
    if mark:
        body += f'<circle class="mark" cx="{x.place(mark[0]):.2f}" cy="{y.place(mark[1]):.2f}" r="5"/>'
        keys += square('<circle class="mark" cx="7" cy="7" r="5"/>', mark[2])
    svg = (f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">'
           f'<title>{escape(title)}</title>{body}</svg>')
    return figure(identity, title, svg, keys)


class Point:
    """At x a mean with its deviation, and what is said of it where the pointer rests."""

    def __init__(self, x, y, deviation, text, chosen):
        self.x, self.y, self.deviation, self.text, self.chosen = x, y, deviation, text, chosen


def scatter(identity, title, x_name, y_name, points):
    """A figure of points; the chosen one lies on top. The axis below is logarithmic where they span much."""
    xs, edges = [p.x for p in points], [p.y + sign * p.deviation for p in points for sign in (-1, 1)]
    x = Axis(xs, LEFT + 12, WIDTH - RIGHT - 12, log=True, count=7)
    y = Axis(edges, HEIGHT - BOTTOM, TOP, most=100)
    body = frame(x, y, x_name + (", logarithmic" if x.log else ""), y_name)
    for point in sorted(points, key=lambda p: p.chosen):
        style, at = "c1" if point.chosen else "c0", x.place(point.x)
        body += (f'<path class="line {style}" d="M{at:.2f} {y.place(point.y - point.deviation):.2f}V{y.place(point.y + point.deviation):.2f}"/>'
                 f'<circle class="{style}" cx="{at:.2f}" cy="{y.place(point.y):.2f}" r="{6 if point.chosen else 4}">'
                 f"<title>{escape(point.text)}</title></circle>")
    picture = (f'<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">{body}</svg>')
    return figure(identity, title, picture)


def cut(text, most):
    return text if len(text) <= most else text[:most - 1] + "…"


def bars(identity, title, rows, kinds=(), note=""):
    """A figure of a bar a row, (label, lengths, text): lengths of pieces one behind the other, and what stands at the end.
    kinds: what the pieces are."""
    rows = [row for row in rows if sum(row[1]) > 0]
    if not rows:
        return ""
    left = 20 + 7.2 * max(len(cut(label, 52)) for label, _, _ in rows)
    room = WIDTH - left - 16 - 7.4 * max(len(text) for _, _, text in rows)
    most, height, body = max(sum(row[1]) for row in rows), GAP + len(rows) * (BAR + GAP), ""
    for i, (label, lengths, text) in enumerate(rows):
        at, y = left, GAP + i * (BAR + GAP)
        body += f'<text class="label" x="{left - 8:.1f}" y="{y + 13}" text-anchor="end">{escape(cut(label, 52))}</text>'
        for k, length in enumerate(lengths):
            wide = room * length / most
            body += f'<rect class="bar f{k}" x="{at:.2f}" y="{y}" width="{wide:.2f}" height="{BAR}"/>'
            at += wide
        body += f'<text class="label" x="{at + 6:.1f}" y="{y + 13}">{escape(text)}</text>'
    keys = "".join(square(f'<rect class="bar f{k}" width="14" height="14"/>', kind) for k, kind in enumerate(kinds))
    svg = (f'<svg class="bars" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}">'
           f'<title>{escape(title)}</title>{body}</svg>')
    return figure(identity, title, svg, keys, note)
