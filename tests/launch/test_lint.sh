# test_lint.sh format|tidy|scripts: launch/lint finds nothing in the tree, and sees what is planted.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
run "$GNNTRAIN_SOURCE/launch/lint" "$1"
((code != 77)) || skip "$(tail -n 1 err.txt)"
((code == 0)) || fail "launch/lint $1 ended with $code"

mkdir -p tree/launch tree/build
cp "$GNNTRAIN_SOURCE"/.clang-format "$GNNTRAIN_SOURCE"/.clang-tidy "$GNNTRAIN_SOURCE"/.shellcheckrc tree
cp "$GNNTRAIN_SOURCE/launch/lint" tree/launch
cd tree
git init -q
case $1 in
format) echo 'int   planted( void ) ;' >planted.c ;;
tidy)
  echo 'int planted(int a) { return a == 1 || a == 1; }' >planted.c
  printf '%s\n' '[{' "\"directory\": \"$PWD\"," '"command": "cc -c planted.c",' "\"file\": \"$PWD/planted.c\"" '}]' >build/compile_commands.json
  export GNNTRAIN_BIN=build
  ;;
scripts) printf '%s\n' '#!/usr/bin/env bash' 'rm -rf "$1"/lib' >planted.sh ;;
*) fail "no part $1" ;;
esac
ends 1 launch/lint "$1"
says 'planted\.' <(cat out.txt err.txt)
