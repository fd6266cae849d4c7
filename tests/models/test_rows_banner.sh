# What runtime.rows does is said: by the banner for each layer, or why all rows are computed, and by --dry-run for each
# step; and it changes no result.
. "$GNNTRAIN_SOURCE/tests/models/curves.sh"

works gnndata synth data.h5 --nodes 2000 --degree 4 --features 24 --classes 5 --community-size 100 --train 0.02 --seed 3
settings base.toml dataset.path=data.h5 model.hidden=16 model.layers=3 model.dropout=0.5 train.epochs=50

# banner OPTION...: of a run on one rank that ends before it trains
banner() { must_run 1 base.toml --dry-run "$@"; }

for ranks in 1 2; do
  train_on $ranks needed.$ranks --set runtime.precision=fp64
  says '^rows: an epoch computes those that its loss needs, an evaluation all$'
  says '^  layer 2 +2\.0% of rows, [0-9.]+% of arcs$'
  says '^  layer 1 +[0-9.]+% of rows, [0-9.]+% of arcs$'
  train_on $ranks all.$ranks --set runtime.precision=fp64 --set runtime.rows=all
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

works gnndata synth most.h5 --nodes 2000 --degree 8 --features 24 --classes 5 --train 0.9
banner --set dataset.path=most.h5
says '^rows: an epoch computes all: the loss needs [0-9]+% of the sums over arcs$'
banner --set dataset.path=most.h5 --set model.type=mlp
says '^rows: an epoch computes all: the loss needs [0-9]+% of the rows$'
echo "rows are told"
