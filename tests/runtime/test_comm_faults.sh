# A rank that is stopped, killed, slow, or in another place than the rest ends the job with one sentence.
set -u
program=$GNNTRAIN_BIN/tests/runtime/comm_faults
export OMP_NUM_THREADS=1

fail() {
  echo "FAILED: ${PWD##*/}: $1"
  cat out err
  exit 1
}

# start RANKS CASE TIMEOUT: runs in the background until every rank has begun; $starting: how many seconds that took.
start() {
  rm -f pid.* out err
  began=$SECONDS
  mpirun -n "$1" --oversubscribe --bind-to none "$program" "$2" "$3" >out 2>err &
  job=$!
  for _ in $(seq 1000); do
    starting=$((SECONDS - began))
    [ "$(cat pid.* 2>/dev/null | wc -l)" = "$1" ] && return
    sleep 0.05
  done
  fail "$2: the ranks did not start"
}

# lives PID: not gone, and not a zombie that nobody has collected.
lives() {
  grep -qs '^State:[[:space:]]*[^Z]' "/proc/$1/status"
}

# finish LIMIT CODE: the job ends within LIMIT seconds of `began`, and five times as long as it took to start; CODE: its
# exit code, or "error" for any but 0.
finish() {
  local pid code limit=$(($1 + 5 * starting))
  while kill -0 "$job" 2>/dev/null; do
    [ $((SECONDS - began)) -le $limit ] || { kill -9 "$job" $(cat pid.*); fail "no end within $limit s"; }
    sleep 0.1
  done
  wait "$job"
  code=$?
  case $2 in
  error) [ "$code" -ne 0 ] || fail "exit code 0" ;;
  *) [ "$code" -eq "$2" ] || fail "exit code $code, expected $2" ;;
  esac
  for pid in $(cat pid.*); do
    for _ in $(seq 300); do
      lives "$pid" || continue 2
      sleep 0.1
    done
    fail "process $pid lives on"
  done
}

# says COUNT TEXT: that many lines of stderr contain TEXT.
says() {
  [ "$(grep -c -- "$2" err)" = "$1" ] || fail "not $1 lines with \"$2\""
}

stopped() { # RANK
  start 3 train 1
  local stopped_pid
  stopped_pid=$(cat "pid.$1")
  sleep 0.3
  kill -STOP "$stopped_pid"
  began=$SECONDS
  finish 11 error
  says 1 "^gnntrain: rank $1 ($(hostname), pid $stopped_pid) has not answered for 1 s (runtime.timeout): ending the job$"
  says 1 "^gnntrain:"
}

two_stopped() {
  start 4 train 1
  local first second
  first=$(cat pid.1) second=$(cat pid.3)
  kill -STOP "$first" "$second"
  began=$SECONDS
  finish 11 error
  says 1 "ranks 1 ($(hostname), pid $first) and 3 ($(hostname), pid $second) have not answered for 1 s"
}

killed() {
  start 3 train 300
  kill -KILL "$(cat pid.1)"
  began=$SECONDS
  finish 10 error
  says 1 "process rank 1 .*signal 9"
}

in_different_calls() {
  start 3 mismatch 1
  finish 14 error
  says 1 "^gnntrain: rank 0 waits for rank [12] in the halo exchange, rank 1 waits in a barrier, rank 2 waits for rank"
  says 1 "^gnntrain:"
}

long_with_signs_of_life() {
  start 3 compute 1
  finish 20 0
  grep -q "the broadcast came through" out || fail "no broadcast"
}

long_without() {
  start 3 mute 1
  finish 12 error
  says 1 "^gnntrain: rank 0 ($(hostname), pid $(cat pid.0)) has not answered for 1 s"
}

failed_inside() {
  start 4 fail 300
  finish 10 2
  says 1 "^comm_faults: rank 1 found a negative number$"
  says 1 "^comm_faults:"
}

# Each step has a second; all of them take nine.
start_in_steps() {
  start 3 start 1
  finish 20 0
  grep -q "all have started" out || fail "not all have started"
}

start_that_fails() {
  start 3 start_fails 300
  finish 10 2
  says 1 "^comm_faults: rank 1 has no memory for its context$"
  says 1 "^comm_faults:"
}

start_that_stands_still() {
  start 3 start_stands 1
  finish 14 error
  says 1 "^gnntrain: rank 0 waits in .*, rank 1 waits in the start of its device and transport, rank 2 waits in .* for 1 s"
  says 1 "^gnntrain:"
}

aborted() {
  start 3 abort 300
  finish 10 5
}

# An mpirun that stands still neither ends the ranks nor hears of their end, nor hands on what they say.
launcher_stopped() {
  start 3 train 1
  kill -STOP "$job"
  kill -KILL "$(cat pid.1)"
  began=$SECONDS
  finish 30 error
}

# together CASE...: side by side, since they mostly wait; each in its own folder, and with its own temporary one
# because Open MPI's jobs may trip over each other while they make and remove theirs.
together() {
  local jobs=() name
  for name in "$@"; do
    mkdir -p "${name/ /_}"
    mkdir -p "$temporary/${name/ /_}"
    (cd "${name/ /_}" && export TMPDIR="$temporary/${name/ /_}" && $name) &
    jobs+=($!)
  done
  for job in "${jobs[@]}"; do
    wait "$job" || failed=1
  done
}

failed=0
temporary=$(mktemp -d /tmp/faults.XXXXXX)
trap 'rm -rf "$temporary"' EXIT
together "stopped 2" "stopped 0" two_stopped killed
together in_different_calls long_with_signs_of_life long_without failed_inside aborted
together start_in_steps start_that_fails start_that_stands_still launcher_stopped
exit $failed
