# What the tests of agreement share: the loss curve of a run, in losses.NAME, and how far two of them lie apart.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-4} # graphs this small gain nothing from more, and other tests run beside

# keep_losses NAME: of the run in run.NAME, which has as many epochs as base.toml says
keep_losses() {
  local epochs
  epochs=$(sed -n 's/^train.epochs = //p' base.toml)
  losses "run.$1" | cut -d ' ' -f 2 >"losses.$1"
  [[ $(wc -l <"losses.$1") == "$epochs" ]] || fail "$1: $(wc -l <"losses.$1") losses, not $epochs"
}

# train_on RANKS NAME [OPTION]...: of base.toml, one thread a rank; leaves the losses of the epochs in losses.NAME
train_on() {
  local ranks=$1 name=$2
  shift 2
  OMP_NUM_THREADS=1 must_run "$ranks" base.toml --set "log.dir=run.$name" --set log.overwrite=true "$@"
  keep_losses "$name"
}

# within A B EPOCHS TOLERANCE: relative difference of the two curves
within() {
  paste "losses.$1" "losses.$2" | head -n "$3" | awk -v t="$4" -v pair="$1 $2" '
    {d = $1 - $2; if (d < 0) d = -d; d /= ($1 > 1 ? $1 : 1); if (d > worst) worst = d}
    END {printf "%s: %d epochs, largest difference %.3g (allowed %g)\n", pair, NR, worst, t; exit !(worst <= t)}' ||
    fail "$1 and $2 disagree"
}

# falls NAME SHARE: the last loss is below that share of the first.
falls() {
  awk -v share="$2" 'NR == 1 { first = $1 } { last = $1 } END { exit !(last < share * first) }' "losses.$1" ||
    fail "$1: the loss did not fall"
}

# same A B: the two curves have the same bits.
same() { cmp "losses.$1" "losses.$2" || fail "$1 and $2 differ"; }
