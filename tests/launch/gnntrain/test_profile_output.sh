# gnntrain --profile on 1 and 2 ranks: the first epoch stands apart from the others, over which means are taken; layouts
# stand apart from the rest of the model; sparse products are those of the epochs, at the widths that these have.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
gnndata synth small.h5 --nodes 2000 --degree 10 --features 8 --classes 4 >/dev/null
settings small.toml dataset.path=small.h5 model.hidden=16 model.layers=3 train.epochs=5 log.overwrite=true \
  partition.method=block partition.order=given runtime.rows=all

# profile RANKS NAME OPTION...
profile() {
  must_run "$1" small.toml --profile --set runtime.threads=1 --set "log.dir=run.$2" "${@:3}"
}

for ranks in 1 2; do
  profile $ranks gcn.$ranks
  says '^  first epoch +1 '
  says '^  epoch +4 '
  says "^an epoch, mean of 4 on $ranks rank"
  says '^  model +1 '
  says '^    layout +1 '
  # Forward at 16 and 4 columns and back: the first layer's aggregate, of 8, is made once and before the epochs.
  says '^  own part +[0-9]+ .* 10 +[0-9.]+ +[0-9.]+$'
done
says '^  halo part +[0-9]+ .* 10 +[0-9.]+ +[0-9.]+$' # on two ranks
profile 2 late --set runtime.late_rows=0.5
says '^  late rows +[0-9]+ .* 10 +[0-9.]+ +[0-9.]+$'
profile 1 one --epochs 1
says '^an epoch, mean of 1 on 1 rank'
lacks 'first epoch'
profile 1 gat --set model.type=gat --set model.heads=4
says '^an epoch, mean of 4 on 1 rank'
lacks 'sparse products'
if command -v python3 >/dev/null; then
  python3 - <<'END_OF_CHECK' || fail "the trace is not JSON, or regions of a line overlap"
import json

line = {}
for event in json.load(open("run.gcn.2/trace.json"))["traceEvents"]:
    if event["ph"] == "X":
        line.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["ts"] + event["dur"]))
assert len(line) >= 4, line.keys()
for events in line.values():
    ends = []
    for start, end in sorted(events, key=lambda event: (event[0], -event[1])):
        while ends and ends[-1] <= start + .01:
            ends.pop()
        assert not ends or end <= ends[-1] + .01, (start, end, ends[-1])
        ends.append(end)
END_OF_CHECK
fi
echo "profiles tell"
