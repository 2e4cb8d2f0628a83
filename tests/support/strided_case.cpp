#include "tests/support/strided_case.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <sstream>

namespace gradjit::test {
namespace {

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
  return dims;
}

/// Strides of a view that doesn't overlap itself: any order of dims, gaps and directions; as an input, now
/// and then broadcast.
Dims random_strides(std::mt19937& random, const Dims& dims, bool is_input) {
  if (one_in(random, 3)) {
    return dense_strides(dims);
  }
  std::vector<std::size_t> order(dims.size());
  std::iota(order.rbegin(), order.rend(), 0);
  if (one_in(random, 2)) {
    std::shuffle(order.begin(), order.end(), random);
  }
  Dims strides(dims.size());
  std::int64_t stride = one_in(random, 3) ? in_range(random, 1, 5) : 1;
  for (const std::size_t i : order) {
    strides[i] = one_in(random, 5) ? -stride : stride;
    stride *= dims[i] + (one_in(random, 3) ? in_range(random, 0, 3) : 0);
    if (is_input && one_in(random, 10)) {
      strides[i] = 0;
    }
  }
  return strides;
}

}  // namespace

Dims dense_strides(const Dims& dims) {
  Dims strides(dims.size());
  std::int64_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return strides;
}

StridedCase random_case(std::mt19937& random, std::int64_t elements) {
  StridedCase c;
  c.is_elu = one_in(random, 2);
  c.dtype = static_cast<DataType>(random() % 3);
  c.dims = random_dims(random, elements);
  const auto rank = std::max<std::int64_t>(1, std::ssize(c.dims));
  c.axis = in_range(random, -rank, rank - 1);
  c.alpha = std::array{1.0F, 0.37F, 0.0F, 2.5F}[random() % 4];
  c.use_dst = c.is_elu && one_in(random, 2);
  c.sharing = static_cast<Sharing>(random() % 6);
  c.misalignment = one_in(random, 3) ? random() % 64 : 0;
  c.seed = static_cast<std::uint32_t>(random());
  c.strides = {random_strides(random, c.dims, c.sharing == Sharing::none),
               random_strides(random, c.dims, c.sharing == Sharing::none),
               random_strides(random, c.dims, false)};
  if (c.sharing == Sharing::in_place || c.sharing == Sharing::on_diff_dst) {
    c.strides[1] = c.strides[2];
  } else if (c.sharing == Sharing::on_activation) {
    c.strides[0] = c.strides[2];
  } else if (c.sharing == Sharing::same_inputs) {
    c.strides[0] = c.strides[1];
  } else if (c.sharing == Sharing::interleaved) {
    for (std::int64_t& stride : c.strides[2]) {
      stride *= 2;
    }
    c.strides[0] = c.strides[2];
  }
  return c;
}

std::string text_of(const StridedCase& c) {
  std::ostringstream text;
  const auto print = [&text](const Dims& dims) {
    text << "(";
    for (const std::int64_t size : dims) {
      text << " " << size;
    }
    text << " )";
  };
  text << (c.is_elu ? "elu" : "log_softmax") << " " << name_of(c.dtype) << " axis " << c.axis << " alpha "
       << c.alpha << " use_dst " << c.use_dst << " sharing " << static_cast<int>(c.sharing)
       << " misalignment " << c.misalignment << " seed " << c.seed << " dims ";
  print(c.dims);
  for (const Dims& strides : c.strides) {
    text << " strides ";
    print(strides);
  }
  return text.str();
}

}  // namespace gradjit::test
