# The same training on any number of ranks, with dropout on, and the same bits when repeated.
#   fp64: loss curves within 1e-9 over 50 epochs; fp32: within 1e-5 over the first 5 and 1e-4 over 50.
. "$GNNTRAIN_SOURCE/tests/models/curves.sh"

works gnndata synth data.h5 --nodes 1500 --degree 12 --features 24 --classes 5 --community-size 100 --seed 3
settings base.toml dataset.path=data.h5 model.hidden=16 model.layers=3 model.dropout=0.5 model.dropout_input=0.2 \
  model.norm=batch model.residual=true train.epochs=50 train.lr=0.01 train.weight_decay=5e-4 train.clip=1.0 \
  train.schedule=cosine train.warmup=3

for ranks in 1 2 4 8; do
  train_on $ranks "fp64.$ranks" --set runtime.precision=fp64
  [ $ranks = 1 ] || within fp64.1 "fp64.$ranks" 50 1e-9
done
for ranks in 1 2 4; do
  train_on $ranks "fp32.$ranks"
  [ $ranks = 1 ] || within fp32.1 "fp32.$ranks" 5 1e-5
  [ $ranks = 1 ] || within fp32.1 "fp32.$ranks" 50 1e-4
done
within fp64.1 fp32.1 5 1e-5
falls fp64.1 0.8

for ranks in 1 4; do
  train_on $ranks "again.$ranks"
  same "fp32.$ranks" "again.$ranks"
done
# The processor has one layout, whatever the setting.
for layout in csr vectors; do
  train_on 1 $layout --set runtime.layout=$layout
  same fp32.1 $layout
done
must_run 1 base.toml --dry-run --set runtime.layout=csr
says '^  layout +csr of sparse products, on GPUs$'
must_run 1 base.toml --dry-run --set runtime.layout=vectors --set runtime.vector_threshold=5
says '^  layout +vectors \(5 non-zeros and more\) of sparse products, on GPUs$'
train_on 2 overlap.off --set runtime.overlap=false
within fp32.2 overlap.off 50 1e-4
# Rows that wait for the halo are added up in another order, whether the exchange is hidden or not.
for late in 2:0.4 4:1.0; do
  train_on ${late%:*} late --set runtime.late_rows=${late#*:}
  within fp32.1 late 50 1e-4
  train_on ${late%:*} late.off --set runtime.late_rows=${late#*:} --set runtime.overlap=false
  same late late.off
done
! cmp -s losses.fp32.4 losses.late || fail "no row was late"
# Halo rows that come in two stages are added up in another order, too.
for ranks in 3 4; do
  train_on $ranks staged --set runtime.halo_stages=2 --set runtime.rows=all --verbose
  says 'halo: comes in two stages'
  within fp32.1 staged 50 1e-4
done
train_on 4 staged.off --set runtime.halo_stages=2 --set runtime.rows=all --set runtime.overlap=false
within fp32.1 staged.off 50 1e-4
echo "agreement holds"
