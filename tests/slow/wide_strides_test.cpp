// Strides of more than 2^31 elements, in memory that has pages only where elements are.

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include <gradjit/gradjit.hpp>

#include "tests/support/executors.hpp"
#include "tests/support/strided_case.hpp"
#include "tests/support/strided_view.hpp"

namespace gradjit::test {
namespace {

constexpr std::int64_t wide = std::int64_t{1} << 31;

/// Addresses for a tensor of any strides. None if the system grants no such range.
class SparseMemory {
 public:
  SparseMemory(DataType dtype, const Dims& dims, const Dims& strides) {
    const auto size = static_cast<std::int64_t>(size_of(dtype));
    const Extent extent = extent_of(dims, strides);
    bytes_ = static_cast<std::size_t>((extent.high - extent.low + 1) * size);
    memory_ =
        mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    first_ = exists() ? static_cast<std::byte*>(memory_) - extent.low * size : nullptr;
  }
  ~SparseMemory() {
    if (exists()) {
      munmap(memory_, bytes_);
    }
  }
  SparseMemory(const SparseMemory&) = delete;
  SparseMemory& operator=(const SparseMemory&) = delete;

  [[nodiscard]] bool exists() const { return memory_ != MAP_FAILED; }
  /// Where the tensor's element (0, …) is.
  [[nodiscard]] std::byte* first() const { return first_; }

 private:
  std::size_t bytes_;
  void* memory_;
  std::byte* first_;
};

/// Runs the case with each instruction set on tensors of its strides, and compares with the portable kernels'
/// result on dense ones.
void check(const StridedCase& c) {
  static const Factories factories = all_factories();
  const InputBits inputs = values_of(c);
  const auto expected = portable_result(c, inputs);
  ClaimedThreads executor(3);
  for (const auto& factory : factories) {
    const SparseMemory activation(c.dtype, c.dims, c.strides[0]);
    const SparseMemory diff_dst(c.dtype, c.dims, c.strides[1]);
    const SparseMemory diff_src(c.dtype, c.dims, c.strides[2]);
    if (!activation.exists() || !diff_dst.exists() || !diff_src.exists()) {
      GTEST_SKIP() << "the system grants no such range of addresses: " << text_of(c);
    }
    const std::array first = {activation.first(), diff_dst.first(), diff_src.first()};
    const auto view = [&](std::size_t tensor) {
      return StridedView(c.dtype, c.dims, c.strides[tensor], first[tensor]);
    };
    view(0).set_elements(inputs[0]);
    view(1).set_elements(inputs[1]);
    run(c, first, *factory, executor);
    ASSERT_EQ(view(0).elements(), inputs[0]) << text_of(c);
    ASSERT_EQ(view(1).elements(), inputs[1]) << text_of(c);
    ASSERT_EQ(view(2).elements(), expected) << name_of(factory->isa()) << " " << text_of(c);
  }
}

/// Both operations, along each axis, with the strides given to the tensors in each order.
void check_all(DataType dtype, const Dims& dims, const std::array<Dims, 3>& strides) {
  StridedCase c{.dtype = dtype, .dims = dims, .strides = strides, .seed = 1, .special_one_in = 0};
  for (int order = 0; order < 3; ++order) {
    std::rotate(c.strides.begin(), c.strides.begin() + 1, c.strides.end());
    c.is_elu = true;
    check(c);
    c.is_elu = false;
    for (c.axis = 0; c.axis < std::ssize(dims) && !testing::Test::HasFatalFailure(); ++c.axis) {
      check(c);
    }
  }
}

TEST(WideStrides, AlongAnyAxis) {
  for (const DataType dtype : {DataType::f32, DataType::bf16, DataType::f16}) {
    check_all(dtype, {3, 40}, {Dims{wide + 5, 1}, Dims{-wide - 7, 1}, Dims{3 * wide, 1}});
    check_all(dtype, {40, 3}, {Dims{1, wide + 1}, Dims{3, 1}, Dims{-2, 2 * wide}});
    check_all(dtype, {5, 6, 7},
              {Dims{7 * wide, 7, 1}, Dims{1, wide + 1, -5}, Dims{wide + 3, 5 * wide + 15, 1}});
  }
}

TEST(WideStrides, OfSeveralPartsAndSegments) {
  check_all(DataType::f32, {70'000, 2}, {Dims{1, wide + 3}, Dims{2, 1}, Dims{-1, -wide}});
}

}  // namespace
}  // namespace gradjit::test
