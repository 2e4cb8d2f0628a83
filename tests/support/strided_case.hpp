#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gradjit/gradjit.hpp>

namespace gradjit::test {

/// How the result's memory relates to the inputs'.
enum class Sharing {
  none,
  in_place,       ///< in_place = true.
  on_diff_dst,    ///< diff_src is exactly diff_dst, but in_place = false.
  on_activation,  ///< diff_src is exactly src or dst.
  same_inputs,    ///< src or dst is exactly diff_dst.
  interleaved,    ///< diff_src takes every other element of the buffer that src or dst is in.
};

/// One call of an operation on tensors of any form. Tensors are in the order src or dst, diff_dst, diff_src.
struct StridedCase {
  bool is_elu = true;
  DataType dtype = DataType::f32;
  Dims dims;
  std::array<Dims, 3> strides;
  std::int64_t axis = 0;
  float alpha = 1;
  bool use_dst = false;
  Sharing sharing = Sharing::none;
  std::size_t misalignment = 0;  ///< Bytes by which buffers are off the alignment of their elements.
  std::uint32_t seed = 0;        ///< For the values.
};

/// Everything at random, with at most about `elements` elements.
[[nodiscard]] StridedCase random_case(std::mt19937& random, std::int64_t elements);

/// Dense row-major strides.
[[nodiscard]] Dims dense_strides(const Dims& dims);

[[nodiscard]] std::string text_of(const StridedCase& c);

using Factories = std::vector<std::unique_ptr<KernelFactory>>;

/// One for each instruction set that this CPU has.
[[nodiscard]] Factories all_factories();

/// Makes the kernel with each factory in turn, fills buffers, runs, and compares every byte of them with
/// what the portable kernels give one row or column at a time (NaNs count as one). Returns what differs,
/// nothing if all is well.
[[nodiscard]] std::string difference(const StridedCase& c, const Factories& factories, Executor& executor);

}  // namespace gradjit::test
