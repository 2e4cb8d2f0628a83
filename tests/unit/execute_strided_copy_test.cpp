#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "src/execute/strided_copy.hpp"

namespace gradjit::detail {
namespace {

/// A buffer that just holds what `strides` reach, with where its first element lies.
struct Buffer {
  std::vector<std::byte> bytes;
  std::int64_t first = 0;

  std::byte* start() { return bytes.data() + first; }
};

template <typename Stride>
Buffer buffer_for(const std::vector<CopyLoop>& loops, std::int64_t unit, Stride stride) {
  std::int64_t low = 0;
  std::int64_t high = unit;
  for (const CopyLoop& loop : loops) {
    (stride(loop) < 0 ? low : high) += stride(loop) * (loop.size - 1);
  }
  return {std::vector<std::byte>(static_cast<std::size_t>(high - low)), -low};
}

template <typename Body>
void for_each_step(const std::vector<CopyLoop>& loops, const Body& body) {
  std::int64_t steps = 1;
  for (const CopyLoop& loop : loops) {
    steps *= loop.size;
  }
  for (std::int64_t step = 0; step < steps; ++step) {
    std::int64_t rest = step;
    std::int64_t to = 0;
    std::int64_t from = 0;
    for (const CopyLoop& loop : loops) {
      to += rest % loop.size * loop.to;
      from += rest % loop.size * loop.from;
      rest /= loop.size;
    }
    body(to, from);
  }
}

std::string text_of(const std::vector<CopyLoop>& loops, std::int64_t unit) {
  std::string text = "unit " + std::to_string(unit);
  for (const CopyLoop& loop : loops) {
    text += " (" + std::to_string(loop.size) + ", to " + std::to_string(loop.to) + ", from " +
            std::to_string(loop.from) + ")";
  }
  return text;
}

/// Copies, and compares everything that `to` holds with what element by element gives.
void expect_copies(const std::vector<CopyLoop>& loops, std::int64_t unit, std::mt19937& random) {
  SCOPED_TRACE(text_of(loops, unit));
  Buffer from = buffer_for(loops, unit, [](const CopyLoop& loop) { return loop.from; });
  Buffer to = buffer_for(loops, unit, [](const CopyLoop& loop) { return loop.to; });
  for (auto* buffer : {&from, &to}) {
    for (std::byte& byte : buffer->bytes) {
      byte = static_cast<std::byte>(random());
    }
  }
  Buffer expected = to;
  for_each_step(loops, [&](std::int64_t t, std::int64_t f) {
    std::memcpy(expected.start() + t, from.start() + f, static_cast<std::size_t>(unit));
  });
  Buffer other = to;
  StridedCopy(loops, unit, TileSide::to).run(to.start(), from.start());
  ASSERT_EQ(to.bytes, expected.bytes);
  StridedCopy(loops, unit, TileSide::from).run(other.start(), from.start());
  ASSERT_EQ(other.bytes, expected.bytes);
}

/// Strides for `sizes` that put no two steps in one place: a random order, random gaps, random signs.
std::vector<std::int64_t> random_strides(const std::vector<std::int64_t>& sizes, std::int64_t unit,
                                         std::mt19937& random) {
  std::vector<std::size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), 0);
  if (random() % 2 == 0) {
    std::shuffle(order.begin(), order.end(), random);
  }
  std::vector<std::int64_t> strides(sizes.size());
  std::int64_t stride = unit * (random() % 3 == 0 ? 1 + static_cast<std::int64_t>(random() % 5) : 1);
  for (const std::size_t i : order) {
    strides[i] = random() % 4 == 0 ? -stride : stride;
    stride *= sizes[i] + (random() % 3 == 0 ? static_cast<std::int64_t>(random() % 4) : 0);
  }
  return strides;
}

TEST(StridedCopy, CopiesARunOfAnyLength) {
  std::mt19937 random(1);
  for (const std::int64_t unit : {2, 4}) {
    for (std::int64_t size = 1; size < 80; ++size) {
      expect_copies({{size, unit, unit}}, unit, random);
      expect_copies({{5, unit * (size + 3), unit * size}, {size, unit, unit}}, unit, random);
    }
  }
}

TEST(StridedCopy, TransposesAnySize) {
  std::mt19937 random(2);
  for (const std::int64_t unit : {2, 4}) {
    for (std::int64_t rows = 1; rows < 20; ++rows) {
      for (std::int64_t columns = 1; columns < 20; ++columns) {
        expect_copies({{rows, unit, columns * unit}, {columns, rows * unit, unit}}, unit, random);
        expect_copies({{rows, unit, (columns + 5) * unit}, {columns, (rows + 1) * unit, unit}}, unit, random);
      }
    }
  }
}

TEST(StridedCopy, BroadcastsAndGathers) {
  std::mt19937 random(3);
  for (const std::int64_t unit : {2, 4}) {
    for (const std::int64_t stride : {0, 1, 2, 3, 4, 7, -1, -2}) {
      for (const std::int64_t size : {1, 2, 3, 7, 8, 17, 64}) {
        expect_copies({{size, unit, stride * unit}}, unit, random);
        expect_copies({{3, size * unit, 0}, {size, unit, stride * unit}}, unit, random);
        if (stride != 0) {
          expect_copies({{size, stride * unit, unit}}, unit, random);
        }
      }
    }
  }
}

TEST(StridedCopy, CopiesRandomNests) {
  std::mt19937 random(4);
  for (int i = 0; i < 20000; ++i) {
    const std::int64_t unit = random() % 2 == 0 ? 2 : 4;
    std::vector<std::int64_t> sizes(random() % 5);
    for (std::int64_t& size : sizes) {
      size = 1 + static_cast<std::int64_t>(random() % (random() % 4 == 0 ? 20 : 4));
    }
    const auto to = random_strides(sizes, unit, random);
    const auto from = random_strides(sizes, unit, random);
    std::vector<CopyLoop> loops;
    for (std::size_t k = 0; k < sizes.size(); ++k) {
      loops.push_back({sizes[k], to[k], random() % 8 == 0 ? 0 : from[k]});
    }
    expect_copies(loops, unit, random);
    if (HasFatalFailure()) {
      return;
    }
  }
}

}  // namespace
}  // namespace gradjit::detail
