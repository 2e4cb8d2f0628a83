#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gradjit/gradjit.hpp>

#include "tools/gradjit/cases.hpp"

namespace gradjit::bench {

using Operation = tool::CaseOperation;

/// What is timed.
enum class Measures : std::uint8_t {
  run,               ///< A call of a kernel that the caller holds.
  create,            ///< Asking a factory for a kernel that it does not hold.
  hit,               ///< Asking a factory for one that it holds.
  hit_same_kernel,   ///< The same, while a second thread asks for the same kernel all the time.
  hit_other_kernel,  ///< The same, while a second thread asks for another kernel all the time.
};

/// What of our own a case is compared with, in the same repetition.
enum class Reference : std::uint8_t {
  none,
  dense,       ///< The same shape without gaps or transposition.
  last_axis,   ///< As many bytes, with the axis moved to the end.
  in_bf16,     ///< The same in bf16.
  one_thread,  ///< The same on one thread.
};

/// What a bound is about: how many times as fast as something, or nanoseconds.
enum class Bound : std::uint8_t { onednn, torch, roofline, reference, nanoseconds };

struct Target {
  Bound of = Bound::onednn;
  double bound = 0;  ///< At least so many times as fast; at most so many nanoseconds.
};

/// Which tensors are not row-major.
enum class Order : std::uint8_t {
  row_major,
  transposed,     ///< diff_dst is column-major.
  channels_last,  ///< diff_dst has its second dimension innermost.
  three_orders,   ///< src or dst is column-major, diff_dst has its second dimension innermost.
};

/// How the elements of the tensors lie.
struct Layout {
  Order order = Order::row_major;
  std::int64_t inner_stride = 1;  ///< Of all three tensors, in elements.
};

/// One row of the table of cases.
struct Case {
  Measures measures = Measures::run;
  Operation operation = Operation::elu_backward;
  DataType dtype = DataType::f32;
  Dims shape = {};
  std::int64_t axis = 0;  ///< log_softmax_backward's, counted from the front.
  bool use_dst = false;   ///< elu_backward's.
  bool in_place = false;
  Layout layout = {};
  int threads = 1;
  /// The instruction set that the case is about; left out, the one that the run is about.
  std::optional<Isa> isa = std::nullopt;
  Reference reference = Reference::none;
  std::vector<Target> targets = {};
  bool plotted = false;

  /// Unique among the cases, made of what sets it apart: "log_softmax_backward_bf16_64x1024".
  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::int64_t elements() const;
  /// Of the elements of one tensor.
  [[nodiscard]] std::int64_t bytes() const;
  /// From the first element of a tensor to its last, in elements.
  [[nodiscard]] std::int64_t extent() const { return elements() * layout.inner_stride; }
  /// Of src or dst, diff_dst, diff_src.
  [[nodiscard]] std::array<Dims, 3> strides() const;
  /// The case that this one is compared with. `reference` is not none.
  [[nodiscard]] Case reference_case() const;
};

/// elu_backward's in all cases.
inline constexpr float alpha = 1;

/// "run", "create", …; "dense", "last_axis", …; "onednn", "torch", …
[[nodiscard]] const char* name_of(Measures measures);
[[nodiscard]] const char* name_of(Reference reference);
[[nodiscard]] const char* name_of(Bound bound);

/// All of them, in the order in which they are shown.
[[nodiscard]] const std::vector<Case>& all_cases();

}  // namespace gradjit::bench
