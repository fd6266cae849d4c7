#include "tests/fuzz/seeds.h"

#include <stddef.h>

const struct seed seed_texts[] = {
    {"toml", "small",
     "[dataset]\npath = \"data.h5\" # where\n[model]\nhidden = 64\ndropout = 0.5\nbias = true\n"},
    {"toml", "dotted",
     "dataset.path = 'data.h5'\nmodel = { type = \"gat\", heads = 8 }\ntrain.\"lr\" = 1e-3\ntrain.epochs = "
     "0x10\n"},
    {"toml", "long_texts",
     "dataset.path = \"\"\"\n  a\\\n   b\\u00e9\\U0001F600\"\"\"\nlog.dir = '''c'd'''\r\n"},
    {"toml", "values",
     "a = 1979-05-27T07:32:00Z\nb = [1, 2.5, \"x\", [inf, -nan]]\n[[c]]\nd = 1_000\n[[c]]\n[c.e]\n"},
    {"toml", "mark", "\xef\xbb\xbf[train]\nlr = +inf\nseed = 9223372036854775807\nruns = 0b1\n"},
    {"toml", "letters", "\xc3\xa9pochs = 3\n"},
    {"toml", "assertion", "[}\n"},
    {"set", "integer", "train.epochs=12"},
    {"set", "real", " train.lr = 1e-3"},
    {"set", "word", "model.type=gcnii"},
    {"set", "quoted", "log.dir=\"a\\tb\""},
    {"set", "list", "model.hidden=[1, {a = 2}]"},
    {"set", "date", "train.lr=1979-05-27"},
    {"set", "line", "train.lr=1\ntrain.epochs=2"},
    {"set", "letters", "train.lr=\xc3\xa9"},
    {"constants", "small",
     "[\"NVIDIA H200\"]\nrow = 20.0\ncached_bytes = 5e7\n[\"NVIDIA H200\".bf16]\nnear_128 = 12.8\n"
     "[plain.fp32]\nblock_32 = 3\ntile_512 = 0\n"},
    {"synth_path", "graph", "nodes=1000,degree=16,features=64,classes=10,shuffle,seed=3"},
    {"synth_path", "hyper", "nodes=1000,degree=6,features=4,classes=2,hyperedges=300,size-power=.5"},
    {"synth_path", "rmat", "rmat,nodes=1000,degree=6,features=4,classes=2,train=.3,val=.3,test=.1"},
    {"gnntrain_line", "train",
     "run.toml\n--set\ntrain.lr=.1\n--epochs=5\n--device\ncpu\n--resume=a.h5\n--profile\n"},
    {"gnntrain_line", "predict", "--predict\na.h5\n--out=b.h5\nrun.toml\n--set=log.dir=x\n"},
    {"gnntrain_line", "export", "--export\na.h5\n--out\nb.safetensors\n"},
    {"gnntrain_line", "other", "--dry-run\n--eval\nc.h5\n--version\n--help\n-h\n--resume\n-\n"},
    {"import_line", "arcs",
     "edgelist\narcs\nout.h5\n--labels=labels\n--split\nsplit\n--features\nf.csv\n--undirected\n"},
    {"import_line", "random",
     "edgelist\narcs\nout.h5\n--nodes\n9\n--features=random:3\n--binarize\n--labels=random:2\n"
     "--split=random:.5,.2\n--splits=3\n--seed\n7\n"},
    {"import_line", "class",
     "hypergraph\narcs\nout.h5\n--labels\nlabels\n--split=per-class:1,1\n--nodes=4\n"},
    {"import_line", "table",
     "table\nnodes\nedges\nout.h5\n--id=id\n--label\nlabel\n--features=all\n--split=part\n--from=a\n--"
     "to\nb\n-"
     "-weight\nw\n"},
    {"import_line", "other", "mtx\narcs\nout.h5\n--weights\n--drop-self-loops\n-h\n"},
    {"table", "small",
     "id,label,part,a,b\nx,red,train,1,2\ny,,val,3,4\n\"z, \"\"1\"\"\",blue,,5,6e-1\n====\nfrom,to,weight\n"
     "x,y,1\n\"z, \"\"1\"\"\",x,.5\n"},
    {"table", "tabs",
     "\xef\xbb\xbf"
     "a\tid\tlabel\r\n1\t0\t7\r\n\r\n2\t1\t8\r\n====\nto\tnote\tfrom\r\n0\t\"two\r\nlines\"\t1\r\n"},
    {"table", "texts",
     "id;b;label\nZ\xc3\xbcrich;1;\xe2\x82\xac\n\"a\nb\";2;-1\n====\nfrom;to\n\"a\nb\";Z\xc3\xbcrich"},
    {"edgelist", "small", "# a comment\n0 1\n1 2\n2,3\t1.5\n3 3 2 9\n"},
    {"edgelist", "snap", "# Nodes: 5 Edges: 3\n0 1\r\n1 2\r\n4 0"},
    {"edgelist", "networks", "# web: 4 nodes 2 arcs, more\n1 2\n3 4\n"},
    {"edgelist", "far",
     "\xef\xbb\xbf"
     "9223372036854775806 0\n70000 9223372036854775805 -1e30\n"},
    {"konect", "symmetric", "% sym weighted\n% 3 4 4\n1 2 1 1000\n2 3 2 1001\n4 1 .5\n"},
    {"konect", "bipartite", "% bip unweighted\n% 3 2 3\n1 1\n2 3\n2 2\n"},
    {"konect", "far", "% bip\n4611686018427387904 4611686018427387903\n1 1\n"},
    {"mtx", "general", "%%MatrixMarket matrix coordinate real general\n% more\n3 3 2\n1 2 1.5\n3 1 -2\n"},
    {"mtx", "rectangle", "%%MatrixMarket matrix coordinate pattern general\n2 3 3\n1 1\n2 3\n1 2\n"},
    {"mtx", "symmetric", "%%matrixmarket MATRIX coordinate integer symmetric\n3 3 2\n2 1 4\n3 3 1\n"},
    {"metis", "plain", "% comment\n4 3\n2\n1 3\n2 4\n3\n"},
    {"metis", "weighted", "3 2 111 2\n1 5 6 2 3\n1 5 6 1 3 3 4\n1 5 6 2 4\n"},
    {"metis", "empty_rows", "3 0 001\n\n\n\n"},
    {"hypergraph", "lines", "# ids\n0 1 2\n2,3\n\n4 4\n"},
    {"hypergraph", "from_one", "1 2 3\n3 20\n"},
    {"hypergraph", "bipartite", "% bip\n% 4 3 2\n1 1\n2 1 5 6\n3 2\n1 2\n"},
    {"hmetis", "plain", "2 4\n1 2 3\n3 4\n"},
    {"hmetis", "weighted", "% a\n2 3 11\n7 1 2\n8 3 1\n1\n2\n3\n"},
    {"allset", "both",
     "0 1 .5 7\n1 0 2 3\n2 1 1e-1 7\n3 0 0 0\n====\n0 3\n1,3\n2 "
     "4\n0\t4\n====\n1,2\n\n3,1,3\n====\n1\n2\n-1\n"},
    {"allset", "texts", "5\tred\n9\tblue\n====\n9\t10\n5\t12\n====\n2\n====\n1.0\n2\n"},
    {"tud", "two",
     "1, 2\n2, 1\n3, 4\n4, 3\n====\n1\n1\n2\n2\n====\n1\n-1\n====\n0\n3\n0\n0\n====\n.5, 1\n1, 2\n2, 3\n3, "
     "4\n"},
    {"tud", "blanks", "1 2\n====\n1\n1\n2\n====\n7\n7\n====\n0, 1\n3, 1\n0, 2\n====\n0\n0\n0\n"},
    {"gin", "two", "2\n3 1\n7 1 1\n9 2 0 2\n7 1 1\n2 -1\n8 1 1\n7 1 0\n"},
    {"gin", "attributes", "1\n2 0\n4 1 1 0.5 1.5\n4 1 0 2.5 3.5\n"},
    {"labels", "alone", "0\n2\nnan\n1.0\n-1\n"},
    {"labels", "named", "# id label\n10 red\n20 blue\n30 red\n40 -1\n50 green\n99 red\n"},
    {"labels", "far", "10 9223372036854775806\n20 0\n30 -1\n"},
    {"split", "words", "train\nval\ntest\nnone\ntrain\n"},
    {"csv", "commas", "1,2.5\n3,4e-3\n5,6\n7,0x1p3\n9,-0\n"},
    {"csv", "blanks", "# two\n1 2\n3 4\n5 6\n7 8\n9 10\n"},
    {"metrics", "epochs",
     "{\"run\": 0, \"epoch\": 1, \"loss\": 1}\n{\"run\": 0, \"epoch\": 4, \"loss\": 1}\n{\"run\": 0, "
     "\"final\": true}\n"
     "{\"run\": 1, \"epoch\": 1, \"loss\": null}\n{\"run\": 1, \"ep"},
    {"metrics", "fields",
     "{\"run\": 0, \"epoch\": 1, \"loss\": 1.5, \"train\": null, \"val\": 0.5, \"test\": 0.5, \"ms\": 1, "
     "\"train_loss\": null, "
     "\"val_loss\": 1.25, \"test_loss\": 2, \"lr\": 0.01, \"sent_bytes\": 0, \"time\": 1764213824.123456}\n"},
    {"ogb", "small",
     "4\n====\n3\n====\n0,1\n1,2\n2,3\n====\n1,2\n3,4\n5,6\n7,8\n====\n0\n1\nnan\n2.0\n====\n0\n====\n1\n===="
     "\n3\n"},
    {"ogb", "multilabel",
     "3\n====\n1\n====\n0,1\n====\n.5\n1\n2\n====\n0,1\n1,0\n1,1\n====\n2\n====\n1\n====\n0\n"},
    {NULL, NULL, NULL},
};
