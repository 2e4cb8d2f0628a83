#include "src/plan/overlap.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <utility>

namespace gradjit::detail {
namespace {

/// Terms of two tensors of the greatest rank.
constexpr std::size_t max_terms = 2 * max_rank;

/// How many values the search tries before it gives up: some milliseconds.
constexpr int search_limit = 200'000;

__extension__ typedef __int128 Wide;  // NOLINT(modernize-use-using)

/// The x in [0, modulus) with factor * x = 1 modulo `modulus`; they have no common divisor.
std::int64_t inverse(std::int64_t factor, std::int64_t modulus) {
  std::int64_t r0 = modulus;
  std::int64_t r1 = factor % modulus;
  std::int64_t x0 = 0;
  std::int64_t x1 = 1;
  while (r1 != 0) {
    const std::int64_t quotient = r0 / r1;
    r0 = std::exchange(r1, r0 - quotient * r1);
    x0 = std::exchange(x1, x0 - quotient * x1);
  }
  return x0 < 0 ? x0 + modulus : x0;
}

/// Depth first, the greatest factor first; bounds and divisibility leave few values to try at each term.
class Search {
 public:
  explicit Search(std::span<const Term> terms) : terms_(terms) {
    greatest_[terms.size()] = 0;
    divisor_[terms.size()] = 0;
    for (std::size_t i = terms.size(); i-- > 0;) {
      greatest_[i] = greatest_[i + 1] + terms[i].factor * terms[i].most;
      divisor_[i] = std::gcd(divisor_[i + 1], terms[i].factor);
    }
  }

  Overlap run(std::int64_t total) {
    const bool found = reaches(0, total);
    return found ? Overlap::some : tried_ > search_limit ? Overlap::undecided : Overlap::none;
  }

 private:
  bool reaches(std::size_t index, std::int64_t total) {
    if (total < 0 || total > greatest_[index]) {
      return false;
    }
    if (total == 0) {
      return true;
    }
    if (total % divisor_[index] != 0) {
      return false;
    }
    if (index + 1 == terms_.size()) {
      return true;
    }
    const Term& term = terms_[index];
    // What the other terms can make up for is a multiple of their common divisor: that fixes x modulo
    // `period`.
    const std::int64_t period = divisor_[index + 1] / divisor_[index];
    const std::int64_t excess = total - greatest_[index + 1];
    const std::int64_t least = excess <= 0 ? 0 : (excess - 1) / term.factor + 1;
    const std::int64_t most = std::min(term.most, total / term.factor);
    for (std::int64_t x = first_of_class(index, total, period, least); x <= most; x += period) {
      if (++tried_ > search_limit) {
        return false;
      }
      if (reaches(index + 1, total - x * term.factor)) {
        return true;
      }
      if (most - x < period) {
        break;
      }
    }
    return false;
  }

  /// The first x >= least for which total - factor * x is divisible by what the later terms are.
  [[nodiscard]] std::int64_t first_of_class(std::size_t index, std::int64_t total, std::int64_t period,
                                            std::int64_t least) const {
    if (period == 1) {
      return least;
    }
    const std::int64_t divisor = divisor_[index];
    const Wide product =
        static_cast<Wide>(inverse(terms_[index].factor / divisor, period)) * (total / divisor % period);
    const auto residue = static_cast<std::int64_t>(product % period);
    const std::int64_t ahead = (residue - least % period + period) % period;
    return ahead > std::numeric_limits<std::int64_t>::max() - least ? std::numeric_limits<std::int64_t>::max()
                                                                    : least + ahead;
  }

  std::span<const Term> terms_;
  std::array<std::int64_t, max_terms + 1> greatest_;  ///< Sum of the terms from here on, at most.
  std::array<std::int64_t, max_terms + 1> divisor_;   ///< Common divisor of the factors from here on.
  int tried_ = 0;
};

/// Terms become one where together they reach every multiple of the smaller factor.
std::size_t merge(std::span<Term> terms) {
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.factor < b.factor; });
  std::size_t count = 0;
  for (const Term& term : terms) {
    const auto absorbs = [&term](const Term& small) {
      return term.factor % small.factor == 0 && term.factor / small.factor - 1 <= small.most;
    };
    const auto kept = terms.first(count);
    const auto found = std::find_if(kept.begin(), kept.end(), absorbs);
    if (found != kept.end()) {
      found->most += term.factor / found->factor * term.most;
    } else {
      terms[count++] = term;
    }
  }
  return count;
}

/// Adds `factor` times an index in [0, most] to a sum that shall be `total`.
void add_term(std::array<Term, max_terms>& terms, std::size_t& count, std::int64_t& low, std::int64_t factor,
              std::int64_t most) {
  if (factor < 0) {
    low += factor * most;
  }
  if (factor != 0) {
    terms[count++] = {std::abs(factor), most};
  }
}

}  // namespace

Overlap can_sum_to(std::span<Term> terms, std::int64_t total) {
  const std::size_t count = merge(terms);
  const auto merged = terms.first(count);
  std::reverse(merged.begin(), merged.end());
  return Search(merged).run(total);
}

Overlap self_overlap(const DimList& dims, Tensor tensor) {
  std::array<Term, max_rank> by_stride;
  std::size_t count = 0;
  for (const Dim& dim : dims) {
    if (dim.stride[tensor] == 0) {
      return Overlap::some;
    }
    by_stride[count++] = {std::abs(dim.stride[tensor]), dim.size - 1};
  }
  std::sort(by_stride.begin(), by_stride.begin() + static_cast<std::ptrdiff_t>(count),
            [](const Term& a, const Term& b) { return a.factor < b.factor; });

  // Two different indices of one place differ by steps d with sum(stride * d) = 0. With the longest stride
  // that takes part going up, the shorter ones must bring it back down; they reach `reach` at most.
  std::int64_t reach = 0;
  Overlap worst = Overlap::none;
  for (std::size_t lead = 0; lead < count; ++lead) {
    const Term& top = by_stride[lead];
    if (top.factor <= reach) {
      std::array<Term, max_rank> terms;
      for (std::size_t i = 0; i < lead; ++i) {
        terms[i] = {by_stride[i].factor, 2 * by_stride[i].most};  // d counted from its least value.
      }
      terms[lead] = {top.factor, top.most - 1};  // d of the lead counted from 1.
      const Overlap answer = can_sum_to(std::span(terms).first(lead + 1), reach - top.factor);
      if (answer == Overlap::some) {
        return answer;
      }
      worst = answer == Overlap::undecided ? answer : worst;
    }
    reach += top.factor * top.most;
  }
  return worst;
}

Overlap shares_memory(const DimList& dims, Tensor a, Tensor b, std::int64_t distance,
                      std::int64_t element_size) {
  std::array<Term, max_terms> terms;
  std::size_t count = 0;
  std::int64_t low = 0;
  for (const Dim& dim : dims) {
    add_term(terms, count, low, dim.stride[a] / element_size, dim.size - 1);
    add_term(terms, count, low, -dim.stride[b] / element_size, dim.size - 1);
  }
  // Elements of a and b share bytes where they are less than an element apart: at one difference of their
  // indices, or at two when the tensors are not aligned to one another.
  const std::int64_t rest = (distance % element_size + element_size) % element_size;
  const std::int64_t floor = (distance - rest) / element_size;
  for (std::int64_t difference = floor; difference <= floor + (rest != 0 ? 1 : 0); ++difference) {
    std::int64_t total = 0;
    if (__builtin_sub_overflow(difference, low, &total)) {
      continue;  // Further than any sum of the terms.
    }
    std::array<Term, max_terms> changeable = terms;
    const Overlap answer = can_sum_to(std::span(changeable).first(count), total);
    if (answer != Overlap::none) {
      return answer;
    }
  }
  return Overlap::none;
}

}  // namespace gradjit::detail
