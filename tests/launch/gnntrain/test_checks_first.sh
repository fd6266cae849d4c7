# Of several faults the one that is found soonest is told: in the command line, in the settings, the folder of the run, the
# dataset's header; and only then anything that takes its time, such as a look at the graph.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

break_dataset sound sound.h5
break_dataset asymmetric wrong.h5 # which reading the graph tells
settings run.toml dataset.path=wrong.h5 model.hidden=8 train.epochs=1 log.dir=run
must_run 1 run.toml --set dataset.path=sound.h5
cp run/best.h5 best.h5

# first PATTERN ARGUMENT...: the fault that is told; every third on two ranks, too.
count=0
first() {
  must_refuse 2 "$1" 1 run.toml "${@:2}"
  ((count++ % 3)) || must_refuse 2 "$1" 2 run.toml "${@:2}"
}

header=(--set train.loss=bce) settings=(--set model.type=gat --set model.heads=3)
first 'unknown option "--nonsense"' "${header[@]}" "${settings[@]}" --set train.lr=-1 --nonsense
first 'train\.lr must be' "${header[@]}" "${settings[@]}" --set train.lr=-1
first 'model\.hidden = 8 does not divide into model\.heads = 3' "${header[@]}" "${settings[@]}"
first 'model\.type = "forest" is unknown' "${header[@]}" --set model.type=forest
first 'device "abacus" is not in this build' "${header[@]}" --set runtime.device=abacus
first 'partition\.grid = "5x5" is for 25 ranks' "${header[@]}" --set partition.grid=5x5
first 'run already holds a run' "${header[@]}"
first 'none\.h5: cannot be read' --eval none.h5 "${header[@]}"
first 'sound\.h5: is not a checkpoint' --eval sound.h5
first 'sound\.h5: is not a checkpoint' --predict sound.h5 --out out.h5
first 'run already holds a run, and sound\.h5 is none of its' --resume=sound.h5
first 'sound\.h5: is not a checkpoint' --resume=sound.h5 --set log.dir=fresh
first 'out\.txt: predictions are HDF5, a table or an array' --predict none.h5 --out out.txt --set train.lr=-1
free=(--set log.dir=fresh)
first 'train\.loss = "bce" does not fit' "${free[@]}" "${header[@]}"
first 'train\.metric = "roc_auc" is for' "${free[@]}" --set train.metric=roc_auc
first 'has no /hypergraph' "${free[@]}" --set model.type=hgnn
first 'arc 40 -> 10 has no reverse' "${free[@]}"

# --check looks at the same, and no further; the settings that it prints are those of the run.
first 'run already holds a run' --check
first 'train\.loss = "bce" does not fit' --check "${free[@]}" "${header[@]}"
first '--check trains nothing; ' --check --dry-run
first '--plan trains nothing; ' --check --plan 1
works gnntrain run.toml --check "${free[@]}" --set model.hidden=12
says '^hidden = 12$'
works gnntrain run.toml --check --set dataset.path=sound.h5 --set log.dir=run --resume
diff out.txt run/config.toml || fail "not the settings of the run"
[[ ! -e fresh ]] || fail "a refused run left a folder"
