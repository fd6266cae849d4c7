# Lets every call of the memory, of files, of HDF5 and of MPI fail in turn, while a dataset is imported, a run trains, goes
# on and predicts, and two ranks train and go on. Whatever fails, a program ends with a code of its table and one
# sentence, or as if nothing had happened; files under final names are whole, the old ones or the new ones; and what is
# done again afterwards gives what was never disturbed, bit for bit.
#
#   test_fault_sweep.sh sample              every so many of them, in one to three minutes
#   test_fault_sweep.sh places              one for every place of the code that such a call is made from, by whatever way
#   test_fault_sweep.sh all [SCENARIO...]   all; of a function that is called very often some
#
# GNNTRAIN_BIN and GNNTRAIN_SOURCE are the build and the sources, as whole paths. FAULT_ONLY='^MPI_' tries the functions
# with such names alone; FAULT_MOST=60 and FAULT_MOST_ON_TWO=12 are how many calls of each at most, on one rank and on two.
# A violation is printed with the line that repeats it: fault.c says what its variables mean. The program then runs in a
# copy of the folder that the line names; addr2line finds the place that the fault's line names.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

part=${1:-sample}
shift || true
! sanitized || skip "the sanitizers replace what is to fail"
tools=$GNNTRAIN_BIN/tests/faults
mkdir fault_sweep
cd fault_sweep
lab=$PWD/lab
export OMP_NUM_THREADS=1
if [[ $part == sample ]]; then most=2 most_on_two=1; else most=${FAULT_MOST:-60} most_on_two=${FAULT_MOST_ON_TWO:-12}; fi

all_scenarios="import replace train resume predict train_2_0 train_2_1 resume_2_0 resume_2_1"
scenarios=${*:-$all_scenarios}

ranks_of() { if [[ $1 == *_2_* ]]; then echo 2; else echo 1; fi; }

# What a scenario runs, and what is done again after it.
arguments_of() {
  case $1 in
    import | replace)
      echo "gnndata import edgelist edges.txt.gz out.h5 --features features.csv --labels labels.txt" \
        "--split random:0.3,0.3 --undirected --seed 1" ;;
    train*) echo "gnntrain run.toml" ;;
    resume*) echo "gnntrain run.toml --resume" ;;
    predict) echo "gnntrain run.toml --predict run/best.h5 --out predictions.h5" ;;
  esac
}
again_of() { case $1 in train*) echo "gnntrain run.toml --resume" ;; *) arguments_of "$1" ;; esac }

# What may fail in which ways; of what changes the files of a run, that the process is killed there, too.
ways_of() { # ways_of SCENARIO FUNCTION
  errors_of "$2"
  case $1:$2 in
    train:*write | train:rename* | train:unlink* | train:*sync | train:ftruncate) echo kill ;;
    resume:*write | resume:rename* | resume:unlink* | resume:*sync | resume:ftruncate) echo kill ;;
  esac
}
errors_of() {
  case $1 in
    malloc | calloc | realloc | strdup | strndup | fmemopen | open_memstream | fdopen) echo "ENOMEM ENOMEM+" ;;
    read | pread) echo "EIO short EINTR" ;;
    write | pwrite) echo "ENOSPC ENOSPC+ short EDQUOT EIO EINTR" ;;
    open | openat | fopen | opendir | fdopendir) echo "EIO EMFILE ENOMEM ENOSPC" ;;
    close) echo "EIO EDQUOT EINTR" ;;
    fsync) echo "EIO ENOSPC EDQUOT EINTR" ;;
    ftruncate | rename* | mkdir*) echo "EIO ENOSPC EDQUOT" ;;
    unlink | unlinkat) echo "EIO EBUSY EACCES" ;;
    fork) echo "EAGAIN ENOMEM" ;;
    pipe2) echo "EMFILE ENFILE" ;;
    *) echo EIO ;;
  esac
}

# The codes that a program may end with when a call of this function fails: 2 where what cannot be read, or a folder that
# cannot be written, is what the user gave.
codes_of() {
  case $1 in
    open_memstream) echo "0 1" ;;
    H5* | open* | fopen | read | pread | *stat | fstatat | mkdir* | scandir | fts_open) echo "0 1 2" ;;
    *) echo "0 1" ;;
  esac
}

# launcher RANKS: what stands ahead of a program.
launcher() { if (($1 > 1)); then echo "mpirun -n $1 --oversubscribe --bind-to none"; fi; }

# program SECONDS RANKS VARIABLES ARGUMENT...: runs it in the folder in; output in out.txt, err.txt, exit code in $code.
program() {
  local seconds=$1 ranks=$2 variables=$3 name=$4
  shift 4
  code=0
  (cd in && exec timeout -k 10 "$seconds" $(launcher "$ranks") env $variables "$GNNTRAIN_BIN/$name" "$@") \
    >out.txt 2>err.txt </dev/null || code=$?
}

sound() { # sound RANKS ARGUMENT...
  local ranks=$1
  shift
  program 300 "$ranks" "" "$@"
  ((code == 0)) || fail "ended with $code, undisturbed: $*"
}

make_inputs() {
  mkdir -p in
  awk 'BEGIN { for (i = 0; i < 60; i++) { print i, (i + 1) % 60; print i, (i * 7 + 3) % 60 } }' | gzip -n >in/edges.txt.gz
  awk 'BEGIN { for (i = 0; i < 60; i++) print i % 3 / 4 "," i % 5 / 8 "," i % 7 / 8 "," i % 2 }' >in/features.csv
  awk 'BEGIN { for (i = 0; i < 60; i++) print int(i / 20) }' >in/labels.txt
  cat >in/run.toml <<'END'
[dataset]
path = "graph.h5"
[model]
hidden = 4
norm = "batch"
dropout = 0.5
[train]
epochs = 5
lr = 0.05
[checkpoint]
every = 1
[runtime]
threads = 1
[log]
dir = "run"
END
}

# The folder that each scenario starts with, $lab/SCENARIO, and what an undisturbed one leaves, $lab/SCENARIO.end. Of
# training, what the run's files hold after each epoch: $lab/epochs.RANKS/EPOCH.
keep() { rm -rf "${lab:?}/$1" && cp -r in "$lab/$1"; }

make_training() { # make_training RANKS SUFFIX...
  local ranks=$1 epoch suffix
  shift
  mkdir -p "$lab/epochs.$ranks"
  for epoch in 1 2 3 4 5; do
    sound "$ranks" gnntrain run.toml --resume --epochs $epoch
    cp -r in/run "$lab/epochs.$ranks/$epoch"
    ((epoch == 3)) && for suffix in "$@"; do keep "resume$suffix"; done
  done
  rm -rf in/run in/graph.h5.parts
  for suffix in "$@"; do keep "train$suffix"; done
  sound "$ranks" gnntrain run.toml
  for suffix in "$@"; do keep "train$suffix.end" && keep "resume$suffix.end"; done
}

make_lab() {
  mkdir "$lab"
  make_inputs
  keep import
  sound 1 $(arguments_of import)
  keep import.end && keep replace.end
  sound 1 $(arguments_of import) --seed 2 --undirected
  keep replace
  mv in/out.h5 in/graph.h5
  make_training 1 ""
  rm -rf in/run in/graph.h5.parts && cp -r "$lab/train.end/." in
  keep predict
  sound 1 $(arguments_of predict)
  keep predict.end
  rm -rf in/run in/graph.h5.parts in/predictions.h5
  make_training 2 _2_0 _2_1
}

# measure SCENARIO: "SCENARIO FUNCTION CALLS" a line, how often it is called undisturbed, into $lab/counts; and the
# seconds that a disturbed one may take into $lab/SCENARIO.limit.
measure() {
  local scenario=$1 began=$EPOCHREALTIME ranks
  ranks=$(ranks_of "$scenario")
  rm -rf in counts.txt
  cp -r "$lab/$scenario" in
  program 300 "$ranks" "$(fault_of "$scenario") FAULT_COUNTS=$PWD/counts.txt $(places_of "$scenario")" \
    $(arguments_of "$scenario")
  ((code == 0)) || fail "$scenario: ended with $code while its calls were counted"
  awk -v began="$began" -v ended="$EPOCHREALTIME" 'BEGIN { print int(30 + 60 * (ended - began)) }' >"$lab/$scenario.limit"
  sort counts.txt | sed "s/^/$scenario /" >>"$lab/counts"
}

# linked_in PROGRAM: START-END of NVIDIA's runtime in it, whose functions have names with one beginning, or of what
# writes down which lines were run; empty: neither.
linked_in() {
  nm -n "$GNNTRAIN_BIN/$1" | awk '$3 == "_start" { mine = 1 }
    mine && $2 ~ /^[tT]$/ && $3 ~ /^(libcudart_static_|__gcov_[a-z])/ { if (!start) start = $1; last = 1; next }
    last { end = $1; last = 0 }
    END { if (start) print start "-" end }'
}
declare -A linked=([gnntrain]=$(linked_in gnntrain) [gnndata]=$(linked_in gnndata))

# fault_of SCENARIO: the variables that load the library.
fault_of() {
  local words
  words=($(arguments_of "$1"))
  echo "LD_PRELOAD=$tools/libfault.so FAULT_PROGRAM=${words[0]} FAULT_IN=$PWD/in FAULT_EXCEPT=${linked[${words[0]}]}"
  if [[ $1 == *_2_* ]]; then echo "FAULT_RANK=${1##*_}"; fi
}

places_of() { if [[ $part == places ]]; then echo "FAULT_PLACES=$lab/$1.places"; fi; }

# Of all calls, in the order of the scenarios, those under which a call is under way from a place that none before had.
plan_places() {
  local scenario arguments
  for scenario in $scenarios; do
    arguments=$(arguments_of "$scenario")
    sed "s/^/$scenario ${arguments%% *} /" "$lab/$scenario.places"
  done | awk '{
    fresh = 0
    for (i = 5; i <= NF; i++) if (!seen[$2, $i]++) fresh = 1
    if (fresh) print $1, $3, $4
  }' | while read -r scenario function number; do
    set -- $(errors_of "$function")
    echo "$scenario $function $number ${1%+}"
  done
}

# All injections, one a line: SCENARIO FUNCTION NUMBER ERROR. A function that is called more than `most` times fails in as
# many of its calls, evenly.
plan() {
  local scenario function calls limit list i n step
  while read -r scenario function calls; do
    [[ $function =~ ${FAULT_ONLY:-.} ]] || continue
    limit=$most
    [[ $scenario == *_2_* ]] && limit=$most_on_two
    [[ $function != MPI_Test* ]] || ((calls = calls < 9 * limit ? calls : 9 * limit)) # more, the longer a rank waits
    list=($(ways_of "$scenario" "$function"))
    step=$(((calls + limit - 1) / limit))
    i=$((calls % ${#list[@]}))
    for ((n = 1 + calls % step; n <= calls; n += step)); do
      echo "$scenario $function $n ${list[i++ % ${#list[@]}]}"
    done
  done <"$lab/counts"
}

# Every function once, those of MPI on two ranks, and every so many of the others.
sample() {
  awk '{ two = $1 ~ /_2_/; first = (!two || $2 ~ /^MPI_/) && !seen[two, $2]++ }
    first || ++other[two] % (two ? 20 : 6) == 0'
}

violation() {
  echo "violation: $scenario: $function call $number with $error: $*"
  echo "  repeat with: (rm -rf in; cp -r $lab/$scenario in; cd in;" \
    "$(launcher "$(ranks_of "$scenario")") env $variables $GNNTRAIN_BIN/$(arguments_of "$scenario"))"
  sed 's/^/  fault: /' fault.txt
  sed 's/^/  | /' said.txt
  wrong=1
}

check_code() {
  local sentences rest
  cp err.txt said.txt
  [[ $error != kill || $code != 137 ]] || return 0
  ((code == 124 || code == 137)) && { violation "did not end in $limit s"; return; }
  # What was killed may be the child that looks through a file; what started it says so.
  [[ $error != kill ]] || ((code == 1)) || { violation "ended with $code and was not killed"; return; }
  [[ " $(codes_of "$function") " == *" $code "* ]] || { violation "ended with $code"; return; }
  sentences=$(grep -cE '^(gnntrain|gnndata): ' err.txt) || true
  rest=$(grep -cvE '^(gnntrain|gnndata): |^  at [^ ]+:[0-9]+ in ' err.txt) || true
  ((sentences == (code != 0))) || violation "ended with $code and $sentences sentences"
  [[ $scenario == *_2_* ]] || ((rest == 0)) || violation "says more than its sentence"
}

# The file at $1 is equal to one of the others: byte for byte, where no clock has a say in it.
is_one_of() {
  local file=$1 other
  shift
  [[ -e $file ]] || return 0
  for other in "$@"; do cmp -s "$file" "$other" && return 0; done
  [[ $file == *.h5 && $file != *out.h5 && $file != *predictions.h5 ]] && "$tools/same_h5" "$file" "$@" >/dev/null
}

check_metrics() { # the lines are the first of the undisturbed ones, or those that were there
  [[ -e in/run/metrics.jsonl ]] || return 0
  untimed in/run >metrics.txt
  untimed "$lab/$scenario.end/run" >expected.txt
  lines=$(wc -l <metrics.txt)
  head -c "$(wc -c <metrics.txt)" expected.txt | cmp -s - metrics.txt && return 0
  [[ -e $lab/$scenario/run/metrics.jsonl ]] && untimed "$lab/$scenario/run" | cmp -s - metrics.txt
}

check_files() { # $state says what there is
  local ranks file epochs end=$lab/$scenario.end start=$lab/$scenario newest=0 lines=0
  ranks=$(ranks_of "$scenario")
  epochs=$lab/epochs.$ranks
  state=
  while read -r file; do
    state+=" $file"
    case $file in
      in/run/lock | in/run/metrics.jsonl) continue ;;
      in/run/checkpoints/epoch-0-[1-5].h5)
        file=${file##*-}
        newest=${file%.h5}
        is_one_of "in/run/checkpoints/epoch-0-$file" "$epochs/$newest/checkpoints/epoch-0-$file" ;;
      in/run/best.h5) is_one_of "$file" "$epochs"/*/best.h5 ;;
      *.tmp*) [[ $function == unlink* || $error == kill ]] ;;
      */parts/*) is_one_of "$file" "$end/graph.h5.parts/${file##*/}" ;; # where it cannot stand beside the graph
      *) is_one_of "$file" "$end/${file#in/}" "$start/${file#in/}" ;;
    esac || violation "$file is neither the old one nor the new one"
  done < <(find in -type f | sort)
  check_metrics || violation "metrics.jsonl is neither the old one nor the new one"
  state+=" $lines"
  [[ $scenario != train* && $scenario != resume* ]] || ((newest + 1 >= lines || lines > 5)) ||
    violation "$lines lines of metrics and no checkpoint after $newest"
  [[ $scenario != resume* ]] || ((newest >= 3)) || violation "the checkpoints are gone"
}

files_of() { (cd "$1" && find . -type f ! -path '*parts/*' | sort); }

check_end() { # after it was done again
  local file
  diff <(files_of "$lab/$scenario.end") <(files_of in) >said.txt || violation "done again, other files are there"
  for file in $(files_of "$lab/$scenario.end" | grep '[.]h5$'); do
    is_one_of "in/$file" "$lab/$scenario.end/$file" || violation "done again, $file differs"
  done
  [[ ! -e in/run/metrics.jsonl ]] || diff <(untimed "$lab/$scenario.end/run") <(untimed in/run) >said.txt ||
    violation "done again, metrics.jsonl differs"
}

declare -A done_again=()
inject() { # inject SCENARIO FUNCTION NUMBER ERROR
  local scenario=$1 function=$2 number=$3 error=$4 wrong=0 state limit variables lines=0 ended
  limit=$(<"$lab/$scenario.limit")
  variables="$(fault_of "$scenario") FAULT_CALL=$function FAULT_AT=$number FAULT_ERROR=${error%+}"
  [[ $error != *+ ]] || variables+=" FAULT_ALWAYS=1"
  variables=${variables//$'\n'/ }
  rm -rf in fault.txt
  cp -r "$lab/$scenario" in
  program "$limit" "$(ranks_of "$scenario")" "$variables FAULT_LOG=$PWD/fault.txt" $(arguments_of "$scenario")
  if [[ ! -e fault.txt ]]; then
    ((code == 0)) || { : >fault.txt; violation "ended with $code without a fault"; }
    echo "$scenario $function none $wrong" >>results.txt
    return
  fi
  ended=$code
  check_code
  check_files
  if [[ -z ${done_again[$scenario$state]-} ]]; then
    program 300 "$(ranks_of "$scenario")" "" $(again_of "$scenario")
    cp err.txt said.txt
    ((code == 0)) && check_end || violation "done again, it ends with $code"
    ((wrong)) || done_again[$scenario$state]=1
  fi
  echo "$scenario $function $ended $wrong" >>results.txt
}

# worker W: every second injection, in a folder of its own.
worker() {
  local line n=0
  mkdir -p "worker$1"
  cd "worker$1"
  touch results.txt
  while read -r line; do
    ((n++ % 2 != $1)) || inject $line </dev/null
  done <"$lab/plan"
}

# By scenario and function: how many calls failed, what came of it, and how often that was not right.
table() {
  sort worker?/results.txt | awk '
    function add(key) {
      count[key]++
      code[key, $3 == 137 ? "killed" : $3]++
      bad[key] += $4
    }
    function row(title, key) {
      printf "%-12s %-28s %8d %7d %7d %7d %7d %10d\n", title, key == title ? "" : substr(key, length(title) + 2), count[key],
        code[key, 0], code[key, 1], code[key, 2], code[key, "killed"], bad[key]
    }
    $3 == "none" { none++; next }
    !(($1, $2) in seen) { seen[$1, $2]; name[++keys] = $1 " " $2 }
    $1 != last { scenario[++scenarios] = last = $1 }
    { add($1 " " $2); add($1); add("all") }
    END {
      printf "%-12s %-28s %8s %7s %7s %7s %7s %10s\n", "scenario", "function", "injected", "exit 0", "exit 1", "exit 2",
        "killed", "violations"
      for (i = 1; i <= keys; i++) { split(name[i], part, " "); row(part[1], name[i]) }
      print ""
      for (i = 1; i <= scenarios; i++) row(scenario[i], scenario[i])
      row("all", "all")
      if (none) printf "%d calls were not reached\n", none
      exit bad["all"] > 0 || count["all"] == 0 }'
}

make_lab
: >"$lab/counts"
for scenario in $scenarios; do measure "$scenario"; done
case $part in
sample) plan | sample ;;
places) plan_places ;;
all) plan ;;
esac >"$lab/plan"
rm -rf in
worker 0 >worker0.txt 2>&1 &
worker 1 >worker1.txt 2>&1 &
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
wait
cat worker0.txt worker1.txt
table
