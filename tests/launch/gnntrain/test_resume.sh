# A run that was cut in two is the run that was not: bit for bit on as many ranks, within rounding on another
# number. Signals save a checkpoint and end with 75.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

gnndata synth small.h5 --nodes 600 --degree 8 --features 16 --classes 4 --seed 3 >out.txt
sum=$(sha256sum small.h5)
settings run.toml dataset.path=small.h5 model.hidden=16 model.dropout=0.5 model.norm=batch train.epochs=100 \
  train.schedule=step train.step_every=30 train.weight_decay=5e-4 checkpoint.every=25 runtime.timeout=30 \
  runtime.threads=1 log.progress=50

# agree A B TOLERANCE: the losses of every epoch, relative.
agree() {
  paste -d ' ' <(losses "$1") <(losses "$2") | awk -v tolerance="$3" '
    { d = $2 - $4; if (d < 0) d = -d; if ($1 != $3 || !(d <= tolerance * ($2 + 1e-300))) { print; bad = 1 } }
    END { exit bad || NR != 100 }' || fail "$1 and $2 differ by more than $3"
}

for precision in fp32 fp64; do
  set -- run.toml --set runtime.precision=$precision
  must_run 2 "$@" --set log.dir=whole-$precision
  must_run 2 "$@" --set log.dir=cut-$precision --epochs 50
  cp -r cut-$precision other-$precision
  must_run 2 "$@" --set log.dir=cut-$precision --resume
  must_run 1 "$@" --set log.dir=other-$precision --resume
  diff <(untimed whole-$precision) <(untimed cut-$precision) || fail "$precision: 100 epochs are not 50 and 50"
done
agree whole-fp64 other-fp64 1e-9
agree whole-fp32 other-fp32 1e-3

# Without a checkpoint, --resume starts at the beginning and says so.
must_run 1 run.toml --set log.dir=first --resume --epochs 2
says '^no checkpoint in first: starting at epoch 0$'

# A signal to one rank stops all. (mpirun hands SIGUSR1 on in some versions only.)
start 2 stopped/metrics.jsonl run.toml --set log.dir=stopped --set train.epochs=1000000000
kill -USR1 "$(processes 1)"
ends_within 15 75
last=$(losses stopped | tail -n 1 | cut -d ' ' -f 1)
must_run 2 run.toml --set log.dir=stopped --resume --epochs $((last + 1))
[[ $(losses stopped | tail -n 1 | cut -d ' ' -f 1) == $((last + 1)) ]] || fail "the run did not go on after SIGUSR1"

start 1 termed/metrics.jsonl run.toml --set log.dir=termed --set train.epochs=1000000000
kill -TERM $job
ends_within 15 75
last=$(losses termed | tail -n 1 | cut -d ' ' -f 1)
must_run 1 run.toml --set log.dir=termed --resume --epochs $((last + 1))

[[ $(sha256sum small.h5) == "$sum" ]] || fail "the dataset was changed"
