# A file that outgrows its limit (ulimit -f) is said to be too large, with exit code 1, and nothing of it stays.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

mkdir limited
gnndata synth small.h5 --nodes 3000 --degree 4 --features 16 --classes 4 >out.txt
for ((i = 0; i < 3000; i++)); do echo "$i $(((i + 1) % 3000))"; done >ring.txt
settings run.toml dataset.path=small.h5 model.hidden=256 train.epochs=2 runtime.threads=1 partition.order=given
must_run 1 run.toml

limited() { (ulimit -f 16 && exec timeout -s KILL 60 "$@"); }
# too_large FILE PROGRAM ARGUMENT...
too_large() {
  local file=$1
  shift
  ends 1 limited "$@"
  says "^$1: $file.*File too large" err.txt
  [[ -z $(find limited -name '*.tmp*') && ! -e limited/out.h5 ]] || fail "$(find limited): left by $*"
}
too_large limited/out.h5 gnndata synth limited/out.h5 --nodes 3000 --degree 4 --features 16 --classes 4
too_large limited/out.h5 gnndata import edgelist ring.txt limited/out.h5 --features random:16 --labels random:4
too_large limited/out.h5 gnntrain run.toml --predict runs/run/best.h5 --out limited/out.h5
too_large limited/run/checkpoints/ gnntrain run.toml --set log.dir=limited/run
works limited gnndata partition small.h5 --parts 3 --order degree # one that cannot be kept is no failure
says 'partition: not kept in small.h5.parts: .*File too large'
[[ -z $(find small.h5.parts -name '*.tmp*') ]] || fail "$(find small.h5.parts)"
