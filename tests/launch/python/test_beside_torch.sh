# launch/compare: gnntrain's part says what metrics.jsonl says; a peer that is missing or fails is said in its row; bad use is one
# sentence. Where PyTorch is there: its epochs are gnntrain's (check_peer.py), and it learns as much.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
needs_python h5py numpy
compare=("$python" "$GNNTRAIN_SOURCE/launch/compare")
here=(--build "$GNNTRAIN_BIN" --python "$python")
works gnndata synth data.h5 --nodes 600 --degree 8 --features 16 --classes 4 --community-size 100 --inside 0.8 --seed 1
settings small.toml dataset.path=data.h5 model.hidden=16 train.epochs=30 train.eval_every=2 train.lr=0.02 runtime.device=cpu runtime.threads=1

# A Python without the packages, one that does not start.
mkdir bare && printf '#!/bin/sh\nexec "%s" -I -S "$@"\n' "$(command -v "$python")" >bare/python && chmod +x bare/python
works "${compare[@]}" small.toml --build "$GNNTRAIN_BIN" --python bare/python --out bare/out
says '^ *gnntrain +[0-9.]+% +[0-9.]+% +30 '
says '^ *PyTorch +-.* ended with exit code 1: ModuleNotFoundError: No module named '
printf '#!/bin/sh\necho Killed >&2\nexit 9\n' >bare/python
works "${compare[@]}" small.toml --build "$GNNTRAIN_BIN" --python bare/python --out bare/out --peers pyg --ranks 2
says '^ *gnntrain, 2 ranks +[0-9.]+% '
says '^ *PyTorch Geometric +-.* ended with exit code 9: Killed$'
python3 - <<'PYTHON' || fail "compare.json is not what the run has"
import json, statistics, xml.dom.minidom
found = json.load(open("bare/out/compare.json"))
lines = [json.loads(line) for line in open("bare/out/gnntrain/metrics.jsonl")]
ours, ms = found["rows"][0], [line["ms"] for line in lines if "epoch" in line]
assert (ours["test"], ours["validation"], ours["epochs"]) == (lines[-1]["test"], lines[-1]["val"], 30)
assert ours["ms"] == statistics.median(ms[3:]) and sum(ms) / 1e3 < ours["seconds"] < 60 and 0.001 < ours["gib"] < 4
assert found["facts"]["model"] == "gcn, 2 layers, 16 hidden"
page = open("bare/out/compare.html").read()
xml.dom.minidom.parseString(page.replace("<!doctype html>", ""))
assert page.count("<figure") == 3 and "://" not in page and "exit code 9: Killed" in page
PYTHON

refused 2 'gnntrain: .*no.toml' "${compare[@]}" no.toml "${here[@]}" --out no
refused 2 '--peers dgl: of torch and pyg some are expected' "${compare[@]}" small.toml "${here[@]}" --peers dgl
refused 2 '--ranks 0: a number from 1 on is expected' "${compare[@]}" small.toml "${here[@]}" --ranks 0
refused 2 '--build nowhere has no program gnntrain' "${compare[@]}" small.toml --build nowhere
refused 2 'unrecognized arguments: --peer torch; launch/compare --help' "${compare[@]}" small.toml "${here[@]}" --peer torch
ends 1 "${compare[@]}" small.toml "${here[@]}" --set train.optimizer=sgd --set train.lr=1e6 --out away
says 'compare: gnntrain: epoch [0-9]+: the loss is' err.txt

find_python h5py numpy torch || { echo "no PyTorch: no peer has trained" && exit 0; }
here=(--build "$GNNTRAIN_BIN" --python "$python")
export PYTHONPATH=$GNNTRAIN_SOURCE/python${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1 OMP_NUM_THREADS=1 CUDA_VISIBLE_DEVICES=
works "$python" "$GNNTRAIN_SOURCE/tests/launch/python/check_peer.py"
cat out.txt
works "${compare[@]}" small.toml "${here[@]}" --peers torch --out both
"$python" - <<'PYTHON' || fail "the peer learns less"
import json
ours, peer = json.load(open("both/compare.json"))["rows"]
print(ours["test"], peer["test"])
assert peer["epochs"] == 30 and ours["test"] > .6 and abs(peer["test"] - ours["test"]) < .1
PYTHON
works "${compare[@]}" small.toml "${here[@]}" --peers torch --set model.type=agnn --set model.layers=3 --out other
says '^ *PyTorch +-.*model.type = "agnn" has no module'
works "${compare[@]}" small.toml "${here[@]}" --peers torch --set train.metric=accuracy --set train.patience=4 --set train.epochs=400 --out both
says '^ *PyTorch +[0-9.]+% '
