# A folder includes only folders below it, those of kernels/cuda too, and a third-party header is included in one
# place only.
set -euo pipefail

# Prints what is wrong in the tree at $1, one line a violation; nothing when the house stands.
violations() {
  (cd "$1" && find runtime io kernels partition models launch -type f \
    \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.hpp' -o -name '*.cu' -o -name '*.cuh' \) -exec \
    grep -HnE '^[[:space:]]*#[[:space:]]*include' {} +) | awk '
  function family_of(path) {
    return sub("^kernels/cuda/", "", path) && sub("/.*", "", path) ? path : ""
  }
  BEGIN {
    split("runtime 1 io 2 kernels 2 partition 3 models 4 launch 5", pair, " ")
    for (i = 1; i in pair; i += 2) floor[pair[i]] = pair[i + 1]
    split("gemm 1 layout 1 spmm 2 attention 3", pair, " ") # in kernels/cuda; open.c alone stands above them
    for (i = 1; i in pair; i += 2) family[pair[i]] = pair[i + 1]
    place["hdf5.h"] = "^io/h5_set\\.h$"
    place["metis.h"] = "^partition/metis\\.c$"
    place["toml++/toml.h"] = "^runtime/config_toml\\.cpp$"
    place["mpi.h"] = "^runtime/"
    place["nccl.h"] = "^runtime/comm_nccl\\.c$"
    place["cuda_runtime.h"] = "^kernels/cuda/"
    place["cuda_runtime_api.h"] = "^(runtime/device_cuda\\.h|kernels/cuda/)"
    place["nvtx3/nvToolsExt.h"] = "^runtime/device_cuda_profile\\.c$"
    place["cuda_bf16.h"] = "^kernels/cuda/"
    place["cuda.h"] = place["cublas_v2.h"] = place["cublasLt.h"] = place["cusparse.h"] = "^kernels/cuda/"
    place["cblas.h"] = "^kernels/cpu/gemm\\.c$"
    place["zlib.h"] = "^io/gzip\\.c$"
    place["zip.h"] = "^io/npz\\.c$"
    place["cub/device/device_radix_sort.cuh"] = place["cub/device/device_select.cuh"] = "^kernels/cuda/"
    place["cub/device/device_scan.cuh"] = "^kernels/cuda/"
    place["omp.h"] = place["version.h"] = "."
    system_headers = "assert complex ctype errno fenv float inttypes iso646 limits locale math setjmp signal " \
      "stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string tgmath threads time " \
      "dirent dlfcn fcntl fts ftw getopt glob libgen poll pthread sched semaphore spawn strings termios unistd " \
      "sys/auxv sys/file sys/ioctl sys/mman sys/resource sys/select sys/stat sys/statvfs sys/syscall sys/sysinfo sys/time sys/types " \
      "sys/uio sys/utsname sys/vfs sys/wait sys/prctl immintrin x86intrin malloc"
    split(system_headers, name, " ")
    for (i in name) known[name[i] ".h"] = 1
  }
  {
    split($0, part, ":")
    file = part[1]
    where = file ":" part[2]
    header = $0
    if (!match(header, /["<][^">]*[">]/)) { print where ": an include that names no header"; next }
    quoted = substr(header, RSTART, 1) == "\""
    header = substr(header, RSTART + 1, RLENGTH - 2)
    folder = file; sub("/.*", "", folder)
    other = header; sub("/.*", "", other)
    if (header ~ /(^|\/)\.\.?\//) {
      print where ": \"" header "\" is not a path from the root of the project"
    } else if (quoted && (other in floor) && header ~ /\//) {
      if (other != folder && floor[other] >= floor[folder])
        print where ": " folder "/ (floor " floor[folder] ") includes \"" header "\" (floor " floor[other] ")"
      own = family_of(file)
      other = family_of(header)
      if (other != own && family[other] >= family[own] && file != "kernels/cuda/open.c")
        print where ": " (own ? own "/" : "a file for all kernels of the GPU") " includes \"" header "\""
    } else if (header in place) {
      if (file !~ place[header]) print where ": " header " is included outside its place"
    } else if (quoted) {
      print where ": \"" header "\" is not a path from the root of the project"
    } else if (!(header in known) && header ~ /\./) {
      print where ": <" header "> is neither a header of the system nor of a package with a place"
    }
  }'
}

found=$(violations "$GNNTRAIN_SOURCE")
if [[ -n $found ]]; then
  printf '%s\n' "$found"
  exit 1
fi

# The check itself must see each kind of violation.
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
for folder in runtime io kernels partition models launch; do cp -r "$GNNTRAIN_SOURCE/$folder" "$copy/"; done
[[ $(find "$copy" -name '*.c' | wc -l) -gt 10 ]] || { echo "the tree has hardly any sources"; exit 1; }
plant() { # plant FILE LINE
  local file=$copy/$1 saved=$copy/saved
  [[ ! -e $file ]] || cp "$file" "$saved"
  printf '%s\n' "$2" >>"$file"
  if ! grep -q "^$1:" <<<"$(violations "$copy")"; then
    echo "$2 in $1 was not noticed"
    exit 1
  fi
  if [[ -e $saved ]]; then mv "$saved" "$file"; else rm "$file"; fi
}
plant runtime/error.c '#include "io/h5.h"'
plant io/dataset.c '#include "models/model.h"'
plant io/dataset.c '#include "kernels/ops.h"'
plant kernels/cpu/planted.c '#include "io/h5.h"'
plant kernels/ops.h '#  include "partition/halo.h"'
plant kernels/cuda/gemm/planted.cuh '#include "kernels/cuda/layout/tiles.h"'
plant kernels/cuda/spmm/planted.cuh '#include "kernels/cuda/attention/attention.h"'
plant kernels/cuda/columns.cuh '#include "kernels/cuda/gemm/gemm.h"'
plant partition/planted.h '#include "models/trainer.h"'
plant models/planted.c '#include "launch/program.h"'
plant runtime/error.c '#include "../io/h5.h"'
plant io/dataset.c '#include "dataset.h"'
plant io/dataset.c '#include <hdf5.h>'
plant io/dataset.c '#include "hdf5.h"'
plant partition/planted.c '#include <mpi.h>'
plant partition/graph.h '#include <metis.h>'
plant runtime/config.h '#include <toml++/toml.h>'
plant models/planted.c '#include <cblas.h>'
plant io/planted.c '#include <zlib.h>'
plant launch/gnndata.c '#include <zip.h>'
plant launch/gnndata.c '#include <glib.h>'
plant io/planted.c '#include PLANTED'
[[ -z $(violations "$copy") ]] || { echo "a planted line was left behind"; exit 1; }
