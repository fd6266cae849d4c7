# cmake --install puts programs and configurations where they run from.
set -euo pipefail
prefix=$PWD/prefix
rm -rf "$prefix"
cmake --install "$GNNTRAIN_BIN" --prefix "$prefix" >install.txt || { cat install.txt; exit 1; }
for program in gnntrain gnndata gnnbench; do
  grep -q "^$program " <<<"$("$prefix/bin/$program" --version)" || { echo "bin/$program does not run"; exit 1; }
done
for file in "$GNNTRAIN_SOURCE"/configs/*.toml; do
  cmp "$file" "$prefix/share/gnntrain/configs/${file##*/}"
done
cmp "$GNNTRAIN_SOURCE/launch/openmpi-mca-params.conf" "$prefix/share/gnntrain/openmpi-mca-params.conf"
rm -rf "$prefix"

# With CMAKE_PREFIX_PATH, what apt has not installed is looked for there: nothing is installed.
mkdir -p stubs
printf '#!/bin/sh\nexit 1\n' >stubs/dpkg-query
printf '#!/bin/sh\necho called >apt-called\nexit 1\n' >stubs/apt-get
chmod +x stubs/*
rm -f apt-called
PATH=$PWD/stubs:$PATH CMAKE_PREFIX_PATH=/elsewhere "$GNNTRAIN_SOURCE/launch/install_packages" >packages.txt
grep -q 'libmetis-dev' packages.txt && grep -q 'CMAKE_PREFIX_PATH=/elsewhere' packages.txt || { cat packages.txt; exit 1; }
[[ ! -e apt-called ]] || { echo "install_packages installs in spite of CMAKE_PREFIX_PATH"; exit 1; }
