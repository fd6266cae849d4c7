# The sbatch scripts under a real Slurm: a controller and three nodes, each in a network, process and host-name namespace
# of its own, with everything that they write below this folder. Prints the seconds of each case.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

((EUID == 0)) || skip "network namespaces want root"
for program in slurmctld slurmd sbatch munged; do
  command -v $program >/dev/null || skip "no $program: launch/install_packages --tests --slurm installs Slurm"
done
command -v ip >/dev/null || skip "no ip (iproute2): launch/install_packages --tests --slurm installs it"
ip netns add "gnntrain-$$.try" 2>/dev/null && ip netns del "gnntrain-$$.try" || skip "no network namespaces here"
unshare --uts --pid --mount --fork --kill-child true 2>/dev/null || skip "no process namespaces here"

home=$PWD
export SLURM_CONF=$home/slurm.conf
hosts=(head n1 n2 n3)

# The cluster: head is 10.9.0.1, n1 to n3 are 10.9.0.11 to 13; no network leads out of it.
space() { echo "gnntrain-$$.$1"; }

clean() {
  local host pid
  for host in "${hosts[@]}"; do
    for pid in $(ip netns pids "$(space "$host")" 2>/dev/null); do kill -KILL "$pid" 2>/dev/null || true; done
    ip netns del "$(space "$host")" 2>/dev/null || true
  done
  [[ ! -s munge/pid ]] || kill "$(cat munge/pid)" 2>/dev/null || true
}
trap 'exit 1' TERM INT
trap clean EXIT

network() {
  local host
  for host in "${hosts[@]}"; do
    ip netns add "$(space "$host")"
    ip -n "$(space "$host")" link set lo up
  done
  ip -n "$(space head)" link add bridge type bridge
  ip -n "$(space head)" addr add 10.9.0.1/24 dev bridge
  ip -n "$(space head)" link set bridge up
  for host in n1 n2 n3; do
    ip -n "$(space $host)" link add eth0 type veth peer name to-$host netns "$(space head)"
    ip -n "$(space head)" link set to-$host master bridge up
    ip -n "$(space $host)" addr add 10.9.0.1${host#n}/24 dev eth0
    ip -n "$(space $host)" link set eth0 up
  done
}

# on HOST COMMAND...: its processes end with the first of them.
on() {
  local host=$1
  shift
  nsenter --net="/run/netns/$(space "$host")" unshare --uts --pid --mount --fork --kill-child \
    bash -c 'mount -t proc proc /proc && hostname "$0" && "$@"; exit' "$host" "$@"
}

configure() {
  mkdir -p state munge log n1.tmp n2.tmp n3.tmp
  head -c 1024 /dev/urandom >munge/key
  chmod 400 munge/key
  chmod 755 munge
  echo 'CgroupPlugin=cgroup/v1' >cgroup.conf # none is used, and none is looked for
  cat >slurm.conf <<CONF
ClusterName=gnntrain
SlurmctldHost=head(10.9.0.1)
SlurmctldPort=6817
SlurmdPort=6818
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$home/munge/socket
MailProg=/bin/true
StateSaveLocation=$home/state
SlurmdSpoolDir=$home/%n
SlurmctldPidFile=$home/slurmctld.pid
SlurmdPidFile=$home/%n.pid
SlurmctldLogFile=$home/log/slurmctld
SlurmdLogFile=$home/log/%n
TmpFS=$home/%n.tmp
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
SlurmdParameters=config_overrides
SlurmdTimeout=300
ReturnToService=2
KillWait=10
NodeName=n1 NodeAddr=10.9.0.11 CPUs=8
NodeName=n2 NodeAddr=10.9.0.12 CPUs=8
NodeName=n3 NodeAddr=10.9.0.13 CPUs=8
PartitionName=all Nodes=n1,n2,n3 Default=YES MaxTime=INFINITE State=UP
CONF
}

# until_true SECONDS WHAT COMMAND...: WHAT is said when it never becomes true.
until_true() {
  wait_until "$1" "${@:3}" || {
    tail -n 15 log/* *.log
    fail "waited in vain for $2"
  }
}
slurm() { nsenter --net="/run/netns/$(space head)" "$@"; }
node() { on "$1" slurmd -D -N "$1" >"log/$1.out" 2>&1 & }
node_is() { [[ $(slurm sinfo -h -n "$1" -o %t 2>/dev/null) == "$2" ]]; }

start_cluster() {
  local host
  network
  configure
  munged --key-file=munge/key --socket="$home/munge/socket" --pid-file="$home/munge/pid" \
    --log-file="$home/munge/log" --seed-file="$home/munge/seed" --force
  on head slurmctld -D -c >log/head.out 2>&1 &
  for host in n1 n2 n3; do node $host; done
  for host in n1 n2 n3; do until_true 60 "$host to be idle" node_is $host idle; done
}

# Jobs.
submit() { # submit SCRIPT OPTION... -- ARGUMENT...: $job
  local script=$GNNTRAIN_SOURCE/launch/slurm/$1.sbatch options=()
  shift
  while [[ $1 != -- ]]; do options+=("$1") && shift; done
  shift
  job=$(slurm sbatch --parsable --gpus-per-node=0 --cpus-per-task=1 --ntasks-per-node=2 --output=%j.log "${options[@]}" "$script" "$@")
}
shown() { slurm scontrol show job "$job" | sed -nE "s/.*\b$1=([^ ]*).*/\1/p"; }
state_is() { [[ $(shown JobState) == "$1" ]]; }
# Slurm keeps a job that comes back waiting for two minutes, so that nodes never take its new credential for the one that
# they have just revoked; they tell credentials apart by the second.
waits() { state_is PENDING && [[ $(slurm squeue -h -j "$job" -t pending -o %r) == BeginTime ]]; }
soon() { slurm scontrol update JobId="$job" StartTime=now+3 "$@"; }
ends() { # ends STATE EXITCODE
  until_true 120 "job $job to be $1" state_is "$1"
  [[ $(shown ExitCode) == "$2" ]] || { tail -n 30 "$job.log"; fail "job $job ended with $(shown ExitCode), not $2"; }
}
trains() { until_true 60 "job $job to train" test -s "$1/metrics.jsonl"; }

# What the jobs train.
gnndata synth made.h5 --nodes 2000 --degree 8 --features 16 --classes 4 --seed 3 >out.txt
# A run file of its own for each job, so that its epochs can be another number once it waits: the script's arguments stay.
config() { # config NAME EPOCHS [EPOCHS BETWEEN CHECKPOINTS]
  settings "$1.toml" dataset.path=made.h5 model.hidden=16 model.dropout=0.5 train.epochs="$2" train.lr=0.001 \
    checkpoint.every="${3-0}" partition.order=given runtime.precision=fp64 runtime.device=cpu runtime.threads=1 \
    log.dir="$1" log.progress=1000000000
}
endless=1000000000
saved() { # saved NAME: the epoch of its newest checkpoint
  local files=("$1"/checkpoints/epoch-0-*.h5)
  ((${#files[@]})) || { tail -n 30 "$job.log"; fail "$1: no checkpoint was saved"; }
  printf '%s\n' "${files[@]}" | sed -E 's/.*-0-([0-9]+)\.h5$/\1/' | sort -n | tail -n 1
}
have_saved() { compgen -G "$1/checkpoints/epoch-0-*.h5" >saved.txt; }
# came_back NAME EPOCH TOLERANCE: it went on after EPOCH and equals a run that nothing happened to, on two ranks.
came_back() {
  local name=$1 from=$2 tolerance=$3 last
  grep -q "resuming run 0 after epoch $from " "$job.log" || { tail -n 40 "$job.log"; fail "$name did not go on after epoch $from"; }
  last=$(losses "$name" | tail -n 1 | cut -d ' ' -f 1)
  must_run 2 "$name.toml" --set log.dir="$name.whole" --set checkpoint.every=0
  paste -d ' ' <(losses "$name") <(losses "$name.whole") | awk -v tolerance="$tolerance" -v last="$last" '
    { d = $2 - $4; if (d < 0) d = -d; if ($1 != $3 || !(d <= tolerance * $4)) { print; bad = 1 } }
    END { exit bad || NR != last }' || fail "$name is not what it would have been undisturbed"
}
ran_on() { grep -q "^  ranks  *$1" "$job.log" || fail "job $job: not $1 but $(grep '^  ranks ' "$job.log")"; }
began=0
took() { # took NAME: seconds since the last one
  printf '%4d s  %s\n' $((SECONDS - began)) "$1"
  began=$SECONDS
}

start_cluster
took "a controller and three nodes start"

# The time limit, for which Slurm looks twice a minute: on n3, beside all others.
config limit $endless
submit one_node --nodelist=n3 --time=1 --signal=B:USR1@60 -- limit.toml
limit=$job

# Ranks that end one after the other, as where GPUs take their time, under srun: none is killed, which would hide 75.
if [[ $(slurm srun --mpi=list 2>&1) == *pmix* ]]; then
  mkdir slow
  cat >slow/gnntrain <<'SLOW'
#!/usr/bin/env bash
trap 'trap "" USR1; sleep $((2 * SLURM_PROCID)); exit 75' USR1
touch "slow/$SLURM_PROCID"
while :; do sleep 0.2; done
SLOW
  chmod +x slow/gnntrain
  GNNTRAIN_BIN=slow submit several_nodes -- slow.toml
  until_true 60 "four ranks of job $job" test -e slow/0 -a -e slow/1 -a -e slow/2 -a -e slow/3
  slurm scancel --batch --signal=USR1 "$job"
  until_true 60 "job $job to be queued again" waits
  slurm scancel "$job"
  took "ranks that end seconds apart"
fi

# A rank that is killed ends its job, at once where Slurm has pmix.
config killed $endless
submit several_nodes --nodes=1 --nodelist=n3 -- killed.toml
trains killed
for pid in $(ip netns pids "$(space n3)"); do
  [[ $(readlink "/proc/$pid/exe" 2>/dev/null) == */gnntrain ]] || continue
  [[ $(tr '\0' ' ' <"/proc/$pid/cmdline") == *killed.toml* ]] && kill -KILL "$pid" && break
done
until_true 120 "job $job to end" state_is FAILED
[[ $(shown Restarts) == 0 && $(shown ExitCode) != 0:0 ]] || fail "a job of which a rank was killed: $(slurm scontrol show job "$job")"
took "a killed rank ends its job"

# On two nodes by srun, asked to stop, then on one.
config fewer $endless
submit several_nodes --nodelist=n1,n2 -- fewer.toml
trains fewer
slurm scancel --batch --signal=USR1 "$job"
until_true 60 "job $job to be queued again" waits
from=$(saved fewer)
config fewer $((from + 50))
soon ReqNodeList= NumNodes=1-1 NumTasks=2
ends COMPLETED 0:0
[[ $(shown Restarts) == 1 && $(shown NumNodes) == 1 ]] || fail "$(slurm scontrol show job "$job")"
ran_on '2 on 1 node'
came_back fewer "$from" 1e-9
took "USR1 on two nodes, goes on on one"

# mpirun over two nodes, as where Slurm has no pmix, then on three.
config more $endless
GNNTRAIN_LAUNCHER=mpirun submit several_nodes --nodelist=n1,n2 -- more.toml
trains more
slurm scancel --batch --signal=USR1 "$job"
until_true 60 "job $job to be queued again" waits
from=$(saved more)
config more $((from + 50))
soon ReqNodeList= NumNodes=3-3 NumTasks=6
ends COMPLETED 0:0
[[ $(shown NumNodes) == 3 ]] || fail "$(slurm scontrol show job "$job")"
ran_on '6 on 3 nodes'
came_back more "$from" 1e-9
took "USR1 on two nodes with mpirun, goes on on three"

# A signal that comes while the job starts, with each launcher.
early=()
for script in one_node several_nodes; do
  config early-$script $endless
  submit $script -- early-$script.toml
  until_true 60 "the script of job $job to run" test -e "$job.log"
  slurm scancel --batch --signal=USR1 "$job"
  early+=("$job")
done
for job in "${early[@]}"; do
  until_true 60 "job $job to be queued again" waits
  slurm scancel "$job"
done
took "USR1 while a job starts, both scripts"

# What nobody can go on with is not queued again. The ranks' code comes through both launchers.
for script in one_node several_nodes; do
  submit $script -- more.toml --set model.hidden=-1
  ends FAILED 2:0
  [[ $(shown Restarts) == 0 ]] || fail "a configuration that is wrong was queued again"
  grep -q 'model.hidden must be an integer' "$job.log" || { cat "$job.log"; fail "not said what is wrong"; }
done
took "wrong configuration, both scripts"

# TERM to the script saves and ends for good, and so does scancel, where saving takes no longer than Slurm waits.
for how in '--batch --signal=TERM' ''; do
  for script in one_node several_nodes; do
    name=end-$script${how:+-batch}
    config "$name" $endless
    submit $script -- "$name.toml"
    trains "$name"
    slurm scancel $how "$job"
    if [[ -n $how ]]; then ends FAILED 75:0; else until_true 60 "job $job to end" state_is CANCELLED; fi
    [[ -z $how && $script == one_node ]] || saved "$name" >saved.txt
    [[ $(shown Restarts) == 0 ]] || fail "$name: a job that was ended came back"
  done
done
took "scancel, with and without TERM to the script alone, both scripts"

# A node is lost: no farewell of its processes reaches anybody. Slurm queues the job again.
config lost $endless 20
submit several_nodes --nodes=2 --nodelist=n2 --exclude=n3 -- lost.toml
trains lost
until_true 60 "a checkpoint" have_saved lost
ip -n "$(space n2)" link set eth0 down
for pid in $(ip netns pids "$(space n2)"); do kill -KILL "$pid" 2>/dev/null || true; done
slurm scontrol update NodeName=n2 State=DOWN Reason=lost
until_true 120 "job $job to be queued again" waits
from=$(saved lost)
config lost $((from + 50)) 20
soon ReqNodeList= ExcNodeList=
ends COMPLETED 0:0
[[ $(shown NodeList) == 'n[1,3]' ]] || fail "after n2 was lost the job ran on $(shown NodeList)"
came_back lost "$from" 1e-9
took "a node is lost, goes on on two others"

# An array job of launch/sweep: an element that is asked to stop is queued again by itself. One of them has the array's number.
config swept $endless
slurm python3 "$GNNTRAIN_SOURCE/launch/sweep" swept.toml --build "$GNNTRAIN_BIN" --grid model.hidden=8,16 --out sweep \
  --slurm --ranks 2 --sbatch "--gpus-per-node=0 --cpus-per-task=1" >out.txt
array=$(sed -nE 's/^array job ([0-9]+): 2 elements.*/\1/p' out.txt)
job=$array
trains sweep/model.hidden=8
trains sweep/model.hidden=16
for element in 1 2; do
  job=${array}_$element
  slurm scancel --batch --signal=USR1 "$job"
  until_true 60 "element $job to be queued again" waits
  saved "sweep/model.hidden=$((8 * element))" >saved.txt
  job=${array}_$((3 - element))
  state_is RUNNING || fail "element $job was queued again, too"
  job=${array}_$element
  soon
  until_true 60 "element $job to go on" state_is RUNNING
done
slurm python3 "$GNNTRAIN_SOURCE/launch/sweep" swept.toml --table --out sweep >out.txt
[[ $(grep -cE '^ +(begun|stopped) +(8|16)  epoch [0-9]+ of ' out.txt) == 2 ]] || fail "the table: $(cat out.txt)"
slurm scancel "$array"
took "elements of an array come back alone"

# What the time limit has done meanwhile.
job=$limit
until_true 150 "job $job to be queued again" waits
from=$(saved limit)
config limit $((from + 50))
soon TimeLimit=30
ends COMPLETED 0:0
came_back limit "$from" 0
took "time limit (the rest of it)"
