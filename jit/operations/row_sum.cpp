#include "jit/operations/row_sum.hpp"

#include <optional>
#include <span>

#include "jit/operations/tree_sum.hpp"

namespace gradjit::jit {

namespace {

constexpr int sum_lanes = 16;

}  // namespace

RowSum::RowSum(VectorUnit& v, Elements& elements) : v_(v), elements_(elements) {
  for (int part = 0; part < v.accumulator_parts(); ++part) {
    accumulators_.push_back(v.vec("sum of diff_dst"));
  }
}

void RowSum::start() {
  for (const Vec& accumulator : accumulators_) {
    v_.zero(accumulator);
  }
}

void RowSum::add_chunk(const Xbyak::RegExp& from) { add_rest(from, static_cast<int>(rows_chunk), Tail{}); }

void RowSum::add_rest(const Xbyak::RegExp& from, int count, const Tail& tail) {
  const Tail whole;
  // A vector's lanes go to two accumulators; the lanes of a chunk to one vector or more.
  for (int first_lane = 0; first_lane < sum_lanes; first_lane += v_.lanes()) {
    std::vector<Summand> summands;
    for (int first = first_lane; first < count; first += sum_lanes) {
      summands.push_back({from + first * elements_.size(), count - first < v_.lanes() ? &tail : &whole});
    }
    if (const std::optional<Vec> sum = tree_sum(v_, elements_, summands)) {
      const auto part = static_cast<std::size_t>(2 * first_lane / v_.lanes());
      v_.add_widened(std::span(accumulators_).subspan(part, 2), *sum);
    }
  }
}

const Vec& RowSum::total() {
  v_.fold_f64(accumulators_);
  return accumulators_[0];
}

}  // namespace gradjit::jit
