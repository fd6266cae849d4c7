# tests/bench/papers prints a paper's table: what is published beside what is measured, data sets imported where they lie, stand-ins of
# their size where not. On a GPU each layout that gnnbench has becomes a column; here a program plays that GPU. What is recorded
# becomes a page. Time that ends, files that are wrong and data sets without a size are said.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
python3 -c 'import tomllib' 2>/dev/null || skip "no Python 3.11"

# A clone of its own, whose configurations may be changed.
mkdir -p house/tests data
cp -r "$GNNTRAIN_SOURCE/tests/bench" house/tests/
cp -r "$GNNTRAIN_SOURCE/docs" house/
mkdir -p house/configs && cp -r "$GNNTRAIN_SOURCE/configs/papers" house/configs/
rm -f house/docs/results/data/papers-*.jsonl house/docs/results/papers-*.md
real=${GNNTRAIN_TEST_DATA-}
unset GNNTRAIN_TEST_DATA
papers=(house/tests/bench/papers --bin "$GNNTRAIN_BIN" --work work)
record=house/docs/results/data

# cell FILE ROW HEAD: of the table that has this row, the first one with that head.
cell() {
  awk -F ' *[|] *' -v row="$2" -v head="$3" '
    /^[|] data set/ { at = 0; for (i = 2; i < NF; i++) if ($i == head) at = i }
    at && $2 == row { print $at; exit }' "$1"
}
# is FILE ROW HEAD VALUE
is() { [[ $(cell "$1" "$2" "$3") == "$4" ]] || fail "$2, $3 is \"$(cell "$1" "$2" "$3")\" in place of $4: $(cat "$1")"; }
# recorded FILE ROW COLUMN: the value in the lines of JSON.
recorded() { sed -n "s/.*\"row\": \"$2\", \"column\": \"$3\", \"value\": \([^,]*\),.*/\1/p" "$1"; }
# published SEED TABLE DATASET METHOD WIDTH: the first value.
published() { awk -F '\t' -v t="$2" -v d="$3" -v m="$4" -v w="$5" '$1 == t && $2 == d && $3 == m && $5 == w { print $6; exit }' "house/configs/papers/$1/published.tsv"; }

# Every file of configs/papers can be read. Values and sizes have a source; lists are as long as the papers'.
for folder in house/configs/papers/*/; do
  seed=$(basename "$folder")
  awk -F '\t' 'NF != 8 || $8 == "" { exit 1 }' "$folder/published.tsv" || fail "a value of $seed without a source"
  awk -F '\t' 'NF != 12 || $12 == "" { exit 1 }' "$folder/datasets.tsv" || fail "a data set of $seed without a source"
  ends 1 "${papers[@]}" "$seed" --device cpu --skip-larger-than 0
  says '^left out, more than 0 arcs: '
  lacks '^[|]'
done
[[ $(ls house/configs/papers) == $'gespmm\nhygnn\nhypergef\nlibra\ntcgnn' ]] || fail "other seeds"
(($(wc -l <house/configs/papers/gespmm/datasets.tsv) == 65 && $(wc -l <house/configs/papers/hypergef/datasets.tsv) == 14)) ||
  fail "not 64 matrices of SNAP, or not 13 hypergraphs"

# On the processor, without data: stand-ins of the sizes in datasets.tsv.
works "${papers[@]}" tcgnn --device cpu --only spmm --only fig6-gcn --data data --skip-larger-than 11000 --record $record
mv out.txt made.txt
is made.txt 'cora, stand-in, 32' 'DGL, GPU not stated' "$(published tcgnn spmm cora DGL 32)"
is made.txt 'cora, stand-in, 16' 'DGL, GPU not stated' '' # what is published has 32 columns
is made.txt 'cora, stand-in' 'TC-GNN, RTX 3090' "$(published tcgnn fig6-gcn cora TC-GNN '')"
[[ $(published tcgnn fig6-gcn cora TC-GNN '') == 2.971 ]] || fail "the published value is not the repository's"
(($(grep -c '^| .*, stand-in' made.txt) == 6)) || fail "not two graphs at two widths and in epochs"
! grep -E '^[|] (cora|citeseer)' made.txt | grep -v ', stand-in' || fail "a stand-in without its label"
says '2 of 2 data sets have a stand-in' made.txt
says '^left out, no file, and no size to make a stand-in of: SW-620H$' made.txt
says '^left out, more than 11000 arcs: pubmed, PROTEINS_full, ppi, ' made.txt
for row in 'cora, stand-in, 16' 'cora, stand-in, 32' 'citeseer, stand-in'; do
  exact=$(recorded $record/papers-tcgnn.jsonl "$row" auto) shown=$(cell made.txt "$row" auto)
  holds "$exact > 0 && ($exact - $shown) ^ 2 <= (.001 * $exact) ^ 2" "$row: $shown is printed, $exact recorded"
done
lacks 'cuSPARSE over' made.txt
[[ -z $(find work -name "*.h5") ]] || fail "graphs stay behind"

# A stand-in has the nodes and arcs of its line, on average.
cat >size.py <<'PYTHON'
import sys
sys.path.insert(0, "house/tests/bench")
import papers_data
_, datasets, _ = papers_data.read(papers_data.CONFIGS / sys.argv[1])
dataset = next(d for d in datasets if d.name == sys.argv[2])
print(*papers_data.command(dataset, None, sys.argv[3], sys.argv[4], False)[0])
PYTHON
for size in 'tcgnn DD 334925 1686092' 'gespmm email-Enron 36692 367662' 'libra nd3k 9000 3279690'; do
  read -r seed name nodes arcs <<<"$size"
  read -ra command < <(python3 size.py "$seed" "$name" "$GNNTRAIN_BIN/gnndata" graph.h5)
  works "${command[@]}"
  works gnndata info graph.h5
  [[ $(awk '$1 == "nodes" { print $2 }' out.txt) == "$nodes" ]] || fail "nodes of $name"
  holds "($(awk '$1 == "arcs" { print $2 + 0 }' out.txt) / $arcs - 1) ^ 2 < .02 ^ 2" "arcs of $name"
done
if find_python h5py numpy; then # and as many arcs at its largest nodes as the power that was found says
  works gnndata synth power.h5 --nodes 30000 --degree 10 --features 1 --classes 2 --power .45
  works "$python" house/tests/bench/papers_fit.py power.h5
  holds "($(sed -n 's/.*--power //p' out.txt) - .45) ^ 2 < .03 ^ 2" "the power that was found"
fi

# Every other one has a community a class at least, without which synth refuses it.
python3 - <<'PYTHON' || fail "stand-ins that cannot be made"
import sys
sys.path.insert(0, "house/tests/bench")
import papers_data
wrong = []
for folder in sorted(papers_data.CONFIGS.iterdir()):
    for d in papers_data.read(folder)[1]:
        words = d.made(True) if d.nodes and d.edges else []
        options = dict(zip(words[::2], words[1::2]))
        size = int(options.get("--community-size", 2))
        if options and not (d.nodes // size >= d.classes and 2 <= size <= d.nodes and float(options["--degree"]) < d.nodes):
            wrong.append((folder.name, d.name))
print(*wrong)
raise SystemExit(bool(wrong))
PYTHON

# Hypergraphs, and epochs in two orders.
works "${papers[@]}" hypergef --device cpu --data data --skip-larger-than 2000
says '^[|] zoo, stand-in, 64 [|] [0-9.]+ [|] [0-9.]+ [|]$'
(($(grep -c '^| zoo, stand-in | [0-9.]* |$' out.txt) == 3)) || fail "not the epochs of three models"
works "${papers[@]}" hygnn --only loa --device cpu --data data --skip-larger-than 9200
says '^[|] CiteSeer, stand-in [|] [0-9.]+ [|] [0-9.]+ [|]$'
says '`loa` beats `given` in [01] of 1 cases'

# A file that lies there is imported, and has no label.
if [[ -f $real/cora.npz ]]; then
  works "${papers[@]}" tcgnn --only spmm --device cpu --data "$real" --skip-larger-than 11000
  is out.txt 'cora, 32' 'DGL, GPU not stated' 0.055
  lacks ', stand-in'
fi
printf '1 2\n2 3\n3 1\n' >data/ca-GrQc.txt && gzip -f data/ca-GrQc.txt
works "${papers[@]}" hygnn --only gcn --device cpu --data data --skip-larger-than 30000
says '^[|] ca-GrQc [|] [0-9.]+ [|]$'
says '^[|] Cora, stand-in [|]'

# A GPU: layouts that --all knows, and one more that is forced; cuSPARSE; one layout that fails.
mkdir gpu && ln -s "$GNNTRAIN_BIN/gnndata" gpu/
cat >gpu/gnntrain <<'PROGRAM'
#!/usr/bin/env bash
exec "$GNNTRAIN_BIN/gnntrain" "${@/#runtime.device=cuda/runtime.device=cpu}"
PROGRAM
cat >gpu/gnnbench <<'PROGRAM'
#!/usr/bin/env bash
case "$*" in
*--help*) echo '  --layout auto|gather|windows|csr|odd  as gnnbench says' ;;
*--all*)
  for width in 16 32; do
    echo "{\"op\": \"spmm all\", \"graph\": \"g\", \"precision\": \"fp32\", \"width\": $width, \"gather_ms\": 0.02," \
      "\"windows_ms\": 0.08, \"auto_ms\": 0.01, \"predicted_ms\": 7, \"making_ms\": 9, \"peer_ms\": 0.04, \"peer_ratio\": 4}"
  done
  echo '{"op": "spmm choice", "precision": "fp32", "cases": 2}'
  ;;
*'--layout csr'*) for width in 16 32; do echo "{\"op\": \"spmm\", \"shape\": \"9x9 nnz 9 width $width\", \"ms\": 0.05, \"peer_ms\": 1}"; done ;;
*'--layout odd'*) echo 'gnnbench: out of memory: 9 GiB are not there' >&2 && exit 1 ;;
*--ablate*)
  for line in 'tiles, as chosen|1|2' 'csr|0.6|0.1' 'csr, CRC|0.5|0.1' 'csr, CRC, CWM 2|0.3|0.1'; do
    IFS='|' read -r technique ms without <<<"$line"
    echo "{\"op\": \"spmm ablate\", \"width\": 128, \"technique\": \"$technique\", \"ms\": $ms, \"ms_without\": $without}"
  done
  ;;
hyper*)
  echo '{"op": "cut", "shape": "9+9 nnz 9 by 4, 3 blocks", "ms": 1}'
  for line in 'whole|0.4' 'fused|0.2' 'auto|0.1'; do
    echo "{\"op\": \"${line%|*}\", \"shape\": \"9+9 nnz 9 width 32\", \"ms\": ${line#*|}, \"peer_ms\": 0.8, \"peer_ratio\": 1}"
  done
  ;;
*) exit 3 ;;
esac
PROGRAM
chmod +x gpu/*
works "${papers[@]}" tcgnn --bin gpu --only spmm --device cuda --data data --skip-larger-than 10000 --record $record
row='citeseer, stand-in, 32'
for column in 'cuSPARSE 0.04' 'gather 0.02' 'windows 0.08' 'auto 0.01' 'csr 0.05'; do is out.txt "$row" "${column% *}" "${column#* }"; done
is out.txt "$row" odd 'out of memory'
is out.txt "$row" 'cuSPARSE over windows' 0.5
is out.txt "$row" 'cuSPARSE over auto' 4
lacks '7|predicted|making' <(grep '^[|]' out.txt | grep -v DGL || true)
says '`windows` beats cuSPARSE in 0 of 2 cases \(0\.5 times as fast, 0\.500 by the geometric mean\)\. On one GPU `auto` beats cuSPARSE in 2 of 2 cases \(4 times'
says 'That is too few of the data sets to say whether `windows` is the faster one\..* Measured: the smallest 1 of 15 data sets\.'

works "${papers[@]}" tcgnn --bin gpu --only fig6-agnn --device cuda --data data --skip-larger-than 10000
for layout in gather windows csr auto; do holds "$(cell out.txt 'citeseer, stand-in' $layout) > 0" "epochs by $layout"; done
is out.txt 'citeseer, stand-in' odd failed
says 'papers: odd: gnntrain: .*runtime\.layout' err.txt
says 'On one GPU `windows` beats `gather` in [01] of 1 cases'
works "${papers[@]}" gespmm --bin gpu --only ablation --device cuda --data data --skip-larger-than 20300
is out.txt 'CollegeMsg, stand-in, 128' 'csr, CRC' 0.5
is out.txt 'CollegeMsg, stand-in, 128' auto 0.1
says '`csr, CRC, CWM 2` beats `csr` in 1 of 1 cases \(2 times.*That is too few of the data sets'
lacks 'tiles'
sed -i 's/^id = "ablation"/&\ndatasets = ["CollegeMsg"]/' house/configs/papers/gespmm/paper.toml # which are all, then
works "${papers[@]}" gespmm --bin gpu --only ablation --device cuda --data data --skip-larger-than 20300
says 'That `csr, CRC, CWM 2` is the faster one holds here on the whole\. No published'
works "${papers[@]}" hypergef --bin gpu --only fig7 --device cuda --data data --skip-larger-than 2000
is out.txt 'zoo, stand-in, 32' 'cuSPARSE over fused' 4
is out.txt 'zoo, stand-in, 32' whole 0.4
says '^- published over all data sets: HyperGef over cuSPARSE, 3\.31 times'

# What is recorded is on the page, with its label, its published value and its sources; sentences are short.
works house/tests/bench/report --root house
page=house/docs/results/papers-tcgnn.md
is $page "$row" 'cuSPARSE over auto' 4
is $page 'cora, stand-in' 'TC-GNN, RTX 3090' 2.971
says '^- published: repository YukeWang96/TC-GNN_ATC23, RTX3090_GCN.csv$' $page
says '^- published over all data sets: TC-GNN over DGL, type I, 2.23 times' $page
says "^## \[TC-GNN's tables\]\(papers-tcgnn.md\)$" house/docs/results/README.md
works house/tests/bench/report --check --root house
works python3 "$GNNTRAIN_SOURCE/tests/launch/check_sentences.py" $page
[[ ! -s out.txt ]] || fail "long sentences"
sed 's/"table": "spmm"/"table": "nowhere"/' $record/papers-tcgnn.jsonl >changed && cp changed $record/papers-tcgnn.jsonl
refused 2 "no table 'nowhere'" house/tests/bench/report --root house
mv $record/papers-tcgnn.jsonl $record/papers-other.jsonl
refused 2 'papers-other.jsonl belongs to no page' house/tests/bench/report --root house

# Time that is over, and what is wrong.
ends 1 "${papers[@]}" libra --device cpu --data data --limit 0.001
says '^left out, no time left: 2D_27628_bjtcai, .*, HV15R$'
refused 2 "--only nowhere: tcgnn has spmm, table5" "${papers[@]}" tcgnn --device cpu --only nowhere
refused 2 'gnndata is not there' house/tests/bench/papers tcgnn --device cpu --bin nowhere
touch data/cora.npz
sed -i 's/cora.npz\t\t/cora.npz\tabc\t/' house/configs/papers/tcgnn/datasets.tsv
refused 2 'cora.npz is not the file whose sha256' "${papers[@]}" tcgnn --device cpu --data data --only spmm --skip-larger-than 11000
echo 'spmm	cora' >>house/configs/papers/tcgnn/published.tsv
refused 2 'published.tsv, line 63: has not as many fields' "${papers[@]}" tcgnn --device cpu
