# Sourced: graphs of the size of known ones, as several benchmarks make them.

declare -rA made_graphs=(
  [arxiv]='--nodes 169343 --degree 14.65 --features 128 --classes 40 --community-size 1000 --inside 0.75'
  [products]='--nodes 2449029 --degree 53.5 --features 100 --classes 47 --community-size 2000 --inside 0.75'
  [reddit]='--nodes 232965 --degree 492.3 --features 602 --classes 41 --community-size 4000 --inside 0.75'
  [friendster]='--nodes 65608366 --degree 55 --features 16 --classes 16 --community-size 2000 --inside 0.8'
)

# make_graph NAME BUILD FILE: unless it is there.
make_graph() {
  # shellcheck disable=SC2086 # options
  [[ -f $3 ]] || "$2/gnndata" synth "$3" ${made_graphs[$1]} >/dev/null
}
