# A rank that dies or stands still ends the whole job, soon and by name; a writer that dies in the middle of a
# checkpoint leaves the one before it; no run changes the dataset.
. "$GNNTRAIN_SOURCE/tests/launch/job.sh"

rm -rf ./*
"$GNNTRAIN_BIN/tests/launch/break_dataset" sound sound.h5
sum=$(sha256sum sound.h5)
cat >run.toml <<'END'
[dataset]
path = "sound.h5"
[model]
hidden = 8
[train]
epochs = 1000000000
[runtime]
timeout = 3
[log]
dir = "run"
overwrite = true
progress = 1000000
END

names_rank_1() { grep -qE 'rank 1\b' err.txt out.txt || { cat err.txt; fail "$1: rank 1 is not named"; }; }

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
grep -qE '^gnntrain: .*rank 1\b' err.txt || { cat err.txt; fail "gnntrain itself does not name the stopped rank"; }

sed -i 's/^timeout = 3$/timeout = 60/' run.toml # what follows waits for a disk, and for no rank
must_run 2 run.toml --set checkpoint.every=1 --epochs 3
if ! grep -q libasan <<<"$(ldd "$GNNTRAIN_BIN/gnntrain")"; then
  write_fault kill "$PWD/run"
  job 2 run.toml --set checkpoint.every=1 --resume --epochs 6
  no_fault
  ((code != 0 && code != 124)) || fail "the writer was not killed in its checkpoint (exit code $code)"
  must_run 2 run.toml --set checkpoint.every=1 --resume --epochs 6
  grep -qE 'epoch 3\b' out.txt || { cat out.txt; fail "the run did not go on from epoch 3"; }
fi
[[ $(sha256sum sound.h5) == "$sum" ]] || fail "the dataset was changed"
