# The Python package: datasets are what gnndata imports, trainings yield what metrics.jsonl gets, end with a checkpoint where
# they are stopped and go on from it; predictions, weights and exports are the files' own; errors are the program's
# sentences; and what docs/python.md shows runs.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
needs_python h5py numpy
export PYTHONPATH=$GNNTRAIN_SOURCE/python${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1
here=$GNNTRAIN_SOURCE/tests/launch/python

"$python" "$here/make_graph.py" # graph.txt, features.npy, labels.txt, split.txt, made.h5
works gnndata import edgelist graph.txt imported.h5 --undirected --features features.npy --labels labels.txt --split split.txt
works gnndata check made.h5
"$python" "$here/check_package.py" || fail "the package does something else"
works gnndata check copied.h5

# What the pages show, in its order; blocks of modules that are not there are left out.
mkdir -p page/data && cd page
pages=("$GNNTRAIN_SOURCE/docs/python.md")
if [[ -e ${GNNTRAIN_TEST_DATA:-/nowhere}/cora.npz ]]; then
  cp "$GNNTRAIN_TEST_DATA/cora.npz" data/
  pages+=("$GNNTRAIN_SOURCE/docs/examples/cora.ipynb")
fi
"$python" "$here/run_page.py" "${pages[@]}" >out.txt || fail "what ${pages[*]} show does not run"
if ((${#pages[@]} > 1)); then holds "$(sed -n 's/^test accuracy //p' out.txt) > 0.79" "accuracy on Cora"; fi
cd ..

version=$("$python" -c 'import gnntrain; print(gnntrain.__version__)')
[[ $(gnntrain --version) == "gnntrain $version "* ]] || fail "the package is of version $version, the program is not"
