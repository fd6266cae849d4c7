# gnnbench measures what it names, is right within its precision, and refuses bad usage in one sentence.
set -euo pipefail
bench() { "$GNNTRAIN_BIN/gnnbench" "$@"; }

fail() {
  echo "$*"
  exit 1
}

# refuses PATTERN ARGUMENT...: exit code 2 and one line on stderr that matches PATTERN.
refuses() {
  local pattern=$1 code=0
  shift
  bench "$@" >out.txt 2>err.txt || code=$?
  ((code == 2)) || fail "exit code $code in place of 2: gnnbench $*"
  (($(wc -l <err.txt) == 1)) && grep -qE -- "$pattern" err.txt || { cat err.txt; fail "message of gnnbench $*"; }
}

# below LIMIT FIELD: every line of out.txt has that number, and it is below LIMIT.
below() {
  (($(grep -c "\"$2\"" out.txt) == $(wc -l <out.txt))) || fail "a line without $2"
  sed "s/.*\"$2\": \([^,}]*\).*/\1/" out.txt | awk -v limit="$1" '!($1 + 0 < limit) { bad = 1 } END { exit bad }' ||
    { cat out.txt; fail "$2 is not below $1"; }
}

rm -rf ./*
for command in spmm gemm; do
  for precision in fp32 fp64; do
    bench $command --nodes 2000 --degree 7 --width 3,64 --inner 20 --reps 3 --threads 2 --precision $precision \
      --json >out.txt
    (($(wc -l <out.txt) == $([[ $command == spmm ]] && echo 2 || echo 4))) || fail "lines of $command"
    below "$([[ $precision == fp32 ]] && echo 1e-5 || echo 1e-13)" error
    below 10000 ms
  done
done
bench spmm --nodes 500 --width 8 --reps 1 | grep -q '500x500 nnz 10000 width 8' || fail "no row for width 8"

"$GNNTRAIN_BIN/gnndata" synth made.h5 --nodes 1000 --degree 8 --features 4 --classes 3 >/dev/null
bench spmm --dataset made.h5 --width 16 --reps 1 --json >out.txt
grep -q '"shape": "1000x1000 nnz' out.txt || { cat out.txt; fail "the dataset's graph was not used"; }
below 1e-5 error

bench --help | grep -q spmm || fail "no help"
bench gemm --help | grep -q -- --inner || fail "no help for gemm"
refuses 'unknown command "spnn"; allowed: spmm, gemm' spnn
refuses '--nodes: "-3" is not a whole number from 1' spmm --nodes -3
refuses '--width: "x" is not a whole number' spmm --width 8,x
refuses '--precision: "fp8" is none of fp32, fp32-strict, tf32, bf16, fp64' gemm --precision fp8
refuses 'unknown or incomplete option "--wide"' spmm --wide
refuses 'device "abacus" is not in this build' spmm --device abacus
refuses 'none.h5' spmm --dataset none.h5
