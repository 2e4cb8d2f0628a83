#!/usr/bin/env bash
# Builds tests/consumer/project in a directory and runs its tests.
#   use_project.sh DIRECTORY [CMAKE ARGUMENT...]
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
dir=$1
shift

rm -rf -- "$dir"
# Somebody else's environment knows nothing of ours.
unset CXXFLAGS CFLAGS LDFLAGS
cmake -G Ninja -S "$here/project" -B "$dir" "$@"
cmake --build "$dir" --parallel 2
cd -- "$dir"
ctest --output-on-failure --no-tests=error
