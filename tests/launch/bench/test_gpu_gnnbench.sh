# gnnbench on GPUs: products in bf16 and sums over hyperedges beside another library, an epoch's parts by the device's clock,
# and on two or more the exchange beside NCCL's own.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
needs_gpus 1

# number FIELD PATTERN: that number of the first line that matches.
number() { grep -m 1 "$2" out.txt | sed "s/.*\"$1\": \([^,}]*\).*/\1/"; }

# measured CHECKS COMMAND...: until the function CHECKS finds what it should in the output, five times at most: what runs
# beside holds up some measurements, what is slow or wrong is so in all.
measured() {
  local tries
  for tries in 1 2 3 4 5; do
    works "${@:2}"
    ! ("$1") >said.txt || return 0
  done
  fail "five times in a row: $(tail -n 1 said.txt)"
}

gnndata synth made.h5 --nodes 60000 --degree 30 --features 64 --classes 8 --community-size 1000 >/dev/null
products() {
  for width in 41 128; do
    holds "$(number error "width $width") < .01 && $(number limit_share "width $width") > .05"
    holds "$(number peer_ratio "width $width") > 1"
  done
}
measured products gnnbench spmm --dataset made.h5 --device cuda --precision bf16 --scaled --width 41,128 --json
sampled() {
  for width in 41 128; do
    holds "$(number error "width $width") < 1e-5 && $(number peer_ratio "width $width") > 1"
  done
}
measured sampled gnnbench sddmm --dataset made.h5 --device cuda --precision bf16 --width 41,128 --json
# Tiles of attention, and the gather of the same arcs beside them.
gnndata synth dense.h5 --nodes 20000 --degree 100 --features 4 --classes 8 --community-size 256 >/dev/null
for layout in tiles gather; do
  works gnnbench attention --dataset dense.h5 --device cuda --precision bf16 --heads 8 --width 256 --layout $layout --json
  for op in attention backward; do holds "$(number error "\"$op\"") < .02"; done
  [[ $layout == tiles ]] || continue
  for op in attention backward; do holds "$(number in_tiles "\"$op\"") > .5"; done
  for op in 'gather fwd' 'gather bwd'; do holds "$(number error "\"$op\"") < .02"; done
done
lacks in_tiles
works gnnbench attention --dataset dense.h5 --device cuda --precision bf16 --heads 1 --width 64 --layout tiles --json
for op in cosine gradient; do holds "$(number error "\"$op\"") < .02 && $(number in_tiles "\"$op\"") > .5"; done
for op in 'gather cos' 'gather dx'; do holds "$(number error "\"$op\"") < .02"; done
hyperedges() {
  for form in whole 'panels 128' fused auto; do holds "$(number error "\"$form\".*width 128") < $limit"; done
  holds "$(number error '"auto".*width 41') < $limit && $(number peer_ratio '"auto".*width 128') > 1"
  holds "$(number scratch '"panels 128".*width 128') < $(number scratch '"whole".*width 128')"
}
for precision in fp32 bf16; do
  limit=$([[ $precision == fp32 ]] && echo 1e-5 || echo .02)
  measured hyperedges gnnbench hyper --device cuda --precision $precision --width 41,128 --scaled --huge 5000 --json
done
settings made.toml dataset.path=made.h5 model.hidden=64 partition.method=block
ranks=$((gpus < 2 ? 1 : 2))
# Parts follow each other on one stream: the profiled ones add up to no more than a profiled epoch takes.
parts() {
  local hidden
  holds "$(number ms '"op": "own part"') > 0 && $(number ms '"op": "own part"') < 50"
  holds "$(number gflops '"op": "gemm"') > 100"
  holds "$(number peer_ratio '"op": "bound"') > .2"
  ((ranks > 1)) || return 0
  hidden="$(number hidden '"op": "exchange"') - (1 - $(number ms '"op": "wait"') / $(number ms '"op": "exchange"'))"
  holds "$hidden < .3 && -($hidden) < .3"
}
measured parts on_ranks $ranks gnnbench epoch made.toml --set runtime.device=cuda --json
exchanged() {
  (($(wc -l <out.txt) == 4)) || fail "lines of exchange"
  says '"precision": "bf16"'
  ! grep -v '"error": 0,' out.txt || fail "wrong rows"
  holds "$(number gbytes_per_s 'width 128') > 10"
}
((ranks == 1)) || measured exchanged on_ranks $ranks gnnbench exchange --device cuda --rows 65536 --width 41,128 --json
