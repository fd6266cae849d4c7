# The README names every setting and every option that --help names, and no other; its Python script, where Python
# with h5py and scipy is there, writes a dataset that gnndata check takes.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
readme=$GNNTRAIN_SOURCE/README.md
gnntrain --help >help.txt

sed -nE 's/^  ([a-z]+\.[a-z_]+) .*/\1/p' help.txt | sort >helped.txt
sed -nE 's/^\| `\[([a-z]+)\]` \| (.*) \|$/\1 \2/p' "$readme" | while read -r section keys; do
  grep -oE '`[a-z_]+`' <<<"$keys" | tr -d '`' | sed "s/^/$section./"
done | sort >written.txt
(($(wc -l <helped.txt) > 20)) || fail "--help lists hardly any setting"
diff helped.txt written.txt || fail "the README's settings are not those of --help"

for option in $(grep -oE '^  --[a-z-]+' help.txt); do
  grep -q -- "$option" "$readme" || fail "the README lacks $option"
done
for format in $(gnndata import --help | sed -nE '/^Formats/,/^$/s/^  ([a-z]+) .*/\1/p'); do
  grep -qE "gnndata import $format " "$readme" || fail "the README lacks a line that imports $format"
done

find_python h5py scipy.sparse || exit 0
sed -n '/^```python$/,/^```$/p' "$readme" | sed '1d;$d' | "$python" - || fail "the README's script does not run"
works gnndata check data/mine.h5
