# A .deb of this build: its fields, nothing outside of /usr, and programs, scripts, the Python package and the modulefile that find
# each other wherever it is unpacked.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
command -v cpack >/dev/null && command -v dpkg-deb >/dev/null || skip "cpack or dpkg-deb is not here"

# Libraries that no package has brought cannot be looked up; then dependencies are not written.
options=()
for library in $(ldd "$GNNTRAIN_BIN/gnntrain" | awk '$3 ~ /^\// { print $3 }'); do
  dpkg -S "$library" >/dev/null 2>&1 || dpkg -S "$(realpath "$library")" >/dev/null 2>&1 || dpkg -S "/usr$library" >/dev/null 2>&1 || {
    options=(-D CPACK_DEBIAN_PACKAGE_SHLIBDEPS=OFF)
  }
done
works cpack --config "$GNNTRAIN_BIN/CPackConfig.cmake" -G DEB -B made "${options[@]}" -D CPACK_DEBIAN_COMPRESSION_TYPE=none
deb=$(ls made/*.deb)
version=$(gnntrain --version | sed -n 's/^gnntrain \([0-9.]*\) .*/\1/p')
[[ $deb == made/gnntrain*_"$version"_*.deb ]] || fail "the package is called $deb"
dpkg-deb -f "$deb" >fields
for field in 'Package: gnntrain' "Version: $version" 'Section: science' 'Maintainer: .'; do
  grep -q "^$field" fields || fail "no $field: $(cat fields)"
done
grep -q '^Depends:.*openmpi-bin' fields || fail "mpirun is not asked for: $(cat fields)"
if ((!${#options[@]})); then grep -q '^Depends:.*libhdf5-103' fields || fail "HDF5 is not asked for: $(cat fields)"; fi
dpkg-deb -c "$deb" | awk '$6 !~ /^\.\/(usr\/.*)?$/ { print; bad = 1 } END { exit bad }' || fail "files outside of /usr"
dpkg-deb -c "$deb" | awk '$1 ~ /^[^l]/ && ($1 ~ /^.....w/ || $1 ~ /^........w/) { print; bad = 1 } END { exit bad }' || fail "files that others may write"

mkdir elsewhere
dpkg-deb -x "$deb" elsewhere
prefix=$PWD/elsewhere/usr
cat >small.toml <<'END'
dataset.path = "synth:nodes=300,degree=6,features=8,classes=3"
train.epochs = 3
END
export PATH=$prefix/bin:${PATH//$GNNTRAIN_BIN:/}
unset GNNTRAIN_BIN
[[ $(command -v gnntrain) == "$prefix/bin/gnntrain" ]] || fail "another gnntrain is run: $(command -v gnntrain)"
works gnntrain small.toml
works gnntrain-report runs/small
grep -q '<svg' runs/small/report.html || fail "the report has no curves"
works gnntrain-sweep small.toml --grid model.hidden=4,8 --out swept
[[ -s swept/sweep.json ]] || fail "the sweep left no table"
works gnntrain-compare small.toml --peers torch --python false --out compared
says '^gnntrain +[0-9.]+%'
PYTHONPATH=$prefix/share/gnntrain/python python3 - <<'END' || fail "the Python package"
import importlib.util
assert importlib.util.find_spec("gnntrain").origin.startswith("/")
if importlib.util.find_spec("h5py") and importlib.util.find_spec("numpy"):
    import gnntrain
    assert gnntrain.Checkpoint("runs/small/best.h5").type == "gcn"
END
bash -n "$prefix/share/gnntrain/launch/slurm/one_node.sbatch" || fail "the batch script"
[[ -s $prefix/share/doc/gnntrain/docs/models.md && -s $prefix/share/gnntrain/configs/cora.toml ]] || fail "pages or configurations"

# What the module command makes of the modulefile.
module=$prefix/share/gnntrain/modulefiles/gnntrain/$version
if command -v tclsh >/dev/null; then
  cat >load.tcl <<'END'
proc prepend-path {name value} { puts "$name=$value" }
proc setenv {name value} { puts "$name=$value" }
foreach word {module-whatis conflict} { proc $word args {} }
set ModulesCurrentModulefile [lindex $argv 0]
source $ModulesCurrentModulefile
END
  tclsh load.tcl "$module" >loaded || fail "the modulefile"
  grep -qx "PATH=$prefix/bin" loaded && grep -qx "GNNTRAIN_BIN=$prefix/bin" loaded || fail "the modulefile sets $(cat loaded)"
else
  grep -q '^prepend-path PATH ' "$module" || fail "the modulefile"
fi
