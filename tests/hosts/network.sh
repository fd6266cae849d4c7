# Three hosts, a, b and c, on this machine: network namespaces with names of their own, plugged into a switch that is a
# bridge in a fourth. The disk is the same. Needs root.

# can_have_hosts: whether the machine lets this user make them; why not lies in $reason.
can_have_hosts() {
  local tool
  for tool in ip nsenter unshare mpirun; do
    command -v $tool >/dev/null || { reason="there is no $tool"; return 1; }
  done
  ((EUID == 0)) || { reason="network namespaces need root"; return 1; }
  network=hosts-$$.probe folder=$(mktemp -d /tmp/hosts.XXXXXX)
  { hosts_up && (on a true); } >/dev/null 2>&1 || reason="network namespaces are not allowed here"
  hosts_down
  rm -rf "$folder"
  [[ -z ${reason-} ]]
}

# hosts_up: $network, unique on the machine as hosts-$$.SOMETHING, begins the names of all; $folder, where their files
# go.
hosts_up() {
  local host number=0
  ip netns add "${network}s"
  ip -n "${network}s" link add switch type bridge
  ip -n "${network}s" link set switch up
  for host in a b c; do
    number=$((number + 1))
    ip netns add "$network$host"
    ip -n "${network}s" link add "port_$host" type veth peer name eth0 netns "$network$host"
    ip -n "${network}s" link set "port_$host" master switch up
    ip -n "$network$host" addr add 10.77.0.$number/24 dev eth0
    ip -n "$network$host" link set eth0 up
    ip -n "$network$host" link set lo up
  done
}

hosts_down() {
  local host
  for host in a b c s; do
    [[ -e /run/netns/$network$host ]] || continue
    signal_host KILL "$host"
    ip netns del "$network$host"
  done
}

# Takes down the hosts of this test, and of one that was killed before it could.
all_down() {
  local name owner network
  for name in /run/netns/hosts-*; do
    owner=${name#*/hosts-}
    owner=${owner%%.*}
    [[ $owner == "$$" || ! -d /proc/$owner ]] || continue
    network=${name##*/}
    network=${network%?}
    hosts_down
  done
}

# on HOST COMMAND...: runs it there, in place of this shell.
on() {
  local host=$1
  shift
  mkdir -p "$folder/$host"
  printf '127.0.0.1 localhost\n10.77.0.1 a\n10.77.0.2 b\n10.77.0.3 c\n' >"$folder/$host/hosts"
  exec ip netns exec "$network$host" unshare --uts bash -c '
    hostname "$0" && mount --bind "$1/hosts" /etc/hosts && export TMPDIR=$1 && shift && exec "$@"' "$host" "$folder/$host" "$@"
}

# write_agent FILE: what mpirun takes for ssh: FILE HOST COMMAND...
write_agent() {
  cat >"$1" <<END
#!/usr/bin/env bash
network=$network
folder='$folder'
$(declare -f on)
host=\$1
shift
on "\$host" setsid bash -c "\$*"
END
  chmod +x "$1"
}

# signal_host SIGNAL HOST [NAME]: to all processes of the host, or those of that name.
signal_host() {
  local process
  for process in $(ip netns pids "$network$2"); do
    [[ -z ${3-} || $(name_of "$process") == "$3" ]] || continue
    kill "-$1" "$process" 2>/dev/null || true
  done
}

# The cable of a host, somewhere on its way: nobody is told.
cut_link() { ip -n "${network}s" link set "port_$1" nomaster; }
join_link() { ip -n "${network}s" link set "port_$1" master switch; }

name_of() { echo "$(<"/proc/$1/comm")"; } 2>/dev/null

# left_on HOST [NAME]: the processes there that belong to a job, or those of that name.
left_on() {
  local process
  for process in $(ip netns pids "$network$1"); do
    case ${2-any},$(name_of "$process") in
    any,gnntrain | any,orted | any,mpirun | gnntrain,gnntrain) echo "$process" ;;
    esac
  done
}
