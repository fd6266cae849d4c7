# gnndata import allset: a folder of either kind becomes a hypergraph that trains, the same on one rank and on three, with ids and
# names of classes in its predictions; one sentence and no file for what is wrong.
. "$GNNTRAIN_SOURCE/tests/models/curves.sh"

# 120 vertices of three classes, 90 hyperedges of four, of which two in three lie within a class; a vertex by itself in two more.
mkdir zoo trips
awk 'BEGIN {
  srand(5)
  split("bird fish mammal", name, " ")
  for (v = 0; v < 120; v++) {
    printf "%d\t%.3f\t%.3f\t%.3f\t%s\n", 10 + 2 * v, rand() + (v % 3 == 0), rand(), rand() - (v % 3 == 1), name[v % 3 + 1] >"zoo/zoo.content"
    print v % 3 + 1 >"trips/node-labels-trips.txt"
  }
  for (e = 0; e < 92; e++) {
    line = ""
    for (k = 0; k < (e < 90 ? 4 : 1); k++) {
      v = e % 3 ? 3 * int(40 * rand()) + e % 3 : int(120 * rand())
      printf "%d\t%d\n", 10 + 2 * v, 1000 + e >"edges"
      line = line (k ? "," : "") v + 1
    }
    print line >"trips/hyperedges-trips.txt"
  }
}'
sort -k 1,1n -k 2,2n edges >zoo/zoo.edges # as published files are
works gnndata import allset zoo zoo.h5 --split per-class:15,5
says '^zoo.h5: 120 vertices, 92 hyperedges, .* 3 features, 3 classes, 1 split \(45 train, 15 val, 60 test\)'
works gnndata check zoo.h5
works gnndata info zoo.h5
says '40 nodes, 33.33%  mammal$'

settings base.toml dataset.path=zoo.h5 model.type=hgnn model.hidden=8 model.layers=2 model.dropout=0.2 train.epochs=60 train.lr=0.02 \
  runtime.precision=fp64
for ranks in 1 3; do
  must_run $ranks base.toml --set log.dir=run.$ranks
  keep_losses $ranks
done
within 1 3 60 1e-9
awk -v test="$(final run.1 test)" 'BEGIN { exit test < .75 }' || fail "it learns to $(final run.1 test) alone"
must_run 1 base.toml --predict run.1/best.h5 --out zoo.csv
head -2 zoo.csv | tail -1 | grep -Eq '^10,[012],(bird|fish|mammal),' || fail "zoo.csv: $(head -2 zoo.csv)"

# The other kind is what import hypergraph makes of its two files.
mkdir one other
works gnndata import allset trips one/trips.h5 --features random:8 --split random:0.5,0.25
works gnndata import hypergraph trips/hyperedges-trips.txt other/trips.h5 --labels trips/node-labels-trips.txt --features random:8 \
  --split random:0.5,0.25
cmp one/trips.h5 other/trips.h5 || fail "both ways lead to different datasets"
works gnndata import allset trips bare.h5
says 'vertices have no features; --features random:64 makes some$'

echo 12 >>zoo/zoo.edges
refused 2 'zoo/zoo.edges:[0-9]+: expected two node ids' gnndata import allset zoo bad.h5
refused 2 'run.1: holds no single NAME.content and no single hyperedges-NAME.txt' gnndata import allset run.1 bad.h5
[[ ! -e bad.h5 ]] || fail "bad.h5 is there"
echo "folders of hypergraphs train"
