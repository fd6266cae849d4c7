# The same training on the processor and on 1, 2, 4 GPUs, with dropout on: loss curves within 1e-5 over the first 5
# epochs and 1e-4 over 50, equal bits when repeated; more ranks than GPUs are refused in one sentence.
. "$GNNTRAIN_SOURCE/tests/models/curves.sh"
"$GNNTRAIN_BIN/gnntrain" --version | grep -q '^devices:.*cuda' || { echo "this build has no CUDA device"; exit 77; }
gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU')
((gpus > 0)) || { echo "this machine has no GPU"; exit 77; }

rm -rf data.h5 data.h5.parts run.* losses.*
"$GNNTRAIN_BIN/gnndata" synth data.h5 --nodes 6000 --degree 20 --features 37 --classes 7 --community-size 200 \
  --seed 3 >synth.log 2>&1 || fail "synth: $(cat synth.log)"
cat >base.toml <<'TOML'
dataset.path = "data.h5"
model = {hidden = 48, layers = 3, dropout = 0.5, dropout_input = 0.2, norm = "batch", residual = true}
train = {epochs = 50, lr = 0.01, weight_decay = 5e-4, clip = 1.0, schedule = "cosine", warmup = 3}
TOML

# train DEVICE RANKS NAME: leaves the losses of the epochs in losses.NAME
train() {
  mpirun -n "$2" --oversubscribe --bind-to none "$GNNTRAIN_BIN/gnntrain" base.toml --device "$1" \
    --set "log.dir=run.$3" --set log.overwrite=true >"$3.log" 2>&1 || fail "$3: $(grep gnntrain: "$3.log" || tail -3 "$3.log")"
  keep_losses "$3"
}

train cpu 1 cpu
for ranks in 1 2 4; do
  ((ranks <= gpus)) || continue
  train cuda $ranks "gpu.$ranks"
  within cpu "gpu.$ranks" 5 1e-5
  within cpu "gpu.$ranks" 50 1e-4
  train cuda $ranks "again.$ranks"
  cmp "losses.gpu.$ranks" "losses.again.$ranks" || fail "a repeat on $ranks GPUs gives other bits"
done
more=$((2 * gpus))
mpirun -n $more --oversubscribe --bind-to none "$GNNTRAIN_BIN/gnntrain" base.toml --device cuda --set log.dir=run.more \
  >more.log 2>&1
code=$?
[ $code = 2 ] || fail "$more ranks on $gpus GPUs end with $code: $(cat more.log)"
[ "$(grep -c '^gnntrain: ' more.log)" = 1 ] || fail "$more ranks on $gpus GPUs: $(cat more.log)"
grep '^gnntrain: ' more.log
echo "agreement holds"
