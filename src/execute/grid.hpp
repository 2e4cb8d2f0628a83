#pragma once

#include <array>
#include <cstdint>

#include "src/plan/plan.hpp"

namespace gradjit::detail {

/// A part of the positions, for one kernel call.
struct Block {
  PerTensor<std::int64_t> offset;  ///< In bytes, from the first element of the loops.
  std::array<std::int64_t, max_rank> steps;
  /// The first position's place among all, in the order of the loops; adjacent columns are counted as
  /// padded to whole vectors.
  std::int64_t place;
};

/// The blocks of a plan, numbered in the order of its loops.
class Grid {
 public:
  /// For `concurrency` threads, wide slabs of columns are cut more finely than for one.
  Grid(const Plan& plan, int concurrency);

  /// Whether blocks have only some of a slab's columns.
  [[nodiscard]] static bool cuts_columns(const Plan& plan, int concurrency);

  [[nodiscard]] std::int64_t blocks() const { return blocks_; }

  /// How many tasks the work is worth, of `parts` that it can be cut into.
  [[nodiscard]] static std::int64_t tasks(const Plan& plan, std::int64_t parts, int concurrency);

  /// Calls `visit(block)` for the blocks with numbers in [first, last), some of them grown into one.
  template <typename Visit>
  void for_each(std::int64_t first, std::int64_t last, const Visit& visit) const {
    Index index = index_of(first);
    while (first < last) {
      const std::int64_t grown =
          growing_ == Plan::none ? 1 : std::min(last - first, counts_[growing_] - index[growing_]);
      visit(block_at(index, grown));
      first += grown;
      advance(index, grown);
    }
  }

 private:
  using Index = std::array<std::int64_t, max_rank>;

  [[nodiscard]] static std::int64_t columns_of_block(const Plan& plan, int concurrency);
  [[nodiscard]] Index index_of(std::int64_t number) const;
  [[nodiscard]] Block block_at(const Index& index, std::int64_t grown) const;
  void advance(Index& index, std::int64_t grown) const;

  const Plan& plan_;
  std::array<std::int64_t, max_rank> block_;   ///< Steps of a block along each loop.
  std::array<std::int64_t, max_rank> counts_;  ///< Blocks along each loop.
  std::int64_t blocks_ = 1;
  std::size_t growing_ = Plan::none;
};

}  // namespace gradjit::detail
