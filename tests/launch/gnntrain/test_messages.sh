# What somebody most likely meant is said, in the one sentence that refuses it.
. "$GNNTRAIN_SOURCE/tests/lib.sh"

works gnndata synth d.h5 --nodes 200 --degree 6 --features 8 --classes 3
settings c.toml dataset.path=d.h5 train.epochs=2
printf 'dataset.path = "d.h5"\nmodel.type = gcn # of Kipf and Welling\n' >bare.toml
printf 'PK\003\004' >z.zip
mkdir folder

meant() { refused 2 "$1" gnntrain "${@:2}"; }
meant 'unknown option "--epoch"; did you mean --epochs\? gnntrain --help lists all$' c.toml --epoch 3
meant 'unknown option "--dryrun"; did you mean --dry-run\?' c.toml --dryrun
meant 'unknown option "--hidden"; did you mean --set model\.hidden=64\?' c.toml --hidden 64
meant 'unknown option "--lr=0\.1"; did you mean --set train\.lr=0\.1\?' c.toml --lr=0.1
meant 'unknown option "-v"; did you mean --verbose\?' -v
meant 'unknown option "--nonsense"; gnntrain --help lists them$' c.toml --nonsense
meant 'bare\.toml:2: not valid TOML: a text stands in quotes: model\.type = "gcn"$' bare.toml
meant 'd\.h5 is a dataset, not a configuration, which is a text that names it: dataset\.path = "d\.h5"$' d.h5
meant 'z\.zip is an archive, not a configuration$' z.zip
meant 'folder is a folder, not a configuration$' folder
meant 'device "gpu" is not in this build; allowed: auto, (cuda, )?cpu$' c.toml --device gpu
meant '--out p\.tsv: predictions are HDF5, a table or an array; let the name end in \.h5, \.csv or \.npy$' c.toml --predict b.h5 --out p.tsv
meant 'data/cora\.h5 is not there; it is made by: gnndata import npz cora\.npz data/cora\.h5$' "$GNNTRAIN_SOURCE/configs/cora.toml"
meant 'data/reddit_like\.h5 is not there; it is made by: gnndata synth data/reddit_like\.h5 .* --community-size 4000 --inside 0\.75$' \
  "$GNNTRAIN_SOURCE/configs/reddit_like.toml"
works gnntrain --help model.type
says '^  model\.type +the kind of layer$'
says '^  gatv2 +graph attention with dynamic scores \(Brody et al\. 2022\)$'
lacks 'model\.hidden'
works gnntrain --help train
says '^  train\.lr '
lacks '^  model\.'
meant 'unknown section \[trian\]; the nearest allowed one is \[train\]$' --help trian
works gnntrain help
says '^usage: gnntrain CONFIG'

printf 'source,target\n0,1\n1,2\n' >e.csv
printf '0 1\n1 2\n' >e.txt
refused 2 'e\.csv:1: expected two node ids \(a line of names is none\), found "source"' gnndata import edgelist e.csv x.h5
refused 2 '--split 0\.6,0\.2: did you mean random:0\.6,0\.2\?$' gnndata import edgelist e.txt x.h5 --features random:2 \
  --labels random:2 --split 0.6,0.2
refused 2 'unknown option "--undirect"; did you mean --undirected\? gnndata import --help lists all$' gnndata import edgelist e.txt x.h5 --undirect
echo "what was meant is said"
