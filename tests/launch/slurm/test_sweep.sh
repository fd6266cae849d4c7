# launch/sweep: the product of a grid, draws that repeat, tables that say what metrics.jsonl says, the best one's command line;
# what is done is kept, what a signal stopped goes on to the same bits, what fails is said and the others are trained; two
# side by side with GPUs and threads of their own; an array job; and a sentence for each bad use.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
command -v python3 >/dev/null || skip "python3 is not there"
sweep=(python3 "$GNNTRAIN_SOURCE/launch/sweep")
here=(--build "$GNNTRAIN_BIN")

works gnndata synth small.h5 --nodes 300 --degree 6 --features 8 --classes 4
settings small.toml dataset.path=small.h5 train.epochs=8 train.runs=2 runtime.device=cpu

# A grid with settings whose loss explodes: they are said, the others are trained.
grid=("${sweep[@]}" small.toml "${here[@]}" --grid model.hidden=8,12 --grid train.lr=0.01,1000,0.1)
ends 1 "${grid[@]}"
says '^6/6  model.hidden=12 train.lr=0.1  val [0-9.]+% \+- [0-9.]+  test .* ms  ETA 0 s$'
says '^2/6  model.hidden=8 train.lr=1000  failed: epoch [0-9]+: the loss is '
says '^6 settings: 4 done, 2 failed; small.toml, accuracy$'
says '^ +failed +12 +1000  epoch [0-9]+: the loss is '
sed -n '/^6 settings/,/weights:/p' out.txt >table.txt
best=$(sed -n 's/^  train it: //p' out.txt)
python3 - "$best" <<'PYTHON' || fail "the tables are not what the runs have"
import csv, itertools, json, re, statistics, sys, xml.dom.minidom
found, rows = json.load(open("runs/sweep-small/sweep.json")), list(csv.DictReader(open("runs/sweep-small/sweep.csv")))
assert sorted((r["setting"]["model.hidden"], r["setting"]["train.lr"]) for r in found["rows"]) == \
    sorted(itertools.product(("8", "12"), ("0.01", "1000", "0.1")))
means = []
for row, line in zip(found["rows"], rows):
    assert row["setting"] == {key: line[key] for key in row["setting"]} and row["state"] == line["state"]
    if row["state"] == "failed":
        assert "the loss is" in row["reason"] == line["reason"] and row["setting"]["train.lr"] == "1000"
        continue
    lines = [json.loads(text) for text in open(row["folder"] + "/metrics.jsonl")]
    finals, epochs = [r for r in lines if r.get("final")], [r for r in lines if not r.get("final")]
    for name, key in (("validation", "val"), ("test", "test")):
        values = [r[key] for r in finals]
        assert len(values) == 2 and row[name] == statistics.fmean(values) == float(line[name])
        assert row[f"{name}_deviation"] == statistics.stdev(values) == float(line[f"{name}_deviation"])
    assert row["ms"] == statistics.median(r["ms"] for r in epochs) == float(line["ms"])
    assert row["best_epoch"] == [r["best_epoch"] for r in finals]
    assert [r["val"] for r in finals] == [max(r["val"] for r in epochs if r["run"] == run) for run in (0, 1)]
    means.append(row["validation"])
assert means == sorted(means, reverse=True) and [r["state"] for r in found["rows"]] == 4 * ["done"] + 2 * ["failed"]
assert found["best"] == {"setting": found["rows"][0]["setting"], "command": sys.argv[1]}
assert f"  {100 * means[0]:.2f}%" in "  " + open("table.txt").readlines()[2]
page = open("runs/sweep-small/sweep.html").read()
xml.dom.minidom.parseString(page.replace("<!doctype html>", ""))
assert len(re.findall("<svg", page)) == 2 and page.count("<circle") == 8 and "://" not in page and page.count("the loss is") == 2
PYTHON
run bash -c "$best --quiet"
((code == 0)) || fail "the best one's line does not train: $best"
[[ $(untimed runs/small) == "$(untimed "$(sed -n 's|^  its weights: \(.*\)/best.h5|\1|p' table.txt)")" ]] || fail "its line trains another one: $best"

# Again: what is done is kept, to the file; what failed is tried again. --table trains nothing, and needs no grid.
stat -c '%n %Y %i' runs/sweep-small/*/metrics.jsonl | grep -v 1000 >before.txt
ends 1 "${grid[@]}"
stat -c '%n %Y %i' runs/sweep-small/*/metrics.jsonl | grep -v 1000 | diff before.txt - || fail "a run that is done was trained again"
lacks '^[1-4]/6 '
says '^6/6 .*failed: '
sed -n '/^6 settings/,/weights:/p' out.txt | diff table.txt - || fail "the table is another one"
works "${sweep[@]}" small.toml --table
diff table.txt out.txt || fail "--table shows another one"
refused 2 'train.lr=0.01 was trained with train.epochs = 8, and 9 is asked for now; name another --out$' "${grid[@]}" --set train.epochs=9

# The same seed draws the same settings, and more draws begin with the fewer. Two settings run at once and share the processors.
drawn() { # drawn N
  works "${sweep[@]}" small.toml "${here[@]}" --set train.runs=1 --grid train.lr=log:0.001..0.1 --grid model.hidden=4..16 \
    --grid model.type=gcn,sage --random "$1" --seed 7 --out drawn --at-once 2
  says "^$1 settings: $1 done; "
}
drawn 2
drawn 4
[[ $(grep -c '^[34]/4  ' out.txt) == 2 && $(grep -c '^[1-4]/4  ' out.txt) == 2 ]] || fail "4 draws do not begin with the 2: $(cat out.txt)"
folders=(drawn/model*)
printf '%s\n' "${folders[@]}" | grep -vE '^drawn/model.hidden=([4-9]|1[0-6]),model.type=(gcn|sage),train.lr=0\.(0[0-9]+|1)$' &&
  fail "drawn out of range"
grep -q '^threads = [1-9]' "${folders[0]}/config.toml" || fail "runs side by side do not share the processors"

# Stopped by a signal, on one rank and on two: what trains saves and ends, the rest is not begun, and the same command goes on to the
# same bits. What gnntrain prints here stays in a pipe, which gets full, until a signal comes: so it trains no further.
mkdir slow
cat >slow/gnntrain <<'STUB'
#!/usr/bin/env bash
[[ -e slow/on && $* == *--resume* ]] || exec "$GNNTRAIN_BIN/gnntrain" "$@"
pipe=slow/pipe.$BASHPID
mkfifo $pipe
exec 3<>$pipe 4<$pipe 5>$pipe 3>&-
"$GNNTRAIN_BIN/gnntrain" "$@" >&5 2>&1 4<&- 5>&- &
rank=$!
exec 5>&-
trap 'kill -TERM $rank; cat <&4 &' TERM USR1
while wait $rank && code=0 || code=$?; kill -0 $rank 2>/dev/null; do :; done
wait
exit $code
STUB
chmod +x slow/gnntrain
settings long.toml dataset.path=small.h5 train.epochs=3000 runtime.device=cpu runtime.threads=1 log.progress=1
for ranks in 2 1; do
  long=("${sweep[@]}" long.toml --build slow --grid model.hidden=8,12 --ranks $ranks --out "long$ranks")
  touch slow/on
  "${long[@]}" >out.txt 2>err.txt </dev/null &
  job=$!
  wait_until 60 test -s "long$ranks/model.hidden=8/metrics.jsonl" || { kill $job; fail "the sweep does not train"; }
  ((ranks == 1)) || "${long[@]}" 2>twice.txt && code=0 || code=$?
  kill -TERM $job
  wait_until 60 has_ended $job || { kill -KILL $job; fail "SIGTERM does not end it, on $ranks"; }
  ended
  ((code == 143)) || fail "exit code $code after SIGTERM, on $ranks"
  one_sentence 'stopped by SIGTERM; the same command goes on$' "a sweep that is stopped"
  says '^1/2  model.hidden=8  stopped: epoch [0-9]+ of 3000$'
  says '^2 settings: 1 stopped, 1 waiting; long.toml$'
  says '^ +stopped +8  epoch [0-9]+ of 3000$'
  [[ -n $(compgen -G "long$ranks/model.hidden=8/checkpoints/*.h5") ]] || fail "no checkpoint was saved, on $ranks"
  rm slow/on
done
says "^sweep: another sweep writes to long2; let it end, or name another --out$" twice.txt
works "${long[@]}"
says '^2 settings: 2 done; long.toml, accuracy$'

# A planted link is not followed.
mkdir planted && ln -s "$PWD/elsewhere" planted/lock
refused 2 'lock in it cannot be opened' "${sweep[@]}" small.toml "${here[@]}" --grid model.hidden=8 --out planted
[[ ! -e elsewhere ]] || fail "a file was made through a link"

grep -q '^resuming run 0 after epoch ' long1/model.hidden=8/output.txt || fail "it did not go on: $(cat long1/model.hidden=8/output.txt)"
must_run 1 long.toml --set model.hidden=8 --quiet
[[ $(untimed runs/long) == "$(untimed long1/model.hidden=8)" ]] || fail "a setting that was stopped is not what it would have been"

# Two at once on GPUs, of which each takes its own; the second does not begin before the first, nor end before it has begun.
mkdir many stubs
cat >many/gnntrain <<'STUB'
#!/usr/bin/env bash
[[ $* != --version ]] || { printf 'gnntrain\ndevices: cuda cpu\n' && exit; }
if [[ $* == *--resume* ]]; then
  echo "$CUDA_VISIBLE_DEVICES" >>"many/${1%.toml}.$BASHPID"
  until set -- "$@" && there=(many/gpu.*) && ((${#there[@]} >= 2)); do sleep 0.05; done
fi
CUDA_VISIBLE_DEVICES='' exec "$GNNTRAIN_BIN/gnntrain" "$@"
STUB
printf '#!/bin/sh\nprintf "GPU %%s\\n" "0: NVIDIA H100 (UUID: GPU-a)" "1: NVIDIA A100 (UUID: GPU-b)"\necho "  MIG 1g.5gb Device 0: (UUID: MIG-c)"\n' >stubs/nvidia-smi
chmod +x many/gnntrain stubs/nvidia-smi
sed 's/^runtime.device.*//' small.toml >gpu.toml
gpus=("${sweep[@]}" gpu.toml --build many --grid train.lr=0.01,0.1 --out gpus --at-once)
PATH=$PWD/stubs:$PATH works env -u CUDA_VISIBLE_DEVICES "${gpus[@]}" 2
[[ $(sort many/gpu.*) == $'GPU-a\nMIG-c' ]] || fail "GPUs: $(cat many/gpu.*)"
CUDA_VISIBLE_DEVICES=5,6 refused 2 '--at-once 3 and --ranks 1 take 3 GPUs, and there are 2$' "${gpus[@]}" 3 --grid model.hidden=4
CUDA_VISIBLE_DEVICES=5 works "${gpus[@]}" 3 --set runtime.device=cpu --grid model.hidden=4

# An array job: the script that is given with arguments for each element. What is in the queue is not submitted again.
cat >stubs/sbatch <<'STUB'
#!/usr/bin/env bash
echo "$GNNTRAIN_BIN: $*" >>sbatch.txt
cp "${!#}" script
echo 17
STUB
printf '#!/bin/sh\ncat queue\n' >stubs/squeue
printf '#!/usr/bin/env bash\nshift 6\nexec "$@"\n' >stubs/mpirun
chmod +x stubs/*
touch queue
array=("${sweep[@]}" small.toml --build many --grid "train.lr=0.01,1000,0.1" --set train.runs=1 --out "an array" --slurm --sbatch "--time=10 --gpus-per-node=0")
export PATH=$PWD/stubs:$PATH
works "${array[@]}" --at-once 2
says '^array job 17: 3 elements, '
says '^3 settings: 3 waiting; small.toml$'
grep -qxF -e "many: --parsable --array=1-3%2 --job-name=sweep-small --output=an array/slurm/%A_%a.log --ntasks-per-node=1 --gpus-per-node=1 --time=10 --gpus-per-node=0 an array/array.sbatch" sbatch.txt ||
  fail "$(cat sbatch.txt)"
[[ $(grep '^#SBATCH' script) == "$(grep '^#SBATCH' "$GNNTRAIN_SOURCE/launch/slurm/one_node.sbatch")" ]] || fail "options of sbatch are lost"
echo 17 >queue
works "${array[@]}"
says '^array job 17 is in the queue: nothing is submitted$'
for element in 1 2 3; do
  run env GNNTRAIN_BIN="$GNNTRAIN_BIN" SLURM_JOB_ID=1$element SLURM_ARRAY_JOB_ID=17 SLURM_ARRAY_TASK_ID=$element bash script
  ((code == (element == 2))) || fail "element $element ended with $code"
done
works "${sweep[@]}" small.toml --table --out "an array"
says '^3 settings: 2 done, 1 failed; small.toml'
says '^ +failed +1000  epoch [0-9]+: the loss is '
true >queue
works "${array[@]}"
says '^3 settings: 2 done, 1 waiting; small.toml'
grep -qF -e '--array=1-1 ' sbatch.txt || fail "what is done was submitted again: $(cat sbatch.txt)"
printf '#!/bin/sh\necho "sbatch: error: no such partition" >&2; exit 1\n' >stubs/sbatch
refused 1 'sbatch does not take the array: sbatch: error: no such partition$' "${array[@]}"

# Bad use, before anything is trained; all in one process, for a start of Python takes longer than what it does here.
cat >wrong.txt <<'CASES'
unknown key model.hiden; the nearest allowed one is model.hidden <- small.toml --grid model.hiden=8
model.hidden must be an integer from 1 to [0-9]+, not 0$ <- small.toml --grid model.hidden=8,0
model.dropout must be a number from 0 to 0.999, not 1.5$ <- small.toml --grid model.dropout=0.1..1.5 --random 2
--grid model.hidden= lists no value;  <- small.toml --grid model.hidden=
--grid model.hidden=8,,9 lists an empty value;  <- small.toml --grid model.hidden=8,,9
--grid model.hidden: KEY=VALUE is expected <- small.toml --grid model.hidden
--grid model.hidden is there twice <- small.toml --grid model.hidden=8 --grid model.hidden=9
--grid train.lr lists 1e-2 twice <- small.toml --grid train.lr=0.01,1e-2
train.lr is both in --grid and in --set <- small.toml --grid train.lr=0.01 --set train.lr=3
--grid log.dir: a sweep gives each run a folder of its own <- small.toml --grid log.dir=a,b
--set log.overwrite: a sweep gives each run a folder <- small.toml --grid model.hidden=8 --set log.overwrite=true
--grid train.lr=log:0.1..1 is a range, of which --random N draws <- small.toml --grid train.lr=log:0.1..1
--grid train.lr=log:0..1: a logarithmic range is of numbers above 0 <- small.toml --grid train.lr=log:0..1 --random 2
--grid train.lr=1..0.1: the lower end comes first <- small.toml --grid train.lr=1..0.1 --random 2
--grid train.lr=0.1..1,2: a range is A..B or log:A..B, of two numbers, and stands alone <- small.toml --grid train.lr=0.1..1,2 --random 2
--random 3: the product of all --grid has 2 settings <- small.toml --grid model.hidden=8,9 --random 3
a whole number from 1 on is expected, not '0' <- small.toml --grid model.hidden=8 --random 0
--seed goes with --random N <- small.toml --grid model.hidden=8 --seed 3
--grid KEY=VALUES is needed <- small.toml --set model.hidden=8
--slurm nowhere is no batch script <- small.toml --grid model.hidden=8 --slurm nowhere
unrecognized arguments: --girds; launch/sweep --help <- small.toml --girds
nowhere.toml is not there$ <- nowhere.toml --grid model.hidden=8
--build nowhere has no program gnntrain; <- small.toml --build nowhere --grid model.hidden=8
wrong holds no sweep$ <- long.toml --table
--mpirun names no program that is there: 'nowhere'$ <- small.toml --grid model.hidden=8 --ranks 2 --mpirun nowhere
CASES
python3 -B - "$GNNTRAIN_SOURCE/launch/sweep" "$GNNTRAIN_BIN" <<'PYTHON' || fail "bad use"
import importlib.util, importlib.machinery, os, re, shlex, sys
sys.path.insert(0, os.path.dirname(sys.argv[1]))
loader = importlib.machinery.SourceFileLoader("sweep", sys.argv[1])
sweep = importlib.util.module_from_spec(importlib.util.spec_from_loader("sweep", loader))
loader.exec_module(sweep)
build = sys.argv[2]
# Of two, the best on validation, whatever the test metric is; of equals the first.
rows = [{"state": "done", "validation": validation, "test": [test]} for validation, test in
        (([.5, .7], .9), ([.61, .61], .1), ([.6, .62], .2), ([.2], .95))]
assert sweep.table.best_of(rows) is rows[1] and sweep.results.sort(rows)[-1] is rows[3]
cases = [line.rstrip("\n").split(" <- ") for line in open("wrong.txt")]
many = ",".join(map(str, range(1000)))
cases.append(("has 1000000 settings, more than 10000; --random N", f"small.toml --grid train.seed={many} --grid train.epochs={many}"))
for pattern, words in cases:
    sys.argv = ["sweep", "--build", build, "--out", "wrong", *shlex.split(words)]
    try:
        code, said = sweep.main(), ""
    except sweep.Failure as failure:
        code, said = failure.code, str(failure)
    assert code == 2 and (pattern in said or re.search(pattern, said)) and "\n" not in said, (words, code, said)
PYTHON
[[ ! -e wrong ]] || fail "a bad use left a folder"
refused 2 'unrecognized arguments: --girds; launch/sweep --help lists all options$' "${sweep[@]}" small.toml --girds

# Values that do not go together are said, and the others are trained.
ends 1 "${sweep[@]}" small.toml "${here[@]}" --out heads --set model.type=gat --grid model.heads=2,3 --grid model.hidden=8,9
says '^model.heads=2 model.hidden=9  not trained: model.hidden = 9 does not divide into model.heads = 2'
says '^4 settings: 2 done, 2 failed'
