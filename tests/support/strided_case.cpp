#include "tests/support/strided_case.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <numeric>

#include "tests/support/element_bits.hpp"

namespace gradjit::test {
namespace {

/// Gaps and strides that would spread a tensor over more elements are left out.
constexpr std::int64_t widest_span = 1 << 20;

std::int64_t in_range(std::mt19937& random, std::int64_t least, std::int64_t most) {
  return std::uniform_int_distribution<std::int64_t>(least, most)(random);
}

bool one_in(std::mt19937& random, std::int64_t count) { return in_range(random, 1, count) == 1; }

std::int64_t product(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

Dims random_dims(std::mt19937& random, std::int64_t elements) {
  Dims dims(static_cast<std::size_t>(one_in(random, 20) ? in_range(random, 0, 12) : in_range(random, 1, 4)));
  for (std::int64_t& size : dims) {
    size = one_in(random, 5) ? 1 : in_range(random, 1, one_in(random, 3) ? 70 : 9);
  }
  if (!dims.empty() && one_in(random, 2)) {
    dims[random() % dims.size()] = in_range(random, 1, elements);
  }
  while (product(dims) > elements) {
    std::int64_t& size = *std::max_element(dims.begin(), dims.end());
    size = (size + 1) / 2;
  }
  if (!dims.empty() && one_in(random, 50)) {
    dims[random() % dims.size()] = 0;
  }
  return dims;
}

/// Strides of a view that doesn't overlap itself: any order of dims, gaps and directions; as an input, now
/// and then broadcast.
Dims random_strides(std::mt19937& random, const Dims& dims, bool is_input) {
  if (one_in(random, 4)) {
    return dense_strides(dims);
  }
  std::vector<std::size_t> order(dims.size());
  std::iota(order.rbegin(), order.rend(), 0);
  if (one_in(random, 2)) {
    std::shuffle(order.begin(), order.end(), random);
  }
  Dims strides(dims.size());
  std::int64_t stride = 1;
  if (one_in(random, 3)) {
    stride = in_range(random, 1, one_in(random, 4) ? 70 : 5);
  }
  for (const std::size_t i : order) {
    strides[i] = one_in(random, 5) ? -stride : stride;
    stride *= std::max<std::int64_t>(dims[i], 1) + (one_in(random, 3) ? in_range(random, 0, 3) : 0);
    if (is_input && one_in(random, 10)) {
      strides[i] = 0;
    }
  }
  return stride > std::max(widest_span, 2 * product(dims)) ? dense_strides(dims) : strides;
}

/// src or dst and diff_src alternate along a dimension of 2 that both lack: where it is the innermost, they
/// take every other element; further out, every other row, or half of a matrix each.
void interleave(StridedCase& c, std::mt19937& random) {
  Dims dims = c.dims;
  const auto place = static_cast<std::ptrdiff_t>(random() % (dims.size() + 1));
  dims.insert(dims.begin() + place, 2);
  Dims strides = random_strides(random, dims, false);
  c.distance = strides[static_cast<std::size_t>(place)];
  strides.erase(strides.begin() + place);
  c.strides[0] = strides;
}

float random_alpha(std::mt19937& random) {
  constexpr std::array alphas = {0.0F,  0x1p-149F, 1e-40F,  0.01F, 0.37F,
                                 1.67F, 2.5F,      0x1p30F, 3e38F, std::numeric_limits<float>::infinity()};
  return one_in(random, 3) ? 1.0F : alphas[random() % alphas.size()];
}

void set_strides(StridedCase& c, std::mt19937& random) {
  const bool all_are_one = c.sharing == Sharing::all || c.sharing == Sharing::all_in_place;
  const bool writes_diff_dst =
      all_are_one || c.sharing == Sharing::in_place || c.sharing == Sharing::on_diff_dst;
  const bool writes_activation = all_are_one || c.sharing == Sharing::on_activation;
  c.strides = {random_strides(random, c.dims, !writes_activation),
               random_strides(random, c.dims, !writes_diff_dst), random_strides(random, c.dims, false)};
  if (one_in(random, 3)) {
    c.strides[1] = c.strides[2];
    if (one_in(random, 2)) {
      c.strides[0] = c.strides[2];  // the steps that kernels take are those of all tensors
    }
  }
  if (c.sharing == Sharing::interleaved) {
    interleave(c, random);
  }
  share_strides(c);
}

}  // namespace

Dims dense_strides(const Dims& dims) {
  Dims strides(dims.size());
  std::int64_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<std::int64_t>(dims[i], 1);
  }
  return strides;
}

void share_strides(StridedCase& c) {
  switch (c.sharing) {
    case Sharing::none:
      return;
    case Sharing::interleaved:
      c.strides[2] = c.strides[0];
      return;
    case Sharing::in_place:
    case Sharing::on_diff_dst:
      c.strides[1] = c.strides[2];
      return;
    case Sharing::on_activation:
      c.strides[0] = c.strides[2];
      return;
    case Sharing::same_inputs:
      c.strides[0] = c.strides[1];
      return;
    case Sharing::all:
    case Sharing::all_in_place:
      c.strides[0] = c.strides[2];
      c.strides[1] = c.strides[2];
      return;
  }
}

StridedCase random_case(std::mt19937& random, std::int64_t elements, const std::vector<Isa>& isas) {
  StridedCase c;
  c.is_elu = one_in(random, 2);
  c.dtype = static_cast<DataType>(random() % 3);
  c.dims = random_dims(random, elements);
  const auto rank = std::max<std::int64_t>(1, std::ssize(c.dims));
  c.axis = in_range(random, -rank, rank - 1);
  c.alpha = random_alpha(random);
  c.use_dst = c.is_elu && one_in(random, 2);
  c.sharing = static_cast<Sharing>(random() % sharing_names.size());
  for (std::size_t& bytes : c.misalignment) {
    bytes = one_in(random, 3) ? random() % 64 : 0;
  }
  c.seed = static_cast<std::uint32_t>(random());
  c.special_one_in = std::array{0, 400, 40, 4}[random() % 4];
  c.isa = isas[random() % isas.size()];
  c.threads = std::array{1, 2, 3, 7, 64}[random() % 5];
  set_strides(c, random);
  c.has_tiny_caches = one_in(random, 2);
  return c;
}

std::int64_t elements_of(const StridedCase& c) { return product(c.dims); }

std::size_t axis_of(const StridedCase& c) {
  const auto rank = std::max<std::int64_t>(1, std::ssize(c.dims));
  return static_cast<std::size_t>(c.axis < 0 ? c.axis + rank : c.axis);
}

InputBits values_of(const StridedCase& c) {
  const auto elements = static_cast<std::size_t>(elements_of(c));
  std::mt19937 random(c.seed);
  InputBits values = c.values;
  for (const std::size_t tensor : {0U, 1U}) {
    const bool is_log_probability = tensor == 0 && !c.is_elu;
    while (values[tensor].size() < elements) {
      values[tensor].push_back(random_element(c.dtype, random, c.special_one_in, is_log_probability));
    }
  }
  return values;
}

}  // namespace gradjit::test
