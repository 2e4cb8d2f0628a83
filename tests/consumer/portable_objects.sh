#!/usr/bin/env bash
# The portable kernels are compiled again with -mfma and -mavx2. An inline function of somebody else's that is
# left in those objects could be the copy that the linker keeps for the whole program, and would then be an
# illegal instruction on a CPU without them. So they must define nothing outside their namespaces.
#   portable_objects.sh OBJECT...
set -euo pipefail
foreign=$(nm -C --defined-only -- "$@" | grep -E ' [TWVu] ' | grep -vE 'with_(fma|avx2)::' || true)
if [[ -n $foreign ]]; then
  printf 'compiled with -mfma and visible to the linker:\n%s\n' "$foreign"
  exit 1
fi
