# cmake --install puts programs and configurations where they run from.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
prefix=$PWD/prefix
works cmake --install "$GNNTRAIN_BIN" --prefix "$prefix"
for program in gnntrain gnndata gnnbench; do
  works "$prefix/bin/$program" --version
  says "^$program "
done
for file in "$GNNTRAIN_SOURCE"/configs/{,models/}*.toml; do
  cmp "$file" "$prefix/share/gnntrain/${file#"$GNNTRAIN_SOURCE/"}"
done
cmp "$GNNTRAIN_SOURCE/launch/openmpi-mca-params.conf" "$prefix/share/gnntrain/openmpi-mca-params.conf"
for program in gnntrain gnndata gnnbench; do
  works bash --norc -c '. "$1" && complete -p "$2"' bash "$prefix/share/bash-completion/completions/$program" $program
done
says '^#compdef gnntrain' "$prefix/share/zsh/site-functions/_gnntrain"
[[ ! -d $GNNTRAIN_BIN/manual || -s $prefix/share/man/man1/gnntrain.1 ]] || fail "the pages of man are not installed"

# With CMAKE_PREFIX_PATH, what apt has not installed is looked for there: nothing is installed.
mkdir -p stubs
printf '#!/bin/sh\nexit 1\n' >stubs/dpkg-query
printf '#!/bin/sh\necho called >apt-called\nexit 1\n' >stubs/apt-get
chmod +x stubs/*
PATH=$PWD/stubs:$PATH CMAKE_PREFIX_PATH=/elsewhere works "$GNNTRAIN_SOURCE/launch/install_packages"
says 'CMAKE_PREFIX_PATH=/elsewhere.* libmetis-dev'
[[ ! -e apt-called ]] || fail "install_packages installs in spite of CMAKE_PREFIX_PATH"
