# test_gpu_agreement.sh PART: the same training on the processor and on 1, 2, 4 GPUs, with dropout on: in fp32 loss curves
# within 1e-5 over the first 5 epochs and 1e-4 over 50, in tf32 and bf16 the final loss within 1%; equal bits when
# repeated, and whichever way rows travel; resumed across devices, rank counts and precisions; more ranks than GPUs are refused in one sentence.
. "$GNNTRAIN_SOURCE/tests/models/curves.sh"
needs_gpus 1

works gnndata synth data.h5 --nodes 6000 --degree 20 --features 37 --classes 7 --community-size 200 --seed 3
settings base.toml dataset.path=data.h5 model.hidden=48 model.layers=3 model.dropout=0.5 model.dropout_input=0.2 \
  model.norm=batch model.residual=true train.epochs=50 train.lr=0.01 train.weight_decay=5e-4 train.clip=1.0 \
  train.schedule=cosine train.warmup=3

# run_on DEVICE RANKS NAME OPTION...: a training in run.NAME
run_on() {
  must_run "$2" base.toml --device "$1" --set "log.dir=run.$3" "${@:4}"
  lacks 'cannot be recorded'
}

# train DEVICE RANKS NAME PRECISION [OPTION]...: leaves the losses of the epochs in losses.NAME
train() {
  run_on "$1" "$2" "$3" --set "runtime.precision=$4" --set log.overwrite=true "${@:5}"
  keep_losses "$3"
}

# end_within A B SHARE: relative difference of the last losses
end_within() {
  tail -qn 1 "losses.$1" "losses.$2" | awk -v t="$3" -v pair="$1 $2" '
    {loss[NR] = $1}
    END {d = (loss[2] - loss[1]) / loss[1]; if (d < 0) d = -d
         printf "%s: final losses %g and %g, difference %.3g (allowed %g)\n", pair, loss[1], loss[2], d, t
         exit !(d <= t)}' || fail "$1 and $2 end apart"
}

# in_precisions PRECISION...
in_precisions() {
  train cpu 1 cpu fp32
  for ranks in 1 2 4; do
    ((ranks <= gpus)) || continue
    for precision in "$@"; do
      name=$precision.$ranks
      train cuda $ranks "$name" $precision
      case $precision in
      fp32*) within cpu "$name" 5 1e-5 && within cpu "$name" 50 1e-4 ;;
      *) end_within cpu "$name" 0.01 ;;
      esac
      train cuda $ranks "again.$name" $precision
      same "$name" "again.$name"
      train cuda $ranks "queued.$name" $precision --set runtime.graph=false
      same "$name" "queued.$name"
      train cuda $ranks "messages.$name" $precision --set runtime.exchange=messages
      same "$name" "messages.$name"
    done
  done
}

# Without norms, and with an input that stays: weights get their gradients along with the product before them, with the
# first aggregate computed once and in every epoch; at a rate at which rounding does not grow (at .01 the processor's 1
# and 2 ranks end 2e-6 apart, at .003 1e-8).
plain() {
  bare=(--set model.norm=none --set model.residual=false --set model.dropout_input=0.0 --set model.hidden=128
    --set train.lr=0.003)
  for once in true false; do
    train cpu 1 plain.$once fp32 "${bare[@]}" --set runtime.once=$once
    for ranks in 1 2 4; do
      ((ranks <= gpus)) || continue
      for precision in fp32 bf16; do
        train cuda $ranks plain.$precision $precision "${bare[@]}" --set runtime.once=$once
        train cuda $ranks plain.again $precision "${bare[@]}" --set runtime.once=$once --set runtime.graph=false
        same plain.$precision plain.again
      done
      within plain.$once plain.fp32 5 1e-5 && within plain.$once plain.fp32 50 1e-4
      end_within plain.$once plain.bf16 0.01
    done
  done
}

# Other models: attention, its dropout included, the last heads averaged; and what comes in two products.
gat=(--set model.type=gat --set model.heads=6 --set model.heads_last=2 --set model.dropout_attention=0.3
  --set model.activation=elu)
# LeakyReLU of each column has a kink: at .01 the processor's own fp32 and fp64 are 3e-4 apart after 50 epochs of gatv2.
gatv2=("${gat[@]}" --set model.type=gatv2 --set train.lr=0.002)
agnn=(--set model.type=agnn --set model.layers=4)
sage=(--set model.type=sage --set train.lr=0.002)
# Plain rows, whose norm and loss come behind them.
csr=(--set runtime.layout=csr --set model.norm=layer --set model.residual=false --set train.lr=0.003)
# Column vectors beside a gather of the rest, in both parts of the halo.
vectors=(--set runtime.layout=vectors --set runtime.vector_threshold=2 --set train.lr=0.003)
# Rows that wait for the halo: some, and all, whose own columns are in tiles meanwhile.
late_some=(--set runtime.late_rows=0.4 --set train.lr=0.003)
late_all=(--set runtime.late_rows=1.0 --set runtime.layout=tiles --set dataset.path=dense.h5 --set train.lr=0.003)
late_sage=(--set runtime.late_rows=0.4 --set model.type=sage --set train.lr=0.002)
late_gat=("${gat[@]}" --set runtime.late_rows=0.4)
# Halo rows that come in two stages, as among four GPUs.
staged=(--set runtime.halo_stages=2 --set train.lr=0.003)
late() {
  works gnndata synth dense.h5 --nodes 6000 --degree 60 --features 37 --classes 7 --community-size 128 --seed 3
  models late_some late_all late_sage late_gat staged
}
models() { # NAME...
  for model in "$@"; do
    declare -n settings=$model
    train cpu 1 $model.cpu fp32 "${settings[@]}"
    for ranks in 1 2 4; do
      ((ranks <= gpus)) || continue
      train cuda $ranks $model.fp32.$ranks fp32 "${settings[@]}"
      within $model.cpu $model.fp32.$ranks 5 1e-5 && within $model.cpu $model.fp32.$ranks 50 1e-4
      train cuda $ranks $model.bf16.$ranks bf16 "${settings[@]}"
      end_within $model.cpu $model.bf16.$ranks 0.01
      for precision in fp32 bf16; do
        train cuda $ranks $model.again $precision "${settings[@]}" --set runtime.graph=false \
          --set runtime.exchange=messages
        same $model.$precision.$ranks $model.again
      done
    done
  done
}

# Arcs of attention in tiles, which bf16 has; of two sizes of heads, and by cosines, in column vectors, too.
tiles_of_attention() {
  works gnndata synth dense.h5 --nodes 6000 --degree 60 --features 37 --classes 7 --community-size 128 --seed 3
  for model in gat:2:64 gat:4:64 agnn:1:64 agnn:1:40; do
    IFS=: read -r type heads hidden <<<"$model"
    tiles=(--set dataset.path=dense.h5 --set "model.type=$type" --set "model.heads=$heads" --set "model.hidden=$hidden"
      --set model.activation=elu --set train.lr=0.003)
    [[ $type == gat ]] || tiles+=(--set model.layers=4)
    train cpu 1 tiles.cpu fp32 "${tiles[@]}"
    for ranks in 1 2 4; do
      ((ranks <= gpus)) || continue
      train cuda $ranks tiles.gather bf16 "${tiles[@]}" --set runtime.layout=gather --verbose
      lacks 'of the arcs lie in'
      train cuda $ranks tiles.bf16 bf16 "${tiles[@]}" --set runtime.layout=tiles --verbose
      says 'attention: on rank 0 [0-9.]+% of the arcs lie in [0-9]+ tiles'
      end_within tiles.cpu tiles.bf16 0.01
      end_within tiles.gather tiles.bf16 0.01
      train cuda $ranks tiles.again bf16 "${tiles[@]}" --set runtime.layout=tiles --set runtime.graph=false
      same tiles.bf16 tiles.again
      [[ $type == agnn ]] || continue
      vectors_of_agnn=("${tiles[@]}" --set runtime.layout=vectors --set runtime.vector_threshold=2)
      train cuda $ranks vectors.bf16 bf16 "${vectors_of_agnn[@]}" --verbose
      says 'attention: on rank 0 [0-9.]+% of the arcs lie in [0-9]+ blocks of 8 column vectors'
      end_within tiles.cpu vectors.bf16 0.01
      end_within tiles.gather vectors.bf16 0.01
      train cuda $ranks vectors.again bf16 "${vectors_of_agnn[@]}" --set runtime.graph=false
      same vectors.bf16 vectors.again
    done
  done
}

# Ranks that share columns: hidden layers in slices of whole lines, logits in narrow ones and none.
grids() {
  gcn=()
  sage=(--set model.type=sage --set train.lr=0.002)
  bare=(--set model.norm=none --set model.residual=false --set model.dropout_input=0.0 --set train.lr=0.003)
  for model in gcn sage bare; do
    declare -n settings=$model
    train cpu 1 $model.cpu fp32 "${settings[@]}"
    for grid in 1x2 2x2 1x4; do
      ranks=$((${grid%x*} * ${grid#*x}))
      ((ranks <= gpus)) || continue
      for precision in fp32 bf16; do
        name=$model.$precision.$grid
        train cuda $ranks "$name" $precision "${settings[@]}" --set "partition.grid=$grid"
        train cuda $ranks "again.$name" $precision "${settings[@]}" --set "partition.grid=$grid" \
          --set runtime.graph=false --set runtime.exchange=messages
        same "$name" "again.$name"
      done
      within $model.cpu $model.fp32.$grid 5 1e-5 && within $model.cpu $model.fp32.$grid 50 1e-4
      end_within $model.cpu $model.bf16.$grid 0.01
    done
  done
}

# Models of hypergraphs, whose rows travel in another way; at a rate at which the errors of products in pieces do not
# grow from epoch to epoch (at .01 unigcnii ends 7e-4 apart in fp32, 9e-7 in fp32-strict).
hypergraphs() {
  works gnndata synth hyper.h5 --nodes 6000 --hyperedges 2500 --degree 6 --features 37 --classes 7 \
    --community-size 200 --seed 3
  for type in hgnn unigcnii; do
    hyper=(--set dataset.path=hyper.h5 --set "model.type=$type" --set model.norm=layer --set model.residual=false
      --set train.lr=0.003)
    train cpu 1 $type fp32 "${hyper[@]}"
    for ranks in 1 2 4; do
      ((ranks <= gpus)) || continue
      train cuda $ranks $type.$ranks fp32 "${hyper[@]}"
      within $type $type.$ranks 5 1e-5
      within $type $type.$ranks 50 1e-4
      train cuda $ranks again.$type.$ranks fp32 "${hyper[@]}" --set runtime.exchange=messages
      same $type.$ranks again.$type.$ranks
      train cuda $ranks $type.bf16.$ranks bf16 "${hyper[@]}"
      end_within $type $type.bf16.$ranks 0.01
    done
  done
}

# Half on one machine, half on another, by a schedule that does not depend on where the first half ends.
moved() {
  most=$((gpus < 4 ? gpus : 4))
  train cpu 1 whole fp32 --set train.schedule=constant
  halves() { # NAME, FROM DEVICE RANKS PRECISION, TO DEVICE RANKS PRECISION
    run_on "$2" "$3" "$1" --set "runtime.precision=$4" --set train.schedule=constant --epochs 25
    run_on "$5" "$6" "$1" --set "runtime.precision=$7" --set train.schedule=constant --resume
    keep_losses "$1"
  }
  halves moved.fp32 cuda $most fp32 cpu 2 fp32
  within whole moved.fp32 50 1e-4
  halves moved.back cpu 2 fp32 cuda $most fp32
  within whole moved.back 50 1e-4
  halves moved.bf16 cuda $most bf16 cuda 1 bf16
  end_within whole moved.bf16 0.01
}

# Where training leaves the finite numbers, the GPU says what the processor says; products in pieces leave them earlier.
limits() {
  for device in cpu cuda; do
    must_refuse 1 'is not finite' 1 base.toml --device $device --set runtime.precision=fp32-strict --set model.layers=6 \
      --set model.norm=none --set train.clip=0.0 --set train.optimizer=sgd --set train.lr=1e5 --set log.dir=run.bad \
      --set log.overwrite=true
    cp sentence.txt bad.$device
  done
  diff bad.cpu bad.cuda || fail "the processor and the GPU name other places"
  must_refuse 2 GPU $((2 * gpus)) base.toml --device cuda --set log.dir=run.more
  cat bad.cuda sentence.txt
}

case $1 in
fp32) in_precisions fp32 fp32-strict ;;
half) in_precisions tf32 bf16 ;;
plain | grids | hypergraphs | late) "$1" ;;
attention) models gat gatv2 agnn && tiles_of_attention ;;
sage | csr | vectors) models "$1" ;;
moved) moved && limits ;;
*) fail "no part $1" ;;
esac
echo "agreement holds"
