# Output that nobody reads, that does not fit or that was closed costs no epoch and leaves no half-written file; a closed
# terminal and an interrupt are requests to stop.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

gnndata synth made.h5 --nodes 400 --degree 8 --features 16 --classes 4 >out.txt
settings run.toml dataset.path=made.h5 model.hidden=8 train.epochs=50 runtime.timeout=60 runtime.threads=1 log.dir=run \
  log.overwrite=true log.progress=1

# has_all_epochs WHAT: the run is whole.
has_all_epochs() {
  grep -q '"epoch": 50,' run/metrics.jsonl && grep -q '"final": true' run/metrics.jsonl || fail "$1: epochs are missing"
  [[ -s run/checkpoints/epoch-0-50.h5 ]] || fail "$1: the last checkpoint is missing"
  rm -rf run
}

mkfifo pipe
# left PROGRAM ARGUMENT...: the pipe's reader has left before the program begins; its exit code lies in $code.
left() {
  exec 3<>pipe 4>pipe 3>&-
  code=0
  "$@" >&4 2>err.txt 4>&- </dev/null || code=$?
  exec 4>&-
}
left gnntrain run.toml
((code == 0)) || fail "gnntrain whose output nobody reads: exit code $code"
[[ ! -s err.txt ]] || fail "gnntrain whose output nobody reads is not quiet"
has_all_epochs "nobody reads"
left gnndata info made.h5
((code == 141)) || fail "gnndata info whose output nobody reads: exit code $code"
[[ ! -s err.txt ]] || fail "gnndata info whose output nobody reads is not quiet"
left gnndata synth unread.h5 --nodes 3000 --degree 4 --features 16 --classes 4
[[ -z $(compgen -G 'unread.h5.tmp-*') ]] || fail "gnndata synth left $(ls)"
must_run 1 run.toml
left gnntrain run.toml --predict run/best.h5 --out predicted.h5
((code == 0)) && [[ -s predicted.h5 ]] || fail "--predict whose output nobody reads: exit code $code"
rm -rf run

# A full disk, and no output at all: said at the end, and no file of ours takes the place of what was closed.
code=0
gnntrain run.toml >/dev/full 2>err.txt </dev/null || code=$?
((code == 1)) && grep -q '^gnntrain: standard output cannot be written$' err.txt || fail "a full disk: $code"
has_all_epochs "a full disk"
must_run 1 run.toml
for closed in '>&-' '2>&-' '>&- 2>&- <&-'; do
  code=0
  eval "\"$GNNTRAIN_BIN/gnntrain\" run.toml --set log.progress=1 >out.txt 2>err.txt </dev/null $closed" || code=$?
  [[ $code == 1 || ($code == 0 && $closed == '2>&-') ]] || fail "closed streams, $closed: exit code $code"
  (($(wc -c <run/lock) < 300)) || fail "what was printed is in run/lock: $closed"
  [[ -z $(grep -v '^{.*}$' run/metrics.jsonl) ]] || fail "what was printed is in metrics.jsonl: $closed"
  has_all_epochs "closed streams, $closed"
done

# An interrupt and a terminal that was closed.
for signal in INT HUP; do
  for ranks in 1 2; do
    rm -rf run
    start $ranks run/metrics.jsonl run.toml --epochs 1000000000 --set log.progress=100000
    kill -$signal "$(processes | head -n 1)"
    ends_within 15 75
    says 'stopped by a signal after epoch' err.txt
    [[ -n $(compgen -G 'run/checkpoints/epoch-0-*.h5') ]] || fail "$signal: no checkpoint"
  done
done

# Under nohup a closed terminal is none of its business.
rm -rf run
(trap '' HUP; exec gnntrain run.toml --epochs 1000000000 --set log.progress=100000 >out.txt 2>err.txt </dev/null) &
job=$!
wait_until 100 test -s run/metrics.jsonl || fail "nohup: no training"
kill -HUP $job
before=$(wc -l <run/metrics.jsonl)
has_gone_on() { (($(wc -l <run/metrics.jsonl) > before + 2)); }
wait_until 100 has_gone_on || fail "nohup: ended by a SIGHUP"
kill -TERM $job
ended
((code == 75)) || fail "nohup: exit code $code after SIGTERM"

# Predictions that are half-written when a signal comes: with the second write into their file. (The sanitizers cannot be
# loaded after another library.)
gnndata synth wide.h5 --nodes 2000 --degree 4 --features 8 --classes 4 >out.txt
must_run 1 run.toml --set dataset.path=wide.h5 --epochs 1
mkdir predicted
if sanitized; then exit 0; fi
for signal in TERM INT HUP USR1; do
  write_fault $signal "$PWD/predicted"
  unset FAULT_ALWAYS
  run gnntrain run.toml --set dataset.path=wide.h5 --epochs 1 --predict run/best.h5 --out predicted/out.h5
  no_fault
  ((code == 128 + $(kill -l $signal))) || fail "$signal to --predict: exit code $code"
  [[ -z $(ls predicted) ]] || fail "$signal to --predict left $(ls predicted)"
done
