# Training that leaves the finite numbers ends with exit code 1 and names the epoch and where they were left first;
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
ends_at 3 'first in the output of layer 1' model.layers=6 train.eval_every=5
ends_at 1 'first in the output of layer 5' model.layers=8 train.optimizer=adam
ends_at 2 'first in the output of layer 5' model.layers=8 train.optimizer=adam train.eval_every=4 model.dropout=0.0
echo "epochs and layers are named"
