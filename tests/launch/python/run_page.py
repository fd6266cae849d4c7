"""run_page.py PAGE.md: runs its blocks of Python, one after the other, in one namespace. One that imports a module which is
not there is passed over."""
import importlib.util
import re
import sys


def lacks(block):
    """Modules that the block imports and that are not there."""
    wanted = {name.split(".")[0] for name in re.findall(r"^(?:import|from) ([\w.]+)", block, re.MULTILINE)}
    wanted |= {"torch_geometric"} if "to_pyg" in block else set()
    return sorted(name for name in wanted if importlib.util.find_spec(name) is None)


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        blocks = re.findall(r"^```python\n(.*?)^```$", f.read(), re.MULTILINE | re.DOTALL)
    names, ran = {"__name__": "page"}, 0
    for block in blocks:
        missing = lacks(block)
        if missing:
            print(f"passed over, without {', '.join(missing)}: {block.splitlines()[0]}")
            continue
        exec(compile(block, sys.argv[1], "exec"), names)
        ran += 1
    if ran < 3:
        sys.exit(f"{sys.argv[1]} has {ran} blocks that run")


if __name__ == "__main__":
    main()
