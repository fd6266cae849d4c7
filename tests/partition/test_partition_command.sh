#!/usr/bin/env bash
# gnndata partition: makes, keeps and prints a partition, and refuses what it cannot cut.
set -u
gnndata=$GNNTRAIN_BIN/gnndata
fail() { echo "FAILED: $*"; exit 1; }

# refuse CODE "TEXT" ARGUMENT...: the command must end with CODE and say TEXT.
refuse() {
  local code=$1 text=$2
  shift 2
  "$gnndata" partition "$@" >out 2>&1
  local got=$?
  [ $got = "$code" ] || fail "partition $*: code $got instead of $code: $(cat out)"
  grep -qF -- "$text" out || fail "partition $*: \"$text\" is missing in: $(cat out)"
}

rm -rf ./*
"$gnndata" synth g.h5 --nodes 3000 --degree 8 --features 4 --classes 4 >out || fail "synth: $(cat out)"
sum=$(sha256sum <g.h5)

"$gnndata" partition g.h5 --parts 4 >first || fail "partition: $(cat first)"
for text in "partition: metis, 4 parts" "edge cut:" "halo rows" "balance (largest / mean)" "kept in g.h5.parts/"; do
  grep -qF "$text" first || fail "\"$text\" is missing in: $(cat first)"
done
"$gnndata" partition --parts=4 g.h5 >second || fail "second run"
grep -q "read from g.h5.parts/" second || fail "the kept partition was not read: $(cat second)"
[ "$(grep -A9 'edge cut' second)" = "$(grep -A9 'edge cut' first | grep -v 'kept in')" ] || fail "the table changed"

"$gnndata" partition g.h5 --parts 3 --method random --order degree --seed 9 >out || fail "random"
grep -q "partition: random, 3 parts, order degree" out || fail "random: $(cat out)"
"$gnndata" partition g.h5 --parts 1 --order given >out || fail "one part"
[ "$(ls g.h5.parts | wc -l)" = 2 ] || fail "files kept: $(ls g.h5.parts)"
[ "$sum" = "$(sha256sum <g.h5)" ] || fail "the dataset was changed"

# Every order by name, each rated; ranks make the same as one process.
for order in degree cluster loa rcm; do
  "$gnndata" partition g.h5 --parts 3 --method block --order $order >one || fail "$order: $(cat one)"
  grep -q "block, 3 parts, order $order" one || fail "$order: $(cat one)"
  grep -q "predicted .* ms at width 128" one || fail "$order is not rated: $(cat one)"
  rm g.h5.parts/block-*
  mpirun -n 3 --oversubscribe "$gnndata" partition g.h5 --parts 3 --method block --order $order >three || fail "$order on 3"
  [ "$(grep -o 'predicted.*' three)" = "$(grep -o 'predicted.*' one)" ] || fail "$order differs on 3 ranks: $(cat three)"
done
"$gnndata" partition g.h5 --parts 3 --order given >out || fail "given: $(cat out)"
"$gnndata" partition g.h5 --parts 3 --order cluster >out || fail "cluster: $(cat out)"
grep -q "owners read from g.h5.parts/metis-3-given" out || fail "METIS ran again for another order: $(cat out)"
"$gnndata" partition g.h5 --parts 2 --method block --order auto --set runtime.device=cpu --set train.epochs=1 >out || fail "auto"
grep -q "order: given, .* do not pay for a search" out || fail "auto of a short run: $(cat out)"
grep -q "order auto: given" out || fail "auto of a short run: $(cat out)"
"$gnndata" partition g.h5 --parts 2 --method block --order auto --set runtime.device=cpu --set train.epochs=90000 >out || fail "auto"
grep -q "is not used: this run is long enough" out || fail "auto of a long run: $(cat out)"
grep -q "predicted to save .* s of .* s of one thread in 270000 sparse products" out || fail "auto of a long run: $(cat out)"
"$gnndata" info g.h5 >out || fail "info: $(cat out)"
grep -q "block, order auto: cluster, made in" out || fail "info lacks the orders: $(cat out)"

# A damaged file is spoken of once.
"$gnndata" partition g.h5 --parts 5 --order given >out || fail "five parts: $(cat out)"
head -c 3000 g.h5.parts/metis-5-given-* >short && mv short g.h5.parts/metis-5-given-*
"$gnndata" partition g.h5 --parts 5 --order given >out || fail "a damaged file: $(cat out)"
[ "$(grep -c 'is not used' out)" = 1 ] || fail "a damaged file is not spoken of once: $(cat out)"

refuse 2 'partition.order must be "given", "degree", "metis", "cluster", "loa", "rcm" or "auto"' g.h5 --parts 2 --order best
refuse 2 "partition.loa_window must be an integer from 16 to 1048576" g.h5 --parts 2 --order loa --loa-window 4
refuse 2 "unknown key train.epoch" g.h5 --parts 2 --set train.epoch=4
refuse 2 "3000 nodes and cannot be cut into 3001 parts" g.h5 --parts 3001
refuse 2 "a whole number from 1 to" g.h5 --parts 0
refuse 2 "a whole number from 1 to" g.h5 --parts 4x
refuse 2 "--parts needs a value" g.h5 --parts
refuse 2 "FILE.h5 and --parts K are needed" g.h5
refuse 2 "FILE.h5 and --parts K are needed" --parts 4
refuse 2 "two datasets, g.h5 and h.h5" g.h5 h.h5 --parts 2
refuse 2 "unknown option --part" g.h5 --part 2
refuse 2 "partition.method" g.h5 --parts 2 --method voodoo
refuse 2 "partition.balance" g.h5 --parts 2 --balance 0.5
refuse 2 "missing.h5" missing.h5 --parts 2
grep -q -e --balance <<<"$("$gnndata" partition --help)" || fail "--help"
exit 0
