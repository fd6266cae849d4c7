# GPU memory: the peak of the fullest rank lies within 5% of the banner's estimate; what cannot fit is refused before
# training in one sentence that says what it is for and what reduces it.
set -u
fail() { echo "FAILED: $*"; exit 1; }
grep -q '^devices:.*cuda' <<<"$("$GNNTRAIN_BIN/gnntrain" --version)" || { echo "this build has no CUDA device"; exit 77; }
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
((gpus > 0)) || { echo "this machine has no GPU"; exit 77; }

rm -rf data.h5 data.h5.parts run
"$GNNTRAIN_BIN/gnndata" synth data.h5 --nodes 1000000 --degree 30 --features 100 --classes 41 >synth.log 2>&1 ||
  fail "synth: $(cat synth.log)"
cat >run.toml <<'TOML'
dataset.path = "data.h5"
model = {hidden = 256, layers = 3}
train.epochs = 4
partition = {method = "block", order = "given"}
TOML
train() { # RANKS SETTING...
  mpirun -n "$1" --bind-to none "$GNNTRAIN_BIN/gnntrain" run.toml --device cuda --set log.dir=run --set log.overwrite=true \
    "${@:2}" >run.log 2>&1
}

# gib NUMBER UNIT
gib() { awk -v n="$1" -v u="$2" 'BEGIN {print u == "MiB" ? n / 1024 : n}'; }

for ranks in 1 2; do
  ((ranks <= gpus)) || continue
  for precision in fp32 bf16; do
    for once in true false; do
      train $ranks --set runtime.precision=$precision --set runtime.once=$once || fail "$(tail -3 run.log)"
      read -r peak peak_unit estimate estimate_unit < <(
        sed -n 's/^ *GPU memory *\([0-9.]*\) \([MG]iB\) on the fullest rank (estimate \([0-9.]*\) \([MG]iB\))/\1 \2 \3 \4/p' run.log)
      echo "$ranks ranks, $precision, once = $once: peak $peak $peak_unit, estimate $estimate $estimate_unit"
      awk -v p="$(gib "$peak" "$peak_unit")" -v e="$(gib "$estimate" "$estimate_unit")" \
        'BEGIN {exit !(p > 1 && p <= 1.05 * e && e <= 1.05 * p)}' || fail "they are more than 5% apart"
    done
  done
done

# What the header shows not to fit is refused before the graph is read. Where outputs of layers alone would leave a
# fifth of the memory, the shards have to tell.
train 1 --set model.hidden=16384 --set model.layers=12
code=$?
[ $code = 1 ] || fail "what cannot fit ends with $code: $(tail -3 run.log)"
grep '^gnntrain: out of GPU memory: training takes at least .* for outputs of layers.*use more ranks' run.log || fail "$(tail -3 run.log)"
grep 'read in' run.log && fail "the graph was read before that"

total=$(nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits | head -1)
hidden=$((total * 1024 / 100 * 80 / 11 * 1024 / 4000000 / 32 * 32)) # outputs take 80% of the memory
train 1 --set model.hidden=$hidden --set model.layers=12 --set model.norm=layer
code=$?
[ $code = 1 ] || fail "what does not fit ends with $code: $(tail -3 run.log)"
grep '^gnntrain: out of GPU memory: .* for activations and buffers.*use more ranks' run.log || fail "$(tail -3 run.log)"
