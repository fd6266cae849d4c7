# On two GPUs too: a rank that dies or stands still in mid-epoch ends the whole job, soon and by name, and --resume
# goes on, on the processor as well.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
needs_gpus 2

gnndata synth data.h5 --nodes 50000 --degree 20 --features 32 --classes 7 >/dev/null
settings run.toml dataset.path=data.h5 train.epochs=1000000000 runtime.device=cuda runtime.timeout=3 \
  checkpoint.every=20 log.dir=run log.overwrite=true log.progress=1000000

for signal in KILL STOP; do
  start 2 run/metrics.jsonl run.toml
  kill -$signal "$(processes 1)"
  ends_within 11
  ((code != 0)) || fail "a job with a rank under SIG$signal ended with 0"
  grep -qE 'rank 1\b' err.txt out.txt || fail "SIG$signal: rank 1 is not named"
  grep -m1 -E 'rank 1\b' err.txt out.txt
done
newest=$(ls run/checkpoints | sed -n 's/epoch-0-\([0-9]*\).h5/\1/p' | sort -n | tail -1)
must_run 2 run.toml --resume --epochs $((newest + 5))
must_run 1 run.toml --device cpu --resume --epochs $((newest + 8))
grep -q "epoch $((newest + 8))/" out.txt || fail "the run did not go on from epoch $newest"
echo "faults are noticed and resumed from"
