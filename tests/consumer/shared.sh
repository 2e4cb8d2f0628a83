#!/usr/bin/env bash
# Builds gradjit as a shared library, installs it, looks at what it exports and uses it.
#   shared.sh SOURCE DIRECTORY VERSION [CMAKE ARGUMENT...]
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
source_dir=$1 dir=$2 version=$3
shift 3

rm -rf -- "$dir"
unset CXXFLAGS CFLAGS LDFLAGS
# Unoptimised because it is for its symbols and how it is linked, and builds in a third of the time.
cmake -G Ninja -S "$source_dir" -B "$dir/build" -DCMAKE_BUILD_TYPE=Debug -DBUILD_SHARED_LIBS=ON \
  -DGRADJIT_BUILD_TESTS=OFF -DGRADJIT_BUILD_TOOLS=OFF -DCMAKE_INSTALL_LIBDIR=lib "$@"
cmake --build "$dir/build" --parallel 2
cmake --install "$dir/build" --prefix "$dir/prefix"
library=$dir/prefix/lib/libgradjit.so

# Only what the headers declare: gradjit::… with its tables, gradjit_… for C.
foreign=$(nm -DC --defined-only "$library" | cut -d' ' -f3- |
  grep -vE '^((typeinfo|typeinfo name|vtable) for )?gradjit(::|_)' || true)
if [[ -n $foreign ]]; then
  printf 'libgradjit.so exports what it should not:\n%s\n' "$foreign"
  exit 1
fi
internal=$(nm -DC --defined-only "$library" | grep -E ' gradjit::(jit|portable|plan|detail)::' || true)
if [[ -n $internal ]]; then
  printf 'libgradjit.so exports internals:\n%s\n' "$internal"
  exit 1
fi
# Everything that gradjit.h declares, and no other C function.
differences=$(diff \
  <(sed -n 's/^GRADJIT_API.*\(gradjit_[a-z_0-9]*\)(.*/\1/p' "$dir/prefix/include/gradjit/gradjit.h" | sort) \
  <(nm -D --defined-only "$library" | cut -d' ' -f3 | grep '^gradjit_' | sort) || true)
if [[ -n $differences ]]; then
  printf 'declared (<) and exported (>) C functions differ:\n%s\n' "$differences"
  exit 1
fi
readelf -d "$library" | grep -q NODELETE || {
  echo "libgradjit.so may be unloaded under libgomp's threads"
  exit 1
}

"$here/use_project.sh" "$dir/project" -DCMAKE_PREFIX_PATH="$dir/prefix" -DEXPECTED_VERSION="$version" "$@"

if command -v python3 >/dev/null; then
  python3 "$here/c_api.py" "$library"
else
  echo "skipped: there is no python3 to call the library from"
fi
