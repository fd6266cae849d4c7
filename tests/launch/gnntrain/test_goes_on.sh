# What --resume goes on from: only with the data and, once a run has ended, the number of epochs that it began with; from
# one checkpoint; never in place of results whose checkpoints are gone. An interrupted run has a best.h5.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

gnndata synth made.h5 --nodes 400 --degree 8 --features 16 --classes 4 --seed 3 --inside 0.5 --train 0.3 >out.txt
awk 'BEGIN { for (v = 0; v < 300; v++) print v, (v + 1) % 300; for (v = 0; v < 300; v++) print v, (v + 17) % 300 }' >list.txt
gnndata import edgelist list.txt splits.h5 --undirected --features random:8 --labels random:3 \
  --split random:0.4,0.3 --splits 4 >out.txt
settings run.toml dataset.path=made.h5 model.hidden=8 train.epochs=10 checkpoint.every=5 checkpoint.keep=9 \
  runtime.timeout=30 runtime.threads=1 log.dir=run log.progress=1000

# Several runs: those that have ended would have had other epochs.
must_run 2 run.toml --set train.runs=2
before=$(cat run/metrics.jsonl run/best.h5 run/config.toml | cksum)
must_refuse 2 'epoch-1-10.h5: stands in run 1, and the runs before it were asked for 10 epochs, not 20' 2 run.toml --set train.runs=2 --epochs 20 --resume
must_refuse 2 'a run goes on from one checkpoint' 1 run.toml --resume=run/checkpoints/epoch-0-5.h5 --resume=run/checkpoints/epoch-0-10.h5
must_refuse 2 'was trained with dataset.normalize = "none", this run has "row"' 1 run.toml --set train.runs=2 --set dataset.normalize=row --resume
[[ $(cat run/metrics.jsonl run/best.h5 run/config.toml | cksum) == "$before" ]] || fail "a refused --resume changed the run"
must_run 1 run.toml --set train.runs=3 --resume # a further run may follow
says '"run": 2, "final": true' run/metrics.jsonl

must_run 1 run.toml --set dataset.path=splits.h5 --set log.dir=split --set dataset.split=1
must_refuse 2 'was trained with dataset.split = 1, this run has 2' 1 run.toml --set dataset.path=splits.h5 --set log.dir=split --set dataset.split=2 --resume
must_run 1 run.toml --set dataset.path=splits.h5 --set log.dir=split --set dataset.split=2 --eval split/best.h5

# Both forms, as a batch job that is queued again has them: from the file until there is a newer one.
cp run/checkpoints/epoch-0-5.h5 old.h5
for ranks in 2 1; do
  must_run $ranks run.toml --set log.dir=again --resume=old.h5 --resume
  grep -q "resuming run 0 after epoch $((ranks == 2 ? 5 : 10)) " out.txt || fail "--resume=FILE --resume on $ranks rank(s)"
done

# One run may be made longer; what a checkpoint is beyond is said, and so are lines of metrics that are missing.
must_run 1 run.toml --set log.dir=one
must_run 1 run.toml --set log.dir=one --epochs 15 --set train.schedule=cosine --resume
says 'note: the cosine of the learning rates ends at epoch 15 now, not 10'
sed -i '3,4d;14,$d' one/metrics.jsonl
must_run 1 run.toml --set log.dir=one --epochs 12 --resume
says 'stands at epoch 15, beyond the 12 of train.epochs'
says 'note: one/metrics.jsonl: has epochs of run 0 up to'

# Results without checkpoints are not trained over.
rm one/checkpoints/*
before=$(cat one/metrics.jsonl one/best.h5 | cksum)
must_refuse 2 'one holds the results of a run and no checkpoint to go on from' 1 run.toml --set log.dir=one --resume
[[ $(cat one/metrics.jsonl one/best.h5 | cksum) == "$before" ]] || fail "results without checkpoints were changed"
must_run 1 run.toml --set log.dir=one --set log.overwrite=true --resume

# An interrupted run: the best weights so far are there, and the end is that of a run that was not.
start 2 stopped/metrics.jsonl run.toml --set log.dir=stopped --epochs 1000000000 --set checkpoint.every=1000
kill -TERM "$(processes 0)"
ends_within 15 75
last=$(sed -nE '/.*after epoch ([0-9]+).*/{s//\1/p;q}' err.txt)
((last > 0)) || fail "stopped after epoch $last"
must_run 1 run.toml --set log.dir=whole --epochs $((last + 500)) --set checkpoint.every=1000
[[ -s stopped/best.h5 ]] || fail "no best.h5 of an interrupted run"
must_run 1 run.toml --set log.dir=stopped --eval stopped/best.h5
epoch=$(sed -nE 's/^weights of run 0 after epoch ([0-9]+), the best on validation.*/\1/p' out.txt)
((epoch > 0)) || fail "whose weights: $(head -n 40 out.txt)"
must_run 1 run.toml --set log.dir=stopped --epochs $((last + 500)) --set checkpoint.every=1000 --resume
must_run 1 run.toml --set log.dir=stopped --eval stopped/best.h5
tail -n 8 out.txt >of.stopped
must_run 1 run.toml --set log.dir=whole --eval whole/best.h5
diff <(tail -n 8 out.txt) of.stopped || fail "another best after an interruption"
