# A run's folder belongs to one process at a time.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

break_dataset sound sound.h5
settings run.toml dataset.path=sound.h5 model.hidden=8 train.epochs=3 runtime.timeout=30 runtime.threads=1 log.dir=run \
  log.progress=1000000
in_use='^gnntrain: log\.dir: run is in use by process [0-9]+ on .*; wait for its end, stop it or name another log\.dir$'

# Later ones are refused for as long as it runs, whatever they were told to do with the folder.
start 2 run/metrics.jsonl run.toml --epochs 1000000000
mv out.txt first.txt
for ranks in 1 2; do
  for options in '--set log.overwrite=true' --resume; do
    must_refuse 2 "$in_use" $ranks run.toml $options
    lacks '^epoch'
  done
done
must_run 1 run.toml --dry-run
kill -KILL "$(processes 0)"
ends_within 15
must_run 1 run.toml --set log.overwrite=true # the lock went with its process
must_run 2 run.toml --resume --epochs 4

one_has_ended() { has_ended $first || has_ended $second; }
# Of two that start together one trains.
for round in 1 2 3; do
  rm -rf run
  gnntrain run.toml --epochs 1000000000 >out1.txt 2>err1.txt </dev/null &
  first=$!
  gnntrain run.toml --epochs 1000000000 >out2.txt 2>err2.txt </dev/null &
  second=$!
  trap 'kill -KILL $first $second 2>/dev/null; exit 1' TERM INT
  wait_until 100 one_has_ended || true
  loser=$first winner=$second said=err1.txt
  kill -0 $first 2>/dev/null && loser=$second winner=$first said=err2.txt
  if kill -0 $loser 2>/dev/null; then
    kill -KILL $first $second
    fail "two runs share a folder"
  fi
  code=0
  wait $loser || code=$?
  wait_until 100 test -s run/metrics.jsonl || fail "none of two trains"
  stopped=0
  kill -TERM $winner
  wait $winner || stopped=$?
  ((code == 2 && $(wc -l <$said) == 1)) || fail "the one too many ended with $code: $(cat $said)"
  says 'run (is in use by|already holds a run)' $said
  ((stopped == 75)) || fail "the one that trained ended with $stopped"
done

# What would be lost is not written over: the dataset ever, what is left of a run unless log.overwrite says so.
loses() { # loses PATTERN OPTION...: refused, and mine/ is as it was
  local before
  before=$(cat mine/*.h5 mine/*/*.h5 mine/*.jsonl | cksum)
  must_refuse 2 "$1" 1 run.toml --set log.dir=mine "${@:2}"
  [[ $(cat mine/*.h5 mine/*/*.h5 mine/*.jsonl | cksum) == "$before" ]] || fail "something was lost with $*"
}
mkdir -p mine/checkpoints
cp sound.h5 mine/best.h5
cp sound.h5 mine/checkpoints/epoch-0-3.h5
over='would write over the dataset'
for dataset in mine/best.h5 mine/checkpoints/epoch-0-3.h5; do
  loses "log\.dir: the run in mine $over $dataset; name another log\.dir" --set dataset.path=$dataset --set log.overwrite=true
done
loses 'mine already holds a run'
rm mine/best.h5
loses 'mine already holds a run'
must_run 1 run.toml --set log.dir=mine --set log.overwrite=true
rm -r mine/config.toml mine/best.h5 mine/checkpoints
: >mine/none.h5
mkdir mine/checkpoints
: >mine/checkpoints/none.h5
loses 'mine already holds a run'
rm mine/metrics.jsonl
must_run 1 run.toml --set log.dir=mine
