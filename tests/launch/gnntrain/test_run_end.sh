# How runs end: without an evaluation there is neither a best epoch nor best.h5; patience ends at an evaluation; what
# the last lines say can be typed; a name that files could not follow is refused at once, and so is output that is lost.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

gnndata synth small.h5 --nodes 400 --degree 8 --features 16 --classes 4 --seed 3 --inside 0.5 >out.txt
gnndata synth no_val.h5 --nodes 400 --degree 8 --features 16 --classes 4 --seed 3 --val 0 >out.txt
settings run.toml dataset.path=small.h5 model.hidden=8 train.epochs=20 train.eval_every=10 checkpoint.every=5 \
  checkpoint.keep=9 runtime.timeout=30 runtime.threads=1 log.dir=run log.progress=1000
last_epoch() { sed -nE 's/.*"epoch": ([0-9]+),.*/\1/p' "$1/metrics.jsonl" | tail -n 1; }

# No epoch was evaluated.
for ranks in 1 2; do
  must_run $ranks run.toml --epochs 0 --set log.overwrite=true
  says 'best epoch +none'
  says 'validation +accuracy -$'
  says '"best_epoch": null, "epochs": 0, "val": null, "test": null' run/metrics.jsonl
  [[ ! -e run/best.h5 ]] || fail "best.h5 of no evaluation"
done
must_run 1 run.toml --epochs 0 --set log.overwrite=true --set train.runs=3
says 'validation +accuracy -$'
says 'test +accuracy -$'

# A run that is shortened to before its first evaluation has no best: neither the file of the branch that is left.
must_run 1 run.toml --set log.overwrite=true
must_run 1 run.toml --resume=run/checkpoints/epoch-0-5.h5 --epochs 5
says 'best epoch +none'
[[ ! -e run/best.h5 ]] || fail "best.h5 of a run that is shorter now"

# Patience ends where an epoch is evaluated; without validation nodes it does not.
must_run 2 run.toml --set log.overwrite=true --epochs 500 --set train.patience=5 --set train.lr=0
says 'no better validation for 5 epochs: stopping early'
[[ $(last_epoch run) == 20 ]] || fail "patience ended at epoch $(last_epoch run), not at the second evaluation"
grep -q '"epoch": 20, .*"val": 0' <<<"$(tail -n 2 run/metrics.jsonl)" || fail "the last epoch was not evaluated"
must_run 1 run.toml --set log.overwrite=true --set dataset.path=no_val.h5 --epochs 40 --set train.patience=5
[[ $(last_epoch run) == 40 ]] || fail "patience without validation nodes ended at epoch $(last_epoch run)"
lacks 'stopping early'
must_run 1 run.toml --set log.overwrite=true --set dataset.path=no_val.h5 --set train.runs=3
says 'validation +accuracy -$'
says 'test +accuracy .*% \+- .* over 3 runs$'

# The line that predicts can be typed as it stands.
must_run 1 run.toml --set 'log.dir="a b/it'"'"'s"'
command=$(sed -nE 's/^ *predict with +gnntrain (.*)$/\1/p' out.txt)
works eval "gnntrain $command"
[[ -s predictions.h5 ]] || fail "no predictions"

# The names of checkpoints could not follow.
must_refuse 2 'log\.dir must be text of at most' 1 run.toml --set log.dir="$(printf 'a/%.0s' {1..460})"

# Output that is lost
for command in "gnndata info small.h5" "gnntrain --help" "gnnbench --help" "gnntrain run.toml --dry-run"; do
  code=0
  "$GNNTRAIN_BIN"/$command >/dev/full 2>err.txt </dev/null || code=$?
  ((code == 1)) && grep -q 'standard output cannot be written' err.txt || fail "$command to a full disk: $code"
done
