#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "src/cache/compiled_kernel.hpp"
#include "src/plan/copy_nest.hpp"

namespace gradjit::detail {

/// A copy between a tile and a tensor, worked out once for any number of places: one element for each step of
/// a nest of loops, in no particular order. Any strides will do, zero and negative ones too, as long as no
/// two steps write to one place and nothing that is read is written. Writes the elements and nothing between
/// them, and reads nothing that is not between two elements of a line.
class StridedCopy {
 public:
  /// Of elements of `unit` bytes (2 or 4). A tile is the side whose cache lines stay in the first-level cache
  /// during the copy. `kernel` does what it can, if there is one, and must outlive the copy; the rest, and
  /// all of it without one, is plain code.
  StridedCopy(std::span<const CopyLoop> loops, std::int64_t unit, TileSide tile,
              const CompiledKernel* kernel = nullptr);

  void run(std::byte* to, const std::byte* from) const;

 private:
  /// Does the two innermost loops, `line` inside `lines`.
  using PlaneFunction = void (*)(std::byte* to, const std::byte* from, const CopyLoop& lines,
                                 const CopyLoop& line);
  struct Plane {
    PlaneFunction copy;
    CopyLoop lines;
    CopyLoop line;
  };

  static Plane take_runs(CopyNest& nest, std::int64_t bytes);
  template <typename Unit>
  static Plane take_units(CopyNest& nest, TileSide tile);
  static Plane plane_of(CopyNest& nest, std::int64_t bytes, TileSide tile);

  CopyNest nest_;  ///< The loops around.
  const CompiledKernel* kernel_ = nullptr;
  jit::KernelArgs args_;   ///< The kernel's, but for the pointers.
  CopyPlaces row_places_;  ///< Set where it wants them.
  CopyPlaces column_places_;
  Plane plane_ = {};  ///< Where there is no kernel.
};

}  // namespace gradjit::detail
