"""refuse_all.py LIST: to_dataset.py ends with exit code 2 and one sentence, and leaves no bad.h5, for each call of LIST: the
number of its fields, what the sentence has to hold, and the arguments, with a zero byte behind each."""
import contextlib
import io
import os
import sys

from gnntrain.to_dataset import main


def refusal(arguments):
    """Exit code and what was said."""
    said, sys.argv = io.StringIO(), ["to_dataset.py", *arguments]
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        try:
            main()
        except SystemExit as end:
            return end.code, said.getvalue()
    return 0, said.getvalue()


def main_of_test():
    with open(sys.argv[1], "rb") as f:
        fields = [os.fsdecode(field) for field in f.read().split(b"\0")[:-1]]
    calls = 0
    while fields:
        count = int(fields.pop(0))
        (sentence, *arguments), fields = fields[:count], fields[count:]
        code, said = refusal(arguments)
        if code != 2 or said.count("\n") != 1 or f"to_dataset.py: {sentence}" not in said or os.path.exists("bad.h5"):
            sys.exit(f"exit code {code}, {said!r} in place of {sentence!r}: {arguments}")
        calls += 1
    print(f"{calls} calls are refused")


if __name__ == "__main__":
    main_of_test()
