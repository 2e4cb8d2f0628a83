// A tensor of more than 2^31 elements: 65,537 rows of 32,776, all equal, so that one row tells what each of
// them must be. The inputs are one block of rows in memory, mapped over and over, read only; the result's
// 4.3 GB are real.

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <gradjit/gradjit.hpp>

#include "tests/support/element_bits.hpp"

namespace gradjit::test {
namespace {

constexpr auto bf16 = DataType::bf16;
constexpr std::int64_t rows = 65'537;
constexpr std::int64_t columns = 32'776;
static_assert(rows * columns > std::int64_t{1} << 31);
constexpr std::size_t row_bytes = columns * 2;
constexpr std::size_t tensor_bytes = rows * row_bytes;

using Row = std::vector<std::uint16_t>;

Row random_row(std::uint32_t seed, bool negative) {
  std::mt19937 random(seed);
  Row row(columns);
  for (std::uint16_t& bits : row) {
    bits = static_cast<std::uint16_t>(random_element(bf16, random, 0, negative));
  }
  return row;
}

/// Addresses for one tensor, with nothing behind them yet.
class Mapping {
 public:
  Mapping(std::size_t bytes, int protection) : bytes_(bytes) {
    void* memory = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) {
      throw std::runtime_error("mmap failed");
    }
    memory_ = static_cast<std::byte*>(memory);
  }
  ~Mapping() { munmap(memory_, bytes_); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  [[nodiscard]] std::byte* data() const { return memory_; }
  [[nodiscard]] std::byte* row(std::int64_t index) const {
    return memory_ + static_cast<std::size_t>(index) * row_bytes;
  }

 private:
  std::size_t bytes_;
  std::byte* memory_;
};

/// A tensor whose rows are all `row`. Writing to it is a fault.
class RepeatedRow {
 public:
  explicit RepeatedRow(const Row& row) : mapping_(blocks * block_bytes, PROT_NONE) {
    const int file = memfd_create("row", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, block_bytes) != 0) {
      throw std::runtime_error("memfd_create failed");
    }
    for (std::size_t i = 0; i < block_rows; ++i) {
      if (pwrite(file, row.data(), row_bytes, static_cast<off_t>(i * row_bytes)) !=
          static_cast<ssize_t>(row_bytes)) {
        throw std::runtime_error("writing a row failed");
      }
    }
    for (std::size_t i = 0; i < blocks; ++i) {
      if (mmap(mapping_.data() + i * block_bytes, block_bytes, PROT_READ, MAP_SHARED | MAP_FIXED, file, 0) ==
          MAP_FAILED) {
        throw std::runtime_error("mapping a block of rows failed");
      }
    }
    close(file);
  }

  [[nodiscard]] const void* data() const { return mapping_.data(); }

 private:
  static constexpr std::size_t block_rows = 256;
  static constexpr std::size_t block_bytes = block_rows * row_bytes;
  static_assert(block_bytes % 4096 == 0);
  static constexpr std::size_t blocks = (tensor_bytes + block_bytes - 1) / block_bytes;

  Mapping mapping_;
};

/// A tensor to write, in large pages where the system has them: or most of the time goes into page faults.
class Result : public Mapping {
 public:
  Result() : Mapping(tensor_bytes, PROT_READ | PROT_WRITE) { madvise(data(), tensor_bytes, MADV_HUGEPAGE); }
};

std::size_t available_memory() {
  std::ifstream file("/proc/meminfo");
  for (std::string name; file >> name;) {
    std::size_t kilobytes = 0;
    if (name == "MemAvailable:" && file >> kilobytes) {
      return kilobytes << 10;
    }
  }
  return 0;
}

class LargeTensor : public testing::Test {
 protected:
  void SetUp() override {
    const std::size_t needed = tensor_bytes + (std::size_t{1} << 30);
    if (const std::size_t available = available_memory(); available < needed) {
      GTEST_SKIP() << "needs " << (needed >> 20) << " MiB of memory, of which " << (available >> 20)
                   << " are available";
    }
  }

  /// That the first row is `expected` and the others, to the last, are equal to it.
  static void expect_rows(const Result& result, const Row& expected) {
    ASSERT_EQ(std::memcmp(result.row(0), expected.data(), row_bytes), 0);
    for (std::int64_t i = 1; i < rows; ++i) {
      ASSERT_EQ(std::memcmp(result.row(i), result.row(0), row_bytes), 0) << "row " << i;
    }
  }

  KernelFactory factory_;
  const TensorDesc tensor_{bf16, {rows, columns}};
  const TensorDesc one_row_{bf16, {1, columns}};
};

TEST_F(LargeTensor, EluBackward) {
  const Row x = random_row(1, false);
  const Row g = random_row(2, false);
  Row expected(columns);
  const EluBackward attributes{.alpha = 1.67F, .use_dst = false};
  factory_.elu_backward(attributes, one_row_)
      .run({.src = x.data(), .diff_dst = g.data(), .diff_src = expected.data()});
  const RepeatedRow src(x);
  const RepeatedRow diff_dst(g);
  const Result result;
  factory_.elu_backward(attributes, tensor_)
      .run({.src = src.data(), .diff_dst = diff_dst.data(), .diff_src = result.data()});
  expect_rows(result, expected);
}

TEST_F(LargeTensor, LogSoftmaxBackwardInPlace) {
  const Row y = random_row(3, true);
  const Row g = random_row(4, false);
  Row expected(columns);
  factory_.log_softmax_backward({}, one_row_)
      .run({.diff_dst = g.data(), .dst = y.data(), .diff_src = expected.data()});
  const RepeatedRow dst(y);
  const Result gradient;
  for (std::int64_t i = 0; i < rows; ++i) {
    std::memcpy(gradient.row(i), g.data(), row_bytes);
  }
  factory_.log_softmax_backward({.in_place = true}, tensor_)
      .run({.diff_dst = gradient.data(), .dst = dst.data()});
  expect_rows(gradient, expected);
}

TEST_F(LargeTensor, LogSoftmaxBackwardOfTheFirstAxis) {
  const Row y = random_row(5, true);
  const Row g = random_row(6, false);
  // Columns don't depend on one another: some of them, by themselves.
  constexpr std::int64_t some = 24;
  std::vector<std::uint16_t> narrow_y;
  std::vector<std::uint16_t> narrow_g;
  for (std::int64_t i = 0; i < rows; ++i) {
    narrow_y.insert(narrow_y.end(), y.end() - some, y.end());
    narrow_g.insert(narrow_g.end(), g.end() - some, g.end());
  }
  std::vector<std::uint16_t> expected(narrow_g.size());
  factory_.log_softmax_backward({.axis = 0}, {bf16, {rows, some}})
      .run({.diff_dst = narrow_g.data(), .dst = narrow_y.data(), .diff_src = expected.data()});
  const RepeatedRow dst(y);
  const RepeatedRow diff_dst(g);
  const Result result;
  factory_.log_softmax_backward({.axis = 0}, tensor_)
      .run({.diff_dst = diff_dst.data(), .dst = dst.data(), .diff_src = result.data()});
  Row first(columns);
  std::memcpy(first.data(), result.row(0), row_bytes);
  expect_rows(result, first);
  EXPECT_EQ(Row(first.end() - some, first.end()), Row(expected.begin(), expected.begin() + some));
}

}  // namespace
}  // namespace gradjit::test
