# Files that are sound HDF5 and say something else than they should: datasets, checkpoints, kept partitions and
# predictions. A sample here; MUTATIONS=50000 makes more, SEED others, FIRST goes on behind those made.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

export OMP_NUM_THREADS=1
ASAN_OPTIONS+=:max_allocation_size_mb=1024:allocator_may_return_null=1 # 3 GiB in all where there is no sanitizer
export ASAN_OPTIONS
unset OMPI_COMM_WORLD_SIZE PMIX_RANK PMI_RANK # gnntrain in a process of its own
folder=$PWD/mutated
if [[ -w /dev/shm ]]; then # where syncing costs nothing
  folder=$(mktemp -d /dev/shm/gnntrain-mutated.XXXXXX)
  trap 'rm -rf "$folder"' EXIT
fi
mkdir -p "$folder/sound"
cd "$folder/sound"

break_dataset sound ring.h5
works gnndata synth hyper.h5 --nodes 60 --hyperedges 25 --degree 3 --features 6 --classes 3
for ((v = 0; v < 40; v++)); do echo "$((5 * v)) $((5 * ((v + 1) % 40))) 1.5" && echo "$((5 * v)) $((5 * ((v * 7 + 3) % 40))) 0.5"; done >edges.txt
printf '%s\n' ant bee cat {ant,bee,cat}{,,,,,,,,,,,} ant >labels.txt
works gnndata import edgelist edges.txt ids.h5 --undirected --drop-self-loops --weights --features random:6 --labels labels.txt --split random:0.5,0.25
make_sparse sparse.h5
settings run.toml dataset.path=ring.h5 model.hidden=8 model.norm=batch train.epochs=4 checkpoint.every=2 \
  checkpoint.keep=10 runtime.threads=1 runtime.device=cpu
sed 's/ring/hyper/' run.toml >hyper.toml
printf '%s\n' 'log.overwrite = true' 'model.type = "hgnn"' >>hyper.toml
must_run 1 run.toml --set log.dir=run
must_run 1 run.toml --set log.dir=runs --set train.runs=3
must_run 1 run.toml --set log.dir=ids --set dataset.path=ids.h5
must_run 1 run.toml --set log.dir=run --predict run/best.h5 --out out.h5
for other in hyper.toml "run.toml --set dataset.path=sparse.h5" "run.toml --set partition.order=degree"; do
  must_run 1 $other --set log.dir=other --set log.overwrite=true # sound, all of them
done
rm -rf other out.txt err.txt edges.txt labels.txt
cd ..
mutate_h5 --count "${MUTATIONS:-300}" --seed "${SEED:-1}" --first "${FIRST:-0}"
