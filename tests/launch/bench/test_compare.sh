# tests/bench/compare runs end to end on the processor, where a Python with torch and h5py is there: a ratio for every
# row, losses and gradients that agree with float64 on 1 and 2 ranks, wall seconds, lines of JSON; losses of the other
# types that agree with their formulas; a peer that is missing is printed as such, and bad usage is refused in one sentence.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
compare() { python3 "$GNNTRAIN_SOURCE/tests/bench/compare" --build "$GNNTRAIN_BIN" --work . --device cpu "$@"; }
command -v python3 >/dev/null || skip "python3 is not there"

# refuses MESSAGE ARGUMENT...
refuses() {
  ends 2 compare "${@:2}"
  grep -qF -- "$1" err.txt || fail "compare ${*:2}: another message"
}
refuses '--ranks takes numbers' --ranks 0
refuses '--models takes layers x hidden' --models 2y16
refuses 'is not there' --case nowhere-like
refuses '--type takes gcn, sage' --type sage,gnn
refuses 'hgnn stands alone' --type gat,hgnn
refuses '--cora has recipes of gcn and gcnii' --type sage --cora cora.h5
needs_python h5py torch

printf '%s\n' '#   gnndata synth data/tiny.h5 --nodes 1200 --degree 10 --features 20 \' '#     --classes 6' \
  '[dataset]' 'path = "data/tiny.h5"' >tiny.toml
export OMP_NUM_THREADS=1
works compare --case tiny.toml --ranks 1,2 --partition block,metis --models 2x16 --once true,false --precisions fp32,fp64 \
  --peer-precisions fp32 --epochs 6 --budget 800 --record .
(($(grep -cE '^  2x16 A X (once|always) .* fp(32|64) .* ok$' out.txt) == 12)) ||
  fail "not 12 rows that agree with float64"
says '^  2x16 A X once block +fp32 +[0-9.]+ +[0-9.]+ '
says '^  gnntrain 2x16 .* metis, parts kept: [0-9.]+ '
says '^  PyTorch eager 2x16 .*: [0-9.]+ .*epochs'
says '^  (PyG 2x16 A X always fp32:|failed: pyg .*torch_geometric)'
python3 - <<'PYTHON' || { cat compare.jsonl; fail "the lines of JSON"; }
import json
rows = [json.loads(line) for line in open("compare.jsonl")]
ours = [r for r in rows if r.get("peer") == "ours" and "ms" in r]
assert len(ours) == 12 and all(r["ms"] > 0 and r["loss_error"] < 1e-5 for r in ours)
assert all(r["right"] for r in rows if r.get("peer") == "torch" and "ms" in r)
PYTHON
grep -q '"table": "torch", "row": "tiny, 2 x 16, A X once", "column": "fp32 x"' epochs.jsonl &&
  grep -q '"table": "torch-ranks", "row": "tiny, 2 x 16, 2 GPUs, fp32", "column": "PyTorch x"' scaling.jsonl ||
  { cat epochs.jsonl scaling.jsonl; fail "the figures for the pages"; }

# The other types: a table each, and what PyTorch Geometric takes, or that it is missing.
types=sage,sage-max,gin,gat,agnn,gcnii
cp check.json check-gcn.json
works compare --case tiny.toml --type $types --models 2x16 --precisions fp32 --epochs 6 --budget 600
(($(grep -cE '^  (sage|sage-max|gin|gat|agnn|gcnii) 2x16( P X once)? +fp32 .* ok$' out.txt) == 8)) ||
  fail "not 8 rows of other types that agree with float64"
for type in ${types//,/ }; do
  says "^  (PyG $type 2x16 fp32:|failed: pyg $type 2x16 fp32 .*torch_geometric)"
done

# What the checks are for: another loss than that of the weights is seen.
# sees CHECKS PEER MODELS TYPE...: that of the first run of each type, moved, by the peer that checks it
sees() {
  python3 - "$1" "${@:4}" <<'PYTHON'
import json, sys
all_runs = json.load(open(sys.argv[1]))
runs = [next(run for run in all_runs if run["type"] == kind) for kind in sys.argv[2:]]
for run in runs:
    run["loss"] *= 1.001
json.dump(runs, open("wrong.json", "w"))
PYTHON
  "$python" "$GNNTRAIN_SOURCE/tests/bench/$2" tiny.h5 --models "$3" --precisions fp32 --device cpu --epochs 5 \
    --check wrong.json >out.txt
  awk -F '[:,]' -v types=$(($# - 3)) '/"check"/ { seen++; bad += !($4 > 9e-4) } END { exit bad || seen != types }' out.txt ||
    fail "wrong losses of ${*:4} are not all seen"
}
sees check-gcn.json peer_torch.py 2x16:once gcn
sees check.json peer_pyg.py "${types//,/:2x16,}:2x16" ${types//,/ }

# A hypergraph, made and given.
printf '%s\n' '#   gnndata synth data/hyper.h5 --nodes 900 --hyperedges 300 --degree 4 --features 12 --classes 5' \
  '[dataset]' 'path = "data/hyper.h5"' >hyper.toml
gnndata synth given.h5 --nodes 700 --hyperedges 200 --degree 3 --features 9 --classes 4 >/dev/null
for dataset in "" --dataset=given.h5; do
  works compare --case hyper.toml --type hgnn --models 2x16 --precisions fp32 --epochs 6 --budget 600 $dataset \
   
  (($(grep -cE '^  hgnn 2x16( P X once)? +fp32 .* ok$' out.txt) == 2)) || fail "not 2 rows of hgnn"
done

# A run that fails is a row of its table, and its sentence a line below.
works compare --case tiny.toml --type gat --models 2x17 --precisions fp32 --peers none --epochs 5 --budget 200
grep -qE '^  gat 2x17 +fp32 +failed' out.txt && grep -qE '^  failed: ours gat 2x17 fp32 .*exit code 2: gnntrain: ' out.txt ||
  fail "a run that failed is not named"
printf '%s\n' 'epoch 3: loss 1.5' 'gnntrain: CUDA: unspecified launch failure' '  at kernels/cuda/gemm/gemm.c:1 in cuda_gemm' >failed.log
said=$(PYTHONPATH=$GNNTRAIN_SOURCE/tests/bench python3 -c 'import compare_runs; print(compare_runs.spoken("failed.log"))')
[[ $said == 'gnntrain: CUDA: unspecified launch failure' ]] || fail "of a log with a trace it said: $said"
