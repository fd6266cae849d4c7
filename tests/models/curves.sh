# What the tests of agreement share: the loss curve of a run, in losses.NAME, and how far two of them lie apart.
set -u
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-4} # graphs this small gain nothing from more, and other tests run beside
fail() { echo "FAILED: $*"; exit 1; }

# keep_losses NAME: of the run in run.NAME, which has 50 epochs
keep_losses() {
  sed -n 's/.*"epoch": [0-9]*, "loss": \([^,]*\),.*/\1/p' "run.$1/metrics.jsonl" >"losses.$1"
  [ "$(wc -l <"losses.$1")" = 50 ] || fail "$1: $(wc -l <"losses.$1") losses, not 50"
}

# train_on RANKS NAME [OPTION]...: of base.toml, one thread a rank; leaves the losses of the epochs in losses.NAME
train_on() {
  local ranks=$1 name=$2
  shift 2
  OMP_NUM_THREADS=1 mpirun -n "$ranks" --oversubscribe --bind-to none "$GNNTRAIN_BIN/gnntrain" base.toml \
    --set "log.dir=run.$name" --set log.overwrite=true "$@" >"$name.log" 2>&1 || fail "$name: $(tail -3 "$name.log")"
  keep_losses "$name"
}

# within A B EPOCHS TOLERANCE: relative difference of the two curves
within() {
  paste "losses.$1" "losses.$2" | head -n "$3" | awk -v t="$4" -v pair="$1 $2" '
    {d = $1 - $2; if (d < 0) d = -d; d /= ($1 > 1 ? $1 : 1); if (d > worst) worst = d}
    END {printf "%s: %d epochs, largest difference %.3g (allowed %g)\n", pair, NR, worst, t; exit !(worst <= t)}' ||
    fail "$1 and $2 disagree"
}
