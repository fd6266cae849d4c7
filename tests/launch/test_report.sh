# docs/results and docs/decisions are what tests/bench/report writes from docs/results/data; a number or a page that was
# changed by hand is seen, and so is a measurement that no table has. What scripts append comes out on the page, the newest first.
set -euo pipefail
fail() { echo "$*" && exit 1; }
python3 -c 'import tomllib' 2>/dev/null || { echo "skipped: no Python 3.11" && exit 77; }
bench=$GNNTRAIN_SOURCE/tests/bench
"$bench/report" --check || fail "a page is not what tests/bench/report writes"

rm -rf house && mkdir -p house/configs && cp -r "$GNNTRAIN_SOURCE/docs" house/ && cp -r "$GNNTRAIN_SOURCE/configs/papers" house/configs/
# sees CODE MESSAGE: report --check ends with that exit code and says that
sees() {
  local code=0
  "$bench/report" --check --root house >said 2>&1 || code=$?
  [[ $code == "$1" && $(cat said) == *"$2"* ]] || fail "exit code $code: $(cat said)"
}
sees 0 ''

sed -i '0,/"value": 81.73/s//"value": 99.73/' house/docs/results/data/accuracy.jsonl
sees 1 'docs/results/accuracy.md differs'
"$bench/report" --root house >/dev/null
grep -q '| cora | 99.73 ± 0.75 ' house/docs/results/accuracy.md || fail "a number of the data is not on its page"
sees 0 ''
sed -i 's/99.73/81.73/' house/docs/results/accuracy.md
sees 1 'docs/results/accuracy.md differs'
"$bench/report" --root house >/dev/null
echo '# 999 A decision' >house/docs/decisions/spmm/999-a-decision.md
sees 1 'docs/decisions/README.md differs'
mkdir house/docs/decisions/attic && mv house/docs/decisions/{spmm,attic}/999-a-decision.md
sees 2 'docs/decisions/attic is no room of tables.toml'
rm -r house/docs/decisions/attic

# A newer measurement takes the place of an older one, whatever their order in the file; its call is named.
data=house/docs/results/data
"$bench/record" $data/accuracy.jsonl accuracy cora 1 82.5 % --spread .25 --command 'a call of today'
sed -i '1{h;d};${G}' $data/accuracy.jsonl # the oldest comes last
"$bench/report" --root house >/dev/null
grep -q '| cora | 82.5 ± 0.25 ' house/docs/results/accuracy.md || fail "$(grep '| cora ' house/docs/results/accuracy.md)"
grep -qE '^- [a-z]: `a call of today`, [0-9-]{10}, [0-9]+ cores? of an ' house/docs/results/accuracy.md || fail "a call is not named"

# refused MESSAGE LINE: a line of data that is wrong
refused() {
  cp -r "$GNNTRAIN_SOURCE/docs/results/data/." $data/
  printf '%s\n' "$2" >>$data/cpu.jsonl
  sees 2 "$1"
}
rest='"row": "x", "value": 1, "date": "2026-01-31", "machine": "m", "command": "c"'
refused "cpu.jsonl, line" 'no JSON'
refused "lacks unit" "{\"table\": \"orders\", \"column\": \"s\", $rest}"
refused "no table 'nowhere'" "{\"table\": \"nowhere\", \"column\": \"s\", \"unit\": \"s\", $rest}"
refused "has no column 'hours'" "{\"table\": \"orders\", \"column\": \"hours\", \"unit\": \"s\", $rest}"
refused "in s and ms" "{\"table\": \"orders\", \"column\": \"s\", \"unit\": \"ms\", $rest}"
refused "unknown field" "{\"table\": \"orders\", \"column\": \"s\", \"unit\": \"s\", \"colour\": 1, $rest}"
cp -r "$GNNTRAIN_SOURCE/docs/results/data/." $data/

# Lines of gnnbench, and records of compare, become measurements that the tables have.
cat >gnnbench.jsonl <<'LINES'
{"op": "auto", "shape": "200000+100000 nnz 823242 width 48", "precision": "bf16", "ms": 1.5, "peer_ms": 9, "peer_ratio": 6.0}
{"op": "whole", "shape": "200000+100000 nnz 823242 width 48", "precision": "bf16", "ms": 2.5, "peer_ms": 9, "peer_ratio": 3.6}
LINES
"$bench/record" $data/spmm.jsonl hyper --only op=auto --row '{width}' --take '{precision}=ms ms' \
  --take '{precision} x=peer_ratio ratio' --take 'cuSPARSE=peer_ms ms' --command c <gnnbench.jsonl
PYTHONPATH=$bench python3 - $data <<'PYTHON'
import pathlib, sys
import compare_records, records
common = {"type": "gcn", "ranks": 1, "model": "2x24", "once": True}
ours = {**common, "peer": "ours", "partition": "block"}
torch = {**common, "peer": "torch", "mode": "eager", "right": True}
case = [{**ours, "precision": "fp32", "ms": 2.0, "gib": 1.0}, {**ours, "precision": "bf16", "ms": 1.0, "gib": .5},
        {**torch, "precision": "tf32", "ms": 5.0}, {**torch, "precision": "bf16", "ms": 4.0}, {**torch, "precision": "bf16", "ms": 3.0,
        "mode": "captured"}]
gat = {**common, "type": "gat", "once": False}
case += [{**common, "peer": "pyg", "mode": "csr", "precision": "fp32", "ms": 8.0, "once": False, "right": True}]
case += [{**gat, "peer": "ours", "partition": "block", "precision": "fp32", "ms": 2.0, "gib": 1.0, "loss_error": 1e-7},
         {**gat, "peer": "pyg", "mode": "edge_index", "precision": "tf32", "ms": 9.0, "gib": 7.0, "right": True},
         {**gat, "peer": "pyg", "mode": "edge_index", "precision": "bf16", "ms": 8.0, "gib": 6.0, "right": True}]
recipe = [{**ours, "precision": "fp32", "ms": .5}, {**common, "peer": "pyg", "mode": "csr", "precision": "fp32", "ms": 2.0}]
found = compare_records.of_case("made", 1, case) + compare_records.of_case("made", 4, case) + compare_records.of_recipe("gcn", recipe)
for page, record in found:
    records.append(pathlib.Path(sys.argv[1]) / f"{page}.jsonl", [record], "m", "c")
PYTHON
"$bench/report" --root house >/dev/null
# shows PAGE ROW: a row of that page
shows() { grep -qF -- "$2" "house/docs/results/$1.md" || fail "$1 lacks $2: $(grep -E '^\| (48|made|cora, gcn)' "house/docs/results/$1.md")"; }
shows spmm '| 48 | 9 | 1.5 (6.0) |  |'
shows epochs '| made, 2 x 24, A X once | 4.0 bf16 | 1.0 | 4.0 | 2.0 | 2.0 |'
shows epochs '| made, gat 2 x 24 | 9.0 tf32 |  |  | 2.0 | 4.5 |'
shows scaling '| made, 2 x 24, 4 GPUs | 1.0 | 3.0 | 3.0 |'
shows epochs '| made, gcn 2 x 24, A X once | 8.0 fp32 | 1.0 | 8.0 | 2.0 | 4.0 |'
shows memory '| made, gat 2 x 24 | 7.0 |  | 1.0 |'
shows accuracy '| made, gat 2 x 24 | 1e-7 |'
shows epochs '| cora, gcn 2x24 | - / 2.0 |  |  | 0.5 | 4.0 |'
