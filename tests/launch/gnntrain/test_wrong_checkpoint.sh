# A checkpoint that is sound HDF5 and says what no training ever stood at: one sentence that names file, object, value and
# what is allowed, exit code 2, and the run's folder as it was, byte for byte; on one rank and on two.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

# Everything in a folder but the lock, which names the process that looked last.
stand() { (cd "$1" && find . ! -name lock -printf '%y %p\n' | sort && find . -type f ! -name lock -print0 | sort -z | xargs -0 sha256sum); }

# same FOLDER: it is what whole is, but for the checkpoint that was broken.
same() {
  diff <(stand sick) <(stand before) >diff.txt || { cat diff.txt; fail "$1: the run's folder was changed"; }
}

# breaks CHECKPOINT OBJECT VALUE: into a copy of the sound run.
breaks() {
  rm -rf sick before
  cp -r sound sick
  break_checkpoint "sick/$1" "$2" "$3"
  cp -r sick before
}

break_dataset sound ring.h5
settings run.toml dataset.path=ring.h5 model.hidden=8 model.norm=batch train.epochs=6 train.runs=3 checkpoint.every=2 \
  checkpoint.keep=100 runtime.threads=1
go=(run.toml --set log.dir=sick)
must_run 1 run.toml --set log.dir=sound
newest=checkpoints/epoch-2-6.h5
for object in '' 'features_hash' 'labels_hash' 'splits_hash' 'seconds' 'weights'; do # of older programs
  if [[ -z $object ]]; then
    cp -r sound sick
  else
    break_checkpoint sick/$newest "$object" ''
  fi
  must_run 1 "${go[@]}" --resume
done

# What is wrong, and what the sentence must say beside the file's name. On two ranks every third.
count=0
while read -r object value pattern; do
  breaks $newest "$object" "$value"
  for ranks in 1 2; do
    ((ranks == 1 || count % 3 == 0)) || continue
    must_refuse 2 "epoch-2-6\.h5: .*$pattern" $ranks "${go[@]}" --resume
    same "$object = $value"
  done
  count=$((count + 1))
done <<'END_OF_FILE'
epoch -1 "epoch" is -1; 0 to 1000000000 is allowed
epoch -2 "epoch" is -2;
epoch -9223372036854775808 "epoch" is -9223372036854775808;
epoch 9223372036854775807 "epoch" is 9223372036854775807;
epoch 1000000001 "epoch" is 1000000001;
epoch 5 "step" is 6; 5 is allowed
run -1 "run" is -1; 0 to 9999 is allowed
run 9223372036854775807 "run" is 9223372036854775807;
run 3 "run" is 3; 0 to 2 is allowed
run 1 /runs/val: has 1 dimensions, 2 x 0
step -1 "step" is -1;
step 7 "step" is 7; 6 is allowed
step 9223372036854775807 "step" is 9223372036854775807;
best_epoch -1 "best_epoch" is -1;
best_epoch 7 "best_epoch" is 7; 0 to 6 is allowed
best_epoch 0 "best_(val|loss)" is .*, but best_epoch is 0
best_val 1.5 "best_val" is 1\.5; 0 to 1, or NaN
best_val inf "best_val" is inf;
best_loss -1 "best_loss" is -1;
best_loss nan "best_loss" is NaN, but best_epoch is [1-6]
best_loss inf "best_loss" is inf;
best_test -0.5 "best_test" is -0\.5;
seconds -1 "seconds" is -1; a finite number >= 0
seconds nan "seconds" is nan;
weights newest "weights" is neither "latest" nor "best"
parameters/layer0.weight:9 nan /parameters/layer0.weight: row 1, column 1 is nan; a finite number
parameters/layer0.weight:9 1e39 /parameters/layer0.weight: row 1, column 1 is 1e\+39; 3\.40282e\+38 is the largest
best/parameters/layer1.weight:0 -inf /best/parameters/layer1.weight: row 0, column 0 is -inf;
moments/first/layer0.weight:0 inf /moments/first/layer0.weight: row 0, column 0 is inf;
moments/second/layer0.weight:0 -1e-9 /moments/second/layer0.weight: row 0, column 0 is -1e-09; a finite number >= 0
moments/second/layer0.weight:0 nan /moments/second/layer0.weight: row 0, column 0 is nan;
statistics/layer0:0 nan /statistics/layer0: row 0, column 0 is nan; a finite number
statistics/layer0:8 -0.1 /statistics/layer0: row 1, column 0 is -0\.1; a variance
best/statistics/layer0:15 inf /best/statistics/layer0: row 1, column 7 is inf; a finite number
runs/val:0 2 /runs/val: row 0, column 0 is 2; 0 to 1, or NaN
runs/test:1 -inf /runs/test: row 1, column 0 is -inf;
END_OF_FILE

# The same where weights are only looked at, and nothing is written.
breaks $newest parameters/layer0.weight:9 nan
for ranks in 1 2; do
  must_refuse 2 "epoch-2-6\.h5: /parameters/layer0\.weight: row 1, column 1 is nan" $ranks "${go[@]}" --eval sick/$newest
  must_refuse 2 "epoch-2-6\.h5: /parameters/layer0\.weight: row 1, column 1 is nan" $ranks "${go[@]}" --predict sick/$newest --out out.h5
done
[[ ! -e out.h5 ]] || fail "predictions of weights that are not finite were written"
breaks best.h5 best_epoch 0
must_refuse 2 'best\.h5: .*best_epoch is 0' 1 "${go[@]}" --eval sick/best.h5

# Double precision has the larger range.
breaks $newest best/parameters/layer0.weight:9 1e39
must_refuse 2 '1e\+39; 3\.40282e\+38 is the largest with this runtime\.precision' 1 "${go[@]}" --eval sick/$newest
must_run 1 "${go[@]}" --eval sick/$newest --set runtime.precision=fp64

# A configuration in the checkpoint that none can have.
for text in '[train]
epochs = -1' '[train]
epochs = 9223372036854775807' '[train' "$(printf 'x%.0s' {1..20000})"; do
  breaks $newest config "$text"
  must_refuse 2 'epoch-2-6\.h5' 1 "${go[@]}" --resume
  same "config = ${text:0:40}"
done

# A file that no training named is none of the run's.
breaks $newest epoch 6
cp sick/$newest sick/checkpoints/epoch--1-9.h5
cp sick/$newest sick/checkpoints/epoch-99999999999999999999-1.h5
must_run 1 "${go[@]}" --resume
[[ -e sick/checkpoints/epoch--1-9.h5 ]] || fail "a file that is no checkpoint's was removed"
cp -r sound/. sick
cp sick/$newest sick/checkpoints/epoch-2-9223372036854775807.h5
rm -rf before
cp -r sick before
must_refuse 2 'epoch-2-9223372036854775807\.h5: says that it stands in run 2 after epoch 6' 2 "${go[@]}" --resume
same "a checkpoint of another epoch's name"

# A best.h5 of no run is written again.
breaks best.h5 run -1
must_run 1 "${go[@]}" --resume
grep -q 'best\.h5 is not kept: .*"run" is -1' out.txt || fail "a wrong best.h5 was kept in silence"
must_run 1 "${go[@]}" --eval sick/best.h5

# A run that goes on from a late epoch needs no room for those before it. (The sanitizers' own room has no limit.)
must_run 1 run.toml --set log.dir=late --set train.runs=1
mv late/checkpoints/epoch-0-6.h5 late/checkpoints/epoch-0-999999990.h5
for object in epoch step; do
  break_checkpoint late/checkpoints/epoch-0-999999990.h5 $object 999999990
done
sanitized || ulimit -v 8000000
must_run 1 run.toml --set log.dir=late --set train.runs=1 --resume --epochs 1000000000
tail -n 1 late/metrics.jsonl | grep '"epochs": 1000000000' >line.txt || { cat late/metrics.jsonl; fail "the run did not end at its billionth epoch"; }
