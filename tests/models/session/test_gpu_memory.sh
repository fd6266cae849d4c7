# GPU memory: the peak of the fullest rank lies within 5% of the banner's estimate; what cannot fit is refused before
# training in one sentence that says what it is for and what reduces it.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
needs_gpus 1

works gnndata synth data.h5 --nodes 1000000 --degree 30 --features 100 --classes 41
settings run.toml dataset.path=data.h5 model.hidden=256 model.layers=3 train.epochs=4 partition.method=block \
  partition.order=given
train() { job "$1" run.toml --device cuda --set log.dir=run --set log.overwrite=true "${@:2}"; } # RANKS SETTING...

# gib NUMBER UNIT
gib() { awk -v n="$1" -v u="$2" 'BEGIN {print u == "MiB" ? n / 1024 : n}'; }

# agrees WHAT: the last training's peak with its estimate
agrees() {
  ((code == 0)) || fail "training ended with $code: $1"
  read -r peak peak_unit estimate estimate_unit < <(
    sed -n 's/^ *GPU memory *\([0-9.]*\) \([MG]iB\) on the fullest rank (estimate \([0-9.]*\) \([MG]iB\))/\1 \2 \3 \4/p' out.txt) || fail "no line of memory"
  echo "$1: peak $peak $peak_unit, estimate $estimate $estimate_unit"
  awk -v p="$(gib "$peak" "$peak_unit")" -v e="$(gib "$estimate" "$estimate_unit")" \
    'BEGIN {exit !(p > 1 && p <= 1.05 * e && e <= 1.05 * p)}' || fail "they are more than 5% apart"
}

for ranks in 1 2; do
  ((ranks <= gpus)) || continue
  for precision in fp32 bf16; do
    for once in true false; do
      train $ranks --set runtime.precision=$precision --set runtime.once=$once
      agrees "$ranks ranks, $precision, once = $once"
    done
  done
done

# Ranks that store rows into each other's memory take none for messages.
if ((gpus >= 2)); then
  stored=$(gib "$peak" "$peak_unit")
  train 2 --set runtime.precision=bf16 --set runtime.once=false --set runtime.exchange=messages
  agrees "2 ranks, bf16, messages"
  awk -v s="$stored" -v m="$(gib "$peak" "$peak_unit")" 'BEGIN {exit !(s + .2 < m)}' ||
    fail "messages take no more memory than stores, $stored GiB"
fi

# What the header shows not to fit is refused before the graph is read. Where outputs of layers alone would leave a
# fifth of the memory, the shards have to tell.
refuses() { # SENTENCE SETTING...: of all rows, whose outputs are kept in every layer
  must_refuse 1 "$1" 1 run.toml --verbose --device cuda --set log.dir=run --set log.overwrite=true --set runtime.rows=all "${@:2}"
}
refuses '^gnntrain: out of GPU memory: training takes at least .* for outputs of layers.*use more ranks' \
  --set model.hidden=65536 --set model.layers=12
lacks 'read in'

total=$(nvidia-smi --query-gpu=memory.total --format=csv,noheader,nounits | head -1)
hidden=$((total * 1024 / 100 * 80 / 11 * 1024 / 4000000 / 32 * 32)) # outputs take 80% of the memory
refuses '^gnntrain: out of GPU memory: .* for activations and buffers.*use more ranks' \
  --set model.hidden=$hidden --set model.layers=12 --set model.norm=layer --set train.recompute=none --set runtime.offload=none

# What does not fit is computed again where nothing else is asked for.
must_run 1 run.toml --device cuda --set log.dir=run --set log.overwrite=true --set runtime.rows=all --set model.hidden=$hidden \
  --set model.layers=12 --set model.norm=layer --set train.epochs=1
says '^recompute: the backward computes the inside of the lowest [0-9]+ of 12 layers again'

# What fits neither so waits in the host's memory, no more of it than has to.
hidden=$((total * 1024 / 100 * 55 / 11 * 1024 / 4000000 / 32 * 32)) # outputs and what a norm reads take 110%
must_run 1 run.toml --device cuda --set log.dir=run --set log.overwrite=true --set runtime.rows=all --set model.hidden=$hidden \
  --set model.layers=12 --set model.norm=layer --set train.epochs=1 --set train.recompute=none
says "^offload: [0-9]+ values, [0-9.]+ GiB, wait in the host's memory for the backward"
gib=$(sed -n 's/^offload: .*, \([0-9]*\)[0-9.]* GiB, wait.*/\1/p' out.txt)
((gib < total / 1024 / 2)) || fail "$gib GiB wait where about a fifth of the memory has to"
