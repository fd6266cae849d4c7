# Every configuration trains: on a small graph of the features and classes that its comment's line of gnndata synth
# names, on the real graph of its line of gnndata import where GNNTRAIN_TEST_DATA has it, else on some small graph. The
# lines name the file that the configuration reads.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
mkdir data

# The line of gnndata in a configuration's comment, continued lines joined.
line_of() { sed -e ':more' -e '/^#.*\\$/N; s/\\\n#//; t more' "$1" | sed -nE 's/^# +gnndata (.*)/\1/p'; }

# tiny WORD...: the line of synth with few nodes, edges and communities.
tiny() {
  local words=("$@") i
  for ((i = 0; i < ${#words[@]}; i++)); do
    case ${words[i]} in
    --nodes) words[i + 1]=2000 ;;
    --degree) words[i + 1]=12 ;;
    --community-size) words[i + 1]=20 ;;
    --hyperedges) words[i + 1]=3000 ;;
    esac
  done
  works gnndata "${words[@]}"
}

# Makes the dataset of a configuration; prints how.
make() {
  local path=$1 real=${GNNTRAIN_TEST_DATA-}
  shift
  local words=("$@") i # files beside are in the same folder
  for ((i = 4; i < ${#words[@]}; i++)); do
    [[ -n $real && -f $real/${words[i]} ]] && words[i]=$real/${words[i]}
  done
  set -- "${words[@]}"
  if [[ ${1-} == synth ]]; then
    tiny "$@"
    echo "made by its line"
  elif [[ ${1-} == import && -n $real && -f $real/$3 ]]; then
    works gnndata import "$2" "$real/$3" "${@:4}"
    echo "imported"
  elif [[ ${2-} == tud && -n $real && -d $real/tud/$3 ]]; then
    works gnndata import tud "$real/tud/$3" "${@:4}"
    echo "imported"
  elif [[ ${2-} == hypergraph ]]; then
    tiny synth "$path" --nodes 0 --degree 0 --features 24 --classes 5 --community-size 0 --hyperedges 3000
    echo "some hypergraph"
  else
    tiny synth "$path" --nodes 0 --degree 0 --features 24 --classes 5 --community-size 0
    echo "some graph"
  fi
}

count=0
for config in "$GNNTRAIN_SOURCE"/configs/{,models/}*.toml; do
  name=$(basename "$config" .toml)
  path=$(sed -nE 's/^path = "(.*)"/\1/p' "$config")
  read -ra words <<<"$(line_of "$config")"
  case $name in
  *_like | demo) [[ ${words[0]-} == synth ]] || fail "$name: no line of gnndata synth" ;;
  esac
  if ((${#words[@]})) && [[ " ${words[*]} " != *" $path "* ]]; then fail "$name: its line does not make $path"; fi
  how=$(make "$path" "${words[@]}") || fail "$name: $how"
  settings=(--set "log.dir=run-$name")
  # Several labels a node cannot be made up.
  [[ $how == imported ]] || settings+=(--set train.loss=auto --set train.metric=auto)
  must_run 1 "$config" --epochs 1 "${settings[@]}" # which ends with an evaluation of what it has learned
  [[ -f run-$name/best.h5 ]] || fail "$name: nothing was trained"
  rm -rf "$path" "run-$name"
  count=$((count + 1))
done
((count >= 40)) || fail "only $count configurations"
