# The package of launch/package in a Debian that has nothing but its base: it installs with what it depends on, trains on two ranks
# to the accuracy of the demo, and goes without a trace. Wants root, debootstrap and Debian's archive; two minutes and a build.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
((EUID == 0)) || skip "only root makes a root folder"
command -v debootstrap >/dev/null || skip "debootstrap is not here"
. /etc/os-release
[[ $ID == debian ]] || skip "this is not Debian"
git -C "$GNNTRAIN_SOURCE" rev-parse HEAD >/dev/null 2>&1 || skip "the source is no clone"
root=$PWD/root
trap 'umount "$root/proc" 2>/dev/null; rm -rf "$root"' EXIT

works git clone -q "$GNNTRAIN_SOURCE" source
works source/launch/package "$PWD/packages" -DGNNTRAIN_CUDA=OFF
[[ $(ls packages) == gnntrain_*.deb$'\n'gnntrain-*.tar.gz || $(ls packages) == gnntrain-*.tar.gz$'\n'gnntrain_*.deb ]] ||
  fail "packages: $(ls packages)"
works debootstrap --variant=minbase "$VERSION_CODENAME" "$root"
mount -t proc proc "$root/proc"
cp packages/*.deb "$root/tmp/package.deb"
inside() { works chroot "$root" env DEBIAN_FRONTEND=noninteractive HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
traces() { find "$root" -xdev -path "$root/proc" -prune -o -iname '*gnntrain*' -print -o -iname '*gnndata*' -print | grep -v "^$root/tmp/"; }
inside apt-get update
inside apt-get install -y --no-install-recommends /tmp/package.deb
inside sh -c 'cd /tmp && gnndata synth data/demo.h5 --nodes 20000 --degree 12 --features 64 --classes 8 --community-size 250 \
  --inside 0.75 --shuffle --seed 1'
inside sh -c 'cd /tmp && OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 mpirun -n 2 --oversubscribe --bind-to none \
  gnntrain /usr/share/gnntrain/configs/demo.toml'
reached=$(sed -n 's/^  test  *accuracy \([0-9.]*\)%.*/\1/p' out.txt)
holds "$reached > 94" "accuracy of the demo"
inside sh -c 'rm -rf /tmp/package.deb && apt-get purge -y gnntrain && apt-get clean'
traces >left || true
[[ ! -s left ]] || fail "purging leaves $(cat left)"
