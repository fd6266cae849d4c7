# Before training begins: a signal ends the job with exit code 75, which batch scripts queue again; ranks with other
# configurations or other copies of the dataset are refused.
. "$GNNTRAIN_SOURCE/tests/launch/job.sh"

rm -rf ./*
"$GNNTRAIN_BIN/gnndata" synth large.h5 --nodes 400000 --degree 20 --features 4 --classes 4 >out.txt
"$GNNTRAIN_BIN/gnndata" synth small.h5 --nodes 400 --degree 8 --features 16 --classes 4 >out.txt
cat >run.toml <<'END_OF_RUN'
[dataset]
path = "small.h5"
[model]
hidden = 8
[train]
epochs = 3
[runtime]
timeout = 30
threads = 1
[log]
dir = "run"
END_OF_RUN

# handles_usr1 PID: whether it has a handler of SIGUSR1.
handles_usr1() {
  local caught
  caught=$(sed -n 's/^SigCgt:[[:blank:]]*//p' "/proc/$1/status" 2>/dev/null)
  [[ $caught ]] && ((0x$caught >> 9 & 1))
}

# From its first steps on: here while it waits for its configuration.
mkfifo waits.toml
for signal in USR1 TERM; do
  "$GNNTRAIN_BIN/gnntrain" waits.toml >out.txt 2>err.txt </dev/null &
  job=$!
  for ((i = 0; i < 600; i++)); do
    ! handles_usr1 $job || break
    sleep .05
  done
  kill -$signal $job
  code=0
  wait $job || code=$?
  ((code == 75)) || { cat out.txt err.txt; fail "$signal to a rank that begins: exit code $code"; }
done

# Two ranks while METIS divides the graph, which takes seconds: whichever gets the signal.
for signal in USR1 TERM; do
  rm -rf large.h5.parts run
  export GNNTRAIN_TEST_TOKEN=$$.$RANDOM
  mpirun -n 2 --oversubscribe --bind-to none "$GNNTRAIN_BIN/gnntrain" run.toml --set dataset.path=large.h5 >out.txt 2>err.txt </dev/null &
  job=$!
  rank=
  for ((i = 0; i < 600; i++)); do
    for rank in $(pgrep -P $job -x gnntrain); do
      [[ -z $(find "/proc/$rank/fd" -lname '*large.h5' 2>/dev/null) ]] || break 2
    done
    sleep .05
  done
  sleep .5
  kill -$signal "$rank"
  code=0
  wait $job || code=$?
  [[ ! -e run/metrics.jsonl ]] || fail "it trained before the signal came"
  ((code == 75)) || { cat out.txt err.txt; fail "$signal to a rank that sets up: exit code $code"; }
  grep -q 'stopped by a signal before there was anything to save' err.txt || { cat err.txt; fail "$signal: nothing said"; }
  [[ -z $(compgen -G 'large.h5.parts/*.tmp-*') ]] || fail "$signal: left $(ls large.h5.parts)"
done

# apart DIRECTORY ARGUMENT...: rank 0 runs here as it stands, rank 1 in the directory with the arguments.
apart() {
  local folder=$1
  shift
  code=0
  mpirun --oversubscribe --bind-to none -n 1 "$GNNTRAIN_BIN/gnntrain" run.toml : \
    -n 1 --wdir "$folder" "$GNNTRAIN_BIN/gnntrain" run.toml "$@" >out.txt 2>err.txt </dev/null || code=$?
}
rm -rf run
apart . --set train.lr=0.5
((code == 2)) && grep -q '^gnntrain: rank 1 has train.lr = 0.5, rank 0 has 0.01; all ranks must' err.txt || { cat err.txt; fail "another lr: $code"; }
mkdir other
cp run.toml small.h5 other/
apart other
((code == 0)) || { cat err.txt; fail "a copy of the dataset: $code"; }
rm -rf run other/run
"$GNNTRAIN_BIN/gnndata" synth other/small.h5 --nodes 400 --degree 8 --features 16 --classes 4 --signal 3 >out.txt
apart other
((code == 2)) && grep -q '^gnntrain: small.h5: is another file for rank 1 than for rank 0' err.txt || { cat err.txt; fail "another dataset: $code"; }
[[ ! -e run && ! -e other/run ]] || fail "refused ranks left a run"
rm -rf other/run run
apart . --set runtime.threads=2
((code == 0)) || { cat err.txt; fail "other threads: $code"; }
