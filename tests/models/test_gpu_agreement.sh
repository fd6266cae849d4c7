# test_gpu_agreement.sh PART: the same training on the processor and on 1, 2, 4 GPUs, with dropout on: in fp32 loss curves
# within 1e-5 over the first 5 epochs and 1e-4 over 50, in tf32 and bf16 the final loss within 1%; equal bits when
# repeated; resumed across devices, rank counts and precisions; more ranks than GPUs are refused in one sentence.
. "$GNNTRAIN_SOURCE/tests/models/curves.sh"
grep -q '^devices:.*cuda' <<<"$("$GNNTRAIN_BIN/gnntrain" --version)" || { echo "this build has no CUDA device"; exit 77; }
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
((gpus > 0)) || { echo "this machine has no GPU"; exit 77; }

rm -rf data.h5 data.h5.parts hyper.h5 hyper.h5.parts run.* losses.*
"$GNNTRAIN_BIN/gnndata" synth data.h5 --nodes 6000 --degree 20 --features 37 --classes 7 --community-size 200 \
  --seed 3 >synth.log 2>&1 || fail "synth: $(cat synth.log)"
cat >base.toml <<'TOML'
dataset.path = "data.h5"
model = {hidden = 48, layers = 3, dropout = 0.5, dropout_input = 0.2, norm = "batch", residual = true}
train = {epochs = 50, lr = 0.01, weight_decay = 5e-4, clip = 1.0, schedule = "cosine", warmup = 3}
TOML

# run DEVICE RANKS NAME OPTION...: a training in run.NAME
run() {
  mpirun -n "$2" --oversubscribe --bind-to none "$GNNTRAIN_BIN/gnntrain" base.toml --device "$1" \
    --set "log.dir=run.$3" "${@:4}" >"$3.log" 2>&1 || fail "$3: $(grep gnntrain: "$3.log" || tail -30 "$3.log")"
  grep 'cannot be recorded' "$3.log" && fail "$3 records nothing"
}

# train DEVICE RANKS NAME PRECISION [OPTION]...: leaves the losses of the epochs in losses.NAME
train() {
  run "$1" "$2" "$3" --set "runtime.precision=$4" --set log.overwrite=true "${@:5}"
  keep_losses "$3"
}

# ends_within A B SHARE: relative difference of the last losses
ends_within() {
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
      *) ends_within cpu "$name" 0.01 ;;
      esac
      train cuda $ranks "again.$name" $precision
      cmp "losses.$name" "losses.again.$name" || fail "a repeat in $precision on $ranks GPUs gives other bits"
      train cuda $ranks "queued.$name" $precision --set runtime.graph=false
      cmp "losses.$name" "losses.queued.$name" ||
        fail "epochs replayed in $precision on $ranks GPUs give other bits than queued ones"
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
        cmp losses.plain.$precision losses.plain.again ||
          fail "without norms a repeat in $precision on $ranks GPUs, not recorded, gives other bits"
      done
      within plain.$once plain.fp32 5 1e-5 && within plain.$once plain.fp32 50 1e-4
      ends_within plain.$once plain.bf16 0.01
    done
  done
}

# Other models: attention, its dropout included, the last heads averaged; and what comes in two products.
gat=(--set model.type=gat --set model.heads=6 --set model.heads_last=2 --set model.dropout_attention=0.3
  --set model.activation=elu)
agnn=(--set model.type=agnn --set model.layers=4)
sage=(--set model.type=sage --set train.lr=0.002)
models() { # NAME...
  for model in "$@"; do
    declare -n settings=$model
    train cpu 1 $model.cpu fp32 "${settings[@]}"
    for ranks in 1 2 4; do
      ((ranks <= gpus)) || continue
      train cuda $ranks $model.fp32.$ranks fp32 "${settings[@]}"
      within $model.cpu $model.fp32.$ranks 5 1e-5 && within $model.cpu $model.fp32.$ranks 50 1e-4
      train cuda $ranks $model.bf16.$ranks bf16 "${settings[@]}"
      ends_within $model.cpu $model.bf16.$ranks 0.01
      for precision in fp32 bf16; do
        train cuda $ranks $model.again $precision "${settings[@]}" --set runtime.graph=false
        cmp losses.$model.$precision.$ranks losses.$model.again ||
          fail "$model: a repeat in $precision on $ranks GPUs, not recorded, gives other bits"
      done
    done
  done
}

# Models of hypergraphs, whose rows travel in another way; at a rate at which the errors of products in pieces do not
# grow from epoch to epoch (at .01 unigcnii ends 7e-4 apart in fp32, 9e-7 in fp32-strict).
hypergraphs() {
  "$GNNTRAIN_BIN/gnndata" synth hyper.h5 --nodes 6000 --hyperedges 2500 --degree 6 --features 37 --classes 7 \
    --community-size 200 --seed 3 >synth.log 2>&1 || fail "synth: $(cat synth.log)"
  for type in hgnn unigcnii; do
    hyper=(--set dataset.path=hyper.h5 --set "model.type=$type" --set model.norm=layer --set model.residual=false
      --set train.lr=0.003)
    train cpu 1 $type fp32 "${hyper[@]}"
    for ranks in 1 2 4; do
      ((ranks <= gpus)) || continue
      train cuda $ranks $type.$ranks fp32 "${hyper[@]}"
      within $type $type.$ranks 5 1e-5
      within $type $type.$ranks 50 1e-4
      train cuda $ranks again.$type.$ranks fp32 "${hyper[@]}"
      cmp "losses.$type.$ranks" "losses.again.$type.$ranks" || fail "a repeat of $type on $ranks GPUs gives other bits"
      train cuda $ranks $type.bf16.$ranks bf16 "${hyper[@]}"
      ends_within $type $type.bf16.$ranks 0.01
    done
  done
}

# Half on one machine, half on another, by a schedule that does not depend on where the first half ends.
moved() {
  most=$((gpus < 4 ? gpus : 4))
  train cpu 1 whole fp32 --set train.schedule=constant
  halves() { # NAME, FROM DEVICE RANKS PRECISION, TO DEVICE RANKS PRECISION
    run "$2" "$3" "$1" --set "runtime.precision=$4" --set train.schedule=constant --epochs 25
    run "$5" "$6" "$1" --set "runtime.precision=$7" --set train.schedule=constant --resume
    keep_losses "$1"
  }
  halves moved.fp32 cuda $most fp32 cpu 2 fp32
  within whole moved.fp32 50 1e-4
  halves moved.back cpu 2 fp32 cuda $most fp32
  within whole moved.back 50 1e-4
  halves moved.bf16 cuda $most bf16 cuda 1 bf16
  ends_within whole moved.bf16 0.01
}

# Where training leaves the finite numbers, the GPU says what the processor says; products in pieces leave them earlier.
limits() {
  for device in cpu cuda; do
    "$GNNTRAIN_BIN/gnntrain" base.toml --device $device --set runtime.precision=fp32-strict --set model.layers=6 \
      --set model.norm=none --set train.clip=0.0 --set train.optimizer=sgd --set train.lr=1e5 --set log.dir=run.bad --set log.overwrite=true >bad.log 2>"bad.$device"
    [ $? = 1 ] || fail "$device: a loss that is not finite does not end the run with 1"
  done
  grep -q 'is not finite' bad.cpu && diff <(grep '^gnntrain: ' bad.cpu) <(grep '^gnntrain: ' bad.cuda) ||
    fail "the processor and the GPU name other places"
  cat bad.cuda

  more=$((2 * gpus))
  mpirun -n $more --oversubscribe --bind-to none "$GNNTRAIN_BIN/gnntrain" base.toml --device cuda --set log.dir=run.more \
    >more.log 2>&1
  code=$?
  [ $code = 2 ] || fail "$more ranks on $gpus GPUs end with $code: $(cat more.log)"
  [ "$(grep -c '^gnntrain: ' more.log)" = 1 ] || fail "$more ranks on $gpus GPUs: $(cat more.log)"
  grep '^gnntrain: ' more.log
}

case $1 in
fp32) in_precisions fp32 fp32-strict ;;
half) in_precisions tf32 bf16 ;;
plain | hypergraphs) "$1" ;;
attention) models gat agnn ;;
sage) models sage ;;
moved) moved && limits ;;
*) fail "no part $1" ;;
esac
echo "agreement holds"
