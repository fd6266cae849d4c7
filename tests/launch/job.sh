# What the tests of whole programs share: jobs of one or more ranks, what they said, and finding their processes.
set -euo pipefail
shopt -s nullglob

fail() {
  echo "$*"
  exit 1
}

# on_ranks RANKS COMMAND...: one rank needs no mpirun.
on_ranks() {
  local ranks=$1
  shift
  if ((ranks == 1)); then
    "$@"
  else
    mpirun -n "$ranks" --oversubscribe --bind-to none "$@"
  fi
}

# job RANKS ARGUMENT...: runs gnntrain; its output lies in out.txt and err.txt, its exit code in $code (124:
# still running after five minutes).
job() {
  local ranks=$1
  shift
  code=0
  on_ranks "$ranks" timeout -k 10 300 "$GNNTRAIN_BIN/gnntrain" "$@" >out.txt 2>err.txt </dev/null || code=$?
}

# must_run RANKS ARGUMENT...: a job that has to end well.
must_run() {
  job "$@"
  ((code == 0)) || { tail -n 20 out.txt err.txt; fail "gnntrain ended with $code on $1 rank(s): ${*:2}"; }
}

# start RANKS METRICS ARGUMENT...: a job in the background; $job is its (or mpirun's) process. Returns once it trains:
# when METRICS, which did not exist before, has lines. The seconds that this took lie in $starting.
start() {
  local ranks=$1 metrics=$2 began=$SECONDS
  shift 2
  rm -f "$metrics"
  export GNNTRAIN_TEST_TOKEN=$$.$RANDOM
  if ((ranks == 1)); then
    "$GNNTRAIN_BIN/gnntrain" "$@" >out.txt 2>err.txt </dev/null &
  else
    mpirun -n "$ranks" --oversubscribe --bind-to none "$GNNTRAIN_BIN/gnntrain" "$@" >out.txt 2>err.txt </dev/null &
  fi
  job=$!
  trap 'exit 1' TERM INT
  trap end_all EXIT # of a test that fails, too: nothing may go on in its folder
  local i
  for ((i = 0; i < 1000; i++)); do
    [[ -s $metrics ]] && starting=$((SECONDS - began)) && return
    kill -0 $job 2>/dev/null || break
    sleep 0.1
  done
  tail -n 20 out.txt err.txt
  end_all
  fail "the job of $ranks rank(s) did not start to train: $*"
}

# Prints the processes of the last job started that run gnntrain; with a rank as argument, that rank's only.
processes() {
  local folder
  for folder in /proc/[0-9]*; do
    [[ $(readlink "$folder/exe" 2>/dev/null) == */gnntrain ]] || continue
    grep -qsz "^GNNTRAIN_TEST_TOKEN=$GNNTRAIN_TEST_TOKEN\$" "$folder/environ" || continue
    [[ -z ${1-} ]] || grep -qsz "^OMPI_COMM_WORLD_RANK=$1\$" "$folder/environ" || continue
    echo "${folder#/proc/}"
  done
}

end_all() {
  local process
  for process in $(processes) $job; do kill -KILL "$process" 2>/dev/null || true; done
}

# ends_within SECONDS: waits for the job; its exit code lies in $code. No rank of it may be left. The seconds are those of
# a machine where a job starts in less than one; where that takes longer, five times as much is added.
ends_within() {
  local seconds=$(($1 + 5 * starting)) i
  for ((i = 0; i < 10 * seconds; i++)); do
    kill -0 $job 2>/dev/null || break
    sleep 0.1
  done
  if kill -0 $job 2>/dev/null; then
    tail -n 20 out.txt err.txt
    end_all
    fail "the job was still there after $seconds s"
  fi
  code=0
  wait $job || code=$?
  job=
  for ((i = 0; i < 100; i++)); do
    [[ -n $(processes) ]] || return 0
    sleep 0.1
  done
  end_all
  fail "ranks were left behind when the job had ended"
}

# write_fault ERROR FOLDER: from now on gnntrain's writes into the HDF5 files below it go wrong after the first one:
# "ENOSPC": as on a full disk, "kill": they end the process on the spot. Not with the sanitizers, which cannot be loaded
# after another library.
write_fault() {
  export LD_PRELOAD=$GNNTRAIN_BIN/tests/faults/libfault.so FAULT_PROGRAM=gnntrain FAULT_CALL=write,pwrite
  export FAULT_AT=2 FAULT_ALWAYS=1 FAULT_ERROR=$1 FAULT_IN=$2 FAULT_FILE=.h5
}
no_fault() { unset LD_PRELOAD ${!FAULT_*}; }
