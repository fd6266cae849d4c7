# What the functions of tests/lib.sh have to notice they notice, and what is right passes.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

# notices COMMAND...: ends the test that it stands in, as failed.
notices() {
  local ended=0
  ("$@") >said.txt 2>&1 || ended=$?
  ((ended == 1)) && grep -q '^FAILED: ' said.txt || fail "not noticed: $*"
}
# ends_with CODE SENTENCE...: a program that says them on stderr.
ends_with() {
  (($# < 2)) || printf '%s\n' "${@:2}" >&2
  return "$1"
}

ends 3 ends_with 3
notices ends 3 ends_with 2
works ends_with 0
notices works ends_with 77
refused 2 'file.h5: is a (folder|pipe)' ends_with 2 'gnndata: file.h5: is a folder'
refused 2 'rows (3, 1)' ends_with 2 'gnndata: rows (3, 1) are expected' # no regular expression: the text itself
refused 1 'no room' ends_with 1 'gnntrain: no room' '  at io/h5.c:12 in h5_open'
notices refused 2 'no room' ends_with 1 'gnntrain: no room'
notices refused 2 'no room' ends_with 2 'gnntrain: no time'
notices refused 2 'no room' ends_with 2 'no room'
notices refused 2 'no room' ends_with 2 'gnntrain: no room' 'gnntrain: no room'
notices refused 2 'no room' ends_with 2 'gnntrain: no room' 'and more'

echo 'epoch 3: 12 ms' >out.txt
says '^epoch [0-9]+: '
lacks '^epoch 4'
notices says '^epoch 4'
notices lacks '^epoch 3'
notices says epoch absent.txt
holds '0.5 < 1'
notices holds '2 < 1'
notices holds 'x y z('

wait_until 5 test -s out.txt
if wait_until 0 test -e absent.txt; then fail "wait_until has seen a file that is not there"; fi

settings some.toml model.type=gcn model.hidden=8 train.lr=1e-3 log.overwrite=true log.dir=8x dataset.path="a b.h5"
diff some.toml - <<'END'
model.type = "gcn"
model.hidden = 8
train.lr = 1e-3
log.overwrite = true
log.dir = "8x"
dataset.path = "a b.h5"
END

break_dataset sound sound.h5
settings run.toml dataset.path=sound.h5 model.hidden=4 train.epochs=3 runtime.threads=1 log.dir=run log.overwrite=true
must_run 2 run.toml
[[ $(losses run | cut -d ' ' -f 1 | xargs) == "1 2 3" && $(final run epochs) == 3 ]] || fail "losses and final: $(losses run)"
lacks '"ms"|"seconds"|"time"' <(untimed run)
says '"val_loss": [0-9.]+, .*"lr": 0.01' <(untimed run)
must_refuse 2 'unknown key model.layer' 2 run.toml --set model.layer=3
notices must_run 1 run.toml --set model.layer=3
notices must_refuse 2 'unknown key' 1 run.toml
start 2 run/metrics.jsonl run.toml --epochs 1000000000
[[ $(processes | wc -l) == 2 && $(processes 1 | wc -l) == 1 ]] || fail "of 2 ranks these are seen: $(processes)"
notices ends_within 0
start 2 run/metrics.jsonl run.toml --epochs 1000000000
kill -TERM "$(processes 0)"
ends_within 20 75
none_left || fail "a job that has ended is still there"
