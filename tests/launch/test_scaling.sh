#!/usr/bin/env bash
# launch/scaling on 1 and 2 ranks, strong and weak: a row a rank count, numbers that agree, a plot, and a sentence
# for each bad use.
set -euo pipefail
fail() { echo "$*" && exit 1; }
command -v python3 >/dev/null || { echo "skipped: python3 is not there" && exit 77; }
scaling=(python3 "$GNNTRAIN_SOURCE/launch/scaling")
shape=(--degree 6 --features 8 --classes 4)

"$GNNTRAIN_BIN/gnndata" synth small.h5 --nodes 2000 "${shape[@]}" >/dev/null
printf '[dataset]\npath = "small.h5"\n[runtime]\nthreads = 1\n' >small.toml

# study NAME ARGUMENT...: runs it and checks table, numbers and plot
study() {
  local name=$1
  shift
  "${scaling[@]}" small.toml --build "$GNNTRAIN_BIN" --ranks 1,2 --epochs 4 --warmup 1 --out "$name" "$@" >"$name.txt" ||
    fail "$name: $(cat "$name.txt")"
  [[ $(grep -cE '^ +[12] +[0-9.]+ +[0-9.]+ +[0-9.]+% +[0-9.]+%$' "$name.txt") == 2 ]] || fail "$name: $(cat "$name.txt")"
  grep -qE '^ +1 +[0-9.]+ +1\.00 +100\.0% ' "$name.txt" || fail "$name: one rank is not its own measure"
  python3 - "$name" <<'PYTHON' || fail "$name: plot or numbers"
import json, sys, xml.dom.minidom
xml.dom.minidom.parse(f"{sys.argv[1]}/scaling.svg")
one, two = json.load(open(f"{sys.argv[1]}/scaling.json"))["rows"]
gain = one["ms"] / two["ms"] * (2 if sys.argv[1] == "weak" else 1)
assert abs(two["speedup"] - gain) < 1e-9 and abs(two["efficiency"] - gain / 2) < 1e-9
assert one["exchange"] < 0.2 and 0 < two["exchange"] < 1
PYTHON
  [[ $(grep -c '"epoch"' "$name/ranks-2/metrics.jsonl") -ge 5 ]] || fail "$name: not 5 epochs"
}
study strong
study weak --weak "--nodes 1500 ${shape[*]}"
[[ -f weak/ranks-2/dataset.h5 ]] || fail "weak: no dataset of its own"

# refuses MESSAGE ARGUMENT...
refuses() {
  local message=$1 code=0
  shift
  "${scaling[@]}" "$@" --build "$GNNTRAIN_BIN" --out refused >said 2>&1 || code=$?
  ((code == 2)) || fail "$*: exit code $code"
  grep -qF -- "$message" said || fail "$*: $(cat said)"
}
refuses 'nowhere.toml is not there' nowhere.toml
refuses '--ranks takes ascending numbers' small.toml --ranks 2,1
refuses '--weak needs --nodes N' small.toml --weak "${shape[*]}"
refuses 'model.layer' small.toml --set model.layer=3
