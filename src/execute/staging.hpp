#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "src/cache/compiled_kernel.hpp"
#include "src/execute/strided_copy.hpp"
#include "src/plan/tile_layout.hpp"

namespace gradjit::detail {

/// What copies each staged tensor; null where plain code does.
using CopyKernels = PerTensor<std::shared_ptr<const CompiledKernel>>;

/// How the tensors of a block of certain steps are staged, wherever it is.
class Staging {
 public:
  /// The plan, the steps and the kernels must outlive it.
  Staging(const Plan& plan, const std::array<std::int64_t, max_rank>& steps, std::int64_t axis_steps,
          const CopyKernels& kernels);

  [[nodiscard]] const TileLayout& tiles() const { return tiles_; }
  /// Copies a staged tensor's part of the block to its tile, or for diff_src the result from there.
  void copy(std::size_t tensor, std::byte* to, const std::byte* from) const {
    copies_[tensor]->run(to, from);
  }

 private:
  TileLayout tiles_;
  PerTensor<std::optional<StridedCopy>> copies_;
};

}  // namespace gradjit::detail
