# A rank that dies or stands still ends the whole job, soon and by name; a writer that dies in the middle of a
# checkpoint leaves the one before it; no run changes the dataset.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

break_dataset sound sound.h5
sum=$(sha256sum sound.h5)
settings run.toml dataset.path=sound.h5 model.hidden=8 train.epochs=1000000000 runtime.timeout=3 log.dir=run \
  log.overwrite=true log.progress=1000000

names_rank_1() { grep -qE 'rank 1\b' err.txt out.txt || fail "$1: rank 1 is not named"; }

start 3 run/metrics.jsonl run.toml
kill -KILL "$(processes 1)"
ends_within 10
((code != 0)) || fail "a job with a killed rank ended with 0"
names_rank_1 SIGKILL

start 3 run/metrics.jsonl run.toml
kill -STOP "$(processes 1)"
ends_within 13
((code != 0)) || fail "a job with a stopped rank ended with 0"
names_rank_1 SIGSTOP
says '^gnntrain: .*rank 1\b' err.txt

sed -i 's/^runtime.timeout = 3$/runtime.timeout = 60/' run.toml # what follows waits for a disk, and for no rank
must_run 2 run.toml --set checkpoint.every=1 --epochs 3
if ! sanitized; then
  write_fault kill "$PWD/run"
  job 2 run.toml --set checkpoint.every=1 --resume --epochs 6
  no_fault
  ((code != 0 && code != 124)) || fail "the writer was not killed in its checkpoint (exit code $code)"
  must_run 2 run.toml --set checkpoint.every=1 --resume --epochs 6
  says 'epoch 3\b'
fi
[[ $(sha256sum sound.h5) == "$sum" ]] || fail "the dataset was changed"
