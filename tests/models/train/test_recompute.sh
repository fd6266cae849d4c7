# What is computed again in the backward rather than kept changes no bit of the training, dropout and running statistics
# included, for any model and number of ranks; and the estimate of memory falls. GNNTRAIN_TEST_DEVICE: cpu, or cuda.
. "$GNNTRAIN_SOURCE/tests/models/curves.sh"
device=${GNNTRAIN_TEST_DEVICE:-cpu}

works gnndata synth data.h5 --nodes 1000 --degree 10 --features 24 --classes 5 --community-size 100 --seed 3
settings base.toml dataset.path=data.h5 model.hidden=16 model.layers=5 model.dropout=0.5 model.dropout_input=0.2 \
  train.epochs=12 train.lr=0.01 runtime.device="$device"

rank_counts="1 2"
if [[ $device == cuda ]]; then
  needs_gpus 1
  rank_counts=1
fi

# equal NAME [SECTION.KEY=VALUE]...: enters a model.
equal() { echo "$*" >>models; }
equal gcn model.type=gcn model.norm=batch
equal sage model.type=sage model.norm=layer model.residual=true
equal mlp model.type=mlp model.norm=batch model.activation=elu
equal gin model.type=gin model.learn_eps=true model.norm=layer train.lr=0.002
equal gcnii model.type=gcnii model.norm=layer model.layers=8
equal gat model.type=gat model.heads=4 model.heads_last=2 model.dropout_attention=0.3
equal gatv2 model.type=gatv2 model.heads=4 model.heads_last=2 model.dropout_attention=0.3
equal agnn model.type=agnn model.layers=7
equal appnp model.type=appnp model.norm=layer model.layers=5 model.steps=4
[[ $device == cpu ]] ||
  equal bf16 model.type=gcn model.norm=batch runtime.precision=bf16 model.hidden=64

# train_all RANKS: what the list names, one after the other in the same processes, or on a GPU in a process each; leaves
# in estimates "NAME BYTES" of the activations and buffers
train_all() {
  local name settings
  if [[ $device == cpu ]]; then
    OMP_NUM_THREADS=1 works on_ranks "$1" timeout -k 10 1000 "$GNNTRAIN_BIN/tests/models/train_all" base.toml list
    cp out.txt estimates
    return
  fi
  while read -r name settings; do
    must_run "$1" base.toml --verbose --set "log.dir=run.$name" --set log.overwrite=true ${settings:+$(printf -- '--set %s ' $settings)}
    sed -n 's/^ *\([0-9.]*\) \([KM]\)iB *activations and buffers/\1 \2/p' out.txt |
      awk -v name="$name" '{ print name, 1024 * ($2 == "M" ? 1024 : 1) * $1 }' >>estimates
  done <list
}

# curve NAME: all that the epochs of its run say but their times
curve() {
  sed -n 's/\(.*"epoch": .*\), "ms": .*/\1/p' "run.$1/metrics.jsonl" >"curve.$1"
  [[ $(wc -l <"curve.$1") == 12 ]] || fail "$1: $(wc -l <"curve.$1") epochs, not 12"
}

for ranks in $rank_counts; do
  rm -f estimates
  for recompute in none layer; do sed "s/^[^ ]*/&.$ranks.$recompute/; s/$/ train.recompute=$recompute/" models; done |
    sort -s -t . -k 1,1 >list # one after the other: what a model has chosen for the kept partition serves both
  train_all "$ranks"
  for name in $(cut -d ' ' -f 1 models); do
    for recompute in none layer; do curve "$name.$ranks.$recompute"; done
    cmp "curve.$name.$ranks.none" "curve.$name.$ranks.layer" || fail "$name: other bits on $ranks ranks"
    awk -v name="$name.$ranks" '$1 == name ".none" { all = $2 } $1 == name ".layer" { less = $2 }
      END { printf "%s: %.0f KiB, %.0f KiB with recompute\n", name, all / 1024, less / 1024; exit !(less > 0 && less < 0.95 * all) }' \
      estimates || fail "$name: the estimate does not fall"
  done
done
echo "recomputing changes nothing"

# As few layers as let the run fit are computed again where nothing else is asked for.
[[ $device == cpu ]] || exit 0
works gnndata synth large.h5 --nodes 40000 --degree 10 --features 8 --classes 5
settings large.toml dataset.path=large.h5 model.type=gat model.heads=4 model.hidden=128 model.layers=8 train.epochs=1 runtime.device=cpu \
  partition.method=block partition.order=given runtime.threads=1

# about LOG: KiB that the estimate of a run comes to
about() { sed -n 's/^ *memory *about \([0-9.]*\) \([KMG]\)iB.*/\1 \2/p' "$1" | awk '{ print int($1 * ($2 == "G" ? 1048576 : $2 == "M" ? 1024 : 1)) }'; }
for recompute in none layer auto; do
  works gnntrain large.toml --dry-run --set train.recompute=$recompute
  cp out.txt log.$recompute
done
lacks '^recompute:' log.auto
says '^recompute: the backward computes the inside of the lowest 6 of 8 layers again' log.layer
most=$(about log.none) least=$(about log.layer)
holds "$most > 1.3 * $least" "$most KiB, $least with all layers computed again"
(ulimit -v $(((2 * most + least) / 3)) && works gnntrain large.toml --dry-run)
says '^recompute: the backward computes the inside of the lowest [1-5] of 8 layers again'
holds "$(about out.txt) < $most && $(about out.txt) > $least" "$(about out.txt) KiB with some"
