# Too little memory, too few threads or descriptors, a small stack (ulimit): one sentence and exit code 1, or it works; never
# a program that does not end.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
! sanitized || skip "the address sanitizer takes terabytes of address space"

gnndata synth made.h5 --nodes 400 --degree 8 --features 16 --classes 4 >out.txt
settings run.toml dataset.path=made.h5 model.hidden=8 runtime.device=cpu train.epochs=3 log.dir=run log.overwrite=true
export OMP_NUM_THREADS=2

# limited LIMITS PROGRAM ARGUMENT...: works, or says why not. Its exit code lies in $code.
limited() {
  run under "$@"
  ((code <= 1)) || fail "exit code $code: ulimit $*"
  ((code == 0)) || one_sentence . "ulimit $*"
}
under() { (ulimit $1 && exec timeout -s KILL 100 "${@:2}"); }
enough() { ((code == 0)) || fail "exit code $code: $1"; }
sentence() { ((code == 1)) && grep -q "$1" err.txt || fail "exit code $code; not said: $1"; }

# least_of OPTION PROGRAM: the first limit, in KiB, that the loader can map the program with its libraries in: 70 MiB of
# address space (-v), with CUDA's more than a GiB. Below it nothing of ours runs.
least_of() {
  local kib
  for ((kib = 100000; kib < 8000000; kib += 50000)); do
    under "$1 $kib" "$2" --version >/dev/null 2>&1 && break
    (($? != 137)) || fail "ulimit $1 $kib: $2 --version does not end"
  done
  echo $kib
}
# Where the loader leaves less than the stacks of a few threads, these are missed first.
too_little='^gnntrain: \(out of memory: OpenBLAS takes 2 times 128.0 MiB of address space, . of them\|threads are too few: [0-9] are wanted, [0-9]\) can be \(had\|started\) (ulimit -'
least=$(least_of -v gnntrain)
for ((kib = least; kib < least + 500000; kib += 50000)); do
  limited "-v $kib" gnntrain run.toml
  ((kib > least + 100000)) || sentence "$too_little"
done
enough "500 MB beyond the libraries are too little"
least_private=$(least_of -d gnntrain)
for ((kib = least_private; kib < least_private + 500000; kib += 50000)); do limited "-d $kib" gnntrain run.toml; done
enough "500 MB of private memory beyond the libraries' are too little"
for extra in 0 50000 100000; do
  limited "-v $((least + extra))" gnntrain --version
  enough "--version"
  limited "-v $(($(least_of -v gnndata) + extra))" gnndata info made.h5
  enough "gnndata info"
  limited "-v $(($(least_of -v gnnbench) + extra))" gnnbench gemm --help
  enough "gnnbench --help"
done

# Descriptors: what may be raised is; of a rank before it waits for others.
limited '-S -n 6' gnntrain run.toml
enough "descriptors that may be raised"
limited '-n 10' gnntrain run.toml
sentence 'gnntrain: 10 files may be open at a time (ulimit -n); at least 12 are needed'
limited '-n 16' gnndata info made.h5
enough "16 descriptors"
# on_two LIMITS: the ranks, not mpirun, which does not end itself where it has few.
on_two() {
  run timeout -s KILL 100 mpirun -n 2 --oversubscribe bash -c "ulimit $1 && exec '$GNNTRAIN_BIN/gnntrain' run.toml"
}
for files in 12 16 20 23; do
  on_two "-n $files"
  sentence "gnntrain: $files files may be open at a time (ulimit -n); at least 24 are needed"
done
for limits in '-n 24' '-S -n 12'; do
  on_two "$limits"
  enough "ranks with ulimit $limits: exit code $code"
done

limited '-s 64' gnntrain run.toml
sentence 'gnntrain: the stack may have 64.0 KiB (ulimit -s); at least 256.0 KiB are needed'
limited '-S -s 64' gnntrain run.toml
enough "a stack that may be raised"
limited '-s 256' gnntrain run.toml
enough "a stack of 256 KiB"

# Threads: of a user without other processes.
if ((EUID == 0)) && command -v setpriv >/dev/null && [[ $(ps -o pid= -u 64321 | wc -l) == 0 ]]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  chmod 755 "$folder"
  cp made.h5 run.toml "$GNNTRAIN_BIN/gnntrain" "$folder"
  chown -R 64321 "$folder"
  for threads in 1 2 3 4 5 6 7 8; do
    run env -C "$folder" timeout -s KILL 100 setpriv --reuid 64321 --clear-groups bash -c "ulimit -u $threads && exec ./gnntrain run.toml"
    ((code == 0)) || [[ $code == 1 && $(grep -c '^gnntrain: .*\(thread\|probed\)' err.txt) == 1 ]] || fail "ulimit -u $threads: exit code $code"
  done
  enough "8 threads are too few"
fi
