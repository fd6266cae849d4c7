"""A picture of measurements as SVG: for each row a bar of another program's time and one of gnntrain's."""
from xml.sax.saxutils import escape

ROW, BAR, LEFT, WIDTH, RIGHT, TOP = 46, 15, 190, 520, 150, 58
PEER, OURS = "#b0b7c3", "#1f6feb"


def text(x, y, content, size=13, extra=""):
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" {extra}>{escape(content)}</text>'


def bar(y, share, colour, label, bold=False):
    width = max(2.0, WIDTH * share)
    weight = 'font-weight="bold"' if bold else ""
    return [f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR}" fill="{colour}"/>',
            text(LEFT + width + 6, y + BAR - 3, label, 12, weight)]


def svg(title, note, rows):
    """rows: (label, other program, its time, ours, unit); times as Decimal. The other's bar is as long as there is room."""
    height = TOP + ROW * len(rows) + 34
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + RIGHT} {height}" '
             'font-family="Helvetica, Arial, sans-serif" fill="#24292f">',
             f'<rect width="{LEFT + WIDTH + RIGHT}" height="{height}" fill="white"/>',
             text(16, 28, title, 17, 'font-weight="bold"')]
    for i, (label, other, theirs, ours, unit) in enumerate(rows):
        y = TOP + i * ROW
        lines.append(text(LEFT - 10, y + BAR + 5, label, 13, 'text-anchor="end"'))
        lines += bar(y, 1, PEER, f"{other} {theirs} {unit}")
        lines += bar(y + BAR + 2, float(ours / theirs), OURS, f"gnntrain {ours} {unit}: {theirs / ours:.1f} times as fast", True)
    lines += [text(16, height - 12, note, 12), "</svg>"]
    return "\n".join(lines) + "\n"
