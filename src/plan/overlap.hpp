#pragma once

#include <cstdint>
#include <span>

#include "src/plan/request.hpp"

namespace gradjit::detail {

/// The answer to a question that can be too hard to decide.
enum class Overlap : std::uint8_t { none, some, undecided };

/// Whether two different elements of one tensor are the same memory. `dims` are of sizes above 1; only the
/// strides of `tensor` count.
[[nodiscard]] Overlap self_overlap(const DimList& dims, Tensor tensor);

/// Whether an element of tensor `a` shares bytes with one of tensor `b`. `distance` is by how many bytes
/// the first element of `b` lies after that of `a`; strides count bytes and are multiples of
/// `element_size`.
[[nodiscard]] Overlap shares_memory(const DimList& dims, Tensor a, Tensor b, std::int64_t distance,
                                    std::int64_t element_size);

/// A term of a sum: `factor` times an integer in [0, most].
struct Term {
  std::int64_t factor;
  std::int64_t most;
};

/// Whether the sum of `terms` can be `total`. Factors are positive, the greatest sum fits 63 bits. Uses
/// `terms` as its work space. Exact; it gives up (undecided) after a bounded effort that
/// views of arrays don't come near.
[[nodiscard]] Overlap can_sum_to(std::span<Term> terms, std::int64_t total);

}  // namespace gradjit::detail
