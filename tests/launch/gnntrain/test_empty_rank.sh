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
  runtime.timeout=30 runtime.threads=1 log.dir=run log.overwrite=true log.progress=1000

# seed_of RANKS OPTION...: one with which a rank gets no rows, in $seed.
seed_of() {
  for seed in {1..40}; do
    must_run "$1" run.toml --dry-run --set partition.seed="$seed" "${@:2}"
    ! grep -qE '^ +[0-9]+ +0 +[0-9]+ ' out.txt || return 0
  done
  fail "no rank of $1 is without rows"
}

# same RANKS OPTION...
same() {
  must_run 1 run.toml "${@:2}"
  losses run >alone.txt
  must_run "$1" run.toml --set partition.seed="$seed" "${@:2}"
  losses run | paste alone.txt - | awk '{ d = $2 - $4; if (d < 0) d = -d; bad += d > 1e-9 * $2 } END { exit bad || NR != 4 }' ||
    fail "another training with a rank without rows: ${*:2}"
}
seed_of 6
for model in sage gin gcnii sgc appnp; do same 6 --set model.type=$model; done
for model in gcn sage gat gatv2 agnn mlp; do same 6 --set model.type=$model --set model.residual=true; done
for model in gcn sage gat gatv2; do same 6 --set model.type=$model --set model.residual=true --set train.recompute=layer; done
for model in hgnn unigin unigcnii; do
  seed_of 3 --set dataset.path=hyper.h5 --set model.type=$model
  same 3 --set dataset.path=hyper.h5 --set model.type=$model
  same 3 --set dataset.path=hyper.h5 --set model.type=$model --set train.recompute=layer
done
