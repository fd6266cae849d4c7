#!/usr/bin/env bash
# The sbatch scripts, with stand-ins for Slurm and the launchers: USR1 reaches srun, which hands it on, and the ranks of
# an mpirun that does not; exit code 75 queues the job again, any other code is the job's own, and --resume is always
# there. What sbatch was not told has Slurm's defaults; outside a job there is one sentence.
set -euo pipefail
fail() { echo "$*" && exit 1; }

mkdir -p bin
# A rank that runs until USR1, then takes a while to save, as gnntrain does; with WORKS it ends by itself.
cat >bin/srun <<'STUB'
#!/usr/bin/env bash
echo "$*" >arguments
[[ -z ${WORKS-} ]] || exit "$WORKS"
trap 'sleep 0.3; exit 75' USR1
touch started
for ((i = 0; i < 400; i++)); do sleep 0.05; done
exit 9
STUB
# Its mpirun keeps USR1 to itself.
cat >bin/mpirun <<'STUB'
#!/usr/bin/env bash
trap : USR1
srun "$@" &
while wait $! && code=0 || code=$?; ((code == 138)); do :; done
exit $code
STUB
printf '#!/usr/bin/env bash\necho "$*" >requeued\n' >bin/scontrol
chmod +x bin/srun bin/mpirun bin/scontrol
export PATH=$PWD/bin:$PATH SLURM_NTASKS=4 SLURM_CPUS_PER_TASK=2 SLURM_JOB_ID=17 GNNTRAIN_BIN=there

for script in one_node several_nodes; do
  job=$GNNTRAIN_SOURCE/launch/slurm/$script.sbatch
  rm -f arguments started requeued
  bash "$job" some.toml --set train.seed=3 &
  pid=$!
  until [[ -e started ]]; do sleep 0.05; done
  kill -USR1 $pid
  wait $pid && code=0 || code=$?
  ((code == 75)) || fail "$script: exit code $code after USR1"
  grep -q 'there/gnntrain some.toml --set train.seed=3 --resume$' arguments || fail "$script: $(cat arguments)"
  [[ $(cat requeued) == 'requeue 17' ]] || fail "$script: not queued again"

  for ends in 0 1; do
    rm -f requeued
    WORKS=$ends bash "$job" some.toml && code=0 || code=$?
    ((code == ends)) || fail "$script: exit code $code instead of $ends"
    [[ ! -e requeued ]] || fail "$script: queued again after exit code $ends"
  done
  grep -q '^#SBATCH --signal=B:USR1@' "$job" || fail "$script: no signal before the time limit"
  bash "$job" >/dev/null 2>&1 && fail "$script: accepts no configuration"

  untold=(env -u SLURM_NTASKS -u SLURM_CPUS_PER_TASK WORKS=0)
  "${untold[@]}" bash "$job" some.toml || fail "$script: needs SLURM_NTASKS or SLURM_CPUS_PER_TASK"
  grep -qE '(-n |--ntasks=)1 .*(slot:PE|--cpus-per-task)=1 ' arguments || fail "$script: $(cat arguments)"
  "${untold[@]}" SLURM_NTASKS_PER_NODE=3 SLURM_JOB_NUM_NODES=2 bash "$job" some.toml || fail "$script: 3 ranks a node"
  grep -qE '(-n |--ntasks=)6 ' arguments || fail "$script: $(cat arguments)"
  env -u SLURM_JOB_ID bash "$job" some.toml >said 2>&1 && code=0 || code=$?
  [[ $code == 2 && $(wc -l <said) == 1 ]] || fail "$script: exit code $code outside a job: $(cat said)"
  grep -qF "this is no Slurm job: sbatch launch/slurm/$script.sbatch" said || fail "$script: $(cat said)"
done
exit 0
