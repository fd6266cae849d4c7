# A rank that is stopped, killed, slow, or in another place than the rest ends the job with one sentence.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
program=$GNNTRAIN_BIN/tests/runtime/comm_faults
export OMP_NUM_THREADS=1

# start RANKS CASE TIMEOUT: runs in the background until every rank has begun; $starting: how many seconds that took.
start() {
  rm -f pid.* out.txt err.txt
  began=$SECONDS
  mpirun -n "$1" --oversubscribe --bind-to none "$program" "$2" "$3" >out.txt 2>err.txt &
  job=$!
  wait_until 50 have_begun "$1" || fail "$2: the ranks did not start"
  starting=$((SECONDS - began))
}
have_begun() { (($(cat pid.* /dev/null | wc -l) == $1)); }

# finish LIMIT CODE: the job ends within LIMIT seconds of `began`, and five times as long as it took to start; CODE: its
# exit code, or "error" for any but 0.
finish() {
  local pid limit=$(($1 + 5 * starting - SECONDS + began))
  wait_until $limit has_ended $job || { kill -9 $job $(cat pid.*); fail "no end in time"; }
  ended
  [[ $code == "$2" || ($code != 0 && $2 == error) ]] || fail "exit code $code in place of $2"
  for pid in $(cat pid.*); do wait_until 30 is_gone "$pid" || fail "process $pid lives on"; done
}

# says_once TEXT: one line of stderr contains TEXT.
says_once() { [[ $(grep -c -- "$1" err.txt) == 1 ]] || fail "not one line with \"$1\""; }

stopped() { # RANK
  start 3 train 1
  local stopped_pid
  stopped_pid=$(cat "pid.$1")
  sleep 0.3
  kill -STOP "$stopped_pid"
  began=$SECONDS
  finish 11 error
  says_once "^gnntrain: rank $1 ($(hostname), pid $stopped_pid) has not answered for 1 s (runtime.timeout): ending the job$"
  says_once "^gnntrain:"
}

two_stopped() {
  start 4 train 1
  local first second
  first=$(cat pid.1) second=$(cat pid.3)
  kill -STOP "$first" "$second"
  began=$SECONDS
  finish 11 error
  says_once "ranks 1 ($(hostname), pid $first) and 3 ($(hostname), pid $second) have not answered for 1 s"
}

killed() {
  start 3 train 300
  kill -KILL "$(cat pid.1)"
  began=$SECONDS
  finish 10 error
  says_once "process rank 1 .* exited on" # in the same line or, from Open MPI 5 on, in the next one
  grep -qE '(^| exited on )signal 9' err.txt || fail "not a word of signal 9"
}

in_different_calls() {
  start 3 mismatch 1
  finish 14 error
  says_once "^gnntrain: rank 0 waits for rank [12] in the halo exchange, rank 1 waits in a barrier, rank 2 waits for rank"
  says_once "^gnntrain:"
}

long_with_signs_of_life() {
  start 3 compute 1
  finish 20 0
  says "the broadcast came through"
}

long_without() {
  start 3 mute 1
  finish 12 error
  says_once "^gnntrain: rank 0 ($(hostname), pid $(cat pid.0)) has not answered for 1 s"
}

failed_inside() {
  start 4 fail 300
  finish 10 2
  says_once "^comm_faults: rank 1 found a negative number$"
  says_once "^comm_faults:"
}

# Each step has a second; all of them take nine.
start_in_steps() {
  start 3 start 1
  finish 20 0
  says "all have started"
}

start_that_fails() {
  start 3 start_fails 300
  finish 10 2
  says_once "^comm_faults: rank 1 has no memory for its context$"
  says_once "^comm_faults:"
}

start_that_stands_still() {
  start 3 start_stands 1
  finish 14 error
  says_once "^gnntrain: rank 0 waits in .*, rank 1 waits in the start of its device and transport, rank 2 waits in .* for 1 s"
  says_once "^gnntrain:"
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
