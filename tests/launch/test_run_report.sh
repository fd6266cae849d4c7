# launch/report: the curves of its page are what metrics.jsonl says, of one run, of several and of train.runs = 3; the parts of an
# epoch are those that --profile prints; it wants nothing from outside; what files are called stays a text; and a file that is
# damaged or of something else is named in one sentence.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
command -v python3 >/dev/null || skip "python3 is not there"
report=(python3 "$GNNTRAIN_SOURCE/launch/report")
check=(python3 "$GNNTRAIN_SOURCE/tests/launch/check_run_report.py")
works gnndata synth small.h5 --nodes 1500 --degree 8 --features 12 --classes 4
settings small.toml dataset.path=small.h5 model.hidden=16 train.epochs=30 train.eval_every=3 runtime.threads=1 \
  partition.method=block

must_run 2 small.toml --profile --verbose --set log.dir=gcn
cp out.txt gcn.txt
must_run 1 small.toml --set log.dir=seeds --set train.runs=3 --set train.schedule=cosine --epochs 12
must_run 1 small.toml --set log.dir=gat --set model.type=gat --set model.heads=4 --set train.lr=0.001

# One run: every curve, the parts of an epoch, and what its log says.
works "${report[@]}" gcn --log gcn.txt
says '^report: gcn/report.html$'
[[ -z $(find . -name '*.part' -o -name __pycache__) ]] || fail "something was left behind"
pages=()
page() { pages+=("$1"); } # is looked at below
page gcn/report.html
works "${check[@]}" curves gcn/report.html loss:loss:1:training loss:val_loss:1:validation loss:test_loss:1:test \
  'loss:train_loss:1:training nodes, no dropout' metric:train:100:training metric:val:100:validation metric:test:100:test \
  'lr:lr:1:learning rate' 'ms:ms:1:forward, backward and optimiser' -- gcn
works "${check[@]}" parts gcn/report.html gcn.txt
works "${check[@]}" colours gcn/report.html
says 'best epoch '"$(final gcn best_epoch)"', validation [0-9.]+%' gcn/report.html
says '<dt>graph</dt><dd>small: 1500 nodes, ' gcn/report.html
says '<title>Memory</title>.*memory: estimated.* MiB' gcn/report.html
says '>rank 1<.* own, [0-9,]+ halo' gcn/report.html
says '<dt>epochs</dt><dd>30 of 30</dd>' gcn/report.html
# Its regions are those of the program.
python3 - "$GNNTRAIN_SOURCE" <<'PYTHON' || fail "launch/study/run.py counts other regions than models/train/epoch_breakdown.c"
import re, sys
sys.dont_write_bytecode = True
sys.path.insert(0, f"{sys.argv[1]}/launch")
from study import run
source = open(f"{sys.argv[1]}/models/train/epoch_breakdown.c").read()
names = re.findall(r'"([^"]+)"', re.search(r"epoch_part_name\[EPOCH_PARTS\] = \{(.*?)\};", source, re.S)[1])
lists = re.search(r"region_name\[EPOCH_OTHER\]\[20\] = \{(.*?)\n\};", source, re.S)[1]
regions = [tuple(re.findall(r'"([^"]+)"', part)) for part in re.findall(r"\[EPOCH_\w+\] = \{(.*?)\}", lists, re.S)]
assert len(regions) == len(names) - 1 and dict(zip(names, regions)) == run.PARTS, (names, regions)
PYTHON

# Three seeds: thin lines and their mean.
works "${report[@]}" seeds
page seeds/report.html
works "${check[@]}" curves seeds/report.html loss:loss:1:training metric:val:100:validation metric:test:100:test -- seeds
says '<dt>test</dt><dd>[0-9.]+% ± [0-9.]+%</dd>' seeds/report.html
says 'Train with <code>--profile</code>' seeds/report.html

# Several: a curve each, results, and the settings that differ.
works "${report[@]}" gcn seeds gat --out all.html
page all.html
works "${check[@]}" curves all.html loss:loss:1: val_loss:val_loss:1: train:train:100: val:val:100: test:test:100: lr:lr:1: \
  ms:ms:1: -- gcn seeds gat
says '^<tr><th>model.type</th><td>gcn</td><td>gcn</td><td>gat</td></tr>$' all.html
says '^<tr><th>train.runs</th><td>1</td><td>3</td><td>1</td></tr>$' all.html
lacks '<th>(log.dir|model.hidden)</th>' all.html
says '^<tr><th>epochs</th><td>30 of 30</td><td>3 of 3 runs</td><td>30 of 30</td></tr>$' all.html
says '^<tr><th>test</th><td>[0-9.]+%</td><td>[0-9.]+% ± [0-9.]+%</td><td>[0-9.]+%</td></tr>$' all.html
cp all.html over.html
works "${report[@]}" gcn gat --out over.html # over the one before
lacks seeds over.html

# The same curves for TensorBoard and as a table.
works "${report[@]}" gcn seeds gat --out all.html --tensorboard board --csv epochs.csv
works "${check[@]}" events board/gcn gcn
works "${check[@]}" events board/seeds seeds
[[ $(find board -name '*tfevents*' | wc -l) == 5 ]] || fail "other files for TensorBoard: $(find board)"
works "${report[@]}" gcn seeds gat --out all.html --tensorboard board --csv epochs.csv # over the ones before
[[ $(find board -name '*tfevents*' | wc -l) == 5 ]] || fail "files for TensorBoard are not replaced"
# A file of a run under way grows in place, for a TensorBoard that reads it; where epochs have become others it is replaced.
mkdir going
head -n 10 gcn/metrics.jsonl >going/metrics.jsonl
works "${report[@]}" going --tensorboard board
events=$(echo board/going/*)
number=$(stat -c %i "$events")
works "${check[@]}" events board/going going
head -c -7 "$events" >torn.events && cat torn.events >"$events" # as one that was ended leaves it
cp gcn/metrics.jsonl going
works "${report[@]}" going --tensorboard board
works "${check[@]}" events board/going gcn
[[ $(stat -c %i "$events") == "$number" ]] || fail "$events has not grown in place"
sed -i '12,$s/"loss": [0-9.]*/"loss": 0.5/' going/metrics.jsonl
works "${report[@]}" going --tensorboard board
works "${check[@]}" events board/going going
[[ $(stat -c %i "$events") != "$number" && $(ls board/going) == "${events#board/going/}" ]] || fail "$events was not replaced"
echo mine >mine.txt
ln -sf ../../mine.txt "$events"
works "${report[@]}" going --tensorboard board
works "${check[@]}" events board/going going
[[ $(cat mine.txt) == mine && ! -L $events ]] || fail "a link was written through"
rm -r board/going
if python3 -c 'import tensorboard' 2>/dev/null; then
  python3 - <<'PYTHON' || fail "TensorBoard reads something else"
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
board = EventAccumulator("board/gcn")
board.Reload()
assert [event.step for event in board.Scalars("loss/training")] == list(range(1, 31))
PYTHON
fi
python3 - <<'PYTHON' || fail "the table is not what metrics.jsonl says"
import csv, json
rows = list(csv.DictReader(open("epochs.csv")))
lines = [json.loads(line) for run in ("gcn", "seeds", "gat") for line in open(f"{run}/metrics.jsonl") if '"epoch"' in line]
assert len(rows) == len(lines) == 30 + 36 + 30
for row, line in zip(rows, lines):
    for name in ("epoch", "loss", "val", "val_loss", "lr", "time"):
        assert (row[name] == "") == (line[name] is None) and (not row[name] or float(row[name]) == line[name]), (name, row, line)
PYTHON
echo mine >mine.csv
refused 2 'mine.csv: is there and is no table of runs; remove it or name another' "${report[@]}" gcn --csv mine.csv
refused 2 '--csv table: the name of a file that ends in .csv is expected' "${report[@]}" gcn --csv table

# Files of before have fewer fields; a line that is being written does not count; a run of a single epoch; many epochs.
cp -r gat old
sed -i -E 's/, "train_loss".*\}/}/' old/metrics.jsonl
printf '{"run": 0, "epoch": 31, "lo' >>old/metrics.jsonl
works "${report[@]}" old
page old/report.html
works "${check[@]}" curves old/report.html loss:loss:1:training metric:val:100:validation -- gat
lacks '<figure id="lr">' old/report.html
mkdir -p one many empty
head -n 1 gat/metrics.jsonl >one/metrics.jsonl
seq -f '{"run": 0, "epoch": %.0f, "loss": 0.5, "ms": 1}' 20000 | sed '7000s/0.5/9.5/' >many/metrics.jsonl
cp gat/config.toml empty
works "${report[@]}" one many empty --out few.html
says '^empty has no epoch yet$'
page few.html
says '>empty has no epoch yet\.<' few.html
(($(wc -c <few.html) < 200000)) || fail "20000 epochs take $(wc -c <few.html) bytes"
python3 - "$GNNTRAIN_SOURCE" <<'PYTHON' || fail "20000 epochs: the highest and the last are lost"
import pathlib, sys
sys.dont_write_bytecode = True
sys.path.insert(0, f"{sys.argv[1]}/tests/launch")
import check_run_report as check
curves = check.drawn(check.figures(pathlib.Path("few.html").read_text())["loss"])
points = curves["many"][1]
assert max(abs(y - 9.5) < .1 for _, y, *_ in points) and abs(points[-1][0] - 20000) < 1 and len(points) < 2000
assert len(curves["one"][1]) == 1
PYTHON
works "${report[@]}" empty
page empty/report.html

# What others have named is a text and nothing else.
evil='<img src="x" onerror="alert(1)">&'"'"$'\x01'
mkdir "$evil"
cp gat/metrics.jsonl "$evil"
sed 's|^path = .*|path = "</dd></style><script>alert(1)</script>"|' gat/config.toml >"$evil/config.toml"
sed "s|^  graph .*|  graph       <script>alert(2)</script>|; s|written to     gcn|written to     gat|" gcn.txt >"$evil/output.txt"
works "${report[@]}" "$evil" gcn --out evil.html
page evil.html
says '&lt;script&gt;alert\(2\)' evil.html
works "${report[@]}" "$evil"
page "$evil/report.html"
says '&lt;/dd&gt;&lt;/style&gt;&lt;script' "$evil/report.html"

works "${check[@]}" page "${pages[@]}"

# bad PATTERN ARGUMENT...: one sentence, exit code 2, and no page
bad() {
  refused 2 "$1" "${report[@]}" "${@:2}" --out refused.html
  [[ ! -e refused.html && -z $(find . -name '*.part') ]] || fail "a page of a bad file: ${*:2}"
}
bad 'nowhere: is not there; the folder of a run is expected' nowhere
bad 'small.toml: is no folder; the folder of a run is expected' small.toml
mkdir -p foreign torn
bad 'foreign: is not the folder of a run: it has neither metrics.jsonl nor config.toml' foreign
# broken LINE PATTERN: a file of metrics with that second line
broken() {
  { head -n 1 gat/metrics.jsonl && printf '%s\n' "$1" && tail -n 1 gat/metrics.jsonl; } >torn/metrics.jsonl
  bad "torn/metrics.jsonl, line 2: $2" gcn torn
}
broken '{"run": 0, "epoch": 2, "lo' 'is no JSON object'
broken '' 'is no JSON object'
broken '[1, 2]' 'is no JSON object'
broken '{"run": 0, "epoch": 2, "loss": NaN}' 'is no JSON object'
broken '{"step": 2, "loss": 1}' '"run" is null; a whole number from 0 on is expected'
broken '{"run": 0, "epoch": "2", "loss": 1}' '"epoch" is "2"; a whole number from 1 on is expected'
broken '{"run": 0, "epoch": 2, "loss": "<b>"}' '"loss" is "<b>"; a number from 0 on is expected'
broken '{"run": 0, "epoch": 2, "loss": 1e999}' '"loss" is Infinity; a number'
broken '{"run": 0, "epoch": 2, "loss": 1, "val": 1.5}' '"val" is 1.5; a number from 0 to 1 is expected'
broken '{"run": 0, "epoch": 1, "loss": 1}' 'epoch 1 of run 0 comes behind its epoch 1'
head -c 3000 /dev/urandom | tr -d '\n' | sed '$a\' >torn/metrics.jsonl
bad 'torn/metrics.jsonl, line 1: is no JSON object' torn
rm torn/metrics.jsonl && mkfifo torn/metrics.jsonl
bad 'torn/metrics.jsonl: is a folder, device or pipe; a file is expected' torn
rm torn/metrics.jsonl && cp gat/metrics.jsonl torn
echo 'no setting' >torn/config.toml
bad 'torn/config.toml, line 1: is no setting' torn
rm torn/config.toml && head -c 900 gcn/trace.json >torn/trace.json
bad 'torn/trace.json: is no JSON object' torn
echo '{"traceEvents": [{"ph": "X", "pid": 0, "tid": 0, "ts": 1, "dur": -1, "name": "epoch"}]}' >torn/trace.json
bad 'torn/trace.json, event 1: "dur" is -1; a number from 0 on is expected' torn
bad 'gat.txt: is not there' gat --log gat.txt
bad 'small.toml: is not what gnntrain prints' gat --log small.toml
bad 'gcn.txt: is of gcn, which is none of these runs' gat --log gcn.txt
echo mine >mine.html
refused 2 'mine.html: is there and is no report; remove it or name another' "${report[@]}" gat --out mine.html
[[ $(cat mine.html) == mine ]] || fail "what was there is gone"
refused 2 'foreign: is a folder; the name of a file is expected' "${report[@]}" gat --out foreign
refused 1 'nowhere/page.html cannot be written: No such file' "${report[@]}" gat --out nowhere/page.html

# A browser draws it.
for browser in chromium chromium-browser google-chrome; do
  if command -v $browser >/dev/null; then break; else browser=; fi
done
[[ $browser ]] || { echo "no screenshot is taken: chromium is not there"; exit 0; }
run timeout -k 5 300 $browser --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$PWD/browser" \
  --window-size=800,900 --screenshot="$PWD/page.png" "file://$PWD/gcn/report.html"
[[ -s page.png ]] || fail "no screenshot"
python3 - <<'PYTHON' || fail "the screenshot is empty"
import struct, zlib
data, at, rows = open("page.png", "rb").read(), 8, b""
while at < len(data):
    length, kind = struct.unpack(">I4s", data[at:at + 8])
    rows += data[at + 8:at + 8 + length] if kind == b"IDAT" else b""
    at += 12 + length
assert len(set(zlib.decompress(rows)[::101])) > 20
PYTHON
