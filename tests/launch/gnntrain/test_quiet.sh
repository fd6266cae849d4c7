# What a training says: by default at most twelve lines ahead of the first epoch and then a line every few seconds, all
# with --verbose, results alone with --quiet; --eval and --predict say what came out. metrics.jsonl has every epoch.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

works gnndata synth data.h5 --nodes 3000 --degree 8 --features 8 --classes 4
works gnndata synth hyper.h5 --nodes 600 --hyperedges 300 --degree 3 --features 4 --classes 3
settings run.toml dataset.path=data.h5 model.hidden=8 train.epochs=40 log.dir=run log.overwrite=true runtime.threads=1

# ahead PATTERN...: what stands ahead of the first epoch has that many lines at most, and these among them.
ahead() {
  local pattern
  sed '/^epoch/,$d; /^ *$/d' out.txt >ahead.txt
  (($(wc -l <ahead.txt) <= 12)) || fail "$(wc -l <ahead.txt) lines ahead of the first epoch"
  for pattern in '^gnntrain ' '^  model ' '^  ranks ' '^  device ' '^  host memory ' "$@"; do says "$pattern" ahead.txt; done
}
# whole EPOCHS: are in metrics.jsonl.
whole() { [[ $(losses run | wc -l) == "$1" ]] || fail "$(losses run | wc -l) epochs in metrics.jsonl, not $1"; }

for ranks in 1 2; do
  rm -rf data.h5.parts
  must_run $ranks run.toml
  ahead '^  graph +data: 3000 nodes, .* arcs, 8 features, 4 classes; 300 train' '^  partition '
  lacks 'predicted|H[12]00|^edge cut|GPU'
  whole 40
  must_run $ranks run.toml --set dataset.path=hyper.h5 --set model.type=hgnn
  ahead '^  hypergraph +hyper: 600 vertices, 300 hyperedges' '^  partition '
done
says '^  partition +metis, 2 parts, order given, made in .* s: .*% of the incidences between parts, balance 1\.'

# The lines of epochs: the first, the best and the last, and others only where they take their time.
began=$SECONDS
must_run 2 run.toml
lines=$(grep -c '^epoch' out.txt)
((lines >= 2 && lines <= 3 + 2 * (SECONDS - began) / 5)) || fail "$lines lines of 40 epochs in $((SECONDS - began)) s"
says '^epoch +1/40 '
says "^epoch +$(final run best_epoch)/40 "
says '^epoch +40/40 '
says '^  partition +metis, 2 parts, order .*, as kept: .*% of the arcs cut, .* halo rows for each own one, balance 1\.'
must_run 1 run.toml --set train.runs=3
(($(grep -c '^run . *epoch' out.txt) <= 3 + 2 * (SECONDS - began) / 5)) || fail "each of several runs has lines of epochs"
(($(grep -c '^run .  seed' out.txt) == 3)) || fail "not a line a run"
must_run 1 run.toml --set log.progress=8
[[ $(grep -oE '^epoch +[0-9]+' out.txt | tr -dc '0-9\n' | paste -sd ' ') == '1 8 16 24 32 40' ]] || fail "not every eighth epoch has a line"

# One that takes long has a line every five seconds or so, and the best since.
start 1 run/metrics.jsonl run.toml --epochs 1000000000
sleep 7
kill -TERM $job
ends_within 15 75
lines=$(grep -c '^epoch' out.txt)
((lines >= 3 && lines <= 7)) || fail "$lines lines of epochs in 7 seconds"
says '^epoch .*  best so far$'
(($(losses run | wc -l) > 5 * lines)) || fail "epochs are missing in metrics.jsonl"

# --verbose: the table of the partition, the parts of the memory, a line an epoch.
must_run 2 run.toml --verbose
for pattern in '^  data ' '^partition: metis, 2 parts' '^edge cut: ' '^balance ' '^rows: ' '^ +[0-9.]+ [KM]iB  program and libraries'; do
  says "$pattern"
done
lacks 'predicted|H[12]00'
(($(grep -c '^epoch ' out.txt) == 40)) || fail "not a line an epoch with --verbose"

# --quiet: results, and what goes wrong.
for ranks in 1 2; do
  must_run $ranks run.toml --quiet
  [[ $(head -n 1 out.txt) == result && ! -s err.txt ]] || fail "more than results with --quiet"
  says '^  test +accuracy [0-9.]+%$'
  whole 40
done
must_refuse 2 'run already holds a run' 1 run.toml --quiet --set log.overwrite=false
must_refuse 2 '--quiet and --verbose exclude each other' 1 run.toml --quiet --verbose

# --eval and --predict.
for option in --eval=run/best.h5 '--predict=run/best.h5 --out=out.h5'; do
  must_run 2 run.toml $option
  lacks '^gnntrain |^  (graph|model|ranks|partition|host memory) '
  says 'weights of run 0 after epoch'
  must_run 2 run.toml $option --quiet
  lacks 'weights of run'
  says '^(  test +[0-9.]+%|wrote out\.h5: )'
  must_run 2 run.toml $option --verbose
  says '^  graph '
done

# --profile begins with the table of an epoch.
must_run 2 run.toml --profile
[[ $(sed '1,/^  predict with/d; /^ *$/d' out.txt | head -n 1) == 'an epoch, mean of 39 on 2 ranks: '* ]] || fail "--profile begins otherwise"

# The memory that a batch job asks for: of all ranks of the node, with the making of the partition.
# mib PATTERN: the number behind it, in MiB
mib() { sed -nE "s/^ *$1 +([0-9.]+) ([KMG])iB.*/\1 \2/p" out.txt | head -n 1 | awk '{ print $2 == "G" ? 1024 * $1 : $2 == "K" ? $1 / 1024 : $1 }'; }
works gnndata synth dense.h5 --nodes 30000 --degree 60 --features 4 --classes 4
must_run 2 run.toml --set dataset.path=dense.h5 --epochs 1
made=$(mib 'host memory') fullest=$(mib memory)
says '^  host memory .* a node for its 2 ranks, the making of the partition included; for Slurm --mem=[0-9]+G$'
holds "$made > 1.2 * $fullest && $made < 2 * $fullest" "MiB of the node, and of its fullest rank"
must_run 2 run.toml --set dataset.path=dense.h5 --epochs 1 --dry-run --quiet
says '^  host memory .* a node for its 2 ranks, with the partition as it is kept; for Slurm --mem=[0-9]+G$'
says '^values take '
holds "$(mib 'host memory') < $made" "MiB once the partition is kept, and before"
must_run 1 run.toml --set dataset.path=dense.h5 --epochs 1 --set model.hidden=8192 --dry-run --quiet
asked=$(sed -nE 's/.*--mem=([0-9]+)G$/\1/p' out.txt)
holds "1024 * $asked >= 1.25 * $(mib 'host memory') && 1024 * $asked < 1.25 * $(mib 'host memory') + 1024" "GiB to ask for"
