#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gradjit/gradjit.hpp>

namespace gradjit::test {

/// How the tensors' memory is related.
enum class Sharing : std::uint8_t {
  none,
  in_place,       ///< in_place = true.
  on_diff_dst,    ///< diff_src is exactly diff_dst, but in_place = false.
  on_activation,  ///< diff_src is exactly src or dst.
  same_inputs,    ///< src or dst is exactly diff_dst.
  all,            ///< All three are one, in_place = false.
  all_in_place,   ///< All three are one, in_place = true.
  interleaved,  ///< src or dst and diff_src are parts of one buffer: halves of a matrix, every other row, …
};
inline constexpr std::array<std::string_view, 8> sharing_names = {
    "none", "in_place", "on_diff_dst", "on_activation", "same_inputs", "all", "all_in_place", "interleaved"};

/// The bits of both inputs, row-major.
using InputBits = std::array<std::vector<std::uint32_t>, 2>;

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
  std::int64_t distance = 0;  ///< Interleaved: in elements, from src or dst to diff_src.
  /// Bytes by which each buffer is off the alignment of its elements.
  std::array<std::size_t, 3> misalignment = {};
  std::uint32_t seed = 0;   ///< For the values, and for what lies between elements.
  int special_one_in = 40;  ///< See `random_element`.
  /// In place of random ones.
  InputBits values;
  // What `failure_of` runs it with:
  Isa isa = Isa::portable;
  int threads = 1;               ///< That the executor claims to have.
  bool has_tiny_caches = false;  ///< The plan is made for `tiny_caches`.
};

/// Everything at random, with at most about `elements` elements, on one of `isas`.
[[nodiscard]] StridedCase random_case(std::mt19937& random, std::int64_t elements,
                                      const std::vector<Isa>& isas = {Isa::portable});

/// Dense row-major strides.
[[nodiscard]] Dims dense_strides(const Dims& dims);

/// Gives tensors that share memory, or a buffer, the strides of the one that counts.
void share_strides(StridedCase& c);

/// The product of the dims.
[[nodiscard]] std::int64_t elements_of(const StridedCase& c);

/// The axis in [0, rank), 0 for rank 0.
[[nodiscard]] std::size_t axis_of(const StridedCase& c);

/// The inputs' values, row-major: the case's own, or those that its seed makes.
[[nodiscard]] InputBits values_of(const StridedCase& c);

/// A case as one line of text without quotes, and back. `case_from` throws std::runtime_error for text that
/// is none.
[[nodiscard]] std::string text_of(const StridedCase& c);
[[nodiscard]] StridedCase case_from(const std::string& text);

using Factories = std::vector<std::unique_ptr<KernelFactory>>;

/// The instruction sets that this CPU has.
[[nodiscard]] std::vector<Isa> all_isas();
/// One factory for each of them.
[[nodiscard]] Factories all_factories();

/// Makes the kernel and runs it on tensors whose elements (0, …) are at `first`. (With tiny caches, `factory`
/// only says for which instruction set.)
void run(const StridedCase& c, const std::array<std::byte*, 3>& first, KernelFactory& factory,
         Executor& executor);

/// What the portable kernels give one row or column at a time, row-major.
[[nodiscard]] std::vector<std::uint32_t> portable_result(const StridedCase& c, const InputBits& inputs);

/// Makes the kernel with each factory in turn, fills buffers that stand against inaccessible pages, runs, and
/// compares every byte of them with `portable_result` (NaNs count as one); that in turn has to be within the
/// bounds of `check_bounds`. Returns what is wrong, nothing if all is well.
[[nodiscard]] std::string difference(const StridedCase& c, const Factories& factories, Executor& executor);

/// `difference` on the case's own instruction set and threads.
[[nodiscard]] std::string failure_of(const StridedCase& c);

/// Judges results, row-major, by a plain loop over indices in double (sums in long double): they have to
/// lie within the bounds that the library promises. Returns the first that doesn't, nothing if all do.
[[nodiscard]] std::string check_bounds(const StridedCase& c, const InputBits& inputs,
                                       const std::vector<std::uint32_t>& results);

}  // namespace gradjit::test
