# gnndata import on the command line: options anywhere, one sentence and exit code 2 for what is wrong.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

# refuses TEXT ARGUMENT...: exit code 2, one sentence, and no dataset.
refuses() {
  refused 2 "$1" gnndata import "${@:2}"
  [[ ! -e out.h5 ]] || fail "import $*: left a dataset behind"
}

printf '0 1 2\n1 2 3\n2 2 1\n0 1 1\n' >list.txt
gnndata import --help >help.txt
for word in table npz edgelist konect mtx metis hypergraph ogb dgl --undirected --drop-self-loops --weights --features --binarize --labels \
  --split --splits --nodes --seed --memory --id --label --weight --from --to; do
  grep -q -e "^  $word" help.txt || fail "--help does not list $word"
done
gnndata import -h | cmp - help.txt

refuses "expected FORMAT INPUT OUT.h5, found 0" --undirected
refuses "expected FORMAT INPUT OUT.h5, found 2" edgelist list.txt
refuses 'one argument too many: "more"' edgelist list.txt out.h5 more
refuses 'unknown format "csv"' csv list.txt out.h5
refuses 'unknown option "--direct"' edgelist list.txt out.h5 --direct
refuses "--undirected takes no value" edgelist list.txt out.h5 --undirected=yes
refuses "--labels needs a value" edgelist list.txt out.h5 --labels
refuses '--seed is "-1"; allowed: a whole number from 0' edgelist list.txt out.h5 --seed -1
refuses '--splits is "many"; allowed: a whole number from 1 to 1000' edgelist list.txt out.h5 --splits=many
# Hypergraphs of more than a buffer come through a pipe whole; labels beside are read twice, unless --nodes is said.
for ((i = 0; i < 200000; i++)); do echo "$((i % 997)) $((i * 7 % 991)) $((i * 3 % 983))"; done >hyper.txt
mkfifo hyper.pipe
gnndata import hypergraph hyper.txt file.h5 >said
cat hyper.txt >hyper.pipe &
gnndata import hypergraph hyper.pipe piped.h5 >said.piped
wait
[[ $(cut -d: -f2 said | tail -n 1) == $(cut -d: -f2 said.piped | tail -n 1) ]] || fail "through a pipe: $(cat said said.piped)"
says ' 200000 hyperedges' said.piped
refuses "hyper.pipe: is a device or pipe; a file is expected" hypergraph hyper.txt out.h5 --labels hyper.pipe
# Two weights of an edge: the larger one, and it is said.
printf '0 1 2\n1 0 3\n1 2 5\n2 1 5\n' >two.txt
gnndata import edgelist two.txt two.h5 --weights --undirected >said 2>&1
says 'two.txt: 1 edges have another weight each way' said
# With less memory than the arcs take they wait in a file without a name; a full disk is one sentence.
seq 1 400000 | awk '{ print $1 * 7919 % 50021, $1 * 104729 % 49999 }' >large.txt
gnndata import edgelist large.txt large.h5 --undirected >said
mkdir -p little
gnndata import edgelist large.txt little/large.h5 --undirected --memory 0.002 >said 2>&1
says 'arcs beyond 2.0 MiB of memory are kept in a temporary file beside little/large.h5' said
cmp large.h5 little/large.h5 || fail "another dataset with less memory"
[[ $(ls little) == large.h5 ]] || fail "left beside: $(ls little)"
if ! sanitized; then
  write_fault ENOSPC "$PWD/little"
  FAULT_PROGRAM=gnndata FAULT_FILE=
  ends 1 gnndata import edgelist large.txt little/full.h5 --memory 0.002
  no_fault
  grep -q 'little/full.h5: the file beside it, of [0-9]* MiB of arcs, cannot be written: No space left on device' err.txt ||
    fail "not said: $(cat err.txt)"
  [[ $(ls little) == large.h5 ]] || fail "a full disk left $(ls little)"
fi
# A signal that comes with the second write leaves nothing behind. (The sanitizers cannot be loaded after another library.)
if ! sanitized; then
  write_fault TERM "$PWD"
  unset FAULT_ALWAYS
  FAULT_PROGRAM=gnndata
  ends 143 gnndata synth stopped.h5 --nodes 2000 --degree 4 --features 8 --classes 4
  no_fault
  [[ -z $(compgen -G 'stopped.h5*') ]] || fail "a stopped program left $(echo stopped.h5*)"
fi
# What is read stays as it was, whatever it is called as output.
printf '1\n2\n3\n' >values.csv
printf '0\n1\n0\n' >labels.txt
printf 'train\nval\ntest\n' >split.txt
mkdir -p set/raw set/split/time
printf '3\n' >set/raw/num-node-list.csv
printf '0,1\n1,2\n' >set/raw/edge.csv
for part in train valid test; do echo 0 >set/split/time/$part.csv; done
ln -s ../labels.txt set/link.txt
before=$(cat list.txt values.csv labels.txt split.txt set/raw/* set/split/*/* | cksum)
beside=(--features values.csv --labels labels.txt --split split.txt)
refuses "list.txt: cannot be written: it is the input list.txt" edgelist list.txt list.txt
refuses "set/../list.txt: cannot be written: it is the input list.txt" edgelist list.txt set/../list.txt
refuses "values.csv: cannot be written: it is the input values.csv" edgelist list.txt values.csv "${beside[@]}"
refuses "labels.txt: cannot be written: it is the input labels.txt" edgelist list.txt labels.txt "${beside[@]}"
refuses "set/link.txt: cannot be written: it is the input labels.txt" edgelist list.txt set/link.txt "${beside[@]}"
refuses "split.txt: cannot be written: it is the input split.txt" edgelist list.txt split.txt "${beside[@]}"
refuses "set/raw/edge.csv: cannot be written: it is the input" ogb set set/raw/edge.csv
refuses "set/split/time/train.csv: cannot be written: it is the input" ogb set set/split/time/train.csv
[[ $(cat list.txt values.csv labels.txt split.txt set/raw/* set/split/*/* | cksum) == "$before" ]] || fail "inputs were changed"
rm -r set

# Outputs: a folder that is missing is made, what takes no file is bad usage.
gnndata import edgelist list.txt new/folder/out.h5 >summary.txt
gnndata check new/folder/out.h5 >summary.txt
refuses "new: is a folder; a file is expected" edgelist list.txt new
mkfifo pipe
refuses "pipe: is a device or pipe; a file is expected" edgelist list.txt pipe
refuses "list.txt is not a folder" edgelist list.txt list.txt/out.h5

# Another dataset is replaced, and nothing else.
echo thesis >notes.txt
refuses "notes.txt: is there and is no dataset; remove it or name another" edgelist list.txt notes.txt
[[ $(<notes.txt) == thesis ]] || fail "notes.txt was replaced"
: >again.h5
for round in empty dataset; do
  gnndata import edgelist list.txt again.h5 >/dev/null 2>&1 || fail "a file was not replaced: $round"
done
refuses "--labels random:: expected a whole number from 1 to 1000000" edgelist list.txt out.h5 --labels random:1000001
refuses "missing.txt: cannot be opened: No such file" edgelist missing.txt out.h5
printf '0 1\n1 abc\n' >bad.txt
refuses 'bad.txt:2: expected two node ids, found "abc"' edgelist bad.txt out.h5

mkdir -p set/raw
printf '3\n' | gzip >set/raw/num-node-list.csv.gz
printf '0,1\n1,9\n' | gzip >set/raw/edge.csv.gz
refuses 'set/raw/edge.csv.gz:2: node 9 is outside 0 .. 2' ogb set out.h5
refuses 'set: holds neither reddit_graph.npz' dgl set out.h5

gnndata import --undirected edgelist --features random:3 list.txt --labels=random:2 --drop-self-loops out.h5 \
  --split random:0.5,0.25 --seed 4 --splits 2 --weights >summary.txt
grep -q '^out.h5: 3 nodes, 4 arcs, undirected, weighted, 3 features, 2 classes, 2 splits (2 train, 0 val, 1 test)' \
  summary.txt || fail "summary: $(cat summary.txt)"
says 'dropped 1 self loops, 1 duplicates, 0 unlabelled' summary.txt
says 'added 2 reverse arcs' summary.txt
mv out.h5 first.h5
gnndata import --undirected edgelist --features random:3 list.txt --labels=random:2 --drop-self-loops out.h5 \
  --split random:0.5,0.25 --seed 4 --splits 2 --weights >again.txt
cmp summary.txt again.txt
