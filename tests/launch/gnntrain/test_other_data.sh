# Training goes on only with the data that it began with; its weights may be tried on other data. The best weights
# alone are nothing to go on from.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

# refuses PATTERN ARGUMENT...: on one rank and on two.
refuses() {
  for ranks in 1 2; do must_refuse 2 "$1" $ranks run.toml "${@:2}"; done
}

# Datasets of one graph, each with one kind of data that is another's.
for ((i = 0; i < 60; i++)); do echo "$i $(((i + 1) % 60))"; done >ring.txt
awk '{ print ($1 < 30) }' ring.txt >labels.txt
awk '{ print NR == 1 ? 1 - $1 : $1 }' labels.txt >labels2.txt
awk '{ print $1 / 64 "," 1 - $1 / 64 }' ring.txt >features.csv
awk -F , '{ print NR == 60 ? $1 + 1 : $1, $2 }' OFS=, features.csv >features2.csv
make() {
  gnndata import edgelist ring.txt "$1.h5" --undirected --features "$2" --labels "$3" --split "$4" \
    --seed 1 >out.txt
}
make first features.csv labels.txt random:0.5,0.25
make same features.csv labels.txt random:0.5,0.25
make features features2.csv labels.txt random:0.5,0.25
make labels features.csv labels2.txt random:0.5,0.25
make splits features.csv labels.txt random:0.5,0.3
settings run.toml model.hidden=8 train.epochs=4 log.dir=run
must_run 1 run.toml --set dataset.path=first.h5
must_run 2 run.toml --set dataset.path=same.h5 --resume --epochs 6
refuses 'was trained with dataset.normalize = "none", this run has "row"' --set dataset.path=first.h5 \
  --set dataset.normalize=row --resume --epochs 7
must_run 1 run.toml --set dataset.path=first.h5 --resume --epochs 7
for kind in features labels splits; do
  refuses "epoch-0-7\.h5: was trained with other $kind than those of $kind\.h5" --resume --epochs 9 \
    --set dataset.path=$kind.h5
  must_run 2 run.toml --set dataset.path=$kind.h5 --eval run/best.h5
  says "^note: run/best.h5 was trained with other $kind than those of $kind.h5"
  must_run 1 run.toml --set dataset.path=$kind.h5 --predict run/best.h5 --out predictions.h5
done

# Weights serve on a graph with new nodes: those that these do not touch get the logits that they had. Not with other features
# or classes, and training does not go on there.
{ cat ring.txt && for ((i = 0; i < 10; i++)); do echo "$((60 + i)) $((60 + (i + 1) % 10))"; done; } >more.txt
{ cat features.csv && for ((i = 0; i < 10; i++)); do echo "0.$i,0.5"; done; } >more.csv
{ cat labels.txt && for ((i = 0; i < 10; i++)); do echo -1; done; } >more_labels.txt
works gnndata import edgelist more.txt more.h5 --undirected --features more.csv --labels more_labels.txt --split random:0.5,0.25
must_run 2 run.toml --set dataset.path=first.h5 --predict run/best.h5 --out before.csv
for ranks in 1 2; do
  must_run $ranks run.toml --set dataset.path=more.h5 --predict run/best.h5 --out after.csv
  says '^note: run/best.h5 was trained on another graph than more.h5$'
  [[ $(wc -l <after.csv) == 71 ]] || fail "after.csv has $(wc -l <after.csv) lines"
  paste -d , before.csv <(head -n 61 after.csv) | awk -F , 'NR > 1 {
    for (i = 3; i <= 4; i++) { d = $i - $(i + 4); if (d > 1e-5 || d < -1e-5) exit 1 }
    if ($1 != $5 || $2 != $6) exit 1 }' || fail "logits of old nodes are others on $ranks rank(s)"
done
must_run 2 run.toml --set dataset.path=more.h5 --eval run/best.h5
refuses 'was trained on another dataset than more\.h5' --set dataset.path=more.h5 --resume --epochs 9
awk -F , '{ print $0 ",1" }' features.csv >three.csv
make three three.csv labels.txt random:0.5,0.25
refuses 'layer0.weight: has 2 dimensions, 2 x 8; 3 x 8 is expected' --set dataset.path=three.h5 --predict run/best.h5 --out no.csv

# Sparse features, and those of hypergraphs.
hyper() {
  gnndata import hypergraph ring.txt "$1.h5" --features "$2" --labels labels.txt --split random:0.5,0.25 \
    --seed 1 >out.txt
}
hyper hyper features.csv
hyper hyper2 features2.csv
must_run 2 run.toml --set dataset.path=hyper.h5 --set model.type=hgnn --set log.dir=hyper
refuses 'other features than those of hyper2\.h5' --set dataset.path=hyper2.h5 --set model.type=hgnn \
  --set log.dir=hyper --resume --epochs 9
must_run 1 run.toml --set dataset.path=hyper.h5 --set model.type=hgnn --set log.dir=hyper --resume --epochs 9
awk '{ for (j = 0; j < 40; j++) printf "%s%s", j == NR % 40 ? 1 : 0, j < 39 ? "," : "\n" }' ring.txt >wide.csv
awk '{ for (j = 0; j < 40; j++) printf "%s%s", j == (NR == 7 ? 8 : NR % 40) ? 1 : 0, j < 39 ? "," : "\n" }' ring.txt >wide2.csv
make sparse wide.csv labels.txt random:0.5,0.25
make sparse2 wide2.csv labels.txt random:0.5,0.25
must_run 2 run.toml --set dataset.path=sparse.h5 --set log.dir=sparse
refuses 'other features than those of sparse2\.h5' --set dataset.path=sparse2.h5 --set log.dir=sparse --resume --epochs 9
must_run 1 run.toml --set dataset.path=sparse.h5 --set log.dir=sparse --resume --epochs 9

# The best weights stand beside the moments of the last epoch.
refuses 'best\.h5: holds the best weights, of epoch [0-9]+, and not what training goes on from; resume a file of checkpoints/' \
  --set dataset.path=first.h5 --set log.dir=fresh --resume=run/best.h5 --epochs 9
