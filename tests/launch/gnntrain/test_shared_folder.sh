# Others may write to a run's folder, too: what they put there is neither followed, written over nor waited for, and a
# run whose lock or folder goes away under it ends before it writes into another's.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

break_dataset sound sound.h5
settings run.toml dataset.path=sound.h5 model.hidden=8 train.epochs=3 checkpoint.every=100 runtime.timeout=60 \
  runtime.threads=1 log.dir=run log.progress=1000000

# Files have the rights that the umask leaves, new ones and those that replace others.
for mask in 000 027 022; do
  for round in first second; do
    (umask $mask && must_run 1 run.toml --set log.overwrite=true --profile)
    rights=$(find run -type f -exec stat -c %a {} + | sort -u)
    [[ $rights == "$(printf '%o' $((0666 & ~0$mask)))" ]] || fail "umask $mask, $round run: files have $rights"
    (umask $mask && must_run 1 run.toml --resume --epochs 4)
  done
  rm -rf run
done

# Links, symbolic and hard, under all names that a run writes.
echo 'what somebody else keeps' >kept
cp kept victim
for kind in -s ''; do
  for name in metrics.jsonl config.toml config.toml.tmp trace.json best.h5; do
    mkdir run
    ln $kind "$PWD/victim" run/$name
    must_run 1 run.toml --set log.overwrite=true --profile
    cmp -s kept victim || fail "a link named $name was written through"
    [[ $name == config.toml.tmp || (-f run/$name && ! -L run/$name && ! run/$name -ef victim) ]] || fail "$name is still a link"
    rm -rf run
  done
  mkdir run
  ln $kind "$PWD/victim" run/lock
  must_refuse 2 'log\.dir: run/lock is (a symbolic link|no lock of a run); remove it' 1 run.toml
  cmp -s kept victim || fail "a link named lock was written through"
  rm -rf run
done
mkdir run elsewhere
ln -s ../elsewhere run/checkpoints
must_refuse 2 'run/checkpoints is a symbolic link' 1 run.toml
[[ -z $(ls elsewhere) ]] || fail "checkpoints were written elsewhere"
rm -rf run
must_run 1 run.toml --set log.overwrite=true
mv run/metrics.jsonl victim
ln -s ../victim run/metrics.jsonl
must_refuse 2 'metrics\.jsonl: is a symbolic link' 1 run.toml --resume
rm -rf run

# A link above the folder is its user's own business.
ln -s elsewhere run
must_run 1 run.toml
[[ -f elsewhere/best.h5 && -L run ]] || fail "log.dir is a link, and the run is not where it leads"
must_run 1 run.toml --resume --epochs 5
rm -rf run elsewhere

# A folder in which everybody can replace files.
mkdir run
chmod 777 run
must_refuse 2 'every user may replace what is in run' 1 run.toml
chmod 1777 run
must_run 1 run.toml
chmod 775 run
chmod 777 run/checkpoints
must_refuse 2 'every user may replace what is in run/checkpoints' 1 run.toml --resume
rm -rf run

# Pipes, devices and folders: nobody waits for them.
for name in metrics.jsonl config.toml trace.json best.h5 lock; do
  mkdir run
  mkfifo run/$name
  must_refuse 2 "log\.dir: run/$name is a folder, device or pipe" 1 run.toml --set log.overwrite=true
  rm run/$name
  mkdir run/$name
  must_refuse 2 "log\.dir: run/$name is a folder, device or pipe" 1 run.toml --set log.overwrite=true
  rm -rf run
done
mkfifo pipe
must_refuse 2 'pipe: is a device or pipe; a file is expected' 1 run.toml --set dataset.path=pipe
must_refuse 2 'pipe: is a device or pipe; a file is expected' 1 run.toml --eval pipe
must_refuse 2 '/dev/zero: is a device or pipe; a file is expected' 1 run.toml --set dataset.path=/dev/zero
must_refuse 2 '/dev/zero: is a device; a file is expected' 1 /dev/zero
must_refuse 2 '/dev/zero: is a device; a file is expected' 1 run.toml --set runtime.constants=/dev/zero

# waits PROGRAM ARGUMENT...: until it says that it waits for a writer of the pipe; $job is its process.
waits() {
  rm -f err.txt # of the one before, which waited, too
  "$GNNTRAIN_BIN/$1" "${@:2}" >out.txt 2>err.txt </dev/null &
  job=$!
  trap 'kill -KILL $job 2>/dev/null' EXIT
  wait_until 60 grep -qs '^waiting for a writer of pipe$' err.txt || fail "nothing is said of the pipe: $*"
}
ended_with() { # ended_with CODE
  ended
  trap - EXIT
  ((code == $1)) || fail "exit code $code in place of $1"
}
waits gnndata import edgelist pipe out.h5 --features random:4 --labels random:2
kill -TERM $job
ended_with 143
waits gnntrain pipe
kill -TERM $job
ended_with 75
waits gnntrain pipe
cat run.toml >pipe
ended_with 0
waits gnntrain run.toml --resume --set runtime.constants=pipe
: >pipe
ended_with 0
waits gnndata import edgelist pipe out.h5 --features random:4 --labels random:2
printf '%s\n' '0 1' '1 2' '2 0' >pipe
ended_with 0
printf '%s\n' '0 1' '1 2' '2 0' | gnndata import edgelist /dev/stdin out.h5 --features random:4 \
  --labels random:2 >out.txt 2>err.txt
[[ ! -s err.txt ]] || fail "a pipe with a writer is waited for"
rm -rf run out.h5

# Names that are too long are the user's to change.
long=$(printf 'n%.0s' {1..256})
must_refuse 2 'File name too long' 1 run.toml --set log.dir=$long
must_refuse 2 'File name too long' 1 run.toml --set log.dir=run/$long
must_refuse 2 'File name too long' 1 run.toml --set dataset.path=$long
must_refuse 2 'File name too long' 1 run.toml --resume=$long
must_refuse 2 'File name too long' 1 run.toml --eval $long
must_refuse 2 'File name too long' 1 run.toml --set runtime.constants=$long
must_refuse 2 'File name too long' 1 $long
must_run 1 run.toml
for out in $long ${long:0:250} $long/out.h5 "$(printf 'deep/%.0s' {1..300})out.h5"; do
  must_refuse 2 'File name too long|at most [0-9]+ characters' 1 run.toml --predict run/best.h5 --out $out
  run gnndata synth $out --nodes 30 --degree 2 --features 4 --classes 2
  ((code == 2)) && (($(wc -l <err.txt) == 1)) || fail "synth ended with $code for a long name"
done
[[ ! -e deep ]] || fail "folders were made for a name that is too long"

# A process that may open no more files says so, and blames no file.
code=0
(exec 3>&- 4>&- && ulimit -n 5 && exec gnndata info sound.h5) >out.txt 2>err.txt || code=$?
((code == 1)) && grep -q 'files may be open at a time (ulimit -n)' err.txt || fail "exit code $code without descriptors"
rm -rf run

# The lock is removed: the run makes it anew, and others stay out.
said() { # said PATTERN: waits for a line of the job
  wait_until 60 grep -qE "$1" out.txt err.txt || fail "the job does not say: $1"
}
start 1 run/metrics.jsonl run.toml --epochs 1000000000
rm run/lock
said 'run/lock was removed or replaced while this run holds it; it is there again'
first=$job
cp out.txt first.txt
must_refuse 2 "run is in use by process $first " 1 run.toml --set log.overwrite=true

# halt PROCESS: stops it, and returns once it stands still.
halt() {
  kill -STOP "$1"
  wait_until 60 grep -q '^State:[[:space:]]*T' "/proc/$1/status" || fail "process $1 does not stop"
}

# Another run takes the folder meanwhile: the first one leaves it alone.
halt $first
rm run/lock
must_run 1 run.toml --set log.overwrite=true --epochs 7
before=$(cat run/config.toml run/metrics.jsonl run/best.h5 run/checkpoints/* | cksum)
kill -CONT $first
code=0
wait $first || code=$?
((code == 1)) || fail "a run whose folder was taken ended with $code"
[[ $(cat run/config.toml run/metrics.jsonl run/best.h5 run/checkpoints/* | cksum) == "$before" ]] ||
  fail "a run whose folder was taken has written there"

# The folder is renamed or removed. A job that is about to write a file in it says that it cannot, else what it finds when it looks.
gone='log\.dir: run is no longer the folder that this run began in|run/[^:]*: cannot be written: run[^:]*: No such file'
start 1 run/metrics.jsonl run.toml --epochs 1000000000 --set log.overwrite=true
mv run moved
ends_within 30
((code == 1)) && grep -qE "$gone" err.txt || fail "exit code $code when the folder was renamed"
[[ ! -e run ]] || fail "the folder was made again"
start 1 run/metrics.jsonl run.toml --epochs 1000000000
halt $job
rm -rf run
kill -CONT $job
ends_within 30
((code == 1)) && grep -qE "$gone" err.txt || fail "exit code $code when the folder was removed"
[[ ! -e run ]] || fail "the folder was made again"
