# What Tab offers in bash, and in zsh where that is installed, follows from --help: options, settings behind --set and their values, commands, files.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

works "$GNNTRAIN_SOURCE/launch/completion" "$GNNTRAIN_BIN" runs/made
touch some.toml other.h5 notes.txt

# Prints what bash, and zsh, offer for the last of the words in $1, which stand as readline divides them; "_" is none yet.
in_bash() {
  bash --norc -c '
    . runs/made/bash/gnntrain
    read -ra COMP_WORDS <<<"$1"
    [[ $1 != *_ ]] || COMP_WORDS[${#COMP_WORDS[@]}-1]=
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_WORDBREAKS=$'"' \\t\\n\"\\'><=;|&(:'"'
    _gnntrain
    printf "%s\n" "${COMPREPLY[@]}"' bash "$1"
}
# Its compadd and _files are stood in for: words that do not begin as the last one are left out, files are a line "files".
in_zsh() {
  local line=${1// = /=}
  zsh -f -c '
    compset() { : }
    _files() { print files }
    compadd() { while [[ $1 != -- ]]; do shift; done; shift; print -l -- "${(@M)@:#${words[CURRENT]}*}" }
    words=(${(s: :)1})
    [[ $1 != *_ ]] || words[-1]=${words[-1]%_}
    CURRENT=$#words
    . runs/made/zsh/_gnntrain' zsh "${line/% =/=}" | sed 's/^.*=\(.\)/\1/'
}

# offers "WORD..." WHAT...: these, and no other, in any order.
offers() {
  local shell
  for shell in bash zsh; do
    command -v $shell >/dev/null || continue
    in_$shell "$1" | sed '/^$/d' | sort >answer.txt
    [[ $shell == bash ]] || ! grep -qx files answer.txt || continue
    printf '%s\n' "${@:2}" | sed '/^$/d' | sort | diff - answer.txt >differ.txt || { cat differ.txt; fail "Tab in $shell behind: $1"; }
  done
}

# Options: all that --help has.
mapfile -t all < <(gnntrain --help | sed -nE 's/^  (--[a-z-]+).*/\1/p')
((${#all[@]} > 10)) || fail "--help lists ${all[*]}"
offers 'gnntrain some.toml --' "${all[@]}"
offers 'gnntrain some.toml --ver' --verbose --version
offers 'gnntrain some.toml --device c' cpu cuda
offers 'gnntrain some.toml --device = a' auto
offers 'gnndata synth --no' --nodes
offers 'gnndata partition x.h5 --set partition.see' partition.seed=
offers 'gnnbench spmm --layout _' auto gather tiles windows selector csr vectors
offers 'gnntrain some.toml --epochs _'

# Settings: every key, and the values of those that have names for them.
mapfile -t all < <(gnntrain --help | sed -nE '/^Settings/,$ s/^  ([a-z]+\.[a-z_]+) .*/\1=/p')
((${#all[@]} > 40)) || fail "--help lists ${all[*]}"
offers 'gnntrain some.toml --set _' "${all[@]}"
offers 'gnntrain some.toml --quiet --set model.he' model.heads= model.heads_last=
mapfile -t all < <(gnntrain --help model.type | sed -nE '3,$ s/^  ([a-z0-9]+) .*/\1/p')
((${#all[@]} > 10)) || fail "types: ${all[*]}"
offers 'gnntrain some.toml --set model.type =' "${all[@]}"
offers 'gnntrain some.toml --set model.type = uni' unigcnii unigin
offers 'gnntrain some.toml --set train.optimizer = _' adam adamw sgd
offers 'gnntrain some.toml --set model.bias = t' true
offers 'gnntrain --help model.n' model.norm model.norm_edges

# Commands and files.
offers 'gnntrain _' runs some.toml
offers 'gnntrain s' some.toml
offers 'gnntrain some.toml --eval _' other.h5 runs
offers 'gnntrain some.toml --resume = o' other.h5
offers 'gnntrain some.toml --set dataset.path = o' other.h5
offers 'gnndata _' check import info partition synth
offers 'gnndata import n' npz
offers 'gnndata import npz n' notes.txt
offers 'gnndata info _' other.h5 runs
offers 'gnnbench ep' epoch
