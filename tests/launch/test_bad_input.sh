# Each kind of bad input gets one sentence that names it, and exit code 2, on one rank and on two.
. "$GNNTRAIN_SOURCE/tests/launch/job.sh"
make() { "$GNNTRAIN_BIN/tests/launch/break_dataset" "$@"; }

# refuses CODE PATTERN ARGUMENT...: gnntrain ends with CODE and one sentence that matches PATTERN.
refuses() {
  local expected=$1 pattern=$2 ranks
  shift 2
  for ranks in 1 2; do
    job $ranks "$@"
    ((code == expected)) ||
      { cat err.txt; fail "exit code $code in place of $expected on $ranks rank(s): gnntrain $*"; }
    (($(grep -c '^gnntrain: ' err.txt) == 1)) ||
      { cat err.txt; fail "not one sentence on $ranks rank(s): gnntrain $*"; }
    if ((ranks == 1 && code == 2 && $(wc -l <err.txt) != 1)); then
      cat err.txt
      fail "more than a sentence on stderr: gnntrain $*"
    fi
    grep -aqE "$pattern" <<<"$(grep -a '^gnntrain: ' err.txt)" ||
      { cat err.txt; fail "no \"$pattern\" in the message on $ranks rank(s): gnntrain $*"; }
  done
}

rm -rf ./*
make sound sound.h5
cat >run.toml <<'END'
[dataset]
path = "sound.h5"
[model]
hidden = 8
[train]
epochs = 2
[log]
dir = "run"
overwrite = true
END
must_run 1 run.toml
must_run 2 run.toml

# Files
refuses 2 'none\.toml' none.toml
refuses 2 'none\.h5' run.toml --set dataset.path=none.h5
echo 'not an HDF5 file, but text' >text.h5
refuses 2 'text\.h5' run.toml --set dataset.path=text.h5
: >empty.h5
refuses 2 'empty\.h5' run.toml --set dataset.path=empty.h5
refuses 2 '\.' run.toml --set dataset.path=.
head -c 5000 sound.h5 >short.h5
refuses 2 'short\.h5' run.toml --set dataset.path=short.h5

# Datasets: the kind of defect and what the sentence must say beside the file's name
while read -r kind pattern; do
  make "$kind" "$kind.h5"
  refuses 2 "$kind\.h5.*($pattern)" run.toml --set dataset.path="$kind.h5"
  said=0
  "$GNNTRAIN_BIN/gnndata" check "$kind.h5" >out.txt 2>err.txt || said=$?
  ((said == 2)) || { cat out.txt err.txt; fail "gnndata check $kind.h5 ended with $said"; }
done <<'END'
wrong_version version
feature_shape features
edge_count indices|num_edges
index_range 64
negative_index -1
unsorted_row 10|ascend|sorted
duplicate 10|ascend|duplicate
asymmetric symmetric|directed
asymmetric_weight symmetric|directed
falling_start indptr
huge_start indptr
label_range label.*4|4.*label
nan_feature NaN|nan|finite
split_range split/train
split_order split/val
split_label /split/train: node 10 has no label
split_twice /split/test: node 1 is in val of the same split, too
split_gap /split/2: train, val and test, or numbers from 0 without gaps
split_name_wrong /split/valid: train, val and test, or numbers from 0 without gaps
END

# A split of a later run is looked at before the first run.
make split_untrained untrained.h5
refuses 2 'split 1 has no training nodes' run.toml --set dataset.path=untrained.h5 --set train.runs=2
must_run 1 run.toml --set dataset.path=untrained.h5 --set log.dir=untrained
make negative_weight negative_weight.h5
refuses 2 'negative' run.toml --set dataset.path=negative_weight.h5
refuses 2 'negative_weight\.h5.*model\.aggregator = "mean" needs weights >= 0' run.toml --set dataset.path=negative_weight.h5 \
  --set model.type=sage
must_run 2 run.toml --set dataset.path=negative_weight.h5 --set model.type=sage --set model.aggregator=sum
printf '%s\n' '0 1 1' '1 2 1' '2 3 1' '3 3 -2' >loop.txt
"$GNNTRAIN_BIN/gnndata" import edgelist loop.txt loop.h5 --undirected --weights --features random:4 --labels random:2 \
  --split random:0.5,0.25 >out.txt
refuses 2 'loop\.h5: the self loop of node 3 has weight -2; model\.norm_edges = "both" needs weights >= 0' run.toml \
  --set dataset.path=loop.h5
refuses 2 'the self loop of node 3 has weight -2; model\.aggregator = "gcn"' run.toml --set dataset.path=loop.h5 \
  --set model.type=sage --set model.aggregator=gcn
must_run 2 run.toml --set dataset.path=loop.h5 --set model.norm_edges=none
refuses 2 'negative_weight\.h5.*weights.*model\.type = "gat"' run.toml --device cpu --set dataset.path=negative_weight.h5 \
  --set model.type=gat

# More ranks than nodes: one sentence, and no abort.
echo '0 1' >pair.txt
made=(--features random:4 --labels random:2 --split random:0.5,0)
"$GNNTRAIN_BIN/gnndata" import edgelist pair.txt pair_gcn.h5 --undirected "${made[@]}" >out.txt
"$GNNTRAIN_BIN/gnndata" import hypergraph pair.txt pair_hgnn.h5 "${made[@]}" >out.txt
for model in gcn hgnn; do
  dataset=pair_$model
  job 3 run.toml --set dataset.path=$dataset.h5 --set model.type=$model
  ((code == 2)) || { cat err.txt; fail "more ranks than nodes: exit code $code"; }
  (($(grep -c '^gnntrain: .*cannot be cut into 3 parts' err.txt) == 1)) || { cat err.txt; fail "$dataset: not one sentence"; }
  ! grep -q MPI_ABORT err.txt out.txt || { cat err.txt; fail "$dataset: the ranks were aborted"; }
done

# Configurations
refuses 2 'train\.epoch\b' run.toml --set train.epoch=3
printf '[model]\nhiden = 8\n' >unknown.toml
refuses 2 'unknown\.toml:2.*hiden' unknown.toml
refuses 2 'model\.dropout.*1\.5' run.toml --set model.dropout=1.5
printf '[train]\nlr = 0.01\nepochs = -1\n' >range.toml
refuses 2 'range\.toml:3.*train\.epochs' range.toml
printf '[train]\nlr = 0.01\nepochs = = 3\n' >syntax.toml
refuses 2 'syntax\.toml:3' syntax.toml
refuses 2 'model\.type.*forest.*gcn, gcnii, gin, .*mlp, sage' run.toml --set model.type=forest
"$GNNTRAIN_BIN/gnndata" synth hyper.h5 --nodes 300 --hyperedges 100 --degree 3 --features 4 --classes 3 >out.txt
refuses 2 'hyper\.h5: has no /graph to train on; model.type hgnn' run.toml --set dataset.path=hyper.h5
printf '%s\n' '0 1' '1 2' '2 3' >path.txt
printf '%s\n' 0 1 0 1 >labels.txt
"$GNNTRAIN_BIN/gnndata" import edgelist path.txt unlabelled.h5 --undirected --features random:4 >out.txt
refuses 2 'unlabelled\.h5: has no labels .*import it with --labels' run.toml --set dataset.path=unlabelled.h5
"$GNNTRAIN_BIN/gnndata" import edgelist path.txt undivided.h5 --undirected --features random:4 --labels labels.txt >out.txt
refuses 2 'undivided\.h5: has no /split .*import it with --split' run.toml --set dataset.path=undivided.h5
[[ ! -e unlabelled.h5.parts && ! -e undivided.h5.parts ]] || fail "a dataset that cannot be trained was divided first"
refuses 2 'model\.residual = true .*"unigcnii"' run.toml --set model.type=unigcnii --set model.residual=true --set dataset.path=hyper.h5
# A graph alone, where the model runs on a hypergraph.
refuses 2 'sound\.h5: has no /hypergraph, on which model\.type = "hgnn" runs' run.toml --set model.type=hgnn
refuses 2 'model\.aggregator must be "mean".*not "median"' run.toml --set model.type=sage --set model.aggregator=median
refuses 2 'model\.layers.*1.*0' run.toml --set model.layers=0
refuses 2 'model\.hidden = 8 .*model\.heads = 3' run.toml --set model.type=gat --set model.heads=3
refuses 2 'model\.layers = 2.*agnn.*3' run.toml --set model.type=agnn
refuses 2 'model\.heads.*0' run.toml --set model.type=gat --set model.heads=0
refuses 2 'model\.heads_last.*65' run.toml --set model.type=gat --set model.heads_last=65
refuses 2 'model\.dropout_attention.*1' run.toml --set model.type=gat --set model.dropout_attention=1
refuses 2 'model\.residual.*gin' run.toml --set model.type=gin --set model.residual=true
refuses 2 'model\.residual.*gcnii.*model\.alpha' run.toml --set model.type=gcnii --set model.residual=true
refuses 2 'model\.alpha.*1' run.toml --set model.type=gcnii --set model.alpha=1
refuses 2 'negative_weight\.h5.*weights.*model\.aggregator = "max"' run.toml --set dataset.path=negative_weight.h5 \
  --set model.type=sage --set model.aggregator=max
refuses 2 'train\.metric = "roc_auc" is for.*two classes; sound\.h5 has 4' run.toml --set train.metric=roc_auc
refuses 2 'train\.loss = "bce" does not fit.*sound\.h5' run.toml --set train.loss=bce
refuses 2 'abacus' run.toml --device abacus
refuses 2 'nonsense' run.toml --nonsense
refuses 2 '.' --epochs 3
for passed_over in '--eval none.h5' '--predict none.h5 --out out.h5' '--dry-run'; do
  refuses 2 'profile is for training, not for --eval, --predict or --dry-run' run.toml --profile $passed_over
done

# The run's folder has the configuration's name, which its files keep as text.
cp run.toml $'caf\xe9.toml'
sed -i '/^dir = /d' $'caf\xe9.toml'
refuses 2 'not valid UTF-8.*set log\.dir' $'caf\xe9.toml'
[[ ! -e runs ]] || fail "a run with a name that is not UTF-8 was begun"
must_run 1 $'caf\xe9.toml' --set log.dir=coffee
cp $'caf\xe9.toml' 'café.toml'
must_run 1 'café.toml'
must_run 1 'café.toml' --resume --epochs 3
grep -q 'resuming run 0 after epoch 2 from runs/café/' out.txt || { cat out.txt; fail "café was not resumed"; }

# Runs
: >file
refuses 2 'file/run' run.toml --set log.dir=file/run
must_run 2 run.toml --set log.dir=kept --set checkpoint.every=1
refuses 2 'kept' run.toml --set log.dir=kept --set log.overwrite=false
refuses 2 'model\.type|model\.hidden' run.toml --set log.dir=kept --resume --set model.type=mlp --epochs 4
refuses 2 'model\.hidden' run.toml --set log.dir=kept --resume --set model.hidden=16 --epochs 4
refuses 2 'none\.h5' run.toml --set log.dir=kept --resume=none.h5 --epochs 4
refuses 2 'sound\.h5' run.toml --set log.dir=kept --resume=sound.h5 --epochs 4
refuses 2 'none\.h5' run.toml --eval none.h5

# A full disk is the machine's failure: exit code 1, the reason, and the last checkpoint still there. (The
# sanitizers cannot be loaded after another library.)
if ! grep -q libasan <<<"$(ldd "$GNNTRAIN_BIN/gnntrain")"; then
  write_fault ENOSPC "$PWD/kept"
  refuses 1 'kept/.*No space left' run.toml --set log.dir=kept --set checkpoint.every=1 --resume --epochs 4
  no_fault
  must_run 2 run.toml --set log.dir=kept --set checkpoint.every=1 --resume --epochs 3
fi
