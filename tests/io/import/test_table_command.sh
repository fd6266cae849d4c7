# gnndata import table: the dataset of an edge list with files beside, to the byte; names on the way to predictions; one
# sentence and no file for what is wrong; the example of docs/data.md.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

refuses() {
  refused 2 "$1" gnndata import table "${@:2}"
  [[ -z $(compgen -G 'out.h5*') ]] || fail "import table $*: left $(echo out.h5*)"
}

# Two rings of 30, class = ring; ids are whole numbers with gaps. Every arc stands twice in the list, with a weight.
for ((i = 0; i < 30; i++)); do
  echo "$((7 + 3 * i)) $((7 + 3 * ((i + 1) % 30))) 1.5"
  echo "$((500 + 2 * i)) $((500 + 2 * ((i + 1) % 30))) .25"
done >list.txt
cat list.txt list.txt >twice.txt
awk '{ print $1 }' list.txt | sort -n >ids.txt
awk '{ print ($1 >= 500 ? "round" : "a ring, \"odd\"") }' ids.txt >words.txt
awk '{ print ($1 >= 500), $1 % 4 / 8 }' OFS=, ids.txt >features.csv
awk '{ print NR % 2 ? "train" : NR % 4 ? "val" : "test" }' ids.txt >split.txt
{
  echo 'part,"x ""1""",class,unused,id,y'
  paste -d '\t' split.txt features.csv words.txt ids.txt | awk -F '\t' '{
    split($2, x, ",")
    gsub(/"/, "\"\"", $3)
    printf "%s,%s,\"%s\",\"two\r\nlines\",%s,%s\r\n", $1, x[1], $3, $4, x[2]
  }'
} >nodes.csv
{ echo 'to;weight;from' && awk '{ print $2 ";" $3 ";\"" $1 "\"" }' twice.txt; } | gzip >edges.csv.gz

# The same graph comes as an edge list and as tables. Blanks part the words of label files: classes are called otherwise there.
sed 's/ /_/g; s/,//' words.txt >labels.txt
columns=(--id id --from from --to to --undirected)
mkdir -p list table
works gnndata import edgelist twice.txt list/g.h5 --undirected --weights --features features.csv --labels labels.txt --split split.txt
sed 's/a ring, ""odd""/a_ring_""odd""/' nodes.csv >same.csv
works gnndata import table same.csv edges.csv.gz table/g.h5 "${columns[@]}" --weight weight --label class --features '"x ""1""",y' --split part
cmp list/g.h5 table/g.h5 || fail "tables became another dataset than the edge list"
for threads in 1 3; do
  OMP_NUM_THREADS=$threads works gnndata import table same.csv edges.csv.gz table/again.h5 "${columns[@]}" --weight weight --label class \
    --features all --split part --memory .001
  works gnndata check table/again.h5
done
works gnndata import table nodes.csv edges.csv.gz g.h5 "${columns[@]}" --label class --features all --split part
says 'features are the columns "x "1"", "y"$'
says '^g.h5: 60 nodes, 120 arcs, undirected, 2 features, 2 classes, 1 split \(30 train, 15 val, 15 test\)'
works gnndata info g.h5
says '^ +0 +30 nodes, 50\.00%  a ring, "odd"$'
says '^ +1 +30 nodes, 50\.00%  round$'

# Rows in another order are nodes in that order; ids that are texts stay so, and name predictions.
{
  echo 'id,class,x,part'
  paste -d , ids.txt split.txt | awk -F, '{ print "\"n, " $1 "\"," ($1 >= 500 ? "round" : "\"a ring, \"\"odd\"\"\"") "," ($1 >= 500) "," $2 }' | tac
} >texts.csv
{ echo 'from,to' && awk '{ print "\"n, " $1 "\",\"n, " $2 "\"" }' list.txt; } >texts_edges.csv
works gnndata import table texts.csv texts_edges.csv texts.h5 --label class --features x --split part --undirected
works gnndata check texts.h5
works gnndata info texts.h5
says '^nodes +60, named by strings$'
settings run.toml dataset.path=texts.h5 model.hidden=4 model.dropout=0 train.epochs=40 log.dir=run log.progress=40
must_run 2 run.toml
for ranks in 1 2; do
  must_run $ranks run.toml --predict run/best.h5 --out $ranks.csv
  [[ $(head -1 $ranks.csv) == id,prediction,class,logit_0,logit_1 ]] || fail "$ranks.csv: another head: $(head -1 $ranks.csv)"
  sed -E '1d; s/,[-0-9.e]+,[-0-9.e]+$//' $ranks.csv >named.txt
  tail -n +2 texts.csv | sed -E 's/,[01],[a-z]+$//; s/,round$/,1,round/; s/,"a ring/,0,"a ring/' | diff - named.txt >differ.txt ||
    { cat differ.txt; fail "$ranks.csv: other names or predictions"; }
  must_run $ranks run.toml --eval run/best.h5
  says '^ +0 +[0-9]+ .*%  a ring, "odd"$'
  says '^ +1 +[0-9]+ .*%  round$'
done
must_run 1 run.toml --predict run/best.h5 --out named.h5
for name in round 'a ring, "odd"' 'n, 500' class_names; do grep -aqF "$name" named.h5 || fail "named.h5 lacks $name"; done

# Several labels a node, by the names of their columns.
{ echo 'id,even,"a, third",x,part' && awk -F, '{ print $1 "," ($1 % 2 ? 0 : 1) "," ($1 % 3 ? 0 : 1) "," $1 % 2 "," (NR % 2 ? "train" : NR % 4 ? "val" : "test") }' ids.txt; } >several.csv
works gnndata import table several.csv edges.csv.gz several.h5 --from from --to to --label 'even,"a, third"' --features x --split part --undirected
works gnndata check several.h5
must_run 2 run.toml --set dataset.path=several.h5 --set log.dir=several
must_run 1 run.toml --set dataset.path=several.h5 --set log.dir=several --predict several/best.h5 --out several.out.csv
[[ $(head -1 several.out.csv) == 'id,even,"a, third",logit_0,logit_1' ]] || fail "another head: $(head -1 several.out.csv)"

# What is wrong is one sentence, and nothing is left behind.
refuses 'expected table NODES EDGES OUT.h5, found 3 of them' nodes.csv out.h5
refuses 'one argument too many; expected table NODES EDGES OUT.h5' nodes.csv edges.csv.gz out.h5 more
refuses 'nodes.csv:1: --id: no column "Id" among "part", "x "1"", "class", "unused", "id", "y"; did you mean "id"?' \
  nodes.csv edges.csv.gz out.h5 --id Id
refuses 'nodes.csv:2: column "class": expected a number, found "a ring, "odd""' nodes.csv edges.csv.gz out.h5 --id id --features class
refuses 'nowhere.csv: cannot be opened' nowhere.csv edges.csv.gz out.h5
refuses 'nowhere.csv: cannot be opened' texts.csv nowhere.csv out.h5
printf 'from,to\n"n, 7","n, 10"\n"n, 7",x\n' >unknown.csv
refuses 'unknown.csv:3: column "to": there is no node "x" in texts.csv' texts.csv unknown.csv out.h5
refuses 'texts_edges.csv: cannot be written: it is the input texts_edges.csv' texts.csv texts_edges.csv texts_edges.csv
refused 2 '--label goes with table only' gnndata import edgelist list.txt out.h5 --label x

# The example of docs/data.md.
awk '/^## Tables/ { on = 1 } on && /^```csv / { file = $2; next } /^```/ { file = "" } file { print >file }' "$GNNTRAIN_SOURCE/docs/data.md"
[[ -s papers.csv && -s cites.csv ]] || fail "docs/data.md has no tables"
command=$(grep -m 1 '^gnndata import table papers' "$GNNTRAIN_SOURCE/docs/data.md") || fail "docs/data.md imports no table"
works eval "$command"
works gnndata check data/papers.h5
