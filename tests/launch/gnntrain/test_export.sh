# --export writes a checkpoint's weights under the names of PyTorch Geometric's layers, the same as the Python package does
# where Python is there; what is no checkpoint, or would be written over, is refused.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
settings run.toml dataset.path=synth:nodes=60,degree=4,features=5,classes=3 model.hidden=4 model.heads=2 train.epochs=2

# exports NAME SETTING...: trains, writes NAME.safetensors and NAME.npz, and leaves "name [shape]" a line in NAME.txt
exports() {
  local name=$1 setting arguments=()
  for setting in "${@:2}"; do arguments+=(--set "$setting"); done
  must_run 1 run.toml --set log.dir="$name" "${arguments[@]}"
  works gnntrain --export "$name/best.h5" --out "$name.safetensors"
  says "^wrote $name.safetensors: [0-9]+ arrays of weights$"
  works gnntrain --export "$name/best.h5" --out "made/$name.npz"
  head -c 4000 "$name.safetensors" | grep -aoE '"[A-Za-z0-9_.]+":\{"dtype":"F32","shape":[^]]*\]' |
    sed -E 's/"([^"]*)".*(\[.*)/\1 \2/' >"$name.txt"
}
# has NAME LINE...: all that it has
has() { printf '%s\n' "${@:2}" | diff - "$1.txt" || fail "$1: other arrays"; }

exports gcn model.norm=batch
has gcn 'convs.0.lin.weight [4,5]' 'convs.1.bias [3]' 'convs.1.lin.weight [3,4]' 'norms.0.bias [4]' 'norms.0.running_mean [4]' \
  'norms.0.running_var [4]' 'norms.0.weight [4]'
exports sage model.type=sage model.aggregator=max model.layers=1 model.hidden=6
has sage 'convs.0.lin.bias [6]' 'convs.0.lin.weight [6,5]' 'convs.0.lin_l.bias [3]' 'convs.0.lin_l.weight [3,6]' \
  'convs.0.lin_r.weight [3,5]'
exports gat model.type=gat model.heads_last=3 model.layers=3
has gat 'convs.0.att_dst [1,2,2]' 'convs.0.att_src [1,2,2]' 'convs.0.bias [4]' 'convs.0.lin.weight [4,5]' 'convs.1.att_dst [1,2,2]' \
  'convs.1.att_src [1,2,2]' 'convs.1.bias [4]' 'convs.1.lin.weight [4,4]' 'convs.2.att_dst [1,3,3]' 'convs.2.att_src [1,3,3]' \
  'convs.2.bias [3]' 'convs.2.lin.weight [9,4]'
exports gin model.type=gin model.layers=1 model.eps=0.25
has gin 'convs.0.eps [1]' 'convs.0.nn.0.weight [4,5]' 'convs.0.nn.1.bias [4]' 'convs.0.nn.1.running_mean [4]' \
  'convs.0.nn.1.running_var [4]' 'convs.0.nn.1.weight [4]' 'convs.0.nn.3.bias [3]' 'convs.0.nn.3.weight [3,4]'
exports learned model.type=gin model.learn_eps=true model.norm=layer
exports gcnii model.type=gcnii model.norm=layer
has gcnii 'convs.0.weight1 [4,4]' 'convs.1.weight1 [4,4]' 'lins.0.bias [4]' 'lins.0.weight [4,5]' 'lins.1.bias [3]' \
  'lins.1.weight [3,4]' 'norms.0.bias [4]' 'norms.0.weight [4]' 'norms.1.bias [4]' 'norms.1.weight [4]' 'norms.2.bias [4]' 'norms.2.weight [4]'
exports mlp model.type=mlp model.norm=batch
has mlp 'layer0.gain [1,4]' 'layer0.shift [1,4]' 'layer0.statistics [2,4]' 'layer0.weight [5,4]' 'layer1.bias [1,3]' 'layer1.weight [4,3]'

if find_python h5py numpy; then
  PYTHONPATH=$GNNTRAIN_SOURCE/python${PYTHONPATH:+:$PYTHONPATH} PYTHONDONTWRITEBYTECODE=1 "$python" - <<'PYTHON' || fail "other weights than Python's"
import numpy as np
import gnntrain
from gnntrain.weights import safetensors_of, state_of

for name in "gcn", "sage", "gat", "gin", "learned", "gcnii", "mlp":
    state = state_of(gnntrain.Checkpoint(f"{name}/best.h5"))
    with open(f"{name}.safetensors", "rb") as f:
        assert f.read() == safetensors_of(state), name
    with np.load(f"made/{name}.npz") as found:
        assert sorted(found) == sorted(state), name
        assert all(np.array_equal(found[key], values) and found[key].dtype == "f4" for key, values in state.items()), name
PYTHON
fi

if ! sanitized; then # a start of two ranks is long there
  job 2 --export gcn/best.h5 --out two.safetensors
  cmp gcn.safetensors two.safetensors
fi
works gnntrain --export mlp/best.h5 --out gcn.safetensors # one of ours is replaced
cmp gcn.safetensors mlp.safetensors
before=$(cksum <gcn/best.h5)
refused 2 'run.toml: is not an HDF5 file' gnntrain --export run.toml --out w.npz
refused 2 'nothing.h5: cannot be read' gnntrain --export nothing.h5 --out w.npz
refused 2 'it is the input' gnntrain --export gcn/best.h5 --out "$(ln gcn/best.h5 same.npz && echo same.npz)"
cp run.toml mine.npz
refused 2 'mine.npz: is there and is no file of weights; remove it or name another' gnntrain --export gcn/best.h5 --out mine.npz
cmp run.toml mine.npz
refused 2 '--export needs --out FILE.safetensors or .npz, the file to write, not w.pt' gnntrain --export gcn/best.h5 --out w.pt
refused 2 '--export needs --out FILE.safetensors or .npz, the file to write' gnntrain --export gcn/best.h5
refused 2 'a configuration and settings do not go with it' gnntrain run.toml --export gcn/best.h5 --out w.npz
refused 2 '--export computes nothing' gnntrain --export gcn/best.h5 --out w.npz --eval gcn/best.h5
[[ ! -e w.npz && $(cksum <gcn/best.h5) == "$before" ]] || fail "a refused call has written something"
