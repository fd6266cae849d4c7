# The sbatch scripts, with stand-ins for Slurm and the launchers (test_cluster.sh has a real Slurm): USR1 reaches srun,
# which hands it on, and the ranks of an mpirun that does not; exit code 75 queues the job again, any other code is the
# job's own, and --resume is always there. A signal counts from the first moment on and TERM is the end of the job. What
# sbatch was not told has Slurm's defaults; outside a job, and without the program, there is one sentence.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

mkdir -p bin there
mkfifo nothing
# A rank that runs until USR1, then takes a while to save, as gnntrain does; with WORKS it ends by itself, with DEAF=2
# it hears the second USR1 only, and with DEAF=1 the signal ends it, for it is not that far yet.
cat >bin/srun <<'STUB'
#!/usr/bin/env bash
[[ $* != --mpi=list ]] || { echo "MPI plugin types are... none ${KINDS-pmix}" && exit; }
echo "${0##*/} $*" >>arguments
[[ -z ${WORKS-} ]] || exit "$WORKS"
heard=0
trap '((++heard < ${DEAF-0})) || { sleep 0.3; exit 75; }' USR1
[[ ${DEAF-} != 1 ]] || trap - USR1
touch started
for ((i = 0; i < 400; i++)); do sleep 0.05; done
exit 9
STUB
# Its mpirun keeps USR1 to itself, and with FORGETS waits on when its ranks have ended.
cat >bin/mpirun <<'STUB'
#!/usr/bin/env bash
trap : USR1
echo "${0##*/} $*" >>arguments
srun "$@" &
while wait $! && code=0 || code=$?; ((code == 138)) && kill -0 $! 2>/dev/null; do :; done
[[ -z ${FORGETS-} ]] || read -r <>nothing
exit $code
STUB
# The controller is away at first.
cat >bin/scontrol <<'STUB'
#!/usr/bin/env bash
[[ -e asked ]] || { touch asked && exit 1; }
echo "$*" >>requeued
STUB
printf '#!/usr/bin/env bash\n' >there/gnntrain
chmod +x bin/* there/gnntrain
# Read by the scripts' bash: USR1 comes before there is anybody to tell.
echo 'trap "case \$BASH_COMMAND in tasks=*) kill -USR1 \$\$ ;; esac" DEBUG' >early
export PATH=$PWD/bin:$PATH SLURM_NTASKS=4 SLURM_CPUS_PER_TASK=2 SLURM_JOB_ID=17 GNNTRAIN_BIN=there

# told SIGNAL CODE [NAME=VALUE]...: the script gets SIGNAL once a rank is there, and has to end with CODE.
told() {
  local signal=$1 expected=$2 pid code
  shift 2
  rm -f arguments started requeued
  env "$@" bash "$job" some.toml --set train.seed=3 2>/dev/null &
  pid=$!
  until [[ -e started ]]; do sleep 0.05; done
  kill -"$signal" $pid
  wait $pid && code=0 || code=$?
  ((code == expected)) || fail "$script: exit code $code after $signal $*"
  grep -q 'there/gnntrain some.toml --set train.seed=3 --resume$' arguments || fail "$script: $(cat arguments)"
}
queued_once() { [[ $(cat requeued 2>/dev/null) == 'requeue 17' ]] || fail "$script: not queued again once: $*"; }
one_sentence() { # one_sentence TEXT NAME=VALUE or -u NAME...
  local text=$1 code
  shift
  env "$@" bash "$job" some.toml >said 2>&1 && code=0 || code=$?
  [[ $code == 2 && $(wc -l <said) == 1 ]] || fail "$script: exit code $code with $*: $(cat said)"
  grep -qF "$text" said || fail "$script: $(cat said)"
}

for script in one_node several_nodes; do
  job=$GNNTRAIN_SOURCE/launch/slurm/$script.sbatch
  told USR1 75
  queued_once after USR1
  told USR1 75 DEAF=1
  queued_once when USR1 ended the ranks
  if [[ $script == one_node ]]; then
    told USR1 75 FORGETS=1
    queued_once by an mpirun that did not see its ranks end
  fi
  told USR1 75 SLURM_ARRAY_JOB_ID=17 SLURM_ARRAY_TASK_ID=3
  [[ $(cat requeued) == 'requeue 17_3' ]] || fail "$script: not that element of an array: $(cat requeued)"
  told TERM 75
  [[ ! -e requeued ]] || fail "$script: queued again after TERM"
  rm -f arguments
  BASH_ENV=early bash "$job" some.toml && code=0 || code=$?
  [[ $code == 75 && ! -e arguments ]] || fail "$script: exit code $code after an early USR1"
  queued_once after an early USR1

  for ends in 0 1 2 138; do
    rm -f requeued
    WORKS=$ends bash "$job" some.toml && code=0 || code=$?
    ((code == ends)) || fail "$script: exit code $code instead of $ends"
    [[ ! -e requeued ]] || fail "$script: queued again after exit code $ends"
  done
  grep -q '^#SBATCH --signal=B:USR1@' "$job" || fail "$script: no signal before the time limit"
  bash "$job" >/dev/null 2>&1 && fail "$script: accepts no configuration"

  rm -f arguments
  untold=(env -u SLURM_NTASKS -u SLURM_CPUS_PER_TASK WORKS=0)
  "${untold[@]}" bash "$job" some.toml || fail "$script: needs SLURM_NTASKS or SLURM_CPUS_PER_TASK"
  grep -qE '(-n |--ntasks=)1 .*(slot:PE|--cpus-per-task)=1 ' arguments || fail "$script: $(cat arguments)"
  "${untold[@]}" SLURM_NTASKS_PER_NODE=3 SLURM_JOB_NUM_NODES=2 bash "$job" some.toml || fail "$script: 3 ranks a node"
  grep -qE '(-n |--ntasks=)6 ' arguments || fail "$script: $(cat arguments)"
  one_sentence "this is no Slurm job: sbatch launch/slurm/$script.sbatch" -u SLURM_JOB_ID
  one_sentence 'no elsewhere/gnntrain here' GNNTRAIN_BIN=elsewhere
done

# Ranks that are not ready are told again. A Slurm without pmix leaves several nodes to mpirun.
told USR1 75 DEAF=2
queued_once told twice
[[ $(cut -d ' ' -f 1 arguments) == srun ]] || fail "not by srun: $(cat arguments)"
told USR1 75 KINDS=pmi2
queued_once without pmix
[[ $(head -n 1 arguments) == mpirun* ]] || fail "without pmix: $(cat arguments)"
WORKS=0 GNNTRAIN_LAUNCHER=mpirun bash "$job" some.toml || fail "mpirun was asked for"
[[ $(tail -n 2 arguments) == mpirun* ]] || fail "GNNTRAIN_LAUNCHER: $(cat arguments)"
