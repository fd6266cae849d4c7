# Every graph of the test data imports with the counts that its collection states, and passes the checks.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
needs_data
gnndata=gnndata
failures=0

# import NODES ARCS EXPECTED FORMAT FILE [OPTION]...: EXPECTED is a pattern for the rest of the summary.
import() {
  local nodes=$1 arcs=$2 expected=$3 format=$4 file=$5
  shift 5
  local summary
  if ! summary=$(gnndata import "$format" "$GNNTRAIN_TEST_DATA/$file" graph.h5 "$@" | tail -n 1); then
    echo "$file: import failed"
    failures=$((failures + 1))
  elif [[ $summary != "graph.h5: $nodes nodes, $arcs arcs, "$expected ]]; then
    echo "$file: expected $nodes nodes, $arcs arcs, $expected: $summary"
    failures=$((failures + 1))
  elif ! gnndata check graph.h5; then
    echo "$file: the dataset is not in order"
    failures=$((failures + 1))
  fi
  rm -f graph.h5
}

# hyper EXPECTED FOLDER [OPTION]...: a hypergraph in lines, labels beside.
hyper() {
  local expected=$1 folder=$GNNTRAIN_TEST_DATA/$2
  shift 2
  gnndata import hypergraph "$folder/hyperedges.txt" graph.h5 --labels "$folder/labels.txt" "$@" >said
  if [[ $(tail -n 1 said) != "graph.h5: "$expected* ]] || ! gnndata check graph.h5; then
    echo "$folder: expected $expected: $(cat said)"
    failures=$((failures + 1))
  fi
  rm -f graph.h5
}
for name in cocitation_cora:1579:4786 coauthorship_cora:1072:4585; do
  IFS=: read -r folder edges incidences <<<"$name"
  hyper "2708 vertices, $edges hyperedges, $incidences incidences, 1433 features, 7 classes, 10 splits (1354 train" \
    "$folder" --features "$GNNTRAIN_TEST_DATA/$folder/features.npz" --split random:0.5,0.25 --splits 10
done
hyper "88860 vertices, 69906 hyperedges, 460630 incidences, 8 features, 11 classes, no split" walmart_trips \
  --features random:8

# collection EXPECTED FORMAT FILE: graphs that are classified.
collection() {
  gnndata import "$2" "$GNNTRAIN_TEST_DATA/tud/$3" graph.h5 --split folds:10 >said
  if [[ $(tail -n 1 said) != "graph.h5: "$1* ]] || ! gnndata check graph.h5; then
    echo "$3: expected $1: $(cat said)"
    failures=$((failures + 1))
  fi
  rm -f graph.h5
}
collection "188 graphs, 3371 nodes, 7442 arcs, undirected, 7 features, 2 classes, 10 splits (150 train" tud MUTAG
collection "188 graphs, 3371 nodes, 7442 arcs, undirected, 7 features, 2 classes, 10 splits (150 train" gin MUTAG/MUTAG.txt.gz
collection "1113 graphs, 43471 nodes, 162088 arcs, undirected, 4 features, 2 classes, 10 splits (889 train" tud PROTEINS
collection "1113 graphs, 43471 nodes, 162088 arcs, undirected, 3 features, 2 classes, 10 splits (889 train" gin \
  PROTEINS/PROTEINS.txt.gz
collection "405 graphs, 14479 nodes, 31070 arcs, undirected, 13 features, 2 classes, 10 splits (323 train" tud BZR

import 2708 10556 "undirected, 1433 features, 7 classes, 1 split (140 train, 500 val, 1000 test)*" npz cora.npz
import 3327 9104 "undirected, 3703 features, 6 classes, 1 split (120 train, 500 val, 1000 test)*" npz citeseer.npz
import 13752 287209 "directed, 767 features, 10 classes, no split*" npz amazon_computers.npz
import 13752 491722 "undirected, 767 features, 10 classes, 10 splits (200 train, 300 val, 13252 test)*" \
  npz amazon_computers.npz --undirected --binarize --split per-class:20,30 --splits 10
import 34493 495924 "undirected, 8415 features, 5 classes, 1 split (100 train, 150 val, 34243 test)*" \
  npz coauthor_physics.npz --split per-class:20,30
import 8935 30211 "*, 6775 features, 5 classes (multilabel), 1 split (4468 train, 2233 val, 2234 test)*" \
  npz citationv1_multilabel.npz --split random:0.5,0.25
import 11758 1038000 "undirected, 10 features, 2 classes, 10 splits (5879 train, 2939 val, 2940 test)*" \
  npz tolokers.npz --undirected
import 10000 78804 "undirected, 7 features, 2 classes, 10 splits (5000 train, 2500 val, 2500 test)*" \
  npz minesweeper.npz --undirected
import 70839 1620256 "undirected, 0 features, 0 classes, no split*" npz gowalla_csr.npz
import 36692 367662 "undirected, *dropped 0 self loops, 0 duplicates*" edgelist email-Enron.txt.gz
import 82168 948464 "directed, *" edgelist soc-Slashdot0902.txt.gz
import 82168 870161 "directed, *dropped 78303 self loops*" edgelist soc-Slashdot0902.txt.gz --drop-self-loops
import 325729 1497134 "directed, *" edgelist web-NotreDame.txt.gz
import 325729 1469679 "directed, *dropped 27455 self loops*" edgelist web-NotreDame.txt.gz --drop-self-loops
import 62586 147892 "directed, *" mtx p2p-Gnutella31.mtx
import 62586 147892 "directed, weighted, *" mtx p2p-Gnutella31.mtx --weights
import 156317 2118662 "undirected, *" metis wave.graph.gz
import 334925 1686092 "undirected, *" edgelist DD.edges.txt.gz
import 859254 1991016 "undirected, *" edgelist REDDIT-BINARY.edges.txt.gz
exit $((failures > 0))
