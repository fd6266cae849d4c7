# A kernel that pdl_launch queues must wait for the one before by itself; one that does not would race with it, and only
# now and then be seen to. So each of them calls pdl_prologue or pdl_wait.
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
  functions 'pdl_launch[(]k, ' | grep -oE 'pdl_launch\(k, [a-z_0-9]+_kernel\>'
  functions 'pdl_launch[(]k, kernel,'
  echo spmm_stream_kernel
} | names)
# In itself or in a function that it begins with, such as a common start.
calls='pdl_prologue|pdl_wait'
for helper in $(functions '\n *pdl_prologue[(][)];' | sed -n 's/^.*__device__ __forceinline__ void \([a-z_0-9]*\)(.*/\1/p'); do
  calls+="|$helper"
done
waiting=$(functions '__global__' | awk -v RS= -v pattern="\\n *($calls)(<[A-Z:]*>)?[(]" '$0 ~ pattern' |
  grep -oE '\<[a-z_0-9]+_kernel\(' | names)
(($(wc -l <<<"$queued") > 20)) || fail "only these are found to be queued: $queued"
missing=$(comm -23 <(echo "$queued") <(echo "$waiting"))
[ -z "$missing" ] || fail "queued by pdl_launch, but without pdl_prologue or pdl_wait: $missing"
echo "$(wc -l <<<"$queued") kernels wait by themselves"
