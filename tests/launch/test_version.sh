# --version of each program names the version, the revision, the devices and the packages.
set -euo pipefail
expect() { # expect PATTERN TEXT
  if ! grep -qE "$1" <<<"$2"; then
    printf 'no line matches %s in:\n%s\n' "$1" "$2"
    exit 1
  fi
}

version=$(sed -n 's/^project(gnntrain VERSION \([0-9.]*\).*/\1/p' "$GNNTRAIN_SOURCE/CMakeLists.txt")
revision='[0-9a-zA-Z.-]+'
if git -C "$GNNTRAIN_SOURCE" rev-parse HEAD >/dev/null 2>&1; then revision='[0-9a-zA-Z.-]*[0-9a-f]{10}(-dirty)?'; fi
for program in gnntrain gnndata gnnbench; do
  said=$("$GNNTRAIN_BIN/$program" --version)
  expect "^$program $version \($revision\)$" "$said"
  expect '^devices:.* cpu( |$)' "$said"
  expect '^compiler: [A-Za-z]+ [0-9.]+' "$said"
  for package in 'MPI' HDF5 METIS OpenBLAS 'toml\+\+' zlib libzip; do
    expect "^packages: .*$package [0-9]+\.[0-9]+" "$said"
  done
done
