# list_calls.sh NM OUT.h PROGRAM...: the functions of MPI and HDF5 that the programs call, for fault_calls.c.
set -euo pipefail
nm=$1 out=$2
shift 2
for program in "$@"; do "$nm" -D --undefined-only "$program"; done |
  awk '
    { sub("@.*", "", $2); name = $2 }
    seen[name]++ || name ~ /_g$/ { next }
    name ~ /^MPI_/ { print "MPI_CALL(" name ")" }
    name ~ /^H5.*(get_size|get_storage_size|get_driver_info)$/ { print "H5_NONE(" name ")"; next }
    name ~ /^H5[A-Z]/ { print "H5_CALL(" name ")" }' |
  LC_ALL=C sort >"$out"
[[ $(wc -l <"$out") -gt 50 ]]
