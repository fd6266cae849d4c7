# --predict writes a row for every node in the dataset's order with the user's ids; --eval gives the metrics of
# the training; both on any number of ranks.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

# An edge list whose ids are neither contiguous nor in order: two rings of 40, class = ring.
for ((i = 0; i < 40; i++)); do
  echo "$((1000 + 7 * i)) $((1000 + 7 * ((i + 1) % 40)))"
  echo "$((3 + 5 * i)) $((3 + 5 * ((i + 1) % 40)))"
done >rings.txt
awk '{ print $1 "\n" $2 }' rings.txt | sort -nu | awk '{ print ($1 >= 1000) }' >labels.txt
# Features tell the rings apart, so the right prediction for each node is known.
awk '{ print $1 "," 1 - $1 "," (NR % 5) / 8 }' labels.txt >features.csv
gnndata import edgelist rings.txt rings.h5 --undirected --features features.csv --labels labels.txt \
  --split random:0.5,0.25 --seed 1 >out.txt
settings run.toml dataset.path=rings.h5 model.hidden=8 model.dropout=0 train.epochs=60 log.dir=run log.progress=60
must_run 2 run.toml
trained=$(final run test)
lacks resuming
must_run 2 run.toml --predict run/best.h5 --out two.h5
must_run 1 run.toml --predict run/best.h5 --out one.h5
share=$(check_prediction two.h5 rings.h5 one.h5)
holds "$share >= 0.99 && $share - $trained < 1e-6 && $trained - $share < 1e-6" "right predictions, and by the training"

for ranks in 1 2; do
  must_run $ranks run.toml --eval run/best.h5
  says '^ *test +100\.00%'
  says 'macro-F1 +100\.00%'
done
says "^weights of run 0 after epoch $(final run best_epoch), the best on validation, from run/best.h5"
lacks resuming

# A split of one class has no ROC curve, but a loss.
awk '{ print NR % 2 ? "train" : NR % 4 || $1 ? "val" : "test" }' labels.txt >split.txt
gnndata import edgelist rings.txt one_class.h5 --undirected --features features.csv --labels labels.txt \
  --split split.txt >out.txt
must_run 1 run.toml --set dataset.path=one_class.h5 --set train.metric=roc_auc --set log.dir=one_class
must_run 1 run.toml --set dataset.path=one_class.h5 --set train.metric=roc_auc --eval one_class/best.h5
says '^  test +- +loss [0-9.]+$'

# What the closing table gives as the command to predict with works, whatever --set said, and of any run.
must_run 1 run.toml --set log.dir=runs --set train.runs=3 --set model.hidden=12 --epochs 20
hint=$(sed -n 's/^  predict with   gnntrain //p' out.txt)
[[ $hint == *--predict* ]] || fail "no command to predict with"
must_run 2 $hint
[[ -s predictions.h5 ]] || fail "$hint wrote nothing"
for run in 0 1 2; do
  for runs in 1 2; do
    must_run $runs run.toml --set model.hidden=12 --set train.runs=$runs --eval runs/checkpoints/epoch-$run-20.h5
    says "^weights of run $run after epoch 20 "
    lacks '^note: train'
  done
done
[[ $(wc -l <run/metrics.jsonl) == 61 ]] || fail "--predict or --eval wrote to the metrics of the training"

# What is read is never written to, and what takes no file is found before any work: one sentence, no change.
refuses_out() { # refuses_out OUT PATTERN
  local ranks
  for ranks in 1 2; do
    must_refuse 2 "$2" $ranks run.toml --predict run/best.h5 --out "$1" --verbose
    lacks rings # of the banner
  done
}
ln -sf rings.h5 linked.h5
ln -f run/best.h5 best_linked.h5
before=$(cat rings.h5 run/best.h5 run.toml | cksum)
refuses_out rings.h5 'rings\.h5: cannot be written: it is the input rings\.h5'
refuses_out linked.h5 'linked\.h5: cannot be written: it is the input rings\.h5'
refuses_out run/best.h5 'it is the input run/best\.h5'
refuses_out best_linked.h5 'it is the input run/best\.h5'
refuses_out "$PWD/run.toml" 'it is the input run\.toml'
refuses_out run 'run: is a folder; a file is expected'
mkfifo pipe
refuses_out pipe 'pipe: is a device or pipe; a file is expected'
refuses_out run.toml/x.h5 'run\.toml is not a folder'
refuses_out run/metrics.jsonl 'run/metrics\.jsonl: is there and is no file of predictions; remove it or name another'
refuses_out run/checkpoints/epoch-0-60.h5 'is no file of predictions'
must_run 1 run.toml --predict run/best.h5 --out one.h5
: >new.h5
must_run 1 run.toml --predict run/best.h5 --out new.h5
[[ $(cat rings.h5 run/best.h5 run.toml | cksum) == "$before" ]] || fail "--out changed what is read"
must_run 1 run.toml --predict run/best.h5 --out made/here/one.h5
check_prediction made/here/one.h5 rings.h5 one.h5 >out.txt

# A table has the ids, predictions and logits of the HDF5 file, an array its predictions; both on any number of ranks.
for ranks in 1 2; do
  must_run $ranks run.toml --predict run/best.h5 --out $ranks.csv
  says "^wrote $ranks.csv: predictions and logits of 80 nodes"
  must_run $ranks run.toml --predict run/best.h5 --out $ranks.npy
  says "^wrote $ranks.npy: predictions of 80 nodes"
  [[ $(head -1 $ranks.csv) == id,prediction,logit_0,logit_1 && $(wc -l <$ranks.csv) == 81 ]] || fail "$ranks.csv is another table"
  # Rings are told apart by their ids.
  awk -F, 'NR > 1 && ($2 != ($1 >= 1000) || ($2 == 1) != ($4 > $3)) { exit 1 }' $ranks.csv || fail "$ranks.csv: wrong predictions"
  tail -n +2 $ranks.csv | cut -d, -f2 >predicted.txt
  tail -c 320 $ranks.npy | od -An -v -t d4 -w4 | tr -d ' ' | cmp - predicted.txt || fail "$ranks.npy is not the table's column"
  grep -aq "'descr': '<i4', 'fortran_order': False, 'shape': (80,), " $ranks.npy || fail "$ranks.npy: another head"
  (($(stat -c %s $ranks.npy) == 128 + 320)) || fail "$ranks.npy: another size"
done
cmp 1.npy 2.npy || fail "arrays of one and two ranks differ"
must_run 1 run.toml --predict run/best.h5 --out 1.csv # one of ours is replaced
refuses_out 1.npy '1\.npy: is there and is no file of predictions for all that can be told'
cp labels.txt mine.csv
refuses_out mine.csv 'mine\.csv: is there and is no file of predictions; remove it or name another'
cmp labels.txt mine.csv || fail "a table of the user's has changed"

# Nodes without ids go by their numbers; of several labels each has a column, 1 where its logit is above 0.
settings made.toml dataset.path=synth:nodes=60,degree=4,features=4,classes=3 model.hidden=4 train.epochs=2 log.dir=made_run
must_run 1 made.toml
must_run 1 made.toml --predict made_run/best.h5 --out made.csv
[[ $(tail -n +2 made.csv | cut -d, -f1) == "$(seq 0 59)" ]] || fail "made.csv: nodes are not their numbers"
header="{'descr': '|u1', 'fortran_order': False, 'shape': (80, 2), }"
{
  printf '\x93NUMPY\x01\x00%b\x00%s\n' "\\x$(printf %02x $((${#header} + 1)))" "$header"
  for ((i = 0; i < 40; i++)); do printf '\x01\x00\x01\x01'; done
} >several.npy
works gnndata import edgelist rings.txt several.h5 --undirected --features features.csv --labels several.npy --split random:0.5,0.25
settings several.toml dataset.path=several.h5 model.hidden=4 model.dropout=0 train.epochs=40 log.dir=several
must_run 1 several.toml
must_run 2 several.toml --predict several/best.h5 --out several.csv
[[ $(head -1 several.csv) == id,label_0,label_1,logit_0,logit_1 ]] || fail "several.csv: another head"
awk -F, 'NR > 1 && ($2 != ($4 > 0) || $3 != ($5 > 0)) { exit 1 } { ones += $2 } END { exit NR != 81 || !ones }' several.csv || fail "several.csv: labels are not their logits"
[[ $(tail -n +2 several.csv | cut -d, -f1) == "$(tail -n +2 1.csv | cut -d, -f1)" ]] || fail "several.csv: other ids"
if find_python numpy; then
  "$python" -c 'import numpy; a = numpy.load("1.npy"); assert a.shape == (80,) and a.dtype == "int32" and a.sum() == 40'
fi

# A part without nodes has neither metric nor loss.
gnndata import edgelist rings.txt all.h5 --undirected --features features.csv --labels labels.txt \
  --split random:1,0 >out.txt
must_run 1 run.toml --set dataset.path=all.h5 --set log.dir=all --epochs 2
must_run 2 run.toml --set dataset.path=all.h5 --eval all/best.h5
(($(grep -cE '^  (val|test) +-  loss -$' out.txt) == 2)) || fail "--eval of parts without nodes"
