# gnntrain --eval CHECKPOINT --out FILE.csv: its counts are those of predictions beside the labels, the same on any number of ranks,
# with the names that classes have; launch/report draws them; what does not fit is refused in one sentence.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
command -v python3 >/dev/null || skip "python3 is not there"
report=(python3 "$GNNTRAIN_SOURCE/launch/report")
check=(python3 "$GNNTRAIN_SOURCE/tests/launch/check_run_report.py")

# Four classes on two rings each, with features that tell them apart now and then. The last class is in the test part alone.
python3 - <<'PYTHON'
import random
random.seed(3)
name = ["fish", 'a "bird", or two', "<b>mammal</b>", "worm"]
with open("nodes.csv", "w") as nodes, open("edges.csv", "w") as edges:
    nodes.write("id,class,x,y,part\n")
    edges.write("from,to\n")
    for v in range(400):
        c = v % 20 == 0 and 3 or v % 3
        part = "test" if c == 3 else random.choice(["train", "val", "test", "none"])
        text = name[c].replace('"', '""')
        nodes.write(f'n{v},"{text}",{random.gauss(c, 1):.3f},{random.gauss(-c, 1):.3f},{part}\n')
        edges.write(f"n{v},n{(v + 3) % 400}\nn{v},n{random.randrange(400)}\n")
PYTHON
works gnndata import table nodes.csv edges.csv animals.h5 --label class --features x,y --split part --undirected
settings run.toml dataset.path=animals.h5 model.hidden=8 model.dropout=0 train.epochs=25 runtime.precision=fp64 log.dir=run \
  partition.method=random
must_run 2 run.toml
for ranks in 1 2 4; do
  must_run $ranks run.toml --eval run/best.h5 --out $ranks.csv
  says "^wrote $ranks.csv: the confusion matrices of val and test$"
  cmp 1.csv $ranks.csv || fail "other counts on $ranks ranks"
done
must_run 1 run.toml --predict run/best.h5 --out predictions.csv
python3 - <<'PYTHON' || fail "counts are not those of predictions beside labels"
import collections, csv
label = {row["id"]: row for row in csv.DictReader(open("nodes.csv", newline=""))}
expected = collections.Counter()
for row in csv.DictReader(open("predictions.csv", newline="")):
    node = label[row["id"]]
    expected[node["part"], node["class"], row["class"]] += node["part"] in ("val", "test")
found, names = {}, {}
for row in csv.DictReader(open("1.csv", newline="")):
    key = row["split"], row["label_class"], row["prediction_class"]
    assert key not in found
    found[key] = int(row["count"])
    names[int(row["label"])], names[int(row["prediction"])] = row["label_class"], row["prediction_class"]
assert found == {key: count for key, count in expected.items() if count}, (found, expected)
assert len([key for key in found if key[1] != key[2]]) > 3 and sorted(names.values()) == [names[c] for c in sorted(names)]
PYTHON

# The page of the run says how to make it, and has it then.
works "${report[@]}" run
says 'Evaluate with <code>gnntrain run/config.toml --eval run/best.h5 --out run/confusion.csv</code>' run/report.html
must_run 1 run/config.toml --eval run/best.h5 --out run/confusion.csv
cmp 1.csv run/confusion.csv || fail "the folder's settings lead to other counts"
works "${report[@]}" run
lacks 'Evaluate with' run/report.html
for part in test val; do works "${check[@]}" confusion run/report.html confusion-0-$part run/confusion.csv $part; done
says '<h3>Test: [0-9]+ of [0-9]+ right, [0-9.]+%</h3>' run/report.html
says '&lt;b&gt;mammal&lt;/b&gt;' run/report.html
cp -r run other
printf 'split,label,prediction,count\ntest,1,1,30\ntest,1,2,1000\ntest,10,1,1\n' >other/confusion.csv
works "${report[@]}" run other --out both.html
works "${check[@]}" confusion both.html confusion-0-val run/confusion.csv val
works "${check[@]}" confusion both.html confusion-1-test other/confusion.csv test
says '<h3>other, Test: 30 of 1,031 right, 2.9%</h3>' both.html

# Columns of more classes than there is room for names go by number.
mkdir -p wide
cp other/config.toml wide
python3 -c '
print("split,label,prediction,count,label_class,prediction_class")
for c in range(50):
    print(f"test,{c},{c},{1000 * c + 1},class {c},class {c}\ntest,{c},{7 * c % 50},2,class {c},class {7 * c % 50}" if c % 25 else
          f"test,{c},{c},9,class {c},class {c}")' >wide/confusion.csv
works "${report[@]}" wide
works "${check[@]}" confusion wide/report.html confusion-0-test wide/confusion.csv test
says '<th title="class 49">49</th>' wide/report.html

# Of still more the pairs that are confused most: class c is taken for c + 1 as many times as c says.
cp -r other many
{
  echo split,label,prediction,count,label_class,prediction_class
  for ((c = 1; c < 60; c++)); do
    echo "test,$c,$c,100,c$c,c$c"
    echo "test,$c,$((c + 1)),$c,c$c,c$((c + 1))"
  done
} >many/confusion.csv
works "${report[@]}" many
says '<tbody>$' many/report.html
grep -A 1 '<table id="confusion-0-test">' many/report.html | grep -q '<th>class</th><th>taken for</th>' || fail "no pairs"
[[ $(grep -oE '<tr><th>c[0-9]+</th><td>c[0-9]+</td><td>[0-9]+</td><td>[0-9.]+%</td></tr>' many/report.html | head -2) == \
  '<tr><th>c59</th><td>c60</td><td>59</td><td>37.1%</td></tr>
<tr><th>c58</th><td>c59</td><td>58</td><td>36.7%</td></tr>' ]] || fail "other pairs: $(grep -o '<tr><th>c.*' many/report.html | head -2)"
says 'and 19 more pairs' many/report.html
works "${check[@]}" page run/report.html both.html wide/report.html many/report.html

# bad TEXT PATTERN: a table with that second line
bad() {
  printf 'split,label,prediction,count\n%s\n' "$1" >other/confusion.csv
  refused 2 "other/confusion.csv, line $2" "${report[@]}" other
}
bad 'train,1,1,1' '2: is no line of a confusion matrix'
bad 'test,1,1' '2: is no line of a confusion matrix'
bad 'test,1,-1,1' "2: prediction is '-1'; a whole number is expected"
bad 'test,1,1,0' '2: the pair of classes 1 and 1 has no nodes'
bad $'test,1,2,1\ntest,1,2,1' '3: the pair of classes 1 and 2 stands twice'
bad 'test,"1' '[23]: unexpected end of data'
echo mine >other/confusion.csv
refused 2 'other/confusion.csv: is no table of confusion matrices' "${report[@]}" other

# refuses PATTERN ARGUMENT...: on one rank and on two
refuses() { for ranks in 1 2; do must_refuse 2 "$1" $ranks "${@:2}"; done; }
refuses '--out x.txt: the confusion matrices of --eval are a table; let the name end in .csv' run.toml --eval run/best.h5 --out x.txt
echo mine >mine.csv
refuses 'mine.csv: is there and is no confusion matrix; remove it or name another' run.toml --eval run/best.h5 --out mine.csv
refuses 'predictions.csv: is there and is no confusion matrix' run.toml --eval run/best.h5 --out predictions.csv
cp run/best.h5 best.csv
refuses 'it is the input best.csv' run.toml --eval best.csv --out best.csv
refuses '--out goes with --predict CHECKPOINT, --eval CHECKPOINT, --export' run.toml --out x.csv
[[ $(cat mine.csv) == mine ]] || fail "what was there is gone"
must_run 1 run.toml --eval run/best.h5 --out made/here/1.csv
must_run 2 run.toml --eval run/best.h5 --out made/here/1.csv # over the one before

# By the dataset's header: several labels a node have no such matrix, nor do more classes than anybody reads.
refuses 'has 3000 classes; what --eval writes to --out is of 2048 at most' run.toml --eval run/best.h5 --out x.csv \
  --set dataset.path=synth:nodes=7000,degree=4,features=2,classes=3000
{
  printf '\x93NUMPY\x01\x00\x3e\x00%-61s\n' "{'descr': '|u1', 'fortran_order': False, 'shape': (400, 2), }"
  for ((i = 0; i < 200; i++)); do printf '\x01\x00\x01\x01'; done
} >several.npy
works gnndata import table nodes.csv edges.csv several.h5 --labels several.npy --features x,y --split part --undirected
refuses 'several.h5: has several labels a node; what --eval writes to --out is of one label a node' run.toml --eval run/best.h5 \
  --out x.csv --set dataset.path=several.h5
[[ ! -e x.csv ]] || fail "x.csv is there"
