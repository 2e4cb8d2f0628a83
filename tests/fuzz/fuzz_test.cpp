// Random calls, each compared bit for bit with the portable kernels and, within the bounds, with a plain loop
// over indices. GRADJIT_FUZZ_CASES sets how many there are together, GRADJIT_FUZZ_SEED draws others.

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "tests/fuzz/isolated.hpp"
#include "tests/fuzz/report.hpp"
#include "tests/support/strided_case.hpp"

namespace gradjit::test {
namespace {

/// Tests that share the cases, so that they can run at the same time.
constexpr std::size_t parts = 8;

std::size_t number_from_environment(const char* name, std::size_t otherwise) {
  const char* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::stoull(text);
}

/// Mostly small; some of several blocks and tiles, some of several parts and segments.
StridedCase nth_case(std::size_t seed, std::size_t index, const std::vector<Isa>& isas) {
  std::seed_seq sequence{seed, index};
  std::mt19937 random(sequence);
  const auto kind = random() % 100;
  return random_case(random, kind < 8 ? 200'000 : kind < 30 ? 8000 : 300, isas);
}

class Fuzz : public testing::TestWithParam<std::size_t> {};

TEST_P(Fuzz, RandomCasesGiveTheBitsOfThePortableKernels) {
  const std::size_t seed = number_from_environment("GRADJIT_FUZZ_SEED", 1);
  const std::size_t count = (number_from_environment("GRADJIT_FUZZ_CASES", 10'000) + parts - 1) / parts;
  const std::vector<Isa> isas = all_isas();
  const auto make = [&](std::size_t index) { return nth_case(seed, index * parts + GetParam(), isas); };
  const auto found = first_failure(count, [&](std::size_t index) { return failure_of(make(index)); });
  if (found) {
    FAIL() << "seed " << seed << ", case " << found->index * parts + GetParam() << ": "
           << report(make(found->index), found->failure);
  }
  std::cout << count << " cases of seed " << seed << "\n";
}

INSTANTIATE_TEST_SUITE_P(Part, Fuzz, testing::Range(std::size_t{0}, parts));

}  // namespace
}  // namespace gradjit::test
