# The area under the ROC curve of nodes with equal neighbourhoods, which tie in exact arithmetic: what the log of a
# training has and what --eval prints of its weights are one number, on any number of ranks of either.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

# 40 kinds of node, 12 nodes of each; a node has all nodes of the kinds that its own is joined to.
awk 'function draw(n) {x = (n * 7919 + 104729) % 1000003; return (x * x + 31 * x) % 1000003}
     BEGIN {for (a = 0; a < 40; a++) for (b = a + 1; b < 40; b++) if (draw(40 * a + b) % 100 < 15)
              for (i = 0; i < 12; i++) for (j = 0; j < 12; j++) print 12 * a + i, 12 * b + j > "edges.txt"
            for (v = 0; v < 480; v++) {
              for (f = 0; f < 5; f++) printf "%s%.6f", f ? "," : "", draw(100000 + 5 * int(v / 12) + f) / 1000003 - .5 > "f.csv"
              print "" > "f.csv"
              print (draw(200000 + v) % 100 < (int(v / 12) % 2 ? 70 : 30)) > "labels.txt"}}'
works gnndata import edgelist edges.txt twins.h5 --undirected --features f.csv --labels labels.txt \
  --split random:0.3,0.3
settings run.toml dataset.path=twins.h5 model.hidden=16 model.layers=3 model.dropout=0.0 train.epochs=12 \
  train.metric=roc_auc train.lr=0.05 partition.method=random log.overwrite=true

# evaluated RANKS SETTING...: the test metric that --eval prints of run/best.h5, in percent.
evaluated() {
  must_run "$1" run.toml --eval run/best.h5 "${@:2}"
  awk '$1 == "test" && /loss/ {print $2}' out.txt
}

for precision in fp32 fp64; do
  for ranks in 1 4; do
    must_run $ranks run.toml --set log.dir=run --set runtime.precision=$precision
    logged=$(final run test)
    logged=$(awk -v x="$logged" 'BEGIN {printf "%.2f%%", 100 * x}')
    for others in 1 2 4; do
      found=$(evaluated $others --set log.dir=run --set runtime.precision=$precision)
      [[ $found == "$logged" ]] ||
        fail "$precision: $ranks rank(s) logged $logged, --eval on $others rank(s) prints $found"
    done
    echo "$precision, trained on $ranks rank(s): $logged everywhere"
  done
done
