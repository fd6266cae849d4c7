# Jobs of six ranks on three hosts, of which a rank, a host, a daemon, mpirun or a link is lost: mpirun ends, every
# process of every host ends, the loss is named once, and the run goes on from its newest checkpoint, without the lost
# host too, to the numbers of one that was never disturbed. `test_hosts.sh SCENARIO...` runs some of them.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
. "$GNNTRAIN_SOURCE/tests/hosts/network.sh"

can_have_hosts || skip "$reason"

jobs=()
readonly timeout=4 after=20 # runtime.timeout; epochs after a checkpoint that are compared
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMP_NUM_THREADS=1
# The hosts are told from each other by their addresses alone; nothing else on the machine may be reached.
export OMPI_MCA_btl_tcp_if_include=10.77.0.0/24 OMPI_MCA_oob_tcp_if_include=10.77.0.0/24

# launch HOSTFILE ARGUMENT...: gnntrain on the hosts of the file, in place of this shell.
launch() {
  local hostfile=$1
  shift
  on a mpirun -n 6 --hostfile "$hostfile" --bind-to none --mca plm_rsh_agent "$folder/agent" \
    "$GNNTRAIN_BIN/gnntrain" run.toml --set log.overwrite=true "$@"
}

seconds_since() { awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }'; }

# wait_for SECONDS WHAT COMMAND...: until the command succeeds; five times what the job took to start comes on top.
wait_for() {
  local limit=$(($1 + 5 * ${starting:-20}))
  wait_until $limit "${@:3}" || fail "$scenario: $2: not within $limit s; left on a: $(left_on a | wc -l), b: $(left_on b | wc -l), c: $(left_on c | wc -l)"
}

trains() { [[ -e run/metrics.jsonl && $(wc -l <run/metrics.jsonl) -ge ${1:-3} ]]; }
is_empty() { [[ -z $(for host in "$@"; do left_on "$host"; done) ]]; }

start() {
  local began=$SECONDS
  (launch ../three "$@") >out.txt 2>err.txt </dev/null &
  job=$!
  wait_for 60 "the start of the job" trains
  starting=$((SECONDS - began))
}

# ended BOUND: mpirun ends with an error, then what is left on the hosts; the seconds of both go into the table.
ended() {
  local code=0
  wait_for "$1" "the end of mpirun" has_ended $job
  wait "$job" || code=$?
  seconds=$(seconds_since "$struck")
  ((code != 0)) || fail "$scenario: mpirun ended with 0"
  if [[ $scenario == stopped_host ]]; then
    wait_for 5 "the end of what is left on the other hosts" is_empty a c
    signal_host CONT b
    struck=$EPOCHREALTIME
  fi
  wait_for "$1" "the end of all processes" is_empty a b c
  printf '%-16s %6s %6s  %s\n' "$scenario" "$seconds" "$(seconds_since "$struck")" "$code" >row
}

# says COUNT PATTERN: as many lines of stderr, and no other line of gnntrain.
says() {
  [[ $(grep -cE "$2" "${3-err.txt}") == "$1" ]] || fail "${scenario-}: not $1 lines with $2"
}
says_once() {
  says 1 "^gnntrain: $1"
  says 1 "^gnntrain:"
}
readonly lost="host b \(ranks 2, 3\) has not answered for"

# How many bytes travel depends on which ranks share a host.
numbers() { untimed "$1" | grep -v '"final"' | sed -E 's/, *"sent_bytes": *[0-9]+//'; }

# goes_on HOSTFILE: from the newest checkpoint; what the run has recorded then awaits its comparison.
goes_on() {
  local newest epochs code=0
  newest=$(ls run/checkpoints | grep -oE '[0-9]+\.h5$' | sort -n | tail -n 1)
  epochs=$((10#${newest%.h5} + after))
  (launch "$1" --resume --epochs $epochs) >resumed.txt 2>&1 </dev/null || code=$?
  ((code == 0)) || { cat resumed.txt; fail "$scenario: --resume ended with $code"; }
  [[ $(numbers run | wc -l) == "$epochs" ]] || fail "$scenario: not $epochs epochs after --resume"
}

killed_rank() {
  kill -KILL "$(left_on b gnntrain | tail -n 1)"
  ended 10
  says 1 "process rank [23] .* on node b exited on signal 9"
  goes_on ../three
}

killed_host() {
  signal_host KILL b
  ended 10
  says 1 "Remote daemon: .* on node b"
  goes_on ../two
}

killed_daemon() {
  signal_host KILL b orted
  ended 10
  says 1 "Remote daemon: .* on node b"
  goes_on ../three
}

killed_mpirun() {
  signal_host KILL a mpirun
  ended 10
  goes_on ../three
}

cut_link_stays() {
  cut_link b
  ended $((timeout + 17))
  says_once "$lost $timeout s \(runtime.timeout\): ending the job$"
  goes_on ../two
}

stopped_host() {
  signal_host STOP b
  ended $((timeout + 17))
  says_once "$lost $timeout s \(runtime.timeout\): ending the job$"
  goes_on ../three
}

# mpirun misses the daemon's sign of life 8 to 11 s after the cut, long before runtime.timeout.
cut_link_noticed() {
  cut_link b
  ended 20
  says 1 "Remote daemon: .* on node b"
  says_once "$lost [0-9]+ s when SIGTERM came$"
  goes_on ../two
}

# Two seconds without a link cost two seconds. TCP has by then doubled its pause to 1.6 s, and is heard 3 s after the cut, on a
# crowded machine later.
joined_link() {
  local before code=0
  cut_link b
  sleep 2
  before=$(wc -l <run/metrics.jsonl)
  join_link b
  wait_for 20 "epochs after the link is back" trains $((before + after))
  seconds=$(seconds_since "$struck")
  signal_host USR1 a gnntrain
  wait_for 20 "the end of the job" has_ended $job
  wait "$job" || code=$?
  ((code == 75)) || fail "$scenario: ended with $code in place of 75"
  printf '%-16s %6s %6s  %s\n' "$scenario" "$seconds" - "$code" >row
}

# play SCENARIO ARGUMENT...: in a folder and on hosts of its own.
play() {
  scenario=$1 network=hosts-$$.$2
  shift 2
  rm -rf "$scenario" && mkdir "$scenario" && cd "$scenario"
  folder=$top/$scenario
  mkdir "$folder"
  trap hosts_down EXIT
  trap 'exit 1' TERM INT
  hosts_up
  write_agent "$folder/agent"
  cp ../run.toml .
  start --set runtime.timeout=$timeout "$@"
  struck=$EPOCHREALTIME
  "$scenario"
}

# equals_undisturbed SCENARIO: epoch by epoch, to the last bit.
equals_undisturbed() {
  local lines
  numbers "$1/run" >"$1/numbers"
  lines=$(wc -l <"$1/numbers")
  ((lines > after)) || fail "$1: only $lines epochs"
  cmp <(head -n "$lines" undisturbed/numbers) "$1/numbers" || fail "$1: other numbers than the undisturbed run"
}

# undisturbed EPOCHS
undisturbed() {
  (on a mpirun -n 6 --hostfile three --bind-to none --mca plm_rsh_agent "$folder/agent" "$GNNTRAIN_BIN/gnntrain" \
    run.toml --set log.dir=undisturbed/run --set log.overwrite=true --set checkpoint.every=0 --epochs "$1") >undisturbed/out.txt 2>&1 </dev/null ||
    { cat undisturbed/out.txt; fail "the undisturbed run failed"; }
  numbers undisturbed/run >undisturbed/numbers
}

# Of a dense graph ranks of several hosts take columns, which are fewer bytes than halos: to the same losses.
takes_grid() {
  local grid
  works gnndata synth dense.h5 --nodes 1200 --degree 200 --features 8 --classes 4 --inside 0.2 --train 0.6
  for grid in auto 6x1; do
    (on a mpirun -n 6 --hostfile three --bind-to none --mca plm_rsh_agent "$folder/agent" "$GNNTRAIN_BIN/gnntrain" \
      run.toml --verbose --set dataset.path="$PWD/dense.h5" --set log.dir="$PWD/grid.$grid" --set checkpoint.every=0 --epochs 5 \
      --set model.layers=3 --set model.hidden=96 --set runtime.precision=fp64 --set runtime.rows=all --set "partition.grid=$grid") >grid.txt 2>&1 </dev/null || { cat grid.txt; fail "grid $grid failed"; }
    [[ $grid != auto ]] || says 1 '^grid: 1x6: sums over arcs are predicted to take .*; 6x1: ' grid.txt
    [[ $grid == auto ]] || says 1 '^exchange: a row goes to another host once' grid.txt
    says 1 '^  host memory .* a node for its 2 ranks, ' grid.txt
  done
  paste <(losses grid.auto) <(losses grid.6x1) |
    awk '{ d = $2 - $4; if (d < -1e-9 || d > 1e-9) exit 1; n++ } END { exit n != 5 }' || fail "the grids disagree"
}

# A row goes to another host once, and on from there: together the ranks send what each foresees by itself, and that is less than
# where each rank would get it from its owner.
sends_rows_once() {
  local setting=(--set dataset.path="$PWD/dense.h5" --set partition.grid=6x1 --reps 1 --json) rank each sum
  (on a mpirun -n 6 --hostfile three --bind-to none --mca plm_rsh_agent "$folder/agent" "$GNNTRAIN_BIN/gnnbench" epoch \
    run.toml "${setting[@]}") >epoch.txt 2>&1 </dev/null || { cat epoch.txt; fail "gnnbench epoch on three hosts failed"; }
  for each in 2 6; do
    for rank in 0 1 2 3 4 5; do
      works gnnbench epoch run.toml "${setting[@]}" --as $rank/6 --network "4GB/s,0.5gbit,$each"
      exchanged out.txt
    done >sent.$each
    sum=$(awk '{ sum += $1 } END { print sum / NR }' sent.$each)
    case $each in
      2) holds "$sum > 0 && $sum - $(exchanged epoch.txt) < .01 && $(exchanged epoch.txt) - $sum < .01" "bytes on three hosts" ;;
      6) holds "$(exchanged epoch.txt) < .7 * $sum" "bytes where rows travel once" ;;
    esac
  done
}

# exchanges ROWS-FILE OPTION...: gnnbench exchange, which compares every row that comes, and how many rows it sends.
exchanges() {
  (on a mpirun -n 6 --hostfile three --bind-to none --mca plm_rsh_agent "$folder/agent" "$GNNTRAIN_BIN/gnnbench" exchange \
    --dataset dense.h5 --width 64 --reps 1 --precision fp32 "${@:2}") >exchange.txt 2>&1 </dev/null || { cat exchange.txt; fail "gnnbench exchange on three hosts failed"; }
  sed -n 's/^exchange *\([0-9]*\) rows out.*/\1/p' exchange.txt >"$1"
}

# together SCENARIO...: side by side, since they mostly wait.
together() {
  local one
  jobs=()
  for one in "$@"; do
    set --
    [[ $one != cut_link_noticed ]] || set -- --set runtime.timeout=60
    [[ $one != joined_link ]] || set -- --set runtime.timeout=12
    number=$((number + 1))
    (
      [[ $one != cut_link_noticed ]] || export OMPI_MCA_oob_tcp_keepalive_time=3 OMPI_MCA_oob_tcp_keepalive_intvl=2 \
        OMPI_MCA_oob_tcp_keepalive_probes=4
      play "$one" $number "$@"
    ) &
    jobs+=($!)
  done
  for one in "${jobs[@]}"; do wait "$one" || failed=1; done
}

# Nothing may be left where the test fails or is ended, either.
end() {
  kill "${jobs[@]}" 2>/dev/null || true
  all_down
  rm -rf "$top"
}

every_setting_is_known() {
  local known name
  known=$(ompi_info --param oob tcp --level 9)
  for name in $(sed -nE 's/^([a-z_]+) = [0-9]+$/\1/p' "$GNNTRAIN_SOURCE/launch/openmpi-mca-params.conf"); do
    grep -qF "\"$name\"" <<<"$known" || fail "Open MPI does not know $name"
  done
}

main() {
  local scenarios=("$@") one epochs=0 number=0 failed=0 lines
  ((${#scenarios[@]} > 0)) || scenarios=(killed_rank killed_host killed_daemon killed_mpirun cut_link_stays \
    stopped_host cut_link_noticed joined_link)
  every_setting_is_known
  break_dataset sound sound.h5
  printf 'a slots=2\nb slots=2\nc slots=2\n' >three
  printf 'a slots=3\nc slots=3\n' >two
  settings run.toml dataset.path="$PWD/sound.h5" model.hidden=8 train.epochs=1000000000 checkpoint.every=1 log.dir=run partition.grid=6x1 \
    log.progress=1000000
  top=$(mktemp -d /tmp/hosts.XXXXXX)
  trap end EXIT
  trap 'exit 1' TERM INT
  # The first to come keeps the partition, for all.
  mkdir undisturbed
  folder=$top/undisturbed network=hosts-$$.0
  mkdir "$folder"
  hosts_up
  write_agent "$folder/agent"
  undisturbed 1
  rm -rf undisturbed/run
  takes_grid
  sends_rows_once
  exchanges once
  exchanges each --messages
  holds "0 < $(cat once) && $(cat once) < .7 * $(cat each)" "rows that gnnbench exchange sends"
  for ((one = 0; one < ${#scenarios[@]}; one += 4)); do together "${scenarios[@]:one:4}"; done
  ((failed == 0)) || exit 1
  for one in "${scenarios[@]}"; do
    lines=$(numbers "$one/run" | wc -l)
    ((lines <= epochs)) || epochs=$lines
  done
  undisturbed "$epochs"
  for one in "${scenarios[@]}"; do equals_undisturbed "$one"; done
  echo "runtime.timeout $timeout s; seconds from the loss (of a stopped host: from its going on) to the end of"
  printf '%-16s %6s %6s  %s\n' scenario mpirun all code
  for one in "${scenarios[@]}"; do cat "$one/row"; done
}
main "$@"
