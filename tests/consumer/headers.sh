#!/usr/bin/env bash
# Each public header compiles on its own, warns about nothing, and brings no dependency along.
#   headers.sh INCLUDE_DIRECTORY CXX CC
set -euo pipefail
include=$1 cxx=$2 cc=$3
warnings=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror)
failures=0

fail() {
  printf '%s\n' "$*"
  failures=$((failures + 1))
}

# check HEADER COMPILER FLAG...
check() {
  local header=$1 dependencies
  shift
  # Twice, for the guard.
  local program="#include <gradjit/$header>
#include <gradjit/$header>
"
  "$@" "${warnings[@]}" -I"$include" -fsyntax-only - <<<"$program" || fail "$header does not compile"
  dependencies=$("$@" -I"$include" -M - <<<"$program")
  if grep -iE 'xbyak|cpu_?features|cpuinfo_' <<<"$dependencies"; then
    fail "$header brings a dependency along"
  fi
  if grep -E '/(jit|src)/' <<<"${dependencies//$include/}"; then
    fail "$header includes an internal header"
  fi
}

for path in "$include"/gradjit/*; do
  header=${path##*/}
  case $header in
    *.hpp) check "$header" "$cxx" -std=c++20 -x c++ ;;
    *.h)
      check "$header" "$cc" -std=c11 -x c
      check "$header" "$cxx" -std=c++11 -x c++
      ;;
    *) fail "$header: what is that?" ;;
  esac
done
((failures == 0))
