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

# prints PATTERN ARGUMENT...: it ends well, and a line of its output matches PATTERN.
prints() {
  local pattern=$1
  shift
  bench "$@" >out.txt || fail "exit code $?: gnnbench $*"
  grep -q -- "$pattern" out.txt || { cat out.txt; fail "no \"$pattern\": gnnbench $*"; }
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
    option=$([[ $command == spmm ]] && echo --degree || echo --inner)
    bench $command --nodes 2000 $option 20 --width 3,64 --reps 3 --threads 2 --precision $precision --json >out.txt
    (($(wc -l <out.txt) == $([[ $command == spmm ]] && echo 2 || echo 6))) || fail "lines of $command"
    below "$([[ $precision == fp32 ]] && echo 1e-5 || echo 1e-13)" error
    below 10000 ms
  done
done
bench spmm --nodes 2000 --degree 20 --width 3 --reps 1 --precision fp64 --json >bare.txt
bench spmm --nodes 2000 --degree 20 --width 3,64 --reps 1 --precision fp64 --scaled --json >out.txt
(($(grep -c scaled out.txt) == 2)) || fail "no scaled rows"
nnz() { grep -o 'nnz [0-9]* width 3\b' "$1" | cut -d' ' -f2; }
loops=$(($(nnz out.txt) - $(nnz bare.txt))) # of nodes that had none: about one arc in 2000 is a loop
((loops > 1900 && loops < 2000)) || fail "$loops self loops came to the scaled product"
below 1e-13 error
for precision in fp32 fp64; do
  bench update --nodes 3000 --width 41,300 --reps 2 --threads 2 --precision $precision --json >out.txt
  (($(wc -l <out.txt) == 18)) || { cat out.txt; fail "lines of update"; }
  below "$([[ $precision == fp32 ]] && echo 1e-5 || echo 1e-13)" error
  for op in 'update", "shape": "3000x41 bias relu dropout' 'backward", "shape": "3000x300 relu sums' \
    'gather", "shape": "1500x41 ' 'loss", "shape": "3000x41 '; do
    grep -q "\"op\": \"$op" out.txt || { cat out.txt; fail "no row for $op"; }
  done
done
for precision in fp32 fp64; do
  bench reduce --nodes 3000 --degree 9 --width 5,64 --reps 2 --threads 2 --precision $precision --json >out.txt
  (($(wc -l <out.txt) == 10)) || { cat out.txt; fail "lines of reduce"; }
  below "$([[ $precision == fp32 ]] && echo 1e-5 || echo 1e-13)" error
  for op in SUM MEAN MAX MIN gradient; do grep -q "\"op\": \"$op\"" out.txt || fail "no row for $op"; done
done
for precision in fp32 fp64; do
  bench attention --nodes 2000 --width 24,41 --heads 1 --reps 2 --threads 2 --precision $precision --json >out.txt
  (($(wc -l <out.txt) == 14)) || { cat out.txt; fail "lines of attention"; }
  grep -E '"op": "(attention|backward|cosine|gradient)"' out.txt >errors.txt && mv errors.txt out.txt
  (($(wc -l <out.txt) == 8)) || { cat out.txt; fail "no row for cosine or gradient"; }
  below "$([[ $precision == fp32 ]] && echo 1e-5 || echo 1e-13)" error
  bench sddmm --nodes 2000 --degree 9 --width 1,41,128 --reps 2 --threads 2 --precision $precision --json >out.txt
  (($(grep -c '"op": "sddmm"' out.txt) == 3)) || { cat out.txt; fail "lines of sddmm"; }
  below "$([[ $precision == fp32 ]] && echo 1e-5 || echo 1e-13)" error
done
for precision in fp32 fp64; do
  bench hyper --nodes 2000 --hyperedges 700 --incidences 5000 --huge 900 --width 5,64 --scaled --reps 2 --threads 2 \
    --precision $precision --json >out.txt
  (($(grep -c '"op": "auto", "shape": "2000+701 nnz' out.txt) == 2)) || { cat out.txt; fail "rows of hyper"; }
  below "$([[ $precision == fp32 ]] && echo 1e-5 || echo 1e-13)" error
done
prints 'scratch 0.0 MiB' hyper --nodes 200 --hyperedges 70 --incidences 500 --width 8 --reps 1
refuses '--graph goes with --all or --ablate' spmm --graph arxiv-like --device cpu
for option in 'spmm --nodes' 'attention --degree' 'hyper --hyperedges' 'hyper --incidences' 'exchange --rows'; do
  refuses "${option#* } would be passed over beside --dataset; one of them is allowed" $option 9 --dataset made.h5
done
refuses '--nodes would be passed over beside --all; one of them is allowed' spmm --all --nodes 9
refuses '--scaled would be passed over beside --ablate' spmm --ablate --scaled
refuses '--method goes with --dataset' exchange --method block
refuses '--all and --ablate exclude each other' spmm --all --ablate --device cpu
refuses '--huge 300: there are 200 vertices' hyper --nodes 200 --hyperedges 70 --incidences 500 --huge 300
refuses 'does not divide into --heads 3' attention --nodes 200 --width 8 --heads 3
prints '500x500 nnz 10000 width 8' spmm --nodes 500 --width 8 --reps 1

"$GNNTRAIN_BIN/gnndata" synth made.h5 --nodes 1000 --degree 8 --features 4 --classes 3 >/dev/null
bench spmm --dataset made.h5 --width 16 --reps 1 --json >out.txt
grep -q '"shape": "1000x1000 nnz' out.txt || { cat out.txt; fail "the dataset's graph was not used"; }
below 1e-5 error
"$GNNTRAIN_BIN/gnndata" synth hyper.h5 --nodes 900 --hyperedges 300 --degree 3 --features 4 --classes 3 >/dev/null
bench hyper --dataset hyper.h5 --width 16 --reps 1 --json >out.txt
grep -q '"shape": "900+300 nnz' out.txt || { cat out.txt; fail "the dataset's hypergraph was not used"; }
below 1e-5 error
refuses 'made.h5: no /hypergraph' hyper --dataset made.h5

# Tables of tiers and of techniques: a line a width, a line a technique.
bench spmm --all --graph made.h5 --width 16,40 --reps 1 --threads 2 --json >out.txt
(($(wc -l <out.txt) == 2)) || { cat out.txt; fail "lines of --all"; }
below 1e-5 error
below 10000 auto_ms
below 10000 windows_ms
(($(grep -c '"selector_agrees": 1,' out.txt) == 2)) || fail "a choice of windows on a device that has none"
prints '^fp32: auto above the fastest tier by' spmm --all --graph made.h5 --reps 1 --threads 2
bench spmm --ablate --graph made.h5 --width 16 --reps 1 --threads 2 --json >out.txt
for technique in tiles condensed sorted 'order as given' 'order found' fused; do
  grep -q "\"technique\": \"[^\"]*$technique" out.txt || { cat out.txt; fail "no row for $technique"; }
done

# on_two ARGUMENT...: gnnbench on two ranks; only rank 0 reports.
on_two() { mpirun -n 2 --oversubscribe --bind-to none "$GNNTRAIN_BIN/gnnbench" "$@"; }

# above LIMIT FIELD PATTERN: the lines that match PATTERN, at least one, have that number above LIMIT.
above() {
  grep "$3" out.txt >lines.txt || { cat out.txt; fail "no line with $3"; }
  sed -n "s/.*\"$2\": \([^,}]*\).*/\1/p" lines.txt >numbers.txt
  awk -v limit="$1" '!($1 + 0 > limit) { bad = 1 } END { exit bad }' numbers.txt &&
    (($(wc -l <numbers.txt) == $(wc -l <lines.txt))) || { cat lines.txt; fail "$2 is not above $1"; }
}

# Rows of 41 fp32 numbers are sent as 48: 500 x 48 x 4 bytes; fp64 as 44 of 8 bytes.
on_two exchange --rows 500 --width 41,64 --reps 3 --threads 1 --json >out.txt
(($(wc -l <out.txt) == 4)) || { cat out.txt; fail "lines of exchange"; }
[[ $(sed 's/.*"bytes": \([0-9]*\).*/\1/' out.txt | xargs) == "96000 128000 176000 256000" ]] || fail "bytes of exchange"
below 1e-300 error
below 10000 ms
above 0 peer_ms exchange
on_two exchange --dataset made.h5 --method block --width 8 --reps 2 --threads 1 --precision fp64 --json >out.txt
(($(wc -l <out.txt) == 1)) || fail "lines of exchange with one precision"
below 1e-300 error

printf '[dataset]\npath = "made.h5"\n[runtime]\nthreads = 1\n' >made.toml
on_two epoch made.toml --set model.hidden=8 --reps 4 --json >out.txt
below 10000 ms
for part in epoch pack exchange wait 'own part' 'halo part' gemm update loss reduce optimiser; do
  grep -q "\"op\": \"$part\", \"shape\": \"made gcn 2x8" out.txt || { cat out.txt; fail "no row for $part"; }
done
above 0 bytes '"op": "exchange"'
above 0 gflops '"op": "gemm"'
above -1e-9 hidden '"op": "exchange"'
# Alone the epoch is at least its bound, but for the noise of a machine with other work.
above 0 peer_ratio '"op": "bound"'
[[ ! -e runs ]] || fail "gnnbench epoch left a run behind"
bench epoch made.toml --reps 2 --json >out.txt
! grep -q '"op": "exchange"' out.txt || fail "an exchange on one rank"
above 0 ms '"op": "bound"'

prints spmm --help
prints --inner gemm --help
prints --incidences hyper --help
prints '4200 GB/s' update --help
prints '330 GB/s' exchange --help
refuses 'unknown command "spnn"; allowed: spmm, calibrate, gemm, update, reduce, attention, sddmm, hyper, exchange, epoch' spnn
refuses '--nodes: "-3" is not a whole number from 1' spmm --nodes -3
refuses '--width: "x" is not a whole number' spmm --width 8,x
refuses '--precision: "fp8" is none of fp32, ' gemm --precision fp8
refuses 'unknown or incomplete option "--wide"' spmm --wide
refuses 'unknown or incomplete option "--inner"' spmm --inner 3
refuses 'device "abacus" is not in this build' spmm --device abacus
refuses 'none.h5' spmm --dataset none.h5
refuses 'constants are those of GPUs' calibrate --device cpu --out -
refuses 'none.h5' spmm --all --graph none.h5
refuses '--graph: no graph given' spmm --all --graph ,
refuses 'needs two ranks or more: mpirun -n 2' exchange
refuses 'which configuration' epoch
refuses 'none.toml' epoch none.toml
refuses 'model.layer' epoch made.toml --set model.layer=3
