# A dataset that is made in place: the same training as on the file, to the bit on one rank and to rounding on several; it
# goes on, predicts and is refused as a file is.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
export OMP_NUM_THREADS=1

# made FILE OPTION...: the file that these options make, and in $path the name of the same made in place.
made() {
  local option arguments=()
  path=synth:
  for option in "${@:2}"; do
    arguments+=("--${option%%=*}")
    [[ $option != *=* ]] || arguments+=("${option#*=}")
    path+=$option,
  done
  path=${path%,}
  works gnndata synth "$1" "${arguments[@]}"
}

# compare MODEL RANKS...: losses of the file and of $path; those of one rank on the file lie in losses.1.
compare() {
  local ranks
  for ranks in "${@:2}"; do
    must_run "$ranks" config.toml --set model.type="$1" --set log.dir=file."$ranks"
    must_run "$ranks" config.toml --set model.type="$1" --set log.dir=made."$ranks" --set dataset.path="$path"
    untimed file."$ranks" >file.txt
    untimed made."$ranks" >made.txt
    cmp file.txt made.txt || fail "$ranks ranks: $path trains in another way than the file"
    losses made."$ranks" >losses."$ranks"
    [[ $(wc -l <losses."$ranks") == 6 ]] || fail "$ranks ranks: not six losses"
    paste losses.1 losses."$ranks" | awk '{ d = $2 - $4; if (d < 0) d = -d; if (!(d <= 1e-9 * $2)) exit 1 }' ||
      fail "$ranks ranks: the losses are not those of one"
  done
}

made data.h5 nodes=3000 degree=8 features=12 classes=4 label-noise=0.1
settings config.toml dataset.path=data.h5 train.epochs=6 model.dropout=0.5 runtime.precision=fp64 log.overwrite=true
compare gcn 1 2 4
says '^  graph       synth: 3000 nodes, 2[34][0-9]* arcs, '

# Ranks that read blocks of rows, and shuffled ids; a graph of R-MAT.
made data.h5 nodes=3000 degree=8 features=12 classes=4 shuffle seed=5
compare sage 1 2
made data.h5 nodes=3000 degree=8 features=12 classes=4 rmat
cat >>config.toml <<<'partition.method = "block"'
cat >>config.toml <<<'partition.order = "given"'
compare gcn 1 4

# A hypergraph.
made hyper.h5 nodes=2000 degree=6 features=8 classes=3 hyperedges=900
settings config.toml dataset.path=hyper.h5 train.epochs=6 runtime.precision=fp64 log.overwrite=true
compare hgnn 1 2

# The partition is kept in the folder of the run.
made data.h5 nodes=3000 degree=8 features=12 classes=4
settings config.toml "dataset.path=$path" train.epochs=6 runtime.precision=fp64 log.dir=run
sed -i '1i # gnndata synth data.h5 --nodes 3000' config.toml # which is asked for where a file is not there
must_run 2 config.toml
[[ -n $(echo run/parts/metis-2-*.h5) ]] || fail "no partition is kept"
[[ -z $(echo synth:*) ]] || fail "something is called as the dataset"
must_run 2 config.toml --set log.overwrite=true
says '^  partition +metis, 2 parts, .* as kept: '

# It goes on: with the same data, by whichever name, and with no other.
must_run 1 config.toml --resume --epochs 8
must_run 2 config.toml --resume --epochs 9 --set dataset.path=data.h5
refuses_data() { # MESSAGE RANKS OPTION
  must_refuse 2 "epoch-0-9.h5: was trained $1" "$2" config.toml --resume --epochs 12 --set "dataset.path=$path,$3"
}
refuses_data 'on another dataset than synth:' 1 seed=2
refuses_data 'with other splits than' 2 train=0.2
refuses_data 'with other labels than' 1 label-noise=0.2
refuses_data 'with other features than' 1 signal=2
must_run 1 config.toml --set log.overwrite=true --set log.dir=straight --epochs 9
must_run 1 config.toml --set log.overwrite=true --set log.dir=parts --epochs 4
must_run 1 config.toml --set log.dir=parts --resume --epochs 9
cmp <(untimed straight) <(untimed parts) || fail "going on is not going straight"

# Predictions and evaluation are those of the file; a dry run keeps its partition for the run.
must_run 2 config.toml --predict run/best.h5 --out made.h5
must_run 2 config.toml --predict run/best.h5 --out file.h5 --set dataset.path=data.h5
check_prediction made.h5 data.h5 file.h5 >said
must_run 2 config.toml --eval run/best.h5
must_run 2 config.toml --dry-run --set log.dir=dry
[[ $(echo dry/*) == dry/parts ]] || fail "a dry run left more than its partition"
must_run 2 config.toml --set log.dir=dry
says '^  partition +metis, 2 parts, .* as kept: '

# gnndata knows it.
works gnndata info "$path"
sed -E '/^(name|partitions|file|  )/d' out.txt >made.txt
works gnndata info data.h5
sed -E '/^(name|partitions|file|  )/d' out.txt >file.txt
cmp made.txt file.txt || fail "gnndata info says something else of the file"
works gnndata partition "$path" --parts 2
says '^not kept: '
refused 2 'gnndata check looks into a file' gnndata check "$path"

# One sentence that names the option, on any number of ranks, before anything is made.
refuses() { # MESSAGE LIST
  local ranks
  for ranks in 1 2; do must_refuse 2 "$1" $ranks config.toml --set log.dir=bad --set "dataset.path=synth:$2"; done
  [[ ! -e bad ]] || fail "$2 left a folder"
}
refuses 'synth:nodes N is missing: number of nodes' degree=8,features=4,classes=2
refuses 'unknown option "synth:nodse=9"; did you mean synth:nodes?' nodse=9
refuses 'synth:nodes is "1"; allowed: a whole number from 2 to 2147483647' nodes=1,degree=8,features=4,classes=2
refuses 'synth:power does not go with synth:rmat' nodes=100,degree=8,features=4,classes=2,rmat,power=0.3
refuses '50 communities cannot carry 60 classes' nodes=100,degree=8,features=4,classes=60
refuses 'a mean degree of 99 is more than this graph has room for' nodes=100,degree=99,features=4,classes=2
must_refuse 2 'has no /hypergraph, on which model.type = "hgnn" runs' 1 config.toml --set log.dir=bad --set model.type=hgnn
