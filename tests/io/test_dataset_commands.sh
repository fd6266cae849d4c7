# gnndata check and gnndata info on a good dataset, a damaged one and what is no dataset.
set -euo pipefail
gnndata=$GNNTRAIN_BIN/gnndata
rm -f ./*.h5 out err

fails() { # fails CODE WORDS COMMAND...: ends with that code and says WORDS on stderr, in one line
  local code=0 expected=$1 words=$2
  shift 2
  "$@" >out 2>err || code=$?
  [[ $code == "$expected" ]] || { echo "$*: exit code $code, expected $expected"; cat err; exit 1; }
  grep -qF -- "$words" err || { echo "$*: does not say \"$words\" but:"; cat err; exit 1; }
  [[ $(wc -l <err) == 1 ]] || { echo "$*: says more than one line:"; cat err; exit 1; }
}
says() { # says WORDS: the last output has them
  grep -qE -- "$1" out || { echo "no \"$1\" in:"; cat out; exit 1; }
}

"$gnndata" synth good.h5 --nodes 3000 --degree 8 --features 16 --classes 4 >/dev/null
sum=$(cksum <good.h5)
"$gnndata" check good.h5 >out
says '^good.h5: ok \(3000 nodes, [0-9]+ arcs, 16 features, 4 classes, 1 split\)$'
"$gnndata" info good.h5 >out
says '^name +good$'
says '^nodes +3000$'
says '^arcs +[0-9]+, symmetric'
says '^degree +min [0-9]+, mean [0-9.]+, max [0-9]+$'
says '^features +16, dense, 100% not zero$'
says '^classes +4, multiclass, 0 nodes without a label$'
says 'train 300, val 300, test 2400$'
! grep -q '^layout' out || { echo "a layout that was not asked for"; exit 1; }
"$gnndata" info good.h5 --layout >out
says '^layout +of the whole graph in the order of its ids, on NVIDIA H200$'
says '^blocks +[0-9]+ of 16 x 16 with an arc, [0-9.]+ arcs in each; columns of each window together: [0-9]+, '
says '^ +bf16 +128 +[0-9]+( +[0-9.]+%){3}( +[0-9.]+){4} +[0-9.]+% +[0-9.]+$'
says '^ +fp32 +512 '
printf '%s\n' '0 16' '0 32' '0 48' >hyperedges.txt
"$gnndata" import hypergraph hyperedges.txt hyper.h5 >/dev/null
"$gnndata" info hyper.h5 --layout >out
says '^layout +of sums over the vertices of each hyperedge, in the order of their ids, on NVIDIA H200$'
says '^blocks +4 of 16 x 16 with an incidence, 1.50 incidences in each; columns of each window together: 1, 6.00$'
says '^layout +of sums over the hyperedges of each vertex, in the order of their ids, on NVIDIA H200$'
says '^blocks +4 of 16 x 16 with an incidence, 1.50 incidences in each; columns of each window together: 4, 1.50$'
[[ $(grep -c '^ *fp32  *512 ' out) == 2 ]] || { echo "no products of both directions in:"; cat out; exit 1; }
fails 2 'nothing is known of a GPU "foo"; allowed: NVIDIA H200' env XDG_CONFIG_HOME=/nowhere "$gnndata" info good.h5 --layout=foo
[[ ! -s out ]] || { echo "a GPU of which nothing is known is refused after:"; cat out; exit 1; }
[[ $(cksum <good.h5) == "$sum" ]] || { echo "reading changed the file"; exit 1; }

for command in check info; do
  "$gnndata" "$command" --help >out
  says "^usage: gnndata $command"
  fails 2 "absent.h5: cannot be read: No such file or directory" "$gnndata" "$command" absent.h5
  fails 2 ".: is a folder" "$gnndata" "$command" .
  fails 2 "usage: gnndata $command" "$gnndata" "$command"
  fails 2 "usage: gnndata $command" "$gnndata" "$command" good.h5 good.h5
  fails 2 "test_dataset_commands.sh: is not an HDF5 file" "$gnndata" "$command" \
    "$GNNTRAIN_SOURCE/tests/io/test_dataset_commands.sh"
  head -c 50000 good.h5 >short.h5
  fails 2 "short.h5: is a damaged or truncated HDF5 file" "$gnndata" "$command" short.h5
  cp good.h5 flipped.h5
  printf 'XXXX' | dd of=flipped.h5 bs=1 seek=100000 conv=notrunc status=none
  fails 2 "damaged" "$gnndata" "$command" flipped.h5
done
