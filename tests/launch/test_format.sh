# Every C and C++ file stands as .clang-format says. Versions of clang-format differ, so only 14 judges.
set -euo pipefail
formatter=
for name in clang-format-14 clang-format; do
  if command -v $name >/dev/null && grep -q 'version 14\.' <<<"$($name --version)"; then formatter=$name && break; fi
done
if [[ -z $formatter ]]; then
  echo "skipped: clang-format 14 is not installed"
  exit 77
fi

cd "$GNNTRAIN_SOURCE"
find runtime io kernels partition models launch tests -type f \
  \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.hpp' -o -name '*.cu' -o -name '*.cuh' \) -print0 |
  xargs -0 $formatter --dry-run -Werror

if echo 'int   planted( void ) ;' | $formatter --dry-run -Werror --assume-filename=planted.c 2>/dev/null; then
  echo "clang-format takes a badly formatted line"
  exit 1
fi
