# gnndata synth: equal files on any number of threads, every option in --help, one sentence for each bad option.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
shape=(--nodes 3000 --degree 8 --features 5 --classes 4)

mkdir -p one four
OMP_NUM_THREADS=1 gnndata synth one/a.h5 "${shape[@]}" --shuffle --community-power 2 >said
sleep 1.1 # a time stamp in the file would show
OMP_NUM_THREADS=4 gnndata synth --community-power=2 --shuffle "${shape[@]}" four/a.h5 >/dev/null
cmp one/a.h5 four/a.h5
gnndata check one/a.h5 >/dev/null
says '3000 nodes, 2[34][0-9]* arcs .*5 features, 4 classes' said
OMP_NUM_THREADS=4 gnndata synth four/a.h5 "${shape[@]}" --shuffle --community-power 2 --seed 2 >/dev/null
! cmp -s one/a.h5 four/a.h5 || fail "seed 2 makes the same file"

gnndata synth --help >help
for option in nodes degree features classes community-size community-power inside power hyperedges size-power rmat shuffle signal \
  label-noise train val seed; do
  grep -q -- "^  --$option .*\(default: \|required\)" help || fail "--help lacks --$option"
done

# refuses MESSAGE ARGUMENT...: exit code 2, that sentence alone, and no file
refuses() {
  refused 2 "$1" gnndata synth "${@:2}"
  [[ ! -e bad.h5 ]] || fail "synth $*: left a file"
}
# A hypergraph: equal on any number of threads, the mean that was asked for, no graph beside it.
OMP_NUM_THREADS=1 gnndata synth one/h.h5 "${shape[@]}" --hyperedges 2000 --shuffle >said
OMP_NUM_THREADS=4 gnndata synth four/h.h5 "${shape[@]}" --hyperedges 2000 --shuffle >/dev/null
cmp one/h.h5 four/h.h5
says '3000 vertices \(mean degree [78]\.[0-9]*\), 2000 hyperedges \(mean size 1[12]\.[0-9]*\)' said
gnndata synth few.h5 --nodes 500 --degree 20 --hyperedges 20 --features 3 --classes 2 >out 2>said
says 'hyperedges have 231 vertices on average, not 500: communities have no more for them' said
gnndata check one/h.h5 >said
says '0 arcs, 2000 hyperedges' said
gnndata info one/h.h5 >said
says 'hyperedges   2000, ' said

# The folder of the output is made; what takes no file is bad usage.
gnndata synth new/folder/a.h5 "${shape[@]}" >said
gnndata check new/folder/a.h5 >said
refuses 'new: is a folder; a file is expected' new "${shape[@]}"
mkfifo new/pipe
refuses 'new/pipe: is a device or pipe; a file is expected' new/pipe "${shape[@]}"
refuses 'said/a.h5: cannot be written: said is not a folder' said/a.h5 "${shape[@]}"
refuses '--seed is "9007199254740993"; allowed: a whole number from 0 to 9007199254740992' bad.h5 "${shape[@]}" \
  --seed 9007199254740993
refuses '--classes is "1000001"' bad.h5 --nodes 3000 --degree 8 --features 5 --classes 1000001

refused 1 'out of memory: 2147483647 nodes of mean degree 1e\+06 take more than [0-9.]* TiB' \
  gnndata synth bad.h5 --nodes 2147483647 --degree 1000000 --features 1 --classes 2
echo thesis >notes.txt
refuses 'notes.txt: is there and is no dataset' notes.txt "${shape[@]}"
[[ $(<notes.txt) == thesis ]] || fail "notes.txt was replaced"
refuses '--nodes N is missing' bad.h5 --degree 8 --features 5 --classes 4
refuses 'no output file' "${shape[@]}"
refuses 'two output files, bad.h5 and worse.h5' bad.h5 worse.h5 "${shape[@]}"
refuses 'unknown option "--colour"' bad.h5 "${shape[@]}" --colour red
refuses '--size-power goes with --hyperedges' bad.h5 "${shape[@]}" --size-power .5
refuses '--inside does not go with --rmat' bad.h5 "${shape[@]}" --rmat --inside .5
refuses '--power does not go with --rmat' bad.h5 "${shape[@]}" --power=.5 --rmat
refuses '--seed needs a value' bad.h5 "${shape[@]}" --seed
refuses 'rmat draws edges' bad.h5 "${shape[@]}" --rmat --hyperedges 10
refuses '3 hyperedges of 8000 vertices each on average; allowed: from 1' bad.h5 "${shape[@]}" --hyperedges 3
refuses '--rmat takes no value' bad.h5 "${shape[@]}" --rmat=1
refuses '--degree is "8x"; allowed: a number from 0.001' bad.h5 "${shape[@]}" --degree 8x
refuses '--nodes is "1"; allowed: a whole number from 2' bad.h5 "${shape[@]}" --nodes 1
refuses '--inside is "nan"' bad.h5 "${shape[@]}" --inside nan
refuses '--seed is "99999999999999999999"' bad.h5 "${shape[@]}" --seed 99999999999999999999
refuses '2 communities cannot carry 4 classes' bad.h5 "${shape[@]}" --community-size 1500
refuses 'train and val are 0.6 and 0.5' bad.h5 "${shape[@]}" --train 0.6 --val 0.5
refuses 'train, val and test are 0.5, 0.1 and 0.6' bad.h5 "${shape[@]}" --train 0.5 --test 0.6
refuses 'a mean degree of 2900 is more than' bad.h5 "${shape[@]}" --degree 2900
