#!/usr/bin/env bash
# METIS and what follows it keep nodes and non-zeros of real graphs within 1.05 times the mean.
set -u
[ -d "${GNNTRAIN_TEST_DATA:-}" ] || { echo "skipped: GNNTRAIN_TEST_DATA names no folder" && exit 77; }
gnndata=$GNNTRAIN_BIN/gnndata
fail() { echo "FAILED: $*"; exit 1; }

rm -rf ./*
# balanced FORMAT FILE: imported as an undirected graph and cut into 2, 4 and 8 parts.
balanced() {
  local file=$GNNTRAIN_TEST_DATA/$2
  [ -e "$file" ] || fail "$file is not there"
  "$gnndata" import "$1" "$file" g.h5 --undirected >out 2>&1 || fail "import $2: $(cat out)"
  for parts in 2 4 8; do
    "$gnndata" partition g.h5 --parts $parts --order given >out 2>&1 || fail "$2, $parts parts: $(cat out)"
    awk -v name="$2, $parts parts" '
      /^partition:/ { seconds = $(NF - 1) }
      /^edge cut:/ { cut = $NF }
      /^balance/ { sub(",", "", $6); print name ": rows " $6 ", non-zeros " $8 ", cut " cut " " seconds " s"
                   found = $6 <= 1.0505 && $8 <= 1.0505 }
      END { exit !found }' out || fail "$(cat out)"
  done
  rm -rf g.h5 g.h5.parts
}

balanced npz cora.npz
balanced npz amazon_computers.npz
balanced npz coauthor_physics.npz
balanced edgelist email-Enron.txt.gz
balanced edgelist web-NotreDame.txt.gz
balanced metis wave.graph.gz
exit 0
