# gnndata check and gnndata info on a good dataset, a damaged one and what is no dataset.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

gnndata synth good.h5 --nodes 3000 --degree 8 --features 16 --classes 4 >/dev/null
sum=$(cksum <good.h5)
gnndata check good.h5 >out.txt
says '^good.h5: ok \(3000 nodes, [0-9]+ arcs, 16 features, 4 classes, 1 split\)$'
# However many threads a machine has: the process that probes a file has little room for them.
gnndata synth large.h5 --nodes 300000 --degree 2 --features 32 --classes 4 >/dev/null
OMP_NUM_THREADS=64 gnndata check large.h5 >out.txt
says '^large.h5: ok '
rm large.h5
gnndata info good.h5 >out.txt
says '^name +good$'
says '^nodes +3000$'
says '^arcs +[0-9]+, symmetric'
says '^degree +min [0-9]+, mean [0-9.]+, max [0-9]+$'
says '^features +16, dense, 100% not zero$'
says '^classes +4, multiclass, 0 nodes without a label$'
says 'train 300, val 300, test 2400$'
lacks '^layout'
gnndata info good.h5 --layout >out.txt
says '^layout +of the whole graph in the order of its ids, on NVIDIA H200$'
says '^blocks +[0-9]+ of 16 x 16 with an arc, [0-9.]+ arcs in each; columns of each window together: [0-9]+, '
says '^ +bf16 +128 +[0-9]+( +[0-9.]+%){3}( +[0-9.]+){4}$'
says '^ +fp32 +512 '
printf '%s\n' '0 16' '0 32' '0 48' >hyperedges.txt
gnndata import hypergraph hyperedges.txt hyper.h5 >/dev/null
gnndata info hyper.h5 --layout >out.txt
says '^layout +of sums over the vertices of each hyperedge, in the order of their ids, on NVIDIA H200$'
says '^blocks +4 of 16 x 16 with an incidence, 1.50 incidences in each; columns of each window together: 1, 6.00$'
says '^layout +of sums over the hyperedges of each vertex, in the order of their ids, on NVIDIA H200$'
says '^blocks +4 of 16 x 16 with an incidence, 1.50 incidences in each; columns of each window together: 4, 1.50$'
[[ $(grep -c '^ *fp32  *512 ' out.txt) == 2 ]] || fail "no products of both directions"
refused 2 'nothing is known of a GPU "foo"; allowed: NVIDIA H200' env XDG_CONFIG_HOME=/nowhere gnndata info good.h5 --layout=foo
[[ ! -s out.txt ]] || fail "a GPU of which nothing is known is refused after other output"
[[ $(cksum <good.h5) == "$sum" ]] || fail "reading changed the file"

for command in check info; do
  gnndata "$command" --help >out.txt
  says "^usage: gnndata $command"
  refused 2 "absent.h5: cannot be read: No such file or directory" gnndata "$command" absent.h5
  refused 2 ".: is a folder" gnndata "$command" .
  refused 2 "usage: gnndata $command" gnndata "$command"
  refused 2 "usage: gnndata $command" gnndata "$command" good.h5 good.h5
  refused 2 "test_dataset_commands.sh: is not an HDF5 file" gnndata "$command" \
    "$GNNTRAIN_SOURCE/tests/io/dataset/test_dataset_commands.sh"
  head -c 50000 good.h5 >short.h5
  refused 2 "short.h5: is a damaged or truncated HDF5 file" gnndata "$command" short.h5
  cp good.h5 flipped.h5
  printf 'XXXX' | dd of=flipped.h5 bs=1 seek=100000 conv=notrunc status=none
  refused 2 "damaged" gnndata "$command" flipped.h5
done

# Several labels a node, sparse features, self loops; more classes than are listed.
printf '%s\n' '0 0' '0 1' '1 2' '3 3' >list.txt
header="{'descr': '|u1', 'fortran_order': False, 'shape': (4, 2), }"
printf '\x93NUMPY\x01\x00%b\x00%s\n\x01\x00\x00\x00\x00\x01\x01\x01' "\\x$(printf %02x $((${#header} + 1)))" "$header" >labels.npy
for v in 0 1 2 3; do echo "$v$(printf ',0%.0s' {1..29})"; done >features.csv
gnndata import edgelist list.txt multi.h5 --labels labels.npy --features features.csv >/dev/null
gnndata info multi.h5 >out.txt
says '^isolated +1 nodes$'
says '^self loops +2$'
says '^features +30, sparse rows, 3 entries, 2.5% not zero$'
says '^classes +2, multilabel, 1 nodes without a label$'
says '^ +1 +2 nodes, 50.00%$'
seq 0 69 >ids.txt
seq 0 68 | awk '{ print $1, $1 + 1 }' >list.txt
gnndata import edgelist list.txt many.h5 --labels ids.txt >/dev/null
gnndata info many.h5 >out.txt
says '^classes +70, multiclass, 0 nodes without a label$'
says '^ +and 50 classes more$'
