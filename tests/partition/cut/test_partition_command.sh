# gnndata partition: makes, keeps and prints a partition, and refuses what it cannot cut.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

# refuse CODE "TEXT" ARGUMENT...: the command must end with CODE and say TEXT.
refuse() {
  refused "$1" "$2" gnndata partition "${@:3}"
}

gnndata synth g.h5 --nodes 3000 --degree 8 --features 4 --classes 4 >out.txt
sum=$(sha256sum <g.h5)

gnndata partition g.h5 --parts 4 >first
for text in "partition: metis, 4 parts" "edge cut:" "halo rows" "balance (largest / mean)" "kept in g.h5.parts/"; do
  grep -qF "$text" first || fail "\"$text\" is missing in: $(cat first)"
done
gnndata partition --parts=4 g.h5 >second
says "read from g.h5.parts/" second
[ "$(grep -A9 'edge cut' second)" = "$(grep -A9 'edge cut' first | grep -v 'kept in')" ] || fail "the table changed"

gnndata partition g.h5 --parts 3 --method random --order degree --seed 9 >out.txt
says "partition: random, 3 parts, order degree"
rm g.h5.parts/random-*
on_ranks 3 gnndata partition g.h5 --parts 3 --method random --order degree --seed 9 >three
[ "$(grep -A5 'edge cut' three)" = "$(grep -A5 'edge cut' out.txt)" ] ||
  fail "random parts differ on 3 ranks: $(cat three)"
gnndata partition g.h5 --parts 1 --order given >out.txt
[ "$(ls g.h5.parts | wc -l)" = 2 ] || fail "files kept: $(ls g.h5.parts)"
[ "$sum" = "$(sha256sum <g.h5)" ] || fail "the dataset was changed"

# Every order by name, each rated; ranks make the same as one process.
for order in degree cluster loa loa-cluster rcm; do
  gnndata partition g.h5 --parts 3 --method block --order $order >one
  says "block, 3 parts, order $order" one
  says "predicted .* ms at width 128" one
  rm g.h5.parts/block-*
  on_ranks 3 gnndata partition g.h5 --parts 3 --method block --order $order --set runtime.threads=2 >three
  says 'ranks: 3, 2 threads a rank \(runtime.threads\)' three
  [ "$(grep -o 'predicted.*' three)" = "$(grep -o 'predicted.*' one)" ] || fail "$order differs on 3 ranks: $(cat three)"
done
gnndata partition g.h5 --parts 3 --order given >out.txt
gnndata partition g.h5 --parts 3 --order cluster >out.txt
says "owners read from g.h5.parts/metis-3-given"
# A training on processors has nothing of what a GPU would make of an order.
settings cpu.toml dataset.path=g.h5 partition.order=cluster runtime.device=cpu runtime.threads=1 train.epochs=1
on_ranks 3 gnntrain cpu.toml --verbose >out.txt
says 'order cluster, .*read from g.h5.parts/metis-3-cluster'
lacks predicted out.txt
gnndata partition g.h5 --parts 2 --method block --order auto --set runtime.device=cpu --set train.epochs=1 >out.txt
says "order: given, .* do not pay for a search"
says "order auto: given"
gnndata partition g.h5 --parts 2 --method block --order auto --set runtime.device=cpu --set train.epochs=90000 >out.txt
says "is not used: this run is long enough"
says "predicted to save .* s of .* s of one thread in 270000 sparse products"
gnndata info g.h5 >out.txt
says "block, order auto: cluster, made in"

# A damaged file is spoken of once.
gnndata partition g.h5 --parts 5 --order given >out.txt
head -c 3000 g.h5.parts/metis-5-given-* >short && mv short g.h5.parts/metis-5-given-*
gnndata partition g.h5 --parts 5 --order given >out.txt
[ "$(grep -c 'is not used' out.txt)" = 1 ] || fail "a damaged file is not spoken of once"

# Ranks cut large graphs together and order them: the same parts on any number of them, of a graph, of a directed one, of a hypergraph.
gnndata synth large.h5 --nodes 60000 --degree 56 --features 2 --classes 4 >out.txt
awk 'BEGIN { srand(3); for (i = 0; i < 1800000; i++) { v = int(rand() * 60000); print v, (v + int(rand() * 400)) % 60000 } }' >arcs
gnndata import edgelist arcs directed.h5 >out.txt
gnndata synth hyper.h5 --nodes 200000 --degree 9 --hyperedges 60000 --features 2 --classes 4 >out.txt
for file in large directed hyper; do
  order=cluster
  [ $file != hyper ] || order=given
  for ranks in 1 2 4 kept; do
    [ $ranks = kept ] || rm -rf $file.h5.parts
    on_ranks ${ranks/kept/3} gnndata partition $file.h5 --parts 3 --order $order >out.txt
    grep -E '^ *(rank )? *[0-9]|cut|between|balance|predicted' out.txt >$file.$ranks
  done
  says "read from $file.h5.parts/metis-3-$order"
  [ $file = hyper ] || says "predicted .* ms at width 128"
  [ "$(wc -l <$file.1)" -ge 4 ] || fail "no table: $(cat out.txt)"
  cmp $file.1 $file.2 && cmp $file.1 $file.4 || fail "other parts on more ranks: $(cat $file.1 $file.2 $file.4)"
  cmp $file.1 $file.kept || fail "other parts as kept by four ranks and read by three: $(cat $file.1 $file.kept)"
done

# PT-Scotch, where the build has it: of a graph, of a directed one, of a hypergraph; and what is trained on its parts.
if gnntrain --version | grep -q PT-Scotch; then
  halo_rows() { awk '$1 ~ /^[0-9]+$/ && NF == 5 { sum += $4 } END { print sum }' "$1"; }
  awk '$1 < 6000 && $2 < 6000' arcs >few
  gnndata import edgelist few few.h5 >out.txt
  gnndata synth small.h5 --nodes 20000 --degree 9 --hyperedges 6000 --features 2 --classes 4 >out.txt
  for file in g few small; do
    on_ranks 2 gnndata partition $file.h5 --parts 3 --method scotch --order given >scotch
    says "scotch, 3 parts" scotch
    awk '/^balance/ { gsub(",", ""); if ($6 > 1.1 && $8 > 1.1) exit 1 }' scotch || fail "out of balance: $(cat scotch)"
  done
  gnndata partition few.h5 --parts 3 --method scotch --order given --seed 2 >scotch
  gnndata partition few.h5 --parts 3 --method random --order given >random
  (($(halo_rows scotch) * 4 < $(halo_rows random))) || fail "no better than random: $(cat scotch random)"
  settings one.toml dataset.path=g.h5 runtime.device=cpu runtime.precision=fp64 runtime.threads=1 train.epochs=5
  must_run 1 one.toml
  must_run 2 one.toml --set partition.method=scotch --set log.dir=runs/two
  losses_of() { sed -n 's/.*"loss": \([^,]*\),.*/\1/p' "$1/metrics.jsonl"; }
  (($(losses_of runs/two | wc -l) >= 5)) || fail "no losses"
  paste <(losses_of runs/one) <(losses_of runs/two) | awk '($1 - $2) ^ 2 > 1e-18 { exit 1 }' || fail "another training on its parts"
else
  refuse 2 "built without PT-Scotch" g.h5 --parts 3 --method scotch
fi

# Parts that were made elsewhere: a text as METIS writes it, .npy, and a kept partition give the same, also of a hypergraph.
awk 'BEGIN { print "% parts"; for (v = 0; v < 3000; v++) print v % 7 % 3 }' >g.part
[ -z "$(command -v python3)" ] || python3 - <<'EOF'
import struct
header = b"{'descr': '<i4', 'fortran_order': False, 'shape': (3000,), }"
header += b" " * (117 - len(header)) + b"\n"
values = struct.pack("<3000i", *[v % 7 % 3 for v in range(3000)])
open("g.npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + values)
EOF
gnndata partition g.h5 --parts 3 --method file --file g.part --order given >text
says "partition: file, 3 parts, order given" text
[ "$(awk '$1 == 0 { print $2 }' text)" = 1286 ] || fail "other rows than in the file: $(cat text)"
cp g.h5.parts/file-3-given-* kept.h5
for file in kept.h5 $(ls g.npy 2>/dev/null); do
  gnndata partition g.h5 --parts 3 --method file --file $file --order given >again
  says "read from g.h5.parts/file-3-given" again
  on_ranks 2 gnndata partition g.h5 --parts 3 --method file --file $file --order given >again
  says "read from g.h5.parts/file-3-given" again
done
sed -i '2s/.*/2/' g.part
on_ranks 2 gnndata partition g.h5 --parts 3 --method file --file g.part --order given >again
lacks "read from" again
rm g.h5.parts/file-*
gnndata partition g.h5 --parts 3 --method file --file g.part --order given >one
[ "$(grep -A5 'edge cut' again)" = "$(grep -A5 'edge cut' one)" ] || fail "parts of a file differ on 2 ranks: $(cat again)"
on_ranks 3 gnntrain cpu.toml --set partition.method=file --set partition.file=g.part --set log.dir=other >out.txt
says '^  partition +file, 3 parts'
awk 'BEGIN { for (v = 0; v < 200000; v++) print int(v / 100000) }' >hyper.part
on_ranks 2 gnndata partition hyper.h5 --parts 2 --method file --file hyper.part >out.txt
[ "$(awk '$1 == 0 || $1 == 1 { print $2 }' out.txt | paste -sd ' ')" = "100000 100000" ] || fail "other vertices: $(cat out.txt)"
sed '5s/.*/3/' g.part >wrong
refuse 2 "wrong:5: part 3; 0 to 2 are there" g.h5 --parts 3 --method file --file wrong
sed '5s/.*/x/' g.part >wrong
refuse 2 "wrong:5: expected a part" g.h5 --parts 3 --method file --file wrong
head -n 9 g.part >wrong
refuse 2 "wrong: parts of 8 nodes; the dataset has 3000" g.h5 --parts 3 --method file --file wrong
(cat g.part && echo 0) >wrong
refuse 2 "wrong:3002: there are more lines than the 3000 nodes" g.h5 --parts 3 --method file --file wrong
refuse 2 "node 2 is in part 2; 0 to 1 are there" g.h5 --parts 2 --method file --file kept.h5
refuse 2 "g.h5: has no /part of one dimension" g.h5 --parts 2 --method file --file g.h5
refuse 2 'partition.method "file" takes the parts of a file: set partition.file' g.h5 --parts 2 --method file
refuse 2 "nowhere" g.h5 --parts 2 --method file --file nowhere

refuse 2 'partition.order must be "given", "degree", "metis", "cluster", "loa", "loa-cluster", "rcm" or "auto"' g.h5 --parts 2 --order best
refuse 2 "partition.loa_window must be an integer from 16 to 1048576" g.h5 --parts 2 --order loa-cluster --loa-window 4
refuse 2 "unknown key train.epoch" g.h5 --parts 2 --set train.epoch=4
refuse 2 "3000 nodes and cannot be cut into 3001 parts" g.h5 --parts 3001
refuse 2 "a whole number from 1 to" g.h5 --parts 0
refuse 2 "a whole number from 1 to" g.h5 --parts 4x
refuse 2 "--parts needs a value" g.h5 --parts
refuse 2 "FILE.h5 and --parts K are needed" g.h5
refuse 2 "FILE.h5 and --parts K are needed" --parts 4
refuse 2 "two datasets, g.h5 and h.h5" g.h5 h.h5 --parts 2
refuse 2 'unknown option "--part"' g.h5 --part 2
refuse 2 'partition.method must be "metis", "block", "random", "file" or "scotch", not "voodoo"' g.h5 --parts 2 --method voodoo
refuse 2 'partition.balance must be a number from 1.001 to 2, not 0.5' g.h5 --parts 2 --balance 0.5
refuse 2 'missing.h5: cannot be read: No such file' missing.h5 --parts 2
grep -q -e --balance <<<"$(gnndata partition --help)" || fail "--help"
