"""The confusion matrices that gnntrain --eval CHECKPOINT --out confusion.csv has left in the folder of a run, and how they are drawn."""
import csv
import io
import os
from html import escape

from study.common import BadInput
from study.html import table
from study.run import text_of

HEAD = ["split", "label", "prediction", "count"]
NAMED = [*HEAD, "label_class", "prediction_class"]
SPLITS = {"test": "Test", "val": "Validation"}  # in the order of the page
CLASSES = 50  # at most in a matrix; of more the pairs that are most confused
PAIRS = 40
STEPS = 8  # shades


class Matrix:
    """Of a part of the nodes. classes: those that occur, ascending; count[label, prediction]; name[class]: what it is called."""

    def __init__(self):
        self.count, self.name = {}, {}

    @property
    def classes(self):
        return sorted({of for pair in self.count for of in pair})

    def nodes(self, label):
        return sum(count for (of, _), count in self.count.items() if of == label)

    def text(self, label):
        return self.name.get(label, str(label))


def number(text, place, name):
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise BadInput(f"{place}: {name} is {text[:20]!r}; a whole number is expected")
    return int(text)


def add(found, row, head, place):
    if len(row) != len(head) or row[0] not in SPLITS:
        raise BadInput(f"{place}: is no line of a confusion matrix")
    label, prediction, count = (number(text, place, name) for name, text in zip(HEAD[1:], row[1:4]))
    matrix = found.setdefault(row[0], Matrix())
    if (label, prediction) in matrix.count or count == 0:
        raise BadInput(f"{place}: the pair of classes {label} and {prediction} {'has no nodes' if count == 0 else 'stands twice'}")
    matrix.count[label, prediction] = count
    matrix.name.update(zip((label, prediction), row[4:]))


def matrices_of(folder):
    """{split: Matrix} by the folder's confusion.csv; empty where it is not there."""
    path = os.path.join(folder, "confusion.csv")
    text, found = text_of(path), {}
    if text is None:
        return found
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        head = next(rows, [])
        if head not in (HEAD, NAMED):
            raise BadInput(f"{path}: is no table of confusion matrices, as gnntrain --eval writes with --out")
        for row in rows:
            add(found, row, head, f"{path}, line {rows.line_num}")
    except csv.Error as error:
        raise BadInput(f"{path}, line {rows.line_num}: {error}") from None
    return found


def share(count, of):
    return f"{100 * count / of:.1f}%" if of else ""


def cell(matrix, label, prediction, nodes):
    """Nodes and their share of the class, in a shade by that share."""
    count = matrix.count.get((label, prediction), 0)
    if count == 0:
        return "<td></td>"
    said = f"{matrix.text(label)}, taken for {matrix.text(prediction)}: {count:,} of {nodes:,}"
    shade = min(STEPS, 1 + int(STEPS * count / nodes))
    kind = f"right s{shade}" if label == prediction else f"wrong s{shade}"
    return f'<td class="{kind}" title="{escape(said)}">{count:,}<small>{share(count, nodes)}</small></td>'


def grid(identity, matrix):
    """A row a class, a column for each that it is taken for. Columns of many classes go by their numbers."""
    classes = matrix.classes
    short = len(classes) <= (20 if all(len(matrix.text(c)) <= 9 for c in classes) else 10)

    def heading(c):
        return matrix.text(c) if short or c not in matrix.name else f"{c} {matrix.text(c)}"
    head = "".join(f'<th title="{escape(matrix.text(c))}">{escape(matrix.text(c) if short else str(c))}</th>' for c in classes)
    rows = ""
    for label in classes:
        nodes = matrix.nodes(label)
        cells = "".join(cell(matrix, label, prediction, nodes) for prediction in classes)
        rows += f"<tr><th>{escape(heading(label))}</th>{cells}<td>{nodes:,}</td></tr>\n"
    kind = "confusion" if len(classes) <= 20 else "confusion dense"
    return (f'<div class="wide"><table class="{kind}" id="{identity}">\n<thead><tr><th>class \\ prediction</th>{head}<th>nodes</th></tr></thead>\n'
            f"<tbody>\n{rows}</tbody></table></div>\n")


def pairs(identity, matrix):
    """Those that are confused most often."""
    wrong = sorted(((-count, pair) for pair, count in matrix.count.items() if pair[0] != pair[1]))
    rows = [(matrix.text(label), matrix.text(prediction), f"{-count:,}", share(-count, matrix.nodes(label)))
            for count, (label, prediction) in wrong[:PAIRS]]
    left = len(wrong) - len(rows)
    note = f'<p class="note">and {left:,} more pairs</p>\n' if left > 0 else ""
    return table(identity, ["class", "taken for", "nodes", "of the class"], rows) + note


def picture(number, split, matrix, before=""):
    """A heading and what there is of one part of the nodes."""
    nodes = sum(matrix.count.values())
    right = sum(count for (label, prediction), count in matrix.count.items() if label == prediction)
    title = f"{before}{SPLITS[split]}: {right:,} of {nodes:,} right, {share(right, nodes)}"
    draw = grid if len(matrix.classes) <= CLASSES else pairs
    return f"<h3>{escape(title)}</h3>\n{draw(f'confusion-{number}-{split}', matrix)}"
