#!/usr/bin/env bash
# What the interface promises not to compile does not, and its right twin does.
#   must_not_compile.sh INCLUDE_DIRECTORY CXX
set -euo pipefail
include=$1 cxx=$2

# compile STATEMENT [FLAG...]
compile() {
  "$cxx" -std=c++20 "${@:2}" -I"$include" -fsyntax-only -x c++ - <<EOS
#include <gradjit/gradjit.hpp>
void test(gradjit::KernelFactory& factory, const gradjit::TensorDesc& desc);
void test([[maybe_unused]] gradjit::KernelFactory& factory, [[maybe_unused]] const gradjit::TensorDesc& desc) {
  $1
}
EOS
}

# expect RIGHT WRONG
expect() {
  local log
  compile "$1" -Wall -Wextra -Werror || {
    printf 'must compile: %s\n' "$1"
    exit 1
  }
  # A warning would not do.
  if log=$(compile "$2" 2>&1); then
    printf 'must not compile: %s\n' "$2"
    exit 1
  fi
  # For the reason meant, and not for another.
  grep -qE "<stdin>:4:.*error: " <<<"$log" || {
    printf 'fails in another place: %s\n%s\n' "$2" "$log"
    exit 1
  }
}

expect '(void)factory.elu_backward({.alpha = 1.0f, .use_dst = false}, desc);' \
  '(void)factory.elu_backward({.use_dst = false}, desc);'
expect '(void)factory.elu_backward({.alpha = 0.5f}, desc);' \
  '(void)factory.elu_backward({}, desc);'
expect '(void)factory.elu_backward({.alpha = 1.0f}, {gradjit::DataType::f32, {2, 3}});' \
  '(void)factory.elu_backward({.in_place = true}, {gradjit::DataType::f32, {2, 3}});'
expect '(void)factory.elu_backward({.alpha = 1.0f}, {.dst = desc, .diff_dst = desc, .diff_src = desc});' \
  '(void)factory.elu_backward({}, {.dst = desc, .diff_dst = desc, .diff_src = desc});'
expect 'gradjit::KernelFactory other; (void)other.isa();' \
  'gradjit::KernelFactory other = factory; (void)other.isa();'
