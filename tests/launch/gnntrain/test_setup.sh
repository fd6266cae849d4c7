# Before training begins: a signal ends the job with exit code 75, which batch scripts queue again; ranks with other
# configurations or other copies of the dataset are refused.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

gnndata synth large.h5 --nodes 400000 --degree 20 --features 4 --classes 4 >out.txt
gnndata synth small.h5 --nodes 400 --degree 8 --features 16 --classes 4 >out.txt
settings run.toml dataset.path=small.h5 model.hidden=8 train.epochs=3 runtime.timeout=30 runtime.threads=1 log.dir=run

# mask PID WHICH: its signals that are blocked (SigBlk) or handled (SigCgt), into $mask, at once: no process is started.
mask() {
  local key value
  mask=0
  while read -r key value; do
    if [[ $key == "$2:" ]]; then mask=$((0x$value)); fi
  done 2>/dev/null <"/proc/$1/status" || true
}

# From its first steps on: here while it waits for its configuration.
blocks_usr1() { mask $job SigBlk && ((mask >> 9 & 1)); }
mkfifo waits.toml
for signal in USR1 TERM INT HUP; do
  gnntrain waits.toml >out.txt 2>err.txt </dev/null &
  job=$!
  wait_until 30 blocks_usr1 || fail "a rank that begins does not block signals"
  kill -$signal $job
  ended
  ((code == 75)) || fail "$signal to a rank that begins: exit code $code"
done

# sent_to_metis SIGNAL PROGRAM ARGUMENT...: to a process in which METIS has just begun, with handlers of its own of SIGABRT
# and SIGTERM. The exit code lies in $code, and in $began whether METIS was seen.
sent_to_metis() {
  local signal=$1
  shift
  "$@" >out.txt 2>err.txt </dev/null &
  job=$!
  began=
  while kill -0 $job 2>/dev/null; do
    mask $job SigCgt
    ((!(mask >> 5 & 1))) || { began=yes; break; } # SIGABRT
  done
  kill -$signal $job 2>/dev/null || true
  ended
}
gnndata synth medium.h5 --nodes 50000 --degree 16 --features 4 --classes 4 >out.txt
seen=
for signal in TERM TERM TERM USR1 INT HUP; do
  rm -rf medium.h5.parts
  sent_to_metis $signal gnntrain run.toml --set dataset.path=medium.h5 --set partition.order=metis --set log.dir=metis
  [[ ! $began ]] || seen=$seen.
  [[ ! $began ]] || ((code == 75)) || fail "$signal as METIS begins: exit code $code"
  rm -rf medium.h5.parts metis
done
for ((i = 0; i < 3; i++)); do
  sent_to_metis TERM gnndata partition medium.h5 --parts 4
  [[ ! $began ]] || seen=$seen.
  [[ ! $began ]] || ((code == 143)) || fail "gnndata, TERM as METIS begins: exit code $code"
  [[ -z $(compgen -G 'medium.h5.parts/*.tmp-*') ]] || fail "gnndata left $(ls medium.h5.parts)"
  rm -rf medium.h5.parts
done
[[ $seen ]] || fail "METIS was never seen to begin"

one_reads_the_graph() { # its process lies in $rank; a child of it looks through the file before
  for rank in $(processes); do
    [[ ! /proc/$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$rank/status" 2>/dev/null)/exe -ef $GNNTRAIN_BIN/gnntrain ]] || continue
    [[ -z $(find "/proc/$rank/fd" -lname '*large.h5' 2>/dev/null) ]] || return 0
  done
  return 1
}
# Two ranks while METIS divides the graph, which takes seconds: whichever gets the signal.
for signal in USR1 TERM INT HUP; do
  rm -rf large.h5.parts run
  start_anyway 2 run.toml --set dataset.path=large.h5
  wait_until 60 one_reads_the_graph || fail "no rank reads the graph"
  sleep .5
  kill -$signal "$rank"
  ended
  [[ ! -e run/metrics.jsonl ]] || fail "it trained before the signal came"
  ((code == 75)) || fail "$signal to a rank that sets up: exit code $code"
  says 'stopped by a signal before there was anything to save' err.txt
  [[ -z $(compgen -G 'large.h5.parts/*.tmp-*') ]] || fail "$signal: left $(ls large.h5.parts)"
done

# apart DIRECTORY ARGUMENT...: rank 0 runs here as it stands, rank 1 in the directory with the arguments.
apart() {
  local folder=$1
  shift
  run mpirun --oversubscribe --bind-to none -n 1 gnntrain run.toml : -n 1 --wdir "$folder" gnntrain run.toml "$@"
}
rm -rf run
apart . --set train.lr=0.5
((code == 2)) || fail "another lr: $code"
says '^gnntrain: rank 1 has train.lr = 0.5, rank 0 has 0.01; all ranks must' err.txt
mkdir other
cp run.toml small.h5 other/
apart other
((code == 0)) || fail "a copy of the dataset: $code"
rm -rf run other/run
gnndata synth other/small.h5 --nodes 400 --degree 8 --features 16 --classes 4 --signal 3 >out.txt
apart other
((code == 2)) && grep -q '^gnntrain: small.h5: is another file for rank 1 than for rank 0' err.txt || fail "another dataset: $code"
[[ ! -e run && ! -e other/run ]] || fail "refused ranks left a run"
rm -rf other/run run
apart . --set runtime.threads=2
((code == 0)) || fail "other threads: $code"
