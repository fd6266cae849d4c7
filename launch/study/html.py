"""Pages of launch/report and launch/sweep: one file each, without scripts, fonts or links, in the style of page.css."""
import datetime
import pathlib
import re
from html import escape

UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")  # characters that no page may have


def moment(seconds):
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC")


def cells(tag, row):
    """What a row of a table holds; what it begins with is its head."""
    tags = ["th", *[tag] * (len(row) - 1)]
    return "".join(f"<{of}>{escape(str(text))}</{of}>" for of, text in zip(tags, row))


def table(identity, head, rows, kinds=None):
    """kinds: a class of the style sheet for each row."""
    kinds = kinds or [None] * len(rows)
    lines = [f"<tr{f' class={chr(34)}{kind}{chr(34)}' if kind else ''}>{cells('td', row)}</tr>\n" for row, kind in zip(rows, kinds)]
    return (f'<div class="wide"><table id="{identity}">\n<thead><tr>{cells("th", head)}</tr>\n</thead>\n<tbody>\n'
            + "".join(lines) + "</tbody></table></div>\n")


def pairs(identity, found):
    body = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in found if text)
    return f'<dl id="{identity}">{body}</dl>\n'


def section(title, body):
    return f"<section><h2>{escape(title)}</h2>\n{body}</section>\n" if body else ""


def figures(body):
    return f'<div class="figures">\n{body}</div>\n' if body else ""


def head_of(script):
    """How a page of that script begins."""
    return f"<!doctype html>\n<!-- written by {script} of gnntrain -->\n"


def document(script, title, body):
    style = (pathlib.Path(__file__).resolve().parent / "page.css").read_text()
    head = ('<html lang="en"><head><meta charset="utf-8" /><meta name="viewport" content="width=device-width, initial-scale=1" />'
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; style-src \'unsafe-inline\'" />'
            f"<title>{escape(title)}</title>\n<style>\n{style}</style></head>\n<body>\n")
    written = moment(datetime.datetime.now(datetime.timezone.utc).timestamp())
    return UNFIT.sub("\ufffd", f"{head_of(script)}{head}<h1>{escape(title)}</h1>\n{body}<footer>gnntrain, {written}</footer>\n</body></html>\n")
