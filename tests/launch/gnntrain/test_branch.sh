# A run that goes on from an older checkpoint leaves the branch of the newer ones: they do not come back as the
# newest, nor cost the new ones their place, and best.h5 is of what was resumed. A refused --resume changes nothing.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

gnndata synth small.h5 --nodes 400 --degree 8 --features 16 --classes 4 --seed 3 --inside 0.5 >out.txt
settings run.toml dataset.path=small.h5 model.hidden=8 train.epochs=60 checkpoint.every=5 checkpoint.keep=20 \
  runtime.timeout=30 runtime.threads=1 log.dir=run log.progress=1000
kept() { (cd "$1/checkpoints" && ls | sort -t - -k 2,2n -k 3,3n | tr '\n' ' '); }
finals() { sed -nE "s/.*\"run\": $2, \"final\": true.*\"$3\": ([^,}]*).*/\1/p" "$1/metrics.jsonl"; }
above_zero() { awk "BEGIN { exit !(${1:-0} > 0) }"; }
must_run 1 run.toml
cp -r run whole

# Refused: other settings would have been written to config.toml.
sums=$(find run -type f ! -name lock -exec sha256sum {} + | sort)
for ranks in 1 2; do
  job $ranks run.toml --resume=run/checkpoints/epoch-0-10.h5 --set model.hidden=16
  ((code == 2)) || fail "another model was resumed on $ranks rank(s)"
  job $ranks run.toml --resume=none.h5 --set train.lr=0.5
  ((code == 2)) || fail "a missing checkpoint was resumed on $ranks rank(s)"
done
[[ $(find run -type f ! -name lock -exec sha256sum {} + | sort) == "$sums" ]] || fail "a refused --resume changed the run"

# Refused: another run's folder would be cut back. Nothing is left of a name that does not exist.
cp whole/checkpoints/epoch-0-10.h5 aside.h5
for ranks in 1 2; do
  job $ranks run.toml --resume=aside.h5
  ((code == 2)) && grep -q "run already holds a run, and aside.h5 is none of its checkpoints/" err.txt ||
    fail "a file from elsewhere cut the run back on $ranks rank(s)"
  job $ranks run.toml --resume=none.h5 --set log.dir=fresh
  ((code == 2)) && [[ ! -e fresh ]] || fail "a file that is missing left a folder on $ranks rank(s)"
done
[[ $(find run -type f ! -name lock -exec sha256sum {} + | sort) == "$sums" ]] || fail "a file from elsewhere changed the run"

# In a folder of its own a run can go on from such a file, and does again when it was killed before it saved.
for ranks in 1 2; do
  rm -rf fresh
  start $ranks fresh/metrics.jsonl run.toml --resume=aside.h5 --set log.dir=fresh --epochs 1000000000 --set checkpoint.every=0
  kill -KILL "$(processes | head -n 1)"
  ends_within 15
  [[ $(kept fresh) == "epoch-0-10.h5 " ]] || fail "a killed run kept: $(kept fresh)"
  touch fresh/best.h5.tmp-1
  must_run $ranks run.toml --resume --set log.dir=fresh --epochs 12
  says "resuming run 0 after epoch 10 "
  [[ ! -e fresh/best.h5.tmp-1 ]] || fail "what a killed writer left is still there"
done

# Stopped by a signal soon after it went on from an older checkpoint: what it saved is the newest.
start 2 run/metrics.jsonl run.toml --resume=run/checkpoints/epoch-0-10.h5 --epochs 1000000000 --set checkpoint.every=0
[[ ! -e run/best.h5 ]] || fail "best.h5 is still of the branch that was left"
kill -USR1 "$(processes 1)"
ends_within 15 75
says '^removed 10 later checkpoints in run/checkpoints'
last=$(sed -nE '/.*after epoch ([0-9]+).*/{s//\1/p;q}' err.txt)
((last > 10)) || fail "stopped after epoch $last"
[[ $(kept run) == "epoch-0-5.h5 epoch-0-10.h5 epoch-0-$last.h5 " ]] || fail "the branch left these checkpoints: $(kept run)"
must_run 1 run.toml --resume --epochs $((last + 1))
says "resuming run 0 after epoch $last "

# The new branch keeps its own newest, however long the old one was.
rm -r run && cp -r whole run
must_run 1 run.toml --resume=run/checkpoints/epoch-0-10.h5 --set train.lr=0.02 --epochs 30 --set checkpoint.keep=2
[[ $(kept run) == "epoch-0-25.h5 epoch-0-30.h5 " ]] || fail "kept of 30 epochs: $(kept run)"
# A finished run that goes on from its end leaves nothing.
rm -r run && cp -r whole run
must_run 2 run.toml --resume --epochs 60
[[ $(kept run) == "$(kept whole)" ]] || fail "kept of a finished run: $(kept run)"
# Its final row has the seconds of all its epochs.
seconds=$(finals run 0 seconds)
[[ $seconds == "$(finals whole 0 seconds)" ]] || fail "the finished run took $seconds s, $(finals whole 0 seconds) before"
above_zero "$seconds" || fail "the run took $seconds s"

# The seconds of one of several runs are its own.
must_run 1 run.toml --set log.dir=runs --set train.runs=8
! finals runs '[0-9]' seconds | sort -gC || fail "each run has the seconds of those before, too"

# Later runs are of the branch, too; best.h5 is again what the runs before had left. (Some seed has
# its best run last and its worst before.)
several=(run.toml --epochs 20 --set train.runs=3)
for ((seed = 1; seed < 40; seed++)); do
  rm -rf runs
  must_run 1 "${several[@]}" --set train.seed=$seed --set log.dir=runs
  order=$(sed -nE 's/.*"run": ([0-9]), "final".*"val": ([^,]*).*/\2 \1/p' runs/metrics.jsonl | sort -k 1,1g -k 2,2nr | sed 's/.* //' | tr -d '\n')
  [[ $order == 102 ]] && break
done
[[ $order == 102 ]] || fail "no seed has its best run last, its worst before"
evaluate() { gnntrain "$1/config.toml" --eval "$1/best.h5" | sed -nE 's/from .*//; /^weights|^  (train|val|test) /p'; }
several+=(--set train.seed=$seed)
must_run 1 "${several[@]}" --set log.dir=two --set train.runs=2
for ranks in 1 2; do
  rm -rf again && cp -r runs again
  sed -i 's/"runs"/"again"/' again/config.toml
  write_fault kill "$PWD/again/checkpoints"
  job $ranks "${several[@]}" --set log.dir=again --resume=again/checkpoints/epoch-2-5.h5 --set checkpoint.every=0
  no_fault
  ((code != 0)) || fail "$ranks rank(s): not killed while it saved"
  rm -f again/checkpoints/*.tmp-*
  [[ $(kept again) == "$(kept two)epoch-2-5.h5 " ]] || fail "$ranks rank(s): kept of two runs: $(kept again)"
  diff <(evaluate two) <(evaluate again) || fail "$ranks rank(s): best.h5 is not that of the two runs before"
done
must_run 1 "${several[@]}" --set log.dir=again --resume=again/checkpoints/epoch-0-5.h5 --set train.runs=1
[[ $(kept again) == "epoch-0-5.h5 epoch-0-10.h5 epoch-0-15.h5 epoch-0-20.h5 " ]] || fail "kept of one run: $(kept again)"
grep -q 'weights of run 0' <<<"$(evaluate again)" || fail "best.h5 is of a run that was left"

# The best of the runs before is not taken from what another training wrote in its checkpoint's place.
rm -rf again && cp -r runs again
must_run 1 "${several[@]}" --set log.dir=foreign --set train.runs=2 --set train.lr=0.0001
cp foreign/checkpoints/epoch-0-20.h5 foreign/checkpoints/epoch-1-20.h5 again/checkpoints/
cp again/checkpoints/epoch-2-20.h5 again/checkpoints/epoch-2-020.h5 # no name of a checkpoint
must_run 1 "${several[@]}" --set log.dir=again --resume=again/checkpoints/epoch-2-5.h5
grep -q '^removed 3 later checkpoints' out.txt && [[ -e again/checkpoints/epoch-2-020.h5 ]] || fail "kept: $(kept again)"
says 'there is none until a better run ends'
if [[ -e again/best.h5 ]]; then
  grep -q 'weights of run 2' <<<"$(evaluate again)" || fail "best.h5 is another training's"
else
  ! grep -q 'best.h5' <(sed -n '/^result/,$p' out.txt) || fail "the closing lines name a best.h5 that is not there"
fi
