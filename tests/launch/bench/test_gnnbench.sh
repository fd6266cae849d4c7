# gnnbench measures what it names, is right within its precision, and refuses bad usage in one sentence.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

# refuses PATTERN ARGUMENT...: exit code 2 and one line on stderr that matches PATTERN.
refuses() { refused 2 "$1" gnnbench "${@:2}"; }

# prints PATTERN ARGUMENT...: it ends well, and a line of its output matches PATTERN.
prints() {
  works gnnbench "${@:2}"
  says "$1"
}

# below LIMIT FIELD: every line of out.txt has that number, and it is below LIMIT.
below() {
  (($(grep -c "\"$2\"" out.txt) == $(wc -l <out.txt))) || fail "a line without $2"
  sed "s/.*\"$2\": \([^,}]*\).*/\1/" out.txt | awk -v limit="$1" '!($1 + 0 < limit) { bad = 1 } END { exit bad }' ||
    fail "$2 is not below $1"
}

exact() { ! grep -v '"error": 0[,}]' out.txt || fail "rows arrived that were not sent"; }

# measured COMMAND...: every line of the output has times in order and above 0, within the seconds that the command took, and
# rates that are its work by its time: below 20,000 GB/s, which no memory has.
measured() {
  local began=$EPOCHREALTIME
  works "$@"
  awk -v began="$began" -v ended="$EPOCHREALTIME" '
    function number(name) { return match($0, "\"" name "\": [^,}]*") ? substr($0, RSTART + length(name) + 4) + 0 : -1 }
    function near(a, b) { return a - b <= .01 * b && b - a <= .01 * b }
    number("ms") >= 0 {
      lines++
      good += number("ms_min") > 0 && number("ms_min") <= number("ms") && number("ms") <= number("ms_max") &&
        number("ms") < 1000 * (ended - began) && number("gbytes_per_s") < 20000 &&
        near(number("gbytes_per_s") * number("ms") * 1e6, number("bytes")) &&
        (number("peer_ms") <= 0 || near(number("peer_ratio") * number("ms"), number("peer_ms"))) }
    END { exit !lines || good < lines }' out.txt || fail "times or rates that do not go together: $*"
}

for command in spmm gemm; do
  for precision in fp32 fp64; do
    option=$([[ $command == spmm ]] && echo --degree || echo --inner)
    measured gnnbench $command --nodes 2000 $option 20 --width 3,64 --reps 3 --threads 2 --precision $precision --json
    (($(wc -l <out.txt) == $([[ $command == spmm ]] && echo 2 || echo 6))) || fail "lines of $command"
    below "$([[ $precision == fp32 ]] && echo 1e-5 || echo 1e-13)" error
  done
done
gnnbench spmm --nodes 2000 --degree 20 --width 3 --reps 1 --precision fp64 --json >bare.txt
gnnbench spmm --nodes 2000 --degree 20 --width 3,64 --reps 1 --precision fp64 --scaled --json >out.txt
(($(grep -c scaled out.txt) == 2)) || fail "no scaled rows"
nnz() { grep -o 'nnz [0-9]* width 3\b' "$1" | cut -d' ' -f2; }
loops=$(($(nnz out.txt) - $(nnz bare.txt))) # of nodes that had none: about one arc in 2000 is a loop
((loops > 1900 && loops < 2000)) || fail "$loops self loops came to the scaled product"
below 1e-13 error
for precision in fp32 fp64; do
  gnnbench update --nodes 3000 --width 41,300 --reps 2 --threads 2 --precision $precision --json >out.txt
  (($(wc -l <out.txt) == 18)) || fail "lines of update"
  below "$([[ $precision == fp32 ]] && echo 1e-5 || echo 1e-13)" error
  for op in 'update", "shape": "3000x41 bias relu dropout' 'backward", "shape": "3000x300 relu sums' \
    'gather", "shape": "1500x41 ' 'loss", "shape": "3000x41 '; do
    grep -q "\"op\": \"$op" out.txt || fail "no row for $op"
  done
done
for precision in fp32 fp64; do
  gnnbench reduce --nodes 3000 --degree 9 --width 5,64 --reps 2 --threads 2 --precision $precision --json >out.txt
  (($(wc -l <out.txt) == 10)) || fail "lines of reduce"
  below "$([[ $precision == fp32 ]] && echo 1e-5 || echo 1e-13)" error
  for op in SUM MEAN MAX MIN gradient; do grep -q "\"op\": \"$op\"" out.txt || fail "no row for $op"; done
done
for precision in fp32 fp64; do
  gnnbench attention --nodes 2000 --width 24,41 --heads 1 --reps 2 --threads 2 --precision $precision --json >out.txt
  (($(wc -l <out.txt) == 14)) || fail "lines of attention"
  grep -E '"op": "(attention|backward|cosine|gradient)"' out.txt >errors.txt && mv errors.txt out.txt
  (($(wc -l <out.txt) == 8)) || fail "no row for cosine or gradient"
  below "$([[ $precision == fp32 ]] && echo 1e-5 || echo 1e-13)" error
  gnnbench sddmm --nodes 2000 --degree 9 --width 1,41,128 --reps 2 --threads 2 --precision $precision --json >out.txt
  (($(grep -c '"op": "sddmm"' out.txt) == 3)) || fail "lines of sddmm"
  below "$([[ $precision == fp32 ]] && echo 1e-5 || echo 1e-13)" error
done
for precision in fp32 fp64; do
  gnnbench hyper --nodes 2000 --hyperedges 700 --incidences 5000 --huge 900 --width 5,64 --scaled --reps 2 --threads 2 \
    --precision $precision --json >out.txt
  for form in auto split; do
    (($(grep -c "\"op\": \"$form\", \"shape\": \"2000+701 nnz" out.txt) == 2)) || fail "rows of hyper, $form"
  done
  grep -q '"op": "cut", "shape": "2000+701 nnz .* blocks".*"first_reads": 0' out.txt || fail "nothing on cutting"
  grep '"error"' out.txt >errors.txt && mv errors.txt out.txt
  (($(wc -l <out.txt) == 4)) || fail "forms of hyper: $(cat out.txt)"
  below "$([[ $precision == fp32 ]] && echo 1e-5 || echo 1e-13)" error
done
prints 'scratch 0.0 MiB' hyper --nodes 200 --hyperedges 70 --incidences 500 --width 8 --reps 1
refuses '--graph goes with --all or --ablate' spmm --graph arxiv-like --device cpu
refuses '--threshold goes with --layout vectors' spmm --threshold 2 --layout windows --device cpu
for option in 'spmm --nodes' 'attention --degree' 'hyper --hyperedges' 'hyper --incidences' 'exchange --rows'; do
  refuses "${option#* } would be passed over beside --dataset; one of them is allowed" $option 9 --dataset made.h5
done
refuses '--nodes would be passed over beside --all; one of them is allowed' spmm --all --nodes 9
refuses '--scaled would be passed over beside --ablate' spmm --ablate --scaled
refuses '--method goes with --dataset' exchange --method block
refuses '--all and --ablate exclude each other' spmm --all --ablate --device cpu
refuses '--huge 300: there are 200 vertices' hyper --nodes 200 --hyperedges 70 --incidences 500 --huge 300
refuses 'does not divide into --heads 3' attention --nodes 200 --width 8 --heads 3
refuses '"windows" is none of auto, gather, tiles' attention --nodes 200 --layout windows
prints '500x500 nnz 10000 width 8' spmm --nodes 500 --width 8 --reps 1

gnndata synth made.h5 --nodes 1000 --degree 8 --features 4 --classes 3 >/dev/null
gnnbench spmm --dataset made.h5 --width 16 --reps 1 --json >out.txt
says '"shape": "1000x1000 nnz'
below 1e-5 error
gnndata synth hyper.h5 --nodes 900 --hyperedges 300 --degree 3 --features 4 --classes 3 >/dev/null
gnnbench hyper --dataset hyper.h5 --width 16 --reps 1 --json >out.txt
grep -q '"shape": "900+300 nnz' out.txt || fail "the dataset's hypergraph was not used"
grep '"error"' out.txt >errors.txt && mv errors.txt out.txt
below 1e-5 error
refuses 'made.h5: no /hypergraph' hyper --dataset made.h5

# Tables of tiers and of techniques: a line a width, a line a technique.
gnnbench spmm --all --graph made.h5 --width 16,40 --reps 1 --threads 2 --json >out.txt
says '^{"op": "spmm choice", "precision": "fp32", "cases": 2, "within_3": 2, "above_10": 0, "above_most": 0, '
sed -i '/spmm choice/d' out.txt
(($(wc -l <out.txt) == 2)) || fail "lines of --all"
below 1e-5 error
# The processor has one tier: each column shows its time, and nothing lies in another.
(($(grep -cE '"gather_ms": ([0-9.e-]+), "tiles_ms": \1, "windows_ms": \1, "selector_ms": \1, "auto_ms": \1, .*"in_tiles": 0, "in_windows": 0,' out.txt) == 2)) ||
  fail "a choice of tiers on a device that has one"
prints '^fp32: auto above the fastest tier by 0\.0% at most, above the gather by 0\.0%;' spmm --all --graph made.h5 --reps 1 --threads 2
gnnbench spmm --ablate --graph made.h5 --width 16 --reps 1 --threads 2 --json >out.txt
for technique in tiles condensed sorted 'order as given' 'order found' fused csr 'csr, CRC, CWM 4' 'vectors 1' 'vectors 8'; do
  grep -q "\"technique\": \"[^\"]*$technique" out.txt || fail "no row for $technique"
done

# above LIMIT FIELD PATTERN: the lines that match PATTERN, at least one, have that number above LIMIT.
above() {
  grep "$3" out.txt >lines.txt || fail "no line with $3"
  sed -n "s/.*\"$2\": \([^,}]*\).*/\1/p" lines.txt >numbers.txt
  awk -v limit="$1" '!($1 + 0 > limit) { bad = 1 } END { exit bad }' numbers.txt &&
    (($(wc -l <numbers.txt) == $(wc -l <lines.txt))) || { cat lines.txt; fail "$2 is not above $1"; }
}

# Rows of 41 fp32 numbers are sent as 48: 500 x 48 x 4 bytes; fp64 as 44 of 8 bytes.
measured on_ranks 2 gnnbench exchange --rows 500 --width 41,64 --reps 3 --threads 1 --json
(($(wc -l <out.txt) == 4)) || fail "lines of exchange"
[[ $(sed 's/.*"bytes": \([0-9]*\).*/\1/' out.txt | xargs) == "96000 128000 176000 256000" ]] || fail "bytes of exchange"
exact
above 0 peer_ms exchange
on_ranks 2 gnnbench exchange --dataset made.h5 --method block --width 8 --reps 2 --threads 1 --precision fp64 --json >out.txt
(($(wc -l <out.txt) == 1)) || fail "lines of exchange with one precision"
exact

settings made.toml dataset.path=made.h5 runtime.threads=1
measured on_ranks 2 gnnbench epoch made.toml --set model.hidden=8 --reps 4 --json
for part in epoch pack exchange wait 'own part' 'halo part' gemm update loss reduce optimiser; do
  grep -q "\"op\": \"$part\", \"shape\": \"made gcn 2x8" out.txt || fail "no row for $part"
done
above 0 bytes '"op": "exchange"'
above 0 gflops '"op": "gemm"'
# What is hidden is what the exchange does not make others wait for: told by sums over epochs, seen here by their
# medians, which an epoch that was held up parts from each other. Then it is measured again.
hides() {
  local pass hidden
  for pass in profiled alone; do
    ms() { sed -n "s/.*\"op\": \"$1\", .*$pass\".*\"ms\": \([^,]*\).*/\1/p" out.txt; }
    hidden=$(sed -n "s/.*\"op\": \"exchange\", .*$pass\".*\"hidden\": \([^,}]*\).*/\1/p" out.txt)
    (holds "(x = $hidden - (1 - $(ms wait) / $(ms exchange))) < .3 && x > -.3" "hidden, $pass") >said.txt || return 1
  done
}
for tries in 1 2 3 4 5; do
  ! hides || break
  ((tries < 5)) || fail "what is hidden is not what nobody waits for: $(tail -n 1 said.txt)"
  measured on_ranks 2 gnnbench epoch made.toml --set model.hidden=8 --reps 4 --json
done
epoch_ms=$(sed -n 's/.*"op": "epoch".*"ms": \([^,]*\).*/\1/p' out.txt)
says "\"op\": \"bound\".*\"peer\": \"epoch\", \"peer_ms\": $epoch_ms,"
[[ ! -e runs ]] || fail "gnnbench epoch left a run behind"
gnnbench epoch made.toml --reps 2 --json >out.txt
lacks '"op": "exchange"'
above 0 ms '"op": "bound"'

prints '^usage: gnnbench' --help
prints --inner gemm --help
prints --incidences hyper --help
prints '4200 GB/s' update --help
prints '330 GB/s' exchange --help
refuses 'unknown command "spnn"; allowed: spmm, calibrate, gemm, update, reduce, attention, sddmm, hyper, exchange, epoch' spnn
refuses '--nodes is "-3"; allowed: a whole number from 1' spmm --nodes -3
refuses '--width is "x"; allowed: a whole number' spmm --width 8,x
refuses '--precision: "fp8" is none of fp32, ' gemm --precision fp8
refuses 'unknown option "--wide"' spmm --wide
refuses 'unknown option "--inner"' spmm --inner 3
refuses 'device "abacus" is not in this build' spmm --device abacus
refuses 'none.h5: cannot be read: No such file' spmm --dataset none.h5
refuses 'constants are those of GPUs' calibrate --device cpu --out -
refuses 'none.h5: cannot be read: No such file' spmm --all --graph none.h5
refuses '--graph: no graph given' spmm --all --graph ,
refuses 'needs two ranks or more: mpirun -n 2' exchange
refuses 'which configuration' epoch
refuses 'none.toml: cannot open the configuration: No such file' epoch none.toml
refuses 'unknown key model.layer; the nearest allowed one is model.layers' epoch made.toml --set model.layer=3
