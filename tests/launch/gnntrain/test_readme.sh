# The pages name what there is: every setting and option of --help, every format of gnndata import; links lead somewhere; the
# README stays short. The Python script of docs/data.md, where Python with h5py and scipy is there, writes a dataset that
# gnndata check takes.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
docs=$GNNTRAIN_SOURCE/docs
gnntrain --help >help.txt

lines=$(wc -l <"$GNNTRAIN_SOURCE/README.md")
((lines <= 150)) || fail "the README has $lines lines; at most 150 are allowed"

# Nobody reads a sentence twice; the check sees a long one.
if command -v python3 >/dev/null; then
  pages=("$GNNTRAIN_SOURCE"/{README,docs/*,docs/decisions/{README,*/*},docs/results/*}.md)
  works python3 "$GNNTRAIN_SOURCE/tests/launch/check_sentences.py" "${pages[@]}"
  [[ ! -s out.txt ]] || fail "sentences of more than 35 words: $(head -n 5 out.txt)"
  { echo '- Short. ' && printf 'word %.0s' {1..36} && echo '[end](page.md).'; } >long.md
  works python3 "$GNNTRAIN_SOURCE/tests/launch/check_sentences.py" long.md
  says '^long.md: 37 words: word '
fi
for option in $(grep -oE '^  --[a-z-]+' help.txt); do
  grep -qe "$option" "$docs/running.md" "$docs/performance.md" || fail "docs/running.md lacks $option"
done
for format in $(gnndata import --help | sed -nE '/^Formats/,/^$/s/^  ([a-z]+) .*/\1/p'); do
  grep -qE "gnndata import $format " "$docs/data.md" || fail "docs/data.md lacks a line that imports $format"
done

if command -v python3 >/dev/null; then
  program=(--program "$GNNTRAIN_BIN/gnntrain")
  python3 "$GNNTRAIN_SOURCE/launch/docs" --check "${program[@]}" || fail "launch/docs finds something"
  # It sees a setting and a link that are not there.
  mkdir -p house/docs/results house/launch house/configs
  cp "$GNNTRAIN_SOURCE/launch/docs" house/launch/
  sed 's/| `hidden` |/| `hiden` |/' "$docs/configuration.md" >house/docs/configuration.md
  printf '# A page\n## A heading\n[one](page.md#a-heading) [two](page.md#other) [three](nowhere.md)\n' >house/docs/page.md
  ends 1 python3 house/launch/docs --check "${program[@]}"
  for fault in 'configuration.md differs' 'page.md: no heading page.md#other' 'page.md: no page nowhere.md'; do
    grep -qF -- "$fault" err.txt || fail "not seen: $fault: $(cat err.txt)"
  done
  lacks 'a-heading' err.txt
fi

find_python h5py scipy.sparse || exit 0
sed -n '/^```python$/,/^```$/p' "$docs/data.md" | sed '1d;$d' | "$python" - || fail "the script of docs/data.md does not run"
works gnndata check data/mine.h5
