# What is computed again in the backward rather than kept changes no bit of the training, dropout and running statistics
# included, for any model and number of ranks; and the estimate of memory falls. GNNTRAIN_TEST_DEVICE: cpu, or cuda.
. "$GNNTRAIN_SOURCE/tests/models/curves.sh"
device=${GNNTRAIN_TEST_DEVICE:-cpu}

works gnndata synth data.h5 --nodes 4000 --degree 10 --features 24 --classes 5 --community-size 100 --seed 3
settings base.toml dataset.path=data.h5 model.hidden=16 model.layers=5 model.dropout=0.5 model.dropout_input=0.2 \
  train.epochs=12 train.lr=0.01 runtime.device="$device"

# train RANKS NAME [OPTION]...: leaves all that the epochs say but their times in curve.NAME, and the estimate in
# kept.NAME
train() {
  local ranks=$1 name=$2
  shift 2
  OMP_NUM_THREADS=1 must_run "$ranks" base.toml --set "log.dir=run.$name" --set log.overwrite=true "$@"
  sed -n 's/\(.*"epoch": .*\), "ms": .*/\1/p' "run.$name/metrics.jsonl" >"curve.$name"
  [[ $(wc -l <"curve.$name") == 12 ]] || fail "$name: $(wc -l <"curve.$name") epochs, not 12"
  sed -n 's/^ *\([0-9.]*\) \([KM]iB\) *activations and buffers/\1 \2/p' out.txt |
    awk '{print $2 == "MiB" ? 1024 * $1 : $1}' >"kept.$name"
  [[ -s kept.$name ]] || fail "$name: no estimate"
}

# equal NAME [OPTION]...
equal() {
  local name=$1 ranks
  shift
  for ranks in $rank_counts; do
    train "$ranks" "$name.$ranks.none" "$@"
    train "$ranks" "$name.$ranks.layer" --set train.recompute=layer "$@"
    cmp "curve.$name.$ranks.none" "curve.$name.$ranks.layer" || fail "$name: other bits on $ranks ranks"
    awk -v all="$(cat "kept.$name.$ranks.none")" -v name="$name" -v ranks="$ranks" \
      '{printf "%s, %d ranks: %.0f KiB, %.0f KiB with recompute\n", name, ranks, all, $1; exit !($1 < 0.95 * all)}' \
      "kept.$name.$ranks.layer" || fail "$name: the estimate does not fall"
  done
}

rank_counts="1 2"
if [[ $device == cuda ]]; then
  needs_gpus 1
  rank_counts=1
fi
equal gcn --set model.type=gcn --set model.norm=batch
equal sage --set model.type=sage --set model.norm=layer --set model.residual=true
equal mlp --set model.type=mlp --set model.norm=batch --set model.activation=elu
equal gin --set model.type=gin --set model.learn_eps=true --set model.norm=layer --set train.lr=0.002
equal gcnii --set model.type=gcnii --set model.norm=layer --set model.layers=8
equal gat --set model.type=gat --set model.heads=4 --set model.heads_last=2 --set model.dropout_attention=0.3
equal gatv2 --set model.type=gatv2 --set model.heads=4 --set model.heads_last=2 --set model.dropout_attention=0.3
equal agnn --set model.type=agnn --set model.layers=7
equal appnp --set model.type=appnp --set model.norm=layer --set model.layers=5 --set model.steps=4
[[ $device == cpu ]] ||
  equal bf16 --set model.type=gcn --set model.norm=batch --set runtime.precision=bf16 --set model.hidden=64
echo "recomputing changes nothing"
