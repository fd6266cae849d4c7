# What a dataset's header shows not to be possible is said before anything is read: the file has no data behind it,
# and whoever reads it finds that instead.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

# claim FILE NODES ARCS FEATURES
claim() {
  claim_dataset "${@:2}" "$1"
  truncate -s 1T "$1" 2>/dev/null || skip "no file of holes can be made here"
}
claim arcs.h5 1000000 3000000000 4
claim features.h5 100000000 100000000 100000
claim some.h5 10000000 10000000 2000
settings run.toml model.hidden=16 train.epochs=1

metis='METIS here has 32-bit indices and cannot take 1000000 nodes and 2999000000 arcs; use an order other than "metis"'
must_refuse 2 "^gnntrain: arcs.h5: $metis" 1 run.toml --set dataset.path=arcs.h5 --set partition.order=metis
refused 2 "^gnndata: arcs.h5: $metis" timeout 60 gnndata partition arcs.h5 --parts 1 --order metis

# Of several parts each may be one that METIS can take. Other orders let it have no more of a graph than that, and a
# partition that may be kept needs none; then the lack of data is what is found.
reads_on() {
  job "$@"
  ((code == 1 || code == 2)) || fail "exit code $code: $*"
  lacks METIS err.txt # which is in nobody's way
  says '/graph/indptr|/split/train|out of memory' err.txt
}
reads_on 2 run.toml --set dataset.path=arcs.h5 --set partition.order=given
reads_on 2 run.toml --set dataset.path=arcs.h5 --set partition.order=metis
mkdir arcs.h5.parts
touch arcs.h5.parts/metis-1-metis-seed1-1.05-0000000000000000.h5
reads_on 1 run.toml --set dataset.path=arcs.h5 --set partition.order=metis

for ranks in 1 2; do
  must_refuse 1 '^gnntrain: out of memory: training takes at least 3[0-9.]* TiB on [12] ranks? together \(36.4 TiB for features, .* for the graph, ' \
    $ranks run.toml --set dataset.path=features.h5 --set partition.method=block
done

# The same by a limit of the process: 75 GiB of features, 30 GiB of address space.
(ulimit -v $((30 << 20)) && must_run 1 --version) # which is enough for all else
grep -q gnntrain out.txt
(ulimit -v $((30 << 20)) && must_refuse 1 '^gnntrain: out of memory: training takes at least .* GiB on 1 rank together' 1 run.toml \
  --set dataset.path=some.h5)
echo "refused from the header"
