# launch/container/Dockerfile, built by Buildah on an image of nothing but Debian's base: the programs train there, on two ranks and
# to the accuracy of the demo; man and completion are there. Wants root, buildah, debootstrap and Debian's archive; three minutes.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
((EUID == 0)) || skip "only root makes a root folder"
for program in buildah debootstrap; do command -v $program >/dev/null || skip "$program is not here"; done
. /etc/os-release
[[ $ID == debian ]] || skip "this is not Debian"
git -C "$GNNTRAIN_SOURCE" rev-parse HEAD >/dev/null 2>&1 || skip "the source is no clone"
export BUILDAH_ISOLATION=chroot STORAGE_DRIVER=vfs
# For what it starts Buildah seals a copy of itself in memory, which on a loaded machine the kernel refuses now and then; that is tried
# again.
buildah() {
  local try code=0
  for try in 1 2 3; do
    code=0
    command buildah --root "$PWD/store" --runroot "$PWD/run" "$@" 2>"errors.$try" || code=$?
    ((code)) && grep -q 'sealing memfd copy: Device or resource busy' "errors.$try" || break
  done
  cat "errors.$try" >&2
  return $code
}
trap 'buildah rm --all >/dev/null 2>&1; buildah rmi --all --force >/dev/null 2>&1; rm -rf root store run' EXIT

works git clone -q "$GNNTRAIN_SOURCE" source
works debootstrap --variant=minbase "$VERSION_CODENAME" root
base=$(buildah from scratch)
works buildah copy -q "$base" root /
works buildah commit -q "$base" localhost/base
rm -rf root
works buildah build --build-arg BUILD=localhost/base --build-arg RUN=localhost/base -f source/launch/container/Dockerfile -t gnntrain source
image=$(buildah from gnntrain)
inside() { works buildah run "$image" -- sh -c "cd /tmp && $1"; }
inside 'gnndata synth data/demo.h5 --nodes 20000 --degree 12 --features 64 --classes 8 --community-size 250 --inside 0.75 --shuffle --seed 1'
inside 'mpirun -n 2 --oversubscribe --bind-to none gnntrain /usr/share/gnntrain/configs/demo.toml'
reached=$(sed -n 's/^  test  *accuracy \([0-9.]*\)%.*/\1/p' out.txt)
holds "$reached > 94" "accuracy of the demo"
inside 'ls /usr/share/bash-completion/completions/gnntrain'
