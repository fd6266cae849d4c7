"""Sentences of pages that have more than 35 words, a line each: check_sentences.py PAGE.md... Tables, blocks of code and
headings are no sentences; of a link its text counts, and code in a sentence is a word."""
import re
import sys

MOST = 35
PARTS = re.compile(r"\n\s*\n|\n(?=\s*[-*] |\s*\d+\. |#|\|)")
ENDS = re.compile(r"(?<=[.!?])[\"'`)*]*\s+")


def sentences(text):
    text = re.sub(r"```.*?```|<!--.*?-->", "\n\n", text, flags=re.DOTALL)
    for part in PARTS.split(text):
        if not part.lstrip().startswith(("|", "#")):
            line = re.sub(r"`[^`]*`", "`code`", " ".join(part.split()))
            yield from ENDS.split(re.sub(r"\]\([^)]*\)", "]", line))


for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        for sentence in sentences(file.read()):
            if len(sentence.split()) > MOST:
                print(f"{path}: {len(sentence.split())} words: {sentence}")
