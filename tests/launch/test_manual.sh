# Where help2man is installed each program has a page of man, and each command of gnndata and gnnbench.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
help2man=$(command -v help2man) || skip "help2man is not installed"

works "$GNNTRAIN_SOURCE/launch/manual" "$GNNTRAIN_BIN" "$PWD/made" "$help2man"
for page in gnntrain gnndata gnndata-import gnndata-synth gnnbench gnnbench-spmm; do
  says "^$page .*- ." "made/man1/$page.1"
  says '^\.SH SYNOPSIS' "made/man1/$page.1"
done
for option in $(gnntrain --help | sed -nE 's/^  --([a-z-]+).*/\1/p'); do
  says "${option//-/.*-}" made/man1/gnntrain.1
done
says '^train\.lr$' made/man1/gnntrain.1
