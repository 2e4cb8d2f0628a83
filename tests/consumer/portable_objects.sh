#!/usr/bin/env bash
# The portable kernels are compiled again with -mfma and -mavx2. An inline function of somebody else's that is
# left in those objects could be the copy that the linker keeps for the whole program, and would then be an
# illegal instruction on a CPU without them. So they must define nothing outside their namespaces.
# And EluBackward's loops must be vector code: LEAST multiply-adds of eight floats in all. (Loops that GCC 12 left
# scalar made verify ten times slower; then there are 150, else 450.)
#   portable_objects.sh LEAST OBJECT...
set -euo pipefail
least=$1
shift
foreign=$(nm -C --defined-only -- "$@" | grep -E ' [TWVu] ' | grep -vE 'with_(fma|avx2)::' || true)
if [[ -n $foreign ]]; then
  printf 'compiled with -mfma and visible to the linker:\n%s\n' "$foreign"
  exit 1
fi
found=$(objdump -d --no-show-raw-insn -- "$@" | grep -cE 'vfn?madd[0-9]+ps .*%ymm' || true)
if ((found < least)); then
  printf '%d multiply-adds of eight floats, expected at least %d: which loop is scalar code?\n' "$found" "$least"
  exit 1
fi
