# What runtime.rows does is said: with --verbose for each layer, or why all rows are computed, and by --dry-run for each
# step; and it changes no result.
. "$GNNTRAIN_SOURCE/tests/models/curves.sh"

works gnndata synth data.h5 --nodes 2000 --degree 4 --features 24 --classes 5 --community-size 100 --train 0.02 --seed 3
settings base.toml dataset.path=data.h5 model.hidden=16 model.layers=3 model.dropout=0.5 train.epochs=50

# banner OPTION...: of a run on one rank that ends before it trains
banner() { must_run 1 base.toml --dry-run "$@"; }

for ranks in 1 2; do
  train_on $ranks needed.$ranks --verbose --set runtime.precision=fp64
  says '^rows: an epoch computes those that its loss needs, an evaluation all$'
  says '^  layer 2 +2\.0% of rows, [0-9.]+% of arcs$'
  says '^  layer 1 +[0-9.]+% of rows, [0-9.]+% of arcs$'
  train_on $ranks all.$ranks --verbose --set runtime.precision=fp64 --set runtime.rows=all
  says '^rows: an epoch computes all: runtime.rows = "all"$'
  within needed.$ranks all.$ranks 50 1e-9
done

banner
says '^ +[0-9]+ +aggregate +2 +40 '
says '^ +[0-9]+ +loss +2 +40 '
says '^ +[0-9]+ +aggregate +0 +all +once '
banner --set model.type=gin
says '^rows: an epoch computes all: model.type = "gin" computes no fewer$'
banner --set model.type=gcnii --set model.norm=batch
says '^rows: an epoch computes all: model.type = "gcnii" with a batch norm computes no fewer$'

# Evaluations of few nodes compute fewer rows, too, to the same metrics; predictions are of all.
awk 'BEGIN { srand(9); for (v = 0; v < 4000; v++) for (i = 0; i < 2; i++) print v, int(v / 40) * 40 + int(40 * rand()) }' >arcs.txt
awk 'BEGIN { part[1] = "train"; part[2] = "val"; part[3] = "test"
             for (v = 0; v < 4000; v++) print v % 100 in part ? part[v % 100] : "none" }' >split.txt
works gnndata import edgelist arcs.txt few.h5 --undirected --nodes 4000 --features random:24 --labels random:5 --split split.txt
metrics() { grep -oE '"(train|val|test)": [0-9.]+' "run.$1/metrics.jsonl"; }
for ranks in 1 2; do
  train_on $ranks few.$ranks --verbose --set dataset.path=few.h5 --set runtime.precision=fp64
  says '^rows: an epoch computes those that its loss needs, an evaluation those that its split needs$'
  says '^  layer 2 +1\.0% of rows, [0-9.]+% of arcs; evaluated 3\.0%, [0-9.]+%$'
  train_on $ranks few.all.$ranks --set dataset.path=few.h5 --set runtime.precision=fp64 --set runtime.rows=all
  within few.$ranks few.all.$ranks 50 1e-9
  diff <(metrics few.$ranks) <(metrics few.all.$ranks) || fail "metrics of fewer rows differ"
done
must_run 2 base.toml --set dataset.path=few.h5 --set log.dir=run.few.2 --eval run.few.2/best.h5
must_run 2 base.toml --set dataset.path=few.h5 --set log.dir=run.few.2 --predict run.few.2/best.h5 --out needed.h5 --verbose
says 'an evaluation all$'
must_run 1 base.toml --set dataset.path=few.h5 --set log.dir=run.few.2 --predict run.few.2/best.h5 --out all.h5 --set runtime.rows=all
works check_prediction needed.h5 few.h5 all.h5

works gnndata synth most.h5 --nodes 2000 --degree 8 --features 24 --classes 5 --train 0.9
banner --set dataset.path=most.h5
says '^rows: an epoch computes all: the loss needs [0-9]+% of the sums over arcs$'
banner --set dataset.path=most.h5 --set model.type=mlp
says '^rows: an epoch computes all: the loss needs [0-9]+% of the rows$'
echo "rows are told"
