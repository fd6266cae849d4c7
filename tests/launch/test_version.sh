# --version of each program names the version, the revision, the devices and the packages.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
version=$(sed -n 's/^project(gnntrain VERSION \([0-9.]*\).*/\1/p' "$GNNTRAIN_SOURCE/CMakeLists.txt")
revision='[0-9a-zA-Z.-]+'
if git -C "$GNNTRAIN_SOURCE" rev-parse HEAD >/dev/null 2>&1; then revision='[0-9a-zA-Z.-]*[0-9a-f]{10}(-dirty)?'; fi
for program in gnntrain gnndata gnnbench; do
  works $program --version
  says "^$program $version \($revision\)$"
  says '^devices:.* cpu( |$)'
  says '^compiler: [A-Za-z]+ [0-9.]+'
  for package in 'MPI' HDF5 METIS OpenBLAS 'toml\+\+' zlib libzip; do
    says "^packages: .*$package [0-9]+\.[0-9]+"
  done
done

# What only a GPU needs, and takes longer to load than all else, is loaded when one is opened.
for program in gnntrain gnndata gnnbench; do lacks libcublas <(ldd "$GNNTRAIN_BIN/$program"); done

# A program that finds no OPENBLAS_NUM_THREADS=1 starts itself once more with it, and says the same.
started() { LD_DEBUG=files "$@" --version 2>&1 >out.txt | grep -c 'file=libhdf5.*generating link map'; }
for program in gnntrain gnndata gnnbench; do
  (($(started $program) == 1)) || fail "$program: started itself again"
  cp out.txt said.txt
  (($(started env -u OPENBLAS_NUM_THREADS $program) == 2)) || fail "$program: did not start itself again"
  cmp out.txt said.txt
  (($(OPENBLAS_NUM_THREADS=3 started $program) == 2)) || fail "$program: keeps three threads"
  cmp out.txt said.txt
done
