#!/usr/bin/env bash
# tests/bench/compare_cpu.sh [THREADS]: epoch time of gnntrain on one rank of the CPU against plain PyTorch with
# the same threads, model and data: a GCN of 2 layers, hidden 64, on 100,000 nodes, 2 M arcs, 128 features. With
# the constant aggregate of the input computed once on both sides, and with that off on both; each program twice,
# in turn. Needs python3 with torch and h5py (PYTHON names another one). THREADS: default 2.
# GNNTRAIN_BIN: the build folder, default build; data and runs go to build/compare_cpu.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

threads=${1:-2}
[[ $threads =~ ^[1-9][0-9]*$ ]] || { echo "compare_cpu: THREADS is \"$threads\"; allowed: 1 and more" >&2 && exit 2; }
bin=${GNNTRAIN_BIN:-build} python=${PYTHON:-/usr/bin/python3}
folder=$bin/compare_cpu dataset=$folder/100k.h5
for program in gnndata gnntrain; do
  [[ -x $bin/$program ]] || { echo "compare_cpu: $bin/$program is not there; build it or set GNNTRAIN_BIN" >&2 && exit 2; }
done
"$python" -c 'import h5py, torch' || { echo "compare_cpu: $python lacks torch or h5py" >&2 && exit 2; }

mkdir -p "$folder"
if [[ ! -f $dataset ]]; then
  "$bin/gnndata" synth "$dataset" --nodes 100000 --degree 20 --features 128 --classes 16 --community-size 1000 \
    --shuffle --seed 1
fi
cat >"$folder/compare.toml" <<TOML
[dataset]
path = "$dataset"
[model]
type = "gcn"
layers = 2
hidden = 64
dropout = 0.0
[train]
epochs = 25
lr = 0.01
eval_every = 25
[runtime]
device = "cpu"
threads = $threads
[log]
dir = "$folder/run"
overwrite = true
progress = 25
TOML

# Median ms after 5 epochs.
ours() {
  "$bin/gnntrain" "$folder/compare.toml" --set "runtime.once=$1" >"$folder/gnntrain.log"
  sed -n '/"final"/d; s/.*"ms": *\([0-9.e+-]*\).*/\1/p' "$folder/run/metrics.jsonl" | tail -n +6 | sort -g |
    awk '{ ms[NR] = $1 } END { print NR % 2 ? ms[(NR + 1) / 2] : (ms[NR / 2] + ms[NR / 2 + 1]) / 2 }'
}
theirs() {
  local once=()
  [[ $1 == true ]] && once=(--once)
  OMP_NUM_THREADS=$threads "$python" tests/bench/peer_cpu.py "$dataset" --threads "$threads" --epochs 20 \
    --warmup 5 "${once[@]}" | tee -a "$folder/torch.jsonl" | sed 's/.*"ms": *\([0-9.]*\).*/\1/'
}

printf '%-6s %14s %14s %8s   (ms an epoch, two runs each; %s threads)\n' once gnntrain PyTorch ratio "$threads"
for once in true false; do
  a=$(ours $once) b=$(theirs $once) c=$(ours $once) d=$(theirs $once)
  awk -v once=$once -v a="$a" -v b="$b" -v c="$c" -v d="$d" 'BEGIN {
    printf "%-6s %6.1f  %6.1f %6.1f  %6.1f %8.2f\n", once == "true" ? "on" : "off", a, c, b, d, (a + c) / (b + d) }'
done
