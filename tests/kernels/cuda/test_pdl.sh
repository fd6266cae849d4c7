# A kernel that launch_behind queues must wait for the one before by itself; one that does not would race with it, and only
# now and then be seen to. So each of them calls follow or wait_for_last.
. "$GNNTRAIN_SOURCE/tests/lib.sh"
export LC_ALL=C
cd "$GNNTRAIN_SOURCE/kernels/cuda" || exit 1

# Functions, which blank lines part, that match a pattern.
functions() {
  find . \( -name '*.cu' -o -name '*.cuh' \) -exec awk -v RS= -v ORS='\n\n' -v pattern="$1" '$0 ~ pattern' {} +
}
names() { grep -oE '\<[a-z_0-9]+_kernel\>' | sort -u; }

# By name; by a variable that holds one of those named in the function; or, in spmm.cu, from a table of variants.
queued=$({
  functions 'launch_behind[(]k, ' | grep -oE 'launch_behind\(k, [a-z_0-9]+_kernel\>'
  functions 'launch_behind[(]k, kernel,'
  echo spmm_stream_kernel
} | names)
# In itself or in a function that it begins with, such as prepare_bulk.
calls='follow|wait_for_last'
for helper in $(functions '\n *follow[(][)];' | sed -n 's/^.*__device__ __forceinline__ void \([a-z_0-9]*\)(.*/\1/p'); do
  calls+="|$helper"
done
waiting=$(functions '__global__' | awk -v RS= -v pattern="\\n *($calls)(<[A-Z:]*>)?[(]" '$0 ~ pattern' |
  grep -oE '\<[a-z_0-9]+_kernel\(' | names)
(($(wc -l <<<"$queued") > 20)) || fail "only these are found to be queued: $queued"
missing=$(comm -23 <(echo "$queued") <(echo "$waiting"))
[ -z "$missing" ] || fail "queued by launch_behind, but without follow or wait_for_last: $missing"
echo "$(wc -l <<<"$queued") kernels wait by themselves"
