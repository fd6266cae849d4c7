# log.tensorboard: the files in <log.dir>/tensorboard say what metrics.jsonl says, as TensorBoard reads them: of one run and of
# several, of one that was resumed, went back to an earlier checkpoint or was replaced; none without the key.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
check=(python3 "$GNNTRAIN_SOURCE/tests/launch/check_run_report.py" events)
works gnndata synth data.h5 --nodes 300 --degree 6 --features 8 --classes 3 --community-size 50 --seed 1
settings run.toml dataset.path=data.h5 model.hidden=8 train.epochs=12 train.eval_every=3 checkpoint.every=4 checkpoint.keep=9 log.dir=one runtime.threads=1 \
  log.tensorboard=true
files() { find "$1" -name '*tfevents*' 2>/dev/null | wc -l; }

must_run 2 run.toml
works "${check[@]}" one/tensorboard one
[[ $(files one) == 1 ]] || fail "one job has $(files one) files"
must_run 1 run.toml --set train.epochs=20 --resume
works "${check[@]}" one/tensorboard one
[[ $(files one) == 2 ]] || fail "two jobs have $(files one) files"
must_run 1 run.toml --set train.epochs=10 --resume=one/checkpoints/epoch-0-8.h5 # back, and on from there
works "${check[@]}" one/tensorboard one
[[ $(files one) == 3 ]] || fail "three jobs have $(files one) files"

must_run 1 run.toml --set train.runs=2 --set log.overwrite=true
works "${check[@]}" one/tensorboard one
[[ $(files one/tensorboard/run-0) == 1 && $(files one) == 2 ]] || fail "files of a replaced run stay: $(find one)"
must_run 1 run.toml --set log.tensorboard=false --set log.overwrite=true
[[ $(files one) == 0 ]] || fail "files without the key: $(find one)"

# A folder that cannot be written: one sentence, and no epoch is lost on the way there.
mkdir two && echo mine >two/tensorboard
must_refuse 1 'two/tensorboard' 1 run.toml --set log.dir=two
[[ $(cat two/tensorboard) == mine ]] || fail "a file was replaced"

if find_python tensorboard; then
  must_run 1 run.toml --set log.dir=read && must_run 1 run.toml --set log.dir=read --set train.epochs=15 --resume
  "$python" - <<'PYTHON' || fail "TensorBoard reads something else"
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
board = EventAccumulator("read/tensorboard")
board.Reload()
assert [event.step for event in board.Scalars("loss/training")] == list(range(1, 16))
PYTHON
fi
