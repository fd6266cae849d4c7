# The commands of README.md, docs/running.md and docs/performance.md run as they are printed, in a folder that looks like the
# clone after launch/quickstart; its datasets are small ones of the same names. Left out are those with tests of their own, of
# Slurm, of graphs that are too large for this, and of folders that only their reader has.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
command -v python3 >/dev/null || skip "python3 is not there"
own='launch/(quickstart|test|package)|pip install|sbatch|--slurm|--hostfile|products_like|reddit|~/'

mkdir clone && cd clone
ln -s "$GNNTRAIN_BIN" build
ln -s "$GNNTRAIN_SOURCE/launch" "$GNNTRAIN_SOURCE/configs" .
synth() { works gnndata synth "data/$1.h5" --nodes "$2" --degree 8 --features "$3" --classes "$4" --community-size 50 --inside 0.8; }
synth demo 2000 64 8
synth more 2100 64 8
synth cora 400 24 7
awk 'BEGIN {
  print "id,topic,x,y"
  for (i = 0; i < 90; i++) printf "n%d,%s,%.3f,%d\n", i, i < 45 ? "graphs" : "sums", i % 7 / 7, i % 3
}' >nodes.csv
awk 'BEGIN { print "from,to"; for (i = 0; i < 400; i++) { n = i % 2 * 45; print "n" n + i * 7 % 45 ",n" n + i * 11 % 45 } }' >edges.csv
for model in gcn gat; do
  works gnntrain configs/demo.toml --set model.type=$model --set train.epochs=5 --set log.dir=runs/$model
done
works gnntrain configs/demo.toml # as launch/quickstart does
cp out.txt demo.log

# Prints the lines of blocks of code that are commands, comments left out.
commands() {
  awk '/^```/ { on = !on; next } on' "$@" |
    sed -nE 's/^\$ //; /^(build\/|launch\/|gnntrain |gnndata |mpirun |printf )/{ s/ +#.*//; p; }' | grep -vE "^gnntrain [0-9]"
}

run=0
while read -r line; do
  [[ ! $line =~ $own ]] || continue
  # Each line that begins a run is for a reader who has not begun one; one that looks ahead leaves those that are there.
  aside=
  if [[ ! $line =~ --(resume|eval|predict|plan) && $line =~ gnntrain\ (configs/)?([a-z]+)\.toml ]]; then
    folder=runs/${BASH_REMATCH[2]}
    rm -rf aside
    [[ ! -d $folder ]] || mv "$folder" aside
    [[ ! $line =~ --(check|dry-run) || ! -d aside ]] || aside=$folder
  fi
  works bash -c "$line" <&-
  [[ ! $aside ]] || mv aside "$aside"
  run=$((run + 1))
done < <(commands "$GNNTRAIN_SOURCE"/{README,docs/running,docs/performance}.md)
((run >= 30)) || fail "$run commands were found"
for file in runs/cora/report.html compared.html epochs.csv predictions.h5 more.csv weights.safetensors predictions.csv \
  runs/compare-cora/compare.html runs/sweep-cora/sweep.html data/mine.h5.parts; do
  [[ -s $file ]] || fail "no command has written $file"
done
[[ $(head -1 predictions.csv) == id,prediction,class,logit_0,logit_1 && $(wc -l <predictions.csv) == 91 ]] || fail "predictions.csv: $(head -1 predictions.csv)"
[[ $(wc -l <more.csv) == 2101 ]] || fail "more.csv has $(wc -l <more.csv) lines"
echo "$run commands"
