# gnndata import table of Parquet files: the dataset of the same tables as text, to the byte, and of an edge list; what is
# damaged, and a program without a reader of such files, say so in one sentence. gnndata_stand_in reads what
# parquet_stand_in.c calls Parquet; real files are read where the program and Python can.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
stand_in=$GNNTRAIN_BIN/tests/io/gnndata_stand_in

# Nodes in several groups of rows; ids are numbers, one column is of a type that is passed over.
awk 'BEGIN {
  print "id,when,class,x,y,part"
  for (i = 0; i < 3500; i++)
    printf "%d,,%s,%.9g,%.17g,%s\n", 3 * i, i % 7 ? (i % 3 ? "blue; or, \"not\"" : "red") : "", i / 7, i / 3, i % 5 ? "train" : i % 2 ? "val" : "test"
}' | sed 's/,blue; or, "not",/,"blue; or, ""not""",/' >nodes.csv
{
  printf 'PAR1\nid:l|when:tdD|class:s:u|x:g|y:f|part:u\n'
  awk 'BEGIN {
    for (i = 0; i < 3500; i++)
      printf "%d|7|%s|%.9g|%.17g|%s\n", 3 * i, i % 7 ? (i % 3 ? "blue; or, \"not\"" : "red") : "NULL", i / 7, i / 3, i % 5 ? "train" : i % 2 ? "val" : "test"
  }'
} >nodes.parquet
awk 'BEGIN { print "a,b"; for (i = 0; i < 9000; i++) print 3 * (i % 3500) "," 3 * (i * 7 % 3500) }' >edges.csv
{ printf 'PAR1\na:i|b:L\n' && tail -n +2 edges.csv | tr , '|'; } >edges.parquet
mkdir text parquet mixed bare list real
columns=(--label class --features x,y --split part)
works gnndata import table nodes.csv edges.csv text/g.h5 "${columns[@]}"
works "$stand_in" import table nodes.parquet edges.parquet parquet/g.h5 "${columns[@]}"
says 'nodes.parquet: column "when" is passed over: its values are neither numbers nor texts \(Arrow.s type tdD\)'
cmp text/g.h5 parquet/g.h5 || fail "tables of Parquet became another dataset than tables of text"
works "$stand_in" import table nodes.csv edges.parquet mixed/g.h5 "${columns[@]}"
cmp text/g.h5 mixed/g.h5 || fail "a table of each became another dataset"

# The same from an edge list with files beside it.
tail -n +2 edges.csv | tr , ' ' >list/edges.txt
awk -F, 'NR > 1 { print $(NF - 2) "," $(NF - 1) }' nodes.csv >list/x.csv
awk -F, 'NR > 1 { print $NF }' nodes.csv >list/split.txt
works "$stand_in" import table nodes.parquet edges.parquet bare/g.h5 --features x,y --split part
works gnndata import edgelist list/edges.txt list/g.h5 --features list/x.csv --split list/split.txt
cmp bare/g.h5 list/g.h5 || fail "tables of Parquet became another dataset than an edge list"

# Columns that nobody asks for, of more text than is read at once.
awk 'BEGIN {
  print "id,note,x"
  for (i = 0; i < 30000; i++) printf "%d,a note of sixty letters that nobody who imports this asks for %d,%.17g\n", i, i, i / 7
}' >wide.csv
{ printf 'PAR1\nid:l|note:u|x:g\n' && tail -n +2 wide.csv | tr , '|'; } >wide.parquet
works gnndata import table wide.csv edges.csv text/wide.h5 --features x
works "$stand_in" import table wide.parquet edges.parquet parquet/wide.h5 --features x
cmp text/wide.h5 parquet/wide.h5 || fail "columns that nobody asks for change the dataset"

# No rows, a page that is damaged, a file that is cut, ids that are not there.
refuses() {
  refused 2 "$1" "$stand_in" import table "${@:2}"
  [[ -z $(compgen -G 'out.h5*') ]] || fail "import table $*: left $(echo out.h5*)"
}
printf 'PAR1\nid:l|x:f\n' >none.parquet
refuses 'none.parquet: holds no nodes' none.parquet edges.parquet out.h5
sed '1s/$/ 2/' nodes.parquet >damaged.parquet
refuses 'damaged.parquet: cannot be read after line [0-9]+: a page is damaged' damaged.parquet edges.parquet out.h5
printf 'PAR1' >cut.parquet
refuses 'cut.parquet: cannot be read as Parquet: Parquet magic bytes not found in footer' cut.parquet edges.parquet out.h5
{ cat edges.parquet && echo '4|3'; } >strange.parquet
refuses 'strange.parquet:9002: column "a": there is no node "4" in nodes.parquet' nodes.parquet strange.parquet out.h5
sed 's/^3|7|\([^|]*\)|[^|]*|/3|7|\1|NULL|/' nodes.parquet >empty.parquet
refuses 'empty.parquet:3: column "x" is empty' empty.parquet edges.parquet out.h5 "${columns[@]}"

# The program itself.
if "$GNNTRAIN_BIN/gnndata" --version | grep -q 'Arrow '; then
  python3 -c 'import pyarrow.parquet' 2>/dev/null || { echo "no pyarrow: nothing writes real files" && exit 0; }
  python3 - <<'PYTHON'
import pyarrow.csv
import pyarrow.parquet as parquet

nodes, edges = (pyarrow.csv.read_csv(name + ".csv") for name in ("nodes", "edges"))


def write(name, table, columns={}, **how):
    for column, of_type in columns.items():
        values = table[column].dictionary_encode() if of_type == "indices" else table[column].cast(of_type)
        table = table.set_column(table.schema.get_field_index(column), column, values)
    parquet.write_table(table, f"real/{name}.parquet", **how)


write("edges", edges, row_group_size=1000)
write("plain", nodes, row_group_size=1000)
write("indices", nodes, {"class": "indices", "part": "indices", "id": "uint16"}, compression="zstd", row_group_size=77)
write("large", nodes, {"class": "large_string", "x": "float32", "id": "uint64"}, compression="gzip", data_page_version="2.0")
write("pages", nodes, {"y": "float32", "id": "int32"}, compression="none", use_dictionary=False, data_page_size=100)
others = nodes.append_column("list", [[[1, 2]] * 3500]).append_column("record", [[{"a": 1}] * 3500])
write("others", others.set_column(1, "when", nodes["id"].cast("timestamp[s]")))
write("none", nodes[:0])
write("nested", others.select(["list", "record"]))
write("checked", nodes, compression="none", use_dictionary=False, write_page_checksum=True)
data = bytearray(open("real/checked.parquet", "rb").read())
data[data.index(b"train")] ^= 1
open("real/checked.parquet", "wb").write(data)
open("real/cut.parquet", "wb").write(data[:-100])
data[4:20000] = bytes(19996)
open("real/zeros.parquet", "wb").write(data)
PYTHON
  for name in plain indices large pages others; do
    works gnndata import table "real/$name.parquet" real/edges.parquet real/g.h5 "${columns[@]}"
    cmp text/g.h5 real/g.h5 || fail "a real file of Parquet, $name, became another dataset than a table of text"
  done
  says 'real/others.parquet: column "when" is passed over: .*ts[a-z]:'
  says 'real/others.parquet: column "list" is passed over: .*\+l'
  refuses_real() { refused 2 "real/$1.parquet: $2" gnndata import table "real/$1.parquet" real/edges.parquet out.h5; }
  refuses_real none 'holds no nodes'
  refused 2 'real/nested.parquet:2: column "list" is empty' gnndata import table real/nested.parquet real/edges.parquet out.h5
  refuses_real checked 'cannot be read after line [0-9]+: .*checksum verification failed'
  refuses_real cut 'cannot be read as Parquet: Parquet magic bytes not found in footer'
  refuses_real zeros "cannot be read after line 0: .*Couldn't deserialize thrift"
else
  refused 2 'nodes.parquet: is a Parquet file, and this program was built without' gnndata import table nodes.parquet edges.csv out.h5
fi
