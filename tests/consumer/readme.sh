#!/usr/bin/env bash
# Compiles README.md's quick start as it is printed: the first ```cpp block that includes the header.
#   readme.sh README DIRECTORY [CMAKE ARGUMENT...]
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
readme=$1 dir=$2
shift 2

mkdir -p -- "$dir"
[[ -f $readme ]] || {
  echo "There is no $readme"
  exit 1
}
awk '
  /^```cpp *$/ && !inside { inside = 1; block = ""; next }
  /^``` *$/ && inside {
    inside = 0
    if (block ~ /#include <gradjit\/gradjit\.hpp>/) { printf "%s", block; exit }
    next
  }
  inside { block = block $0 "\n" }
' "$readme" >"$dir/quick_start.cpp"
[[ -s $dir/quick_start.cpp ]] || {
  echo "$readme has no \`\`\`cpp block with #include <gradjit/gradjit.hpp>"
  exit 1
}
grep -q 'int main(' "$dir/quick_start.cpp" || {
  echo "The quick start of $readme is no whole program:"
  cat -- "$dir/quick_start.cpp"
  exit 1
}

"$here/use_project.sh" "$dir/project" -DQUICK_START="$dir/quick_start.cpp" "$@"
