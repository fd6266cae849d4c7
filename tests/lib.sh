# What the tests in bash share. A test begins with:
#   . "$GNNTRAIN_SOURCE/tests/lib.sh"
# It finds itself in an empty folder, with the programs of the build and of the tests in PATH, and ends where a command fails. Functions of
# this file leave what a command printed in out.txt and err.txt, which fail shows, and its exit code in $code.
set -euo pipefail
shopt -s nullglob
export LC_ALL=C PATH=$GNNTRAIN_BIN:$GNNTRAIN_BIN/tests/launch:$GNNTRAIN_BIN/tests/faults:$GNNTRAIN_BIN/tests/fuzz:$GNNTRAIN_BIN/tests/mutate:$PATH

# A program that is started without this variable sets it and starts itself once more (runtime/base/stop.h), which takes
# as long as all else of a start.
export OPENBLAS_NUM_THREADS=1

fail() {
  local file
  for file in out.txt err.txt; do # a program that was ended may have left half a line
    [[ ! -s $file ]] || tail -n 30 $file | sed '$a\'
  done
  echo "FAILED: $*"
  exit 1
}

skip() {
  echo "skipped: $*"
  exit 77
}

case $PWD in
*/run_*) # of CTest: what the last run left goes
  chmod -R u+rwX .
  rm -rf ./*
  ;;
*) [[ -z $(ls) ]] || fail "start this test in an empty folder" ;;
esac

# needs_gpus COUNT: else the test is skipped. The number that there is lies in $gpus.
needs_gpus() {
  grep -q '^devices:.*cuda' <<<"$(gnntrain --version)" || skip "this build has no CUDA device"
  gpus=$(nvidia-smi -L 2>/dev/null | grep -c '^GPU') || true
  ((gpus >= $1)) || skip "this machine has $gpus GPUs, $1 are needed"
}

# needs_python MODULE...: a Python that has them is $python; else the test is skipped.
needs_python() {
  find_python "$@" || skip "no Python has $*"
}
find_python() {
  local modules=$*
  for python in python3 /usr/bin/python3; do
    "$python" -c "import ${modules// /,}" 2>/dev/null && return
  done
  return 1
}

# needs_data [FILE]: of the test data; else the test is skipped.
needs_data() {
  [[ -e ${GNNTRAIN_TEST_DATA:-/nowhere}/${1-} ]] || skip "GNNTRAIN_TEST_DATA does not name a folder${1:+ with $1}"
}

# Whether the programs have the address sanitizer, which cannot be loaded after another library, takes terabytes of
# address space and replaces malloc.
sanitized() { grep -q libasan <<<"$(ldd "$GNNTRAIN_BIN/gnntrain")"; }

# run COMMAND...
run() {
  code=0
  "$@" >out.txt 2>err.txt </dev/null || code=$?
}

# ends CODE COMMAND...: and with no other code.
ends() {
  run "${@:2}"
  ((code == $1)) || fail "exit code $code in place of $1: ${*:2}"
}

# works COMMAND...
works() { ends 0 "$@"; }

# refused CODE PATTERN COMMAND...: with one sentence, which matches.
refused() {
  ends "$1" "${@:3}"
  one_sentence "$2" "${*:3}"
}

# one_sentence PATTERN WHAT: err.txt holds one of our programs, which matches or contains that text; of a single process
# nothing else, but for the places of code that a failure passed.
one_sentence() {
  local ours='^(gnntrain|gnndata|gnnbench|comm_faults|to_dataset\.py|scaling|report|sweep|compare|papers): '
  grep -aE "$ours" err.txt >sentence.txt || fail "nothing is said: $2"
  (($(wc -l <sentence.txt) == 1)) || fail "not one sentence: $2"
  [[ $2 == *mpirun* ]] || ! grep -avqE "$ours|^  at [^ ]+:[0-9]+ in " err.txt || fail "more than one sentence: $2"
  grep -aqE -- "$1" sentence.txt 2>/dev/null || grep -aqF -- "$1" sentence.txt || fail "\"$1\" is not said: $2"
}

# says PATTERN [FILE], lacks PATTERN [FILE]: a line of out.txt, or of another file.
says() { grep -aqE -- "$1" "${2-out.txt}" || fail "no line of ${2-out.txt} matches $1"; }
lacks() { ! grep -aqE -- "$1" "${2-out.txt}" || fail "a line of ${2-out.txt} matches $1"; }

# holds EXPRESSION [WHAT]: of awk, on numbers.
holds() { awk "BEGIN { exit !($1) }" || fail "not so: $1 ${2+($2)}"; }

# wait_until SECONDS COMMAND...: fails where the command does not succeed in that time. It is tried ten times a second, and
# twice a second when two have passed.
wait_until() {
  local end=$((SECONDS + $1)) began=$SECONDS
  shift
  until "$@"; do
    ((SECONDS <= end)) || return 1
    if ((SECONDS - began < 3)); then sleep 0.1; else sleep 0.5; fi
  done
}
has_ended() { ! kill -0 "$1" 2>/dev/null; }

# is_gone PID, or a zombie that nobody has collected.
is_gone() { ! grep -qs '^State:[[:space:]]*[^Z[:space:]]' "/proc/$1/status"; }

# settings FILE SECTION.KEY=VALUE...: a configuration; what is neither a number nor true, false, quoted or a table is text.
settings() {
  local file=$1 setting value
  shift
  for setting in "$@"; do
    value=${setting#*=}
    [[ $value =~ ^([-+]?\.?[0-9][-+.0-9e]*|true|false|[\"\{].*)$ ]] || value="\"$value\""
    echo "${setting%%=*} = $value"
  done >"$file"
}

# Of the metrics of a run: without its times and bytes; "EPOCH LOSS" a line; a field of the last line.
untimed() { sed -E 's/, *"(ms|seconds|peak_bytes|time)": *[^,}]*//g' "$1/metrics.jsonl"; }
losses() { sed -nE 's/.*"epoch": *([0-9]+), *"loss": *([^,}]*).*/\1 \2/p' "$1/metrics.jsonl"; }
# exchanged FILE: bytes that a rank sends in an epoch, of gnnbench epoch --json; the mean where there are several.
exchanged() { sed -n 's/^{"op": "exchange".*profiled.*"bytes": \([0-9.e+]*\),.*/\1/p' "$1"; }
final() { sed -nE "s/.*\"final\": *true.*\"$2\": *([^,}]*).*/\1/p" "$1/metrics.jsonl"; }

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

# job RANKS ARGUMENT...: runs gnntrain; code 124: still running after five minutes.
job() { run on_ranks "$1" timeout -k 10 300 "$GNNTRAIN_BIN/gnntrain" "${@:2}"; }

# must_run RANKS ARGUMENT...: a job that has to end well.
must_run() {
  job "$@"
  ((code == 0)) || fail "gnntrain ended with $code on $1 rank(s): ${*:2}"
}

# must_refuse CODE PATTERN RANKS ARGUMENT...: a job that has to end with CODE and one sentence, which matches.
must_refuse() {
  job "${@:3}"
  ((code == $1)) || fail "exit code $code in place of $1 on $3 rank(s): gnntrain ${*:4}"
  one_sentence "$2" "gnntrain ${*:4}$( (($3 == 1)) || echo " (mpirun -n $3)")"
}

# start RANKS METRICS ARGUMENT...: a job in the background; $job is its (or mpirun's) process. Returns once it trains:
# when METRICS, which did not exist before, has lines. The seconds that this took lie in $starting.
start() {
  local ranks=$1 metrics=$2 began=$SECONDS
  shift 2
  rm -f "$metrics"
  start_anyway "$ranks" "$@"
  if ! wait_until 100 has_lines_or_ended "$metrics" || [[ ! -s $metrics ]]; then
    end_all
    fail "the job of $ranks rank(s) did not start to train: $*"
  fi
  starting=$((SECONDS - began))
}
has_lines_or_ended() { [[ -s $1 ]] || has_ended $job; }

# start_anyway RANKS ARGUMENT...: the same, and does not wait.
start_anyway() {
  local launcher=()
  (($1 == 1)) || launcher=(mpirun -n "$1" --oversubscribe --bind-to none)
  export GNNTRAIN_TEST_TOKEN=$$.$RANDOM
  "${launcher[@]}" "$GNNTRAIN_BIN/gnntrain" "${@:2}" >out.txt 2>err.txt </dev/null &
  job=$!
  trap 'exit 1' TERM INT
  trap end_all EXIT # of a test that fails, too: nothing may go on in its folder
}

# Prints the processes of the last job started that run gnntrain; with a rank as argument, that rank's only. No process is
# started for those that run something else: a machine has hundreds.
processes() {
  local folder
  for folder in /proc/[0-9]*; do
    [[ $folder/exe -ef $GNNTRAIN_BIN/gnntrain ]] || continue
    grep -qsz "^GNNTRAIN_TEST_TOKEN=$GNNTRAIN_TEST_TOKEN\$" "$folder/environ" || continue
    [[ -z ${1-} ]] || grep -qsz "^OMPI_COMM_WORLD_RANK=$1\$" "$folder/environ" || continue
    echo "${folder#/proc/}"
  done
}
none_left() { [[ -z $(processes) ]]; }

end_all() {
  local process
  for process in $(processes) $job; do kill -KILL "$process" 2>/dev/null || true; done
}

# ended: waits for the job; its exit code lies in $code.
ended() {
  code=0
  wait $job || code=$?
  job=
}

# ends_within SECONDS [CODE]: waits for the job, of which no rank may be left. The seconds are those of a machine where a
# job starts in less than one; where that takes longer, five times as much is added.
ends_within() {
  local seconds=$(($1 + 5 * starting))
  if ! wait_until $seconds has_ended $job; then
    end_all
    fail "the job was still there after $seconds s"
  fi
  ended
  if ! wait_until 10 none_left; then
    end_all
    fail "ranks were left behind when the job had ended"
  fi
  [[ -z ${2-} ]] || ((code == $2)) || fail "the job ended with $code in place of $2"
}

# write_fault ERROR FOLDER: from now on gnntrain's writes into the HDF5 files below it go wrong after the first one:
# "ENOSPC": as on a full disk, "kill": they end the process on the spot, "TERM", "INT", "HUP" or "USR1": it gets that
# signal. Not where it is sanitized.
write_fault() {
  export LD_PRELOAD=$GNNTRAIN_BIN/tests/faults/libfault.so FAULT_PROGRAM=gnntrain FAULT_CALL=write,pwrite
  export FAULT_AT=2 FAULT_ALWAYS=1 FAULT_ERROR=$1 FAULT_IN=$2 FAULT_FILE=.h5
}
no_fault() { unset LD_PRELOAD ${!FAULT_*}; }
