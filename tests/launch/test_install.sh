# cmake --install puts programs and configurations where they run from.
set -euo pipefail
prefix=$PWD/prefix
rm -rf "$prefix"
cmake --install "$GNNTRAIN_BIN" --prefix "$prefix" >install.txt || { cat install.txt; exit 1; }
for program in gnntrain gnndata gnnbench; do
  "$prefix/bin/$program" --version | grep -q "^$program " || { echo "bin/$program does not run"; exit 1; }
done
for file in "$GNNTRAIN_SOURCE"/configs/*.toml; do
  cmp "$file" "$prefix/share/gnntrain/configs/${file##*/}"
done
rm -rf "$prefix"
