# Each kind of bad input gets one sentence that names it, and exit code 2, on one rank and on two.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

# refuses CODE PATTERN ARGUMENT...: gnntrain ends with CODE and one sentence that matches PATTERN.
refuses() {
  for ranks in 1 2; do must_refuse "$1" "$2" $ranks "${@:3}"; done
}

break_dataset sound sound.h5
settings run.toml dataset.path=sound.h5 model.hidden=8 train.epochs=2 log.dir=run log.overwrite=true
must_run 1 run.toml
must_run 2 run.toml

# Files
refuses 2 'none\.toml: cannot open the configuration: No such file' none.toml
refuses 2 'none\.h5: cannot be read: No such file' run.toml --set dataset.path=none.h5
echo 'not an HDF5 file, but text' >text.h5
refuses 2 'text\.h5: is not an HDF5 file' run.toml --set dataset.path=text.h5
: >empty.h5
refuses 2 'empty\.h5: is not an HDF5 file' run.toml --set dataset.path=empty.h5
refuses 2 '\.: is a folder; a file is expected' run.toml --set dataset.path=.
head -c 5000 sound.h5 >short.h5
refuses 2 'short\.h5: is a damaged or truncated HDF5 file' run.toml --set dataset.path=short.h5

# Datasets: the kind of defect and what the sentence must say beside the file's name
while read -r kind pattern; do
  break_dataset "$kind" "$kind.h5"
  refuses 2 "$kind\.h5.*($pattern)" run.toml --set dataset.path="$kind.h5"
  ends 2 gnndata check "$kind.h5"
done <<'END'
wrong_version is a dataset of version 2; this program reads version 1
feature_shape /node/features: has 63 rows; 64 are expected
edge_count /graph/indices: has 256 rows; 257 are expected
index_range /graph/indices\[43\] is 64; 0 to 63
negative_index /graph/indices\[40\] is -1; 0 to 63
unsorted_row row 10 of /graph is not strictly ascending \(8 after 9\)
duplicate row 10 of /graph is not strictly ascending \(8 after 8\)
asymmetric arc 40 -> 10 has no reverse although directed = 0
asymmetric_weight arc 10 -> 8 has weight 1, its reverse 2 although directed = 0
falling_start /graph/indptr\[11\] is 39; 40 to 256
huge_start /graph/indptr\[11\] is 9223372036854775807; 40 to 256
label_range /node/labels\[10\] is 4; -1 to 3
nan_feature /node/features: node 10, column 3 is nan
split_range /split/train\[31\] is 64; 0 to 63
split_order /split/val\[3\] is 9 after 9
split_label /split/train: node 10 has no label
split_twice /split/test: node 1 is in val of the same split, too
split_gap /split/2: train, val and test, or numbers from 0 without gaps
split_name_wrong /split/valid: train, val and test, or numbers from 0 without gaps
graph_arc an arc leads from node [0-9]+ to node [0-9]+ of another graph; graphs stand apart
graph_split /split/train: node 2 is not the first one of its graph, which stands for it in a split
END

# A split of a later run is looked at before the first run.
break_dataset split_untrained untrained.h5
refuses 2 'split 1 has no training nodes' run.toml --set dataset.path=untrained.h5 --set train.runs=2
must_run 1 run.toml --set dataset.path=untrained.h5 --set log.dir=untrained
break_dataset negative_weight negative_weight.h5
refuses 2 'negative_weight\.h5: an edge has weight -1; model\.norm_edges = "both" needs weights >= 0' run.toml --set dataset.path=negative_weight.h5
refuses 2 'negative_weight\.h5.*model\.aggregator = "mean" needs weights >= 0' run.toml --set dataset.path=negative_weight.h5 \
  --set model.type=sage
must_run 2 run.toml --set dataset.path=negative_weight.h5 --set model.type=sage --set model.aggregator=sum
printf '%s\n' '0 1 1' '1 2 1' '2 3 1' '3 3 -2' >loop.txt
gnndata import edgelist loop.txt loop.h5 --undirected --weights --features random:4 --labels random:2 \
  --split random:0.5,0.25 >out.txt
refuses 2 'loop\.h5: the self loop of node 3 has weight -2; model\.norm_edges = "both" needs weights >= 0' run.toml \
  --set dataset.path=loop.h5
refuses 2 'the self loop of node 3 has weight -2; model\.aggregator = "gcn"' run.toml --set dataset.path=loop.h5 \
  --set model.type=sage --set model.aggregator=gcn
must_run 2 run.toml --set dataset.path=loop.h5 --set model.norm_edges=none
refuses 2 'negative_weight\.h5.*weights.*model\.type = "gat"' run.toml --device cpu --set dataset.path=negative_weight.h5 \
  --set model.type=gat
refuses 2 'negative_weight\.h5.*weights.*model\.type = "gatv2"' run.toml --device cpu --set dataset.path=negative_weight.h5 \
  --set model.type=gatv2

# More ranks than nodes: one sentence, and no abort.
echo '0 1' >pair.txt
made=(--features random:4 --labels random:2 --split random:0.5,0)
gnndata import edgelist pair.txt pair_gcn.h5 --undirected "${made[@]}" >out.txt
gnndata import hypergraph pair.txt pair_hgnn.h5 "${made[@]}" >out.txt
for model in gcn hgnn; do
  dataset=pair_$model
  must_refuse 2 'cannot be cut into 3 parts' 3 run.toml --set dataset.path=$dataset.h5 --set model.type=$model
  cat out.txt err.txt >all.txt
  lacks MPI_ABORT all.txt
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
gnndata synth hyper.h5 --nodes 300 --hyperedges 100 --degree 3 --features 4 --classes 3 >out.txt
refuses 2 'hyper\.h5: has no /graph to train on; model.type hgnn' run.toml --set dataset.path=hyper.h5
printf '%s\n' '0 1' '1 2' '2 3' >path.txt
printf '%s\n' 0 1 0 1 >labels.txt
gnndata import edgelist path.txt unlabelled.h5 --undirected --features random:4 >out.txt
refuses 2 'unlabelled\.h5: has no labels .*import it with --labels' run.toml --set dataset.path=unlabelled.h5
gnndata import edgelist path.txt undivided.h5 --undirected --features random:4 --labels labels.txt >out.txt
refuses 2 'undivided\.h5: has no /split .*import it with --split' run.toml --set dataset.path=undivided.h5
[[ ! -e unlabelled.h5.parts && ! -e undivided.h5.parts ]] || fail "a dataset that cannot be trained was divided first"
refuses 2 'model\.residual = true .*"unigcnii"' run.toml --set model.type=unigcnii --set model.residual=true --set dataset.path=hyper.h5
# A graph alone, where the model runs on a hypergraph.
refuses 2 'sound\.h5: has no /hypergraph, on which model\.type = "hgnn" runs' run.toml --set model.type=hgnn
refuses 2 'model\.aggregator must be "mean".*not "median"' run.toml --set model.type=sage --set model.aggregator=median
refuses 2 'model\.layers must be an integer from 1 to 1000, not 0' run.toml --set model.layers=0
refuses 2 'runtime\.vector_threshold must be an integer from 1 to 8, not 9' run.toml --set runtime.layout=vectors --set runtime.vector_threshold=9
refuses 2 'model\.hidden = 8 .*model\.heads = 3' run.toml --set model.type=gat --set model.heads=3
refuses 2 'model\.hidden = 8 .*model\.heads = 3' run.toml --set model.type=gatv2 --set model.heads=3
refuses 2 'model\.layers = 2.*agnn.*3' run.toml --set model.type=agnn
refuses 2 'model\.heads must be an integer from 1 to 64, not 0' run.toml --set model.type=gat --set model.heads=0
refuses 2 'model\.heads_last.*65' run.toml --set model.type=gat --set model.heads_last=65
refuses 2 'model\.dropout_attention must be a number from 0 to 0\.999, not 1' run.toml --set model.type=gat --set model.dropout_attention=1
refuses 2 'model\.residual.*gin' run.toml --set model.type=gin --set model.residual=true
refuses 2 'model\.residual.*gcnii.*model\.alpha' run.toml --set model.type=gcnii --set model.residual=true
refuses 2 'model\.alpha must be a number from 0 to 0\.999, not 1' run.toml --set model.type=gcnii --set model.alpha=1
refuses 2 'negative_weight\.h5.*weights.*model\.aggregator = "max"' run.toml --set dataset.path=negative_weight.h5 \
  --set model.type=sage --set model.aggregator=max
refuses 2 'negative_weight\.h5.*weights.*model\.aggregator = "min"' run.toml --set dataset.path=negative_weight.h5 \
  --set model.type=sage --set model.aggregator=min
refuses 2 'train\.metric = "roc_auc" is for.*two classes; sound\.h5 has 4' run.toml --set train.metric=roc_auc
refuses 2 'train\.loss = "bce" does not fit.*sound\.h5' run.toml --set train.loss=bce
refuses 2 'device "abacus" is not in this build' run.toml --device abacus
refuses 2 'unknown option "--nonsense"' run.toml --nonsense
refuses 2 'usage: gnntrain CONFIG\.toml' --epochs 3
for passed_over in '--eval none.h5' '--predict none.h5 --out out.h5' '--dry-run'; do
  refuses 2 'profile is for training, not for --eval, --predict or --dry-run' run.toml --profile $passed_over
done

# Objectives that do not fit the labels.
header="{'descr': '|u1', 'fortran_order': False, 'shape': (4, 2), }"
printf '\x93NUMPY\x01\x00%b\x00%s\n\x01\x00\x00\x00\x00\x01\x01\x01' "\\x$(printf %02x $((${#header} + 1)))" "$header" >labels.npy
printf '%s\n' train train val test >split.txt
gnndata import edgelist path.txt multi.h5 --undirected --features random:4 --labels labels.npy --split split.txt >out.txt
gnndata import edgelist path.txt one.h5 --undirected --features random:4 --labels labels.txt --split split.txt >out.txt
refuses 2 'train\.loss = "cross_entropy" does not fit the multilabel labels of multi\.h5' run.toml \
  --set dataset.path=multi.h5 --set train.loss=cross_entropy
refuses 2 'train\.metric = "accuracy" does not fit the multilabel labels of multi\.h5' run.toml \
  --set dataset.path=multi.h5 --set train.metric=accuracy
refuses 2 'multi\.h5 has 2 labels, of which a node may have several' run.toml \
  --set dataset.path=multi.h5 --set train.metric=roc_auc
refuses 2 'one\.h5: all validation nodes are of one class' run.toml \
  --set dataset.path=one.h5 --set train.metric=roc_auc

# The run's folder has the configuration's name, which its files keep as text.
cp run.toml $'caf\xe9.toml'
sed -i '/^log.dir = /d' $'caf\xe9.toml'
refuses 2 'not valid UTF-8.*set log\.dir' $'caf\xe9.toml'
[[ ! -e runs ]] || fail "a run with a name that is not UTF-8 was begun"
must_run 1 $'caf\xe9.toml' --set log.dir=coffee
cp $'caf\xe9.toml' 'café.toml'
must_run 1 'café.toml'
must_run 1 'café.toml' --resume --epochs 3
says 'resuming run 0 after epoch 2 from runs/café/'

# Runs
: >file
refuses 2 'log\.dir: file/run: Not a directory' run.toml --set log.dir=file/run
must_run 2 run.toml --set log.dir=kept --set checkpoint.every=1
refuses 2 'kept already holds a run' run.toml --set log.dir=kept --set log.overwrite=false
refuses 2 'was written with model\.type = "gcn", this run has "mlp"' run.toml --set log.dir=kept --resume --set model.type=mlp --epochs 4
refuses 2 'was written with model\.hidden = 8, this run has 16' run.toml --set log.dir=kept --resume --set model.hidden=16 --epochs 4
refuses 2 'none\.h5: cannot be read' run.toml --set log.dir=kept --resume=none.h5 --epochs 4
refuses 2 'sound\.h5: is not a checkpoint' run.toml --set log.dir=kept --resume=sound.h5 --epochs 4
refuses 2 'none\.h5: cannot be read' run.toml --eval none.h5
must_run 2 run.toml --set log.dir=twice --set checkpoint.every=1 --set train.runs=2
refuses 2 'epoch-1-2\.h5: stands in run 1, but train\.runs = 1' run.toml --set log.dir=twice --resume
for seed in 1 2; do
  gnndata synth seed$seed.h5 --nodes 100 --degree 4 --features 4 --classes 2 --seed $seed >out.txt
done
must_run 2 run.toml --set dataset.path=seed1.h5 --set log.dir=seed --set checkpoint.every=1
refuses 2 'was trained on another dataset than seed2\.h5' run.toml --set dataset.path=seed2.h5 --set log.dir=seed --resume --epochs 3

# A full disk is the machine's failure: exit code 1, the reason, and the last checkpoint still there. (The
# sanitizers cannot be loaded after another library.)
if ! sanitized; then
  write_fault ENOSPC "$PWD/kept"
  refuses 1 'kept/.*No space left' run.toml --set log.dir=kept --set checkpoint.every=1 --resume --epochs 4
  no_fault
  must_run 2 run.toml --set log.dir=kept --set checkpoint.every=1 --resume --epochs 3
fi
