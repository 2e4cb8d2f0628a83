#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "src/plan/overlap.hpp"

namespace gradjit::detail {
namespace {

using Strides = std::vector<std::int64_t>;

DimList dims_of(const Dims& sizes, const Strides& a, const Strides& b) {
  DimList dims;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    dims.push_back({sizes[i], {a[i], 0, b[i]}});
  }
  return dims;
}

/// The place of every element, with repetitions.
std::vector<std::int64_t> places(const Dims& sizes, const Strides& strides) {
  std::vector<std::int64_t> found{0};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    std::vector<std::int64_t> next;
    for (const std::int64_t place : found) {
      for (std::int64_t step = 0; step < sizes[i]; ++step) {
        next.push_back(place + step * strides[i]);
      }
    }
    found = next;
  }
  return found;
}

bool has_repetitions(const std::vector<std::int64_t>& places) {
  return std::set<std::int64_t>(places.begin(), places.end()).size() < places.size();
}

Overlap overlap(bool exists) { return exists ? Overlap::some : Overlap::none; }

struct Random {
  std::mt19937 engine;

  std::int64_t in(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(engine);
  }
};

TEST(PlanOverlap, FindsSelfOverlapAsBruteForceDoes) {
  Random random{std::mt19937(1)};
  int counts[2] = {};
  for (int i = 0; i < 20000; ++i) {
    const auto rank = static_cast<std::size_t>(random.in(0, 4));
    Dims sizes;
    Strides strides;
    for (std::size_t k = 0; k < rank; ++k) {
      sizes.push_back(random.in(2, 5));
      strides.push_back(random.in(-40, 40));
    }
    const bool expected = has_repetitions(places(sizes, strides));
    ASSERT_EQ(self_overlap(dims_of(sizes, strides, strides), activation), overlap(expected)) << "case " << i;
    ++counts[expected ? 1 : 0];
  }
  EXPECT_GT(counts[0], 1000);
  EXPECT_GT(counts[1], 1000);
}

TEST(PlanOverlap, FindsSharedBytesAsBruteForceDoes) {
  Random random{std::mt19937(2)};
  int counts[2] = {};
  for (int i = 0; i < 20000; ++i) {
    const std::int64_t size = random.in(0, 1) == 0 ? 2 : 4;
    const auto rank = static_cast<std::size_t>(random.in(0, 3));
    Dims sizes;
    Strides a;
    Strides b;
    for (std::size_t k = 0; k < rank; ++k) {
      sizes.push_back(random.in(2, 5));
      a.push_back(size * random.in(-20, 20));
      b.push_back(size * (random.in(0, 2) == 0 ? random.in(-20, 20) : a[k] / size));
    }
    const std::int64_t distance = random.in(-60, 60) * (random.in(0, 3) == 0 ? 1 : size);
    bool expected = false;
    for (const std::int64_t p : places(sizes, a)) {
      for (const std::int64_t q : places(sizes, b)) {
        expected = expected || std::abs(distance + q - p) < size;
      }
    }
    ASSERT_EQ(shares_memory(dims_of(sizes, a, b), activation, diff_src, distance, size), overlap(expected))
        << "case " << i;
    ++counts[expected ? 1 : 0];
  }
  EXPECT_GT(counts[0], 1000);
  EXPECT_GT(counts[1], 1000);
}

TEST(PlanOverlap, DecidesLargeViews) {
  const std::int64_t many = 1'000'000'007;
  // Two column halves of one matrix, its even and its odd rows, a square and its transpose.
  const Dims sizes = {many, 1 << 20};
  const Strides rows = {4LL << 21, 4};
  EXPECT_EQ(shares_memory(dims_of(sizes, rows, rows), activation, diff_src, 4 << 20, 4), Overlap::none);
  EXPECT_EQ(shares_memory(dims_of(sizes, rows, rows), activation, diff_src, (4 << 20) - 2, 4), Overlap::some);
  EXPECT_EQ(shares_memory(dims_of(sizes, rows, rows), activation, diff_src, -(4 << 20), 4), Overlap::none);
  const Dims square = {1 << 20, 1 << 20};
  EXPECT_EQ(shares_memory(dims_of(square, {4 << 20, 4}, {4, 4 << 20}), activation, diff_src, 0, 4),
            Overlap::some);
  EXPECT_EQ(shares_memory(dims_of(square, {8LL << 20, 8}, {8, 8LL << 20}), activation, diff_src, 4, 4),
            Overlap::none);
  // Strides without a common divisor.
  EXPECT_EQ(self_overlap(dims_of({999'983, 1'000'003}, {1'000'003, 999'983}, {1, 1}), activation),
            Overlap::none);
  EXPECT_EQ(self_overlap(dims_of({999'984, 1'000'004}, {1'000'003, 999'983}, {1, 1}), activation),
            Overlap::some);
}

TEST(PlanOverlap, DoesNotOverflow) {
  constexpr std::int64_t half = (std::int64_t{1} << 61) - 1;
  EXPECT_EQ(self_overlap(dims_of({2, 2}, {half, -half}, {1, 1}), activation), Overlap::some);
  EXPECT_EQ(self_overlap(dims_of({2, 3}, {half, 1}, {1, 1}), activation), Overlap::none);
  for (const std::int64_t distance : {INT64_MIN, INT64_MIN + 2, INT64_MAX - 1, INT64_MAX}) {
    EXPECT_EQ(shares_memory(dims_of({2}, {2 * half}, {-2 * half}), activation, diff_src, distance, 2),
              Overlap::none);
    EXPECT_EQ(shares_memory(dims_of({2}, {-half / 2 * 2}, {2 * half}), activation, diff_src, distance, 2),
              Overlap::none);
  }
}

TEST(PlanOverlap, GivesUpAfterBoundedEffort) {
  // Two dozen large, unrelated numbers, each to be taken or not: nothing that a view of an array has.
  std::mt19937_64 random(1);
  std::vector<Term> terms;
  std::int64_t sum = 0;
  for (int i = 0; i < 24; ++i) {
    terms.push_back({static_cast<std::int64_t>(random() >> 16 | 1), 1});
    sum += terms.back().factor;
  }
  EXPECT_EQ(can_sum_to(terms, sum / 2), Overlap::undecided);
}

}  // namespace
}  // namespace gradjit::detail
