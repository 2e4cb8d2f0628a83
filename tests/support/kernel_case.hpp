#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <gradjit/gradjit.hpp>

#include "src/plan/tuning.hpp"
#include "tests/support/element_bits.hpp"
#include "tests/support/guarded_buffer.hpp"

namespace gradjit::test {

/// Caches so small that plans are made as for tensors larger than the caches.
inline constexpr detail::CacheSizes tiny_caches{.l2 = 64, .l3 = 1024};

/// One dense call of an operation, for the comparison of an instruction set with the portable kernels.
struct KernelCase {
  bool is_elu = true;
  DataType dtype = DataType::f32;
  Dims dims;
  bool in_place = false;
  // EluBackward's:
  float alpha = 1;
  bool use_dst = false;
  // LogSoftmaxBackward's:
  std::int64_t axis = -1;
  /// One value in so many is special; see `random_element`.
  int special_one_in = 20;
};

[[nodiscard]] std::string text_of(const KernelCase& c);

/// A factory of each instruction set that this CPU has, made once.
[[nodiscard]] KernelFactory& factory_of(Isa isa);
/// The instruction sets above portable that this CPU has.
[[nodiscard]] std::vector<Isa> emitted_isas();

/// Inputs of a case: as many elements each as its dims say.
struct Inputs {
  std::vector<std::uint32_t> activation;
  std::vector<std::uint32_t> diff_dst;
};
[[nodiscard]] Inputs random_inputs(const KernelCase& c, std::mt19937& random);

/// What the kernel of `isa` gives, with all buffers standing against an inaccessible page. In place, the
/// input is checked to be untouched otherwise.
[[nodiscard]] std::vector<std::uint32_t> run(const KernelCase& c, const Inputs& inputs, Isa isa,
                                             GuardedBuffer::Guard guard);

/// What differs, NaNs counted as one; nothing if all bits are the same.
[[nodiscard]] std::optional<std::string> difference(const KernelCase& c, const Inputs& inputs,
                                                    const std::vector<std::uint32_t>& expected,
                                                    const std::vector<std::uint32_t>& actual);

/// Compares every instruction set with the portable kernels, at both ends of memory.
void expect_same_bits(const KernelCase& c, const Inputs& inputs);

}  // namespace gradjit::test
