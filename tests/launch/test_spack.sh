# The recipe for Spack: what it says is of this project (check_spack.py), and CMake takes its options as they are. Where Spack is
# installed it reads the recipe.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
command -v python3 >/dev/null || skip "python3 is not there"
works python3 "$GNNTRAIN_SOURCE/tests/launch/check_spack.py" "$GNNTRAIN_SOURCE"
mapfile -t options <out.txt
works cmake -S "$GNNTRAIN_SOURCE" -B build "${options[@]}" -DCMAKE_INSTALL_PREFIX="$PWD/prefix"
says 'CUDA device: switched off by GNNTRAIN_CUDA=OFF'
lacks 'Manually-specified variables were not used' err.txt
if command -v spack >/dev/null; then
  works spack repo add --scope user "$GNNTRAIN_SOURCE/launch/spack"
  works spack info gnntrain
  says 'cuda_arch'
fi
