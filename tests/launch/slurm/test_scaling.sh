# launch/scaling on 1 and 2 ranks, strong and weak: a row a rank count, numbers that agree, a plot, and a sentence
# for each bad use. Where a rank count fails or a signal comes, what was measured until then stays, nothing goes on.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
command -v python3 >/dev/null || skip "python3 is not there"
scaling=(python3 "$GNNTRAIN_SOURCE/launch/scaling")
shape=(--degree 6 --features 8 --classes 4)

gnndata synth small.h5 --nodes 2000 "${shape[@]}" >/dev/null
settings small.toml dataset.path=small.h5 runtime.threads=1

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
rm -f scaling.jsonl
study strong --record . --row small
python3 - <<'PYTHON' || fail "figures for the pages: $(cat scaling.jsonl)"
import json
lines = [json.loads(line) for line in open("scaling.jsonl")]
rows = {line["column"]: line["value"] for line in lines if line["table"] == "strong" and line["row"] == "small"}
one, two = json.load(open("strong/scaling.json"))["rows"]
assert rows == {"1": one["ms"], "2": two["ms"], "speed-up on 2": two["speedup"]}
assert all("core" in line["machine"] and line["command"].startswith("launch/scaling small.toml") for line in lines)
PYTHON
study weak --weak "--nodes 1500 ${shape[*]}"
[[ -f weak/ranks-2/dataset.h5 ]] || fail "weak: no dataset of its own"

# refuses MESSAGE ARGUMENT...
refuses() {
  ends 2 "${scaling[@]}" --build "$GNNTRAIN_BIN" --out refused "${@:2}"
  cat out.txt err.txt >said
  grep -qF -- "$1" said || fail "not said: $1"
  lacks Traceback said
}
rm -rf refused
refuses 'nowhere.toml is not there' nowhere.toml
refuses '--ranks takes ascending numbers' small.toml --ranks 2,1
refuses '--weak needs --nodes N' small.toml --weak "${shape[*]}"
refuses 'model.layer' small.toml --set model.layer=3
[[ ! -e refused/scaling.json ]] || fail "a bad setting left numbers"
refuses 'cannot be divided into words: no closing quotation' small.toml --weak '"--nodes'
refuses '--weak needs --nodes N' small.toml --weak ''
refuses '--weak needs --nodes N' small.toml --weak "--nodes ²"
refuses "--mpirun 'mpirun \"' cannot be divided into words: no closing quotation" small.toml --mpirun 'mpirun "'
refuses "--mpirun names no program that is there: 'nowhere'" small.toml --mpirun 'nowhere -v'
refuses '--mpirun names no program' small.toml --mpirun ''
refuses '--build nowhere has no program gnntrain' small.toml --build nowhere
refuses '--out small.toml is no folder that can be written' small.toml --out small.toml
refuses '--out small.toml/below is no folder' small.toml --out small.toml/below
refuses '--out /proc/scaling is no folder' small.toml --out /proc/scaling
mkdir -p blocked/scaling.json
refuses 'scaling.json in it is a folder' small.toml --out blocked

# A launcher of one rank, whose two ranks fail, and wait for a signal where the file waits_for_signal is.
cat >launcher <<'STUB'
#!/usr/bin/env bash
ranks=$2
shift 2
[[ $ranks != 1 ]] || exec "$@"
printf 'no \xff slots\n'
[[ -e waits_for_signal ]] || exit 5
trap 'echo "$BASHPID" >signalled; exit 7' TERM INT
sleep 300 &
echo $! >sleeper
wait
STUB
chmod +x launcher

# incomplete NAME CODE REASON: of rank counts 1, 2 and 4 the first is there, and said why the others are not
incomplete() {
  [[ $code == "$2" ]] || fail "$1: exit code $code: $(cat "$1.txt")"
  grep -qE '^ +1 +[0-9.]+ +1\.00 +100\.0% ' "$1.txt" || fail "$1: the row that was measured is lost: $(cat "$1.txt")"
  grep -qE "^ +2 missing: $3" "$1.txt" || fail "$1: nothing of 2 ranks: $(cat "$1.txt")"
  grep -q '^ *4 missing: not begun after 2$' "$1.txt" || fail "$1: nothing of 4 ranks: $(cat "$1.txt")"
  grep -qE "^scaling: (.* )?$3" "$1.err" || fail "$1: $(cat "$1.err")"
  python3 - "$1" "$3" <<'PYTHON' || fail "$1: other numbers"
import json, os, re, sys
study = json.load(open(f"{sys.argv[1]}/scaling.json"))
assert [row["ranks"] for row in study["rows"]] == [1] and study["rows"][0]["ms"] > 0, study
assert [gap["ranks"] for gap in study["missing"]] == [2, 4] and re.match(sys.argv[2], study["missing"][0]["reason"]), study
assert sorted(os.listdir(sys.argv[1])) == ["ranks-1", "ranks-2", "scaling.json", "scaling.svg"], os.listdir(sys.argv[1])
PYTHON
}
part=("${scaling[@]}" small.toml --build "$GNNTRAIN_BIN" --mpirun "$PWD/launcher" --ranks 1,2,4 --epochs 2 --warmup 0)
mkdir fails
echo '{"rows": "of an earlier study"}' >fails/scaling.json
"${part[@]}" --out fails >fails.txt 2>fails.err && code=0 || code=$?
says '^scaling: .*launcher -n 2 .* ended with exit code 5; its output' fails.err
incomplete fails 5 'ended with exit code 5; its output is in fails/ranks-2/output.txt'

echo '"of an earlier study"' >fails/scaling.json
mkdir -p full
cat >full/sitecustomize.py <<'PYTHON'
import errno
import os

def fsync(descriptor):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

os.fsync = fsync
PYTHON
PYTHONPATH=$PWD/full "${part[@]}" --out fails --ranks 1 >fails.txt 2>fails.err && code=0 || code=$?
[[ $code == 1 && $(cat fails/scaling.json) == '"of an earlier study"' && -z $(find fails -name '*.part') ]] ||
  fail "numbers on a full disk: exit code $code: $(ls fails)"
says '^scaling: fails/scaling.json cannot be written: No space left on device$' fails.err
says '^ +1 +[0-9.]+ +1\.00 ' fails.txt

echo kept >victim
ln -s ../victim fails/scaling.json.part
ln -sf ../victim fails/scaling.svg
ln -sf ../../victim fails/ranks-1/output.txt
"${part[@]}" --out fails --ranks 1 >fails.txt 2>fails.err || fail "$(cat fails.err)"
[[ $(cat victim) == kept && ! -L fails/scaling.svg ]] || fail "a link in the folder was written through"

# gone PID: that it ends, which may be a moment after who started it, and much sooner than by itself
gone() { wait_until 30 is_gone "$1"; }
touch waits_for_signal
for number in TERM INT; do
  rm -rf stops signalled sleeper
  env --default-signal=INT "${part[@]}" --out stops >stops.txt 2>stops.err &
  study=$!
  wait_until 100 test -s sleeper || { kill $study; fail "2 ranks were not started: $(cat stops.txt stops.err)"; }
  kill -$number $study
  wait $study && code=0 || code=$?
  [[ -s signalled ]] || { kill "$(cat sleeper)" 2>/dev/null || true; fail "$number does not reach the launcher"; }
  [[ $number == INT ]] || gone "$(cat sleeper)" || fail "$number does not reach the launcher's group"
  kill "$(cat sleeper)" 2>/dev/null || true
  incomplete stops $((128 + $(kill -l $number))) "stopped by SIG$number"
done
