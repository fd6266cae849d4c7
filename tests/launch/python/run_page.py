"""run_page.py PAGE.md|NOTEBOOK.ipynb...: runs the blocks of Python of each, one after the other, in one namespace. One that
imports a module which is not there is passed over."""
import importlib.util
import json
import re
import sys


def lacks(block):
    """Modules that the block imports and that are not there."""
    wanted = {name.split(".")[0] for name in re.findall(r"^(?:import|from) ([\w.]+)", block, re.MULTILINE)}
    wanted |= {"torch_geometric"} if "to_pyg" in block else set()
    return sorted(name for name in wanted if importlib.util.find_spec(name) is None)


def blocks_of(path):
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if path.endswith(".ipynb"):
        return ["".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def run(path):
    names, ran = {"__name__": "page"}, 0
    for block in blocks_of(path):
        missing = lacks(block)
        if missing:
            print(f"passed over, without {', '.join(missing)}: {block.splitlines()[0]}")
            continue
        exec(compile(block, path, "exec"), names)
        ran += 1
    if ran < 3:
        sys.exit(f"{path} has {ran} blocks that run")


if __name__ == "__main__":
    for page in sys.argv[1:]:
        run(page)
