# METIS may leave a rank without nodes, and a hypergraph's rank may have hyperedges but no vertices: such ranks take
# part in every exchange, and the training is the same as on one rank.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

printf '%s\n' '1 4' '0 2' '3 2' '5 2' '1 5' '2 6' '5 6' >arcs.txt
printf '%s\n' '0 1 2' '0 2' '0 2 3' '0 1 3' >hyperedges.txt
made=(--features random:8 --labels random:3 --split random:0.5,0.25)
gnndata import edgelist arcs.txt graph.h5 "${made[@]}" >out.txt
gnndata import hypergraph hyperedges.txt hyper.h5 "${made[@]}" >out.txt
settings run.toml dataset.path=graph.h5 model.layers=4 model.hidden=8 model.norm=layer model.dropout=0.3 \
  train.epochs=4 partition.method=metis partition.order=given runtime.precision=fp64 runtime.device=cpu \
  runtime.timeout=30 runtime.threads=1

# seed_of DATASET RANKS: one with which a rank gets no rows, in $seed.
seed_of() {
  for seed in {1..40}; do
    works gnndata partition "$1" --parts "$2" --seed "$seed" --order given
    ! grep -qE '^ +[0-9]+ +0 +[0-9]+ ' out.txt || return 0
  done
  fail "no rank of $2 is without rows"
}

# same NAME SECTION.KEY=VALUE...: enters a model.
same() { echo "$*" >>models; }

# train RANKS KIND: the models that were entered, one after the other in the same processes
train() {
  sed "s/^[^ ]*/&.$2/; s/$/ partition.seed=$seed/" models >list
  works on_ranks "$1" timeout -k 10 300 "$GNNTRAIN_BIN/tests/models/train_all" run.toml list
}

# all_are_the_same RANKS: trained alone and with a rank without rows.
all_are_the_same() {
  local model
  train 1 alone
  train "$1" divided
  for model in $(cut -d ' ' -f 1 models); do
    losses "run.$model.alone" >alone.txt
    losses "run.$model.divided" | paste alone.txt - |
      awk '{ d = $2 - $4; if (d < 0) d = -d; bad += d > 1e-9 * $2 } END { exit bad || NR != 4 }' ||
      fail "another training with a rank without rows: $model"
  done
  rm models
}

for model in sage gin gcnii sgc appnp; do same $model model.type=$model; done
for model in gcn sage gat gatv2 agnn mlp; do same $model.residual model.type=$model model.residual=true; done
for model in gcn sage gat gatv2; do same $model.again model.type=$model model.residual=true train.recompute=layer; done
seed_of graph.h5 6
all_are_the_same 6
for model in hgnn unigin unigcnii; do
  same $model dataset.path=hyper.h5 model.type=$model
  same $model.again dataset.path=hyper.h5 model.type=$model train.recompute=layer
done
seed_of hyper.h5 3
all_are_the_same 3
