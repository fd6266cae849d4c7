# What a line of metrics.jsonl says beside the metrics: losses of the evaluation, which are those that --eval prints, the
# learning rate of the schedule, the bytes of the halo's rows, and a time. A run goes on from a file of before, without these.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
command -v python3 >/dev/null || skip "python3 is not there"
works gnndata synth small.h5 --nodes 1500 --degree 8 --features 12 --classes 8 --test 0.5
settings small.toml dataset.path=small.h5 model.hidden=16 train.epochs=8 train.eval_every=2 train.schedule=cosine train.warmup=2 \
  train.lr=0.02 runtime.threads=1 runtime.rows=all partition.method=block partition.order=given checkpoint.every=4

# trained RANKS NAME: its output is in NAME.txt
trained() {
  began=$(date +%s)
  must_run "$1" small.toml --verbose --set "log.dir=$2"
  cp out.txt "$2.txt"
  must_run "$1" small.toml --eval "$2/best.h5"
  cp out.txt "$2.eval"
}
# lines RANKS NAME
lines() {
  python3 - "$@" "$began" <<'PYTHON' || fail "$2: other lines: $(cat "$2/metrics.jsonl")"
import json, math, re, sys, time
ranks, name, began = int(sys.argv[1]), sys.argv[2], float(sys.argv[3])
rows = [json.loads(line) for line in open(f"{name}/metrics.jsonl")]
final, rows = rows[-1], rows[:-1]
assert [row["epoch"] for row in rows] == list(range(1, 9))
for row in rows:
    evaluated = row["epoch"] % 2 == 0
    assert all((row[key] is not None) == evaluated for key in ("train", "val", "test", "train_loss", "val_loss", "test_loss")), row
    after = row["epoch"] - 3
    lr = .02 * row["epoch"] / 3 if after < 0 else .01 * (1 + math.cos(math.pi * after / 6))
    assert abs(row["lr"] - lr) < 1e-12, (row["lr"], lr)
assert began <= rows[0]["time"] <= rows[-1]["time"] <= time.time() and len({row["time"] for row in rows}) == 8
assert all(a["time"] < b["time"] for a, b in zip(rows, rows[1:]))
# --eval names the splits, their metrics and losses, of the best epoch.
best = next(row for row in rows if row["epoch"] == final["best_epoch"])
said = dict(re.findall(r"^  (train|val|test) .*  loss ([\d.]+)", open(f"{name}.eval").read(), re.M))
assert set(said) == {"train", "val", "test"}, said
for split, loss in said.items():
    assert abs(best[f"{split}_loss"] - float(loss)) <= .6 * 10 ** -len(loss.partition(".")[2]), (split, best, loss)
# An epoch sends each halo row once forward and once back, 8 columns of 4 bytes: the first layer's aggregate is made once.
halo = [int(n) for n in re.findall(r"^ *\d+ +\d+ +\d+ +(\d+) +\d+\.\d+$", open(f"{name}.txt").read(), re.M)]
assert len(halo) == (ranks if ranks > 1 else 0) and {row["sent_bytes"] for row in rows} == {sum(halo) * 8 * 4 * 2}, (halo, rows[0])
PYTHON
}
trained 1 one
lines 1 one
trained 2 two
lines 2 two

# With the same ranks it goes on to the same bits, and a file of before is taken as it is.
must_run 2 small.toml --set log.dir=parts --epochs 4 --set train.schedule=constant
sed -i -E 's/, "train_loss".*\}/}/' parts/metrics.jsonl
lacks 'lr|time' parts/metrics.jsonl
head -n 4 parts/metrics.jsonl >before.txt
must_run 2 small.toml --set log.dir=parts --resume --set train.schedule=constant
diff before.txt <(head -n 4 parts/metrics.jsonl) || fail "lines of before were changed"
[[ $(grep -c '"lr": 0.02, "sent_bytes": [1-9][0-9]*, "time": ' parts/metrics.jsonl) == 4 ]] || fail "$(cat parts/metrics.jsonl)"
must_run 2 small.toml --set log.dir=whole --set train.schedule=constant
diff <(untimed whole | tail -n 5) <(untimed parts | tail -n 5) || fail "going on is not going straight"
