# Training that leaves the finite numbers, or whose loss grows without end, ends with exit code 1 and names the epoch and where they were left first;
# the epochs before it stand in the metrics. The same on any number of ranks.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

gnndata synth data.h5 --nodes 600 --degree 8 --features 16 --classes 4 --seed 3 >/dev/null
settings run.toml dataset.path=data.h5 train.epochs=20 train.lr=1e6 train.optimizer=sgd log.dir=run log.overwrite=true

# ends_at EPOCH WHERE SETTING...
ends_at() {
  local epoch=$1 where=$2
  shift 2
  for ranks in 1 2; do
    must_refuse 1 "^gnntrain: epoch $epoch: .* is not finite \(NaN or infinity $where\)" $ranks run.toml "${@/#/--set=}"
    [[ $(grep -c '"epoch"' run/metrics.jsonl) == $((epoch - 1)) ]] || fail "$*: other epochs in the metrics"
  done
}

ends_at 2 'first in the output of layer 1' model.layers=6
ends_at 2 'first in the output of layer 15' model.layers=16 train.eval_every=5
ends_at 1 'first in the output of layer 5' model.layers=8 train.optimizer=adam
ends_at 2 'first in the output of layer 5' model.layers=8 train.optimizer=adam train.eval_every=4 model.dropout=0.0

# A loss that stays finite and grows without end; what was saved until then stays, and can be used.
grows='^gnntrain: epoch 2: the loss is [0-9.]+e\+[0-9]+, over a million times the [0-9.]+ that it began with; try a smaller train\.lr or train\.clip = 1$'
for ranks in 1 2; do
  must_refuse 1 "$grows" $ranks run.toml --set checkpoint.every=1
  lacks '^  at ' err.txt
  [[ $(grep -c '"epoch"' run/metrics.jsonl) == 1 && $(ls run/checkpoints) == epoch-0-1.h5 ]] || fail "what was saved is gone: $(ls run/checkpoints)"
  must_run $ranks run.toml --eval run/checkpoints/epoch-0-1.h5
done
must_run 1 run.toml --resume --set train.lr=0.01
must_run 1 run.toml --set train.clip=1 --set train.lr=0.1
echo "epochs and layers are named"
