# A file that outgrows its limit (ulimit -f) is said to be too large, with exit code 1, and nothing of it stays.
. "$GNNTRAIN_SOURCE/tests/launch/job.sh"

rm -rf ./*
mkdir limited
"$GNNTRAIN_BIN/gnndata" synth small.h5 --nodes 3000 --degree 4 --features 16 --classes 4 >out.txt
for ((i = 0; i < 3000; i++)); do echo "$i $(((i + 1) % 3000))"; done >ring.txt
printf '%s\n' '[dataset]' 'path = "small.h5"' '[model]' 'hidden = 256' '[train]' 'epochs = 2' '[runtime]' 'threads = 1' \
  '[partition]' 'order = "given"' >run.toml
must_run 1 run.toml

# too_large FILE PROGRAM ARGUMENT...
too_large() {
  local file=$1 code=0
  shift
  (ulimit -f 16 && exec timeout -s KILL 60 "$GNNTRAIN_BIN/$@") >out.txt 2>err.txt || code=$?
  ((code == 1)) || { cat err.txt; fail "exit code $code in place of 1: $*"; }
  grep -q "^${1%% *}: $file.* (\?.*File too large" err.txt || { cat err.txt; fail "no reason: $*"; }
  [[ -z $(find limited -name '*.tmp*') && ! -e limited/out.h5 ]] || fail "$(find limited): left by $*"
}
too_large limited/out.h5 gnndata synth limited/out.h5 --nodes 3000 --degree 4 --features 16 --classes 4
too_large limited/out.h5 gnndata import edgelist ring.txt limited/out.h5 --features random:16 --labels random:4
too_large limited/out.h5 gnntrain run.toml --predict runs/run/best.h5 --out limited/out.h5
too_large limited/run/checkpoints/ gnntrain run.toml --set log.dir=limited/run
(ulimit -f 16 && exec "$GNNTRAIN_BIN/gnndata" partition small.h5 --parts 3 --order degree) >out.txt 2>err.txt ||
  { cat err.txt; fail "a partition that cannot be kept is no failure"; }
grep -q 'partition: not kept in small.h5.parts: .*File too large' out.txt || { cat out.txt; fail "partition"; }
[[ -z $(find small.h5.parts -name '*.tmp*') ]] || fail "$(find small.h5.parts)"
