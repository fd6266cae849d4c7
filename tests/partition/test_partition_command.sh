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
"$gnndata" partition --help | grep -q -- "--balance" || fail "--help"
exit 0
