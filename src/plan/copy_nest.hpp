#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <span>

#include "jit/kernel_spec.hpp"
#include "src/plan/tuning.hpp"

namespace gradjit::detail {

/// One loop of a copy: how often it steps, and by how many bytes each step moves in either buffer. (Without
/// initialisers, so that an array of them costs nothing to make.)
struct CopyLoop {
  std::int64_t size;
  std::int64_t to;
  std::int64_t from;
};

/// The most loops that a copy may have: those of a tensor of the greatest rank.
inline constexpr std::size_t max_copy_loops = max_rank;

/// Which side of a copy is a tile.
enum class TileSide : std::uint8_t { to, from };

/// The loops of one copy, without those that don't loop.
class CopyNest {
 public:
  explicit CopyNest(std::span<const CopyLoop> loops);

  /// Takes out the first loop for which `matches` holds; false if there is none.
  template <typename Matches>
  bool take(CopyLoop& taken, Matches matches) {
    for (std::size_t i = 0; i < count_; ++i) {
      if (matches(loops_[i])) {
        taken = loops_[i];
        remove(i);
        return true;
      }
    }
    return false;
  }

  /// Whether there is a loop for which `matches` holds.
  template <typename Matches>
  [[nodiscard]] bool has(Matches matches) const {
    return std::any_of(loops_.begin(), loops_.begin() + count_, matches);
  }

  /// Takes out the last loop of at least so many steps, if there is one.
  void take_innermost(CopyLoop& taken, std::int64_t least) {
    for (std::size_t i = count_; i-- > 0;) {
      if (loops_[i].size >= least) {
        taken = loops_[i];
        remove(i);
        return;
      }
    }
  }

  /// Takes out the last loop, or one that doesn't loop if none is left.
  CopyLoop take_last() { return count_ == 0 ? CopyLoop{1, 0, 0} : loops_[--count_]; }

  /// Takes out a loop whose steps are adjacent in both buffers, and returns the bytes that lie side by side:
  /// those of one element if there is none.
  std::int64_t take_run(std::int64_t unit) {
    CopyLoop run{1, 0, 0};
    take(run, [unit](const CopyLoop& loop) { return loop.to == unit && loop.from == unit; });
    return run.size * unit;
  }

  /// The steps of the longest loop that is left.
  [[nodiscard]] std::int64_t longest() const {
    std::int64_t size = 1;
    for (std::size_t i = 0; i < count_; ++i) {
      size = std::max(size, loops_[i].size);
    }
    return size;
  }

  /// How many steps the loops that are left have together.
  [[nodiscard]] std::int64_t steps() const {
    return std::transform_reduce(loops_.begin(), loops_.begin() + count_, std::int64_t{1},
                                 std::multiplies<>(), [](const CopyLoop& loop) { return loop.size; });
  }

  /// Calls `plane(to, from)` for each step of the loops that are left.
  template <typename Plane>
  void run(std::byte* to, const std::byte* from, const Plane& plane) const {
    std::array<std::int64_t, max_copy_loops> index = {};
    for (;;) {
      plane(to, from);
      std::size_t i = count_;
      for (;; --i) {
        if (i == 0) {
          return;
        }
        const CopyLoop& loop = loops_[i - 1];
        to += loop.to;
        from += loop.from;
        if (++index[i - 1] < loop.size) {
          break;
        }
        index[i - 1] = 0;
        to -= loop.to * loop.size;
        from -= loop.from * loop.size;
      }
    }
  }

 private:
  bool merge_one_pair();
  void remove(std::size_t index);

  std::size_t count_ = 0;
  std::array<CopyLoop, max_copy_loops> loops_ = {};
};

/// The two innermost loops of a copy by plain code, where no loop is adjacent in both buffers: `line` inside
/// `lines`.
struct CopyPlane {
  CopyLoop lines;
  CopyLoop line;
  bool is_transposed;  ///< One is adjacent in one buffer, the other in the other.
};

/// Takes these loops out of `nest`, whose elements have `unit` bytes.
[[nodiscard]] CopyPlane take_plane(CopyNest& nest, std::int64_t unit, TileSide tile);

/// Loops that follow one another in one buffer, the innermost first: there, they are one loop of `size`
/// steps.
struct CopyChain {
  static constexpr std::size_t max_loops = 4;

  std::int64_t size;
  std::size_t count;
  std::array<CopyLoop, max_loops> loops;
};

/// Where the steps of a chain lie in the buffer whose stride this is: in bytes from the first.
using CopyPlaces = std::array<std::int64_t, greatest_copy_chain>;
void set_places(CopyPlaces& places, const CopyChain& chain, std::int64_t CopyLoop::*stride);

/// Where a kernel for copies takes over: the loops of one call.
struct CopyCall {
  CopyLoop outer;  ///< Lines or planes.
  CopyLoop line;   ///< transpose: the loop along which `from` is adjacent.
  CopyLoop rows;   ///< transpose: the loop along which `to` is adjacent. runs: how far they lie apart.
  // transpose_by_places: the loops that are `line` and `rows`, of which those have the sizes only.
  CopyChain line_chain;
  CopyChain rows_chain;
};

/// Takes the loops that the kernel of `spec` does out of `nest`, whose elements have `unit` bytes; nothing if
/// it cannot do any.
[[nodiscard]] std::optional<CopyCall> take_call(CopyNest& nest, std::int64_t unit,
                                                const jit::KernelSpec& spec);

/// The kernel that copies fastest what `loops` say, in elements of `unit` bytes; nothing if plain code does.
[[nodiscard]] std::optional<jit::KernelSpec> copy_spec_of(std::span<const CopyLoop> loops, std::int64_t unit,
                                                          TileSide tile, Isa isa);

}  // namespace gradjit::detail
