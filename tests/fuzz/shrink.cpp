#include "tests/fuzz/shrink.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include "tests/support/element_bits.hpp"
#include "tests/support/strided_memory.hpp"

namespace gradjit::test {
namespace {

/// A case with only the steps [first, last) of one dim.
StridedCase cut(StridedCase c, std::size_t dim, std::int64_t first, std::int64_t last) {
  std::size_t inner = 1;
  for (std::size_t i = dim + 1; i < c.dims.size(); ++i) {
    inner *= static_cast<std::size_t>(c.dims[i]);
  }
  const auto size = static_cast<std::size_t>(c.dims[dim]);
  for (auto& values : c.values) {
    std::vector<std::uint32_t> kept;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto step = static_cast<std::int64_t>(i / inner % size);
      if (step >= first && step < last) {
        kept.push_back(values[i]);
      }
    }
    values = kept;
  }
  c.dims[dim] = last - first;
  return c;
}

/// A case without one dim, of size 1.
StridedCase without(StridedCase c, std::size_t dim) {
  const auto place = static_cast<std::ptrdiff_t>(dim);
  c.axis -= static_cast<std::size_t>(c.axis) > dim ? 1 : 0;
  c.dims.erase(c.dims.begin() + place);
  for (Dims& strides : c.strides) {
    strides.erase(strides.begin() + place);
  }
  c.axis = c.is_elu ? 0 : c.axis;
  return c;
}

/// Strides in the order of `strides` and with their signs and zeros, but without gaps.
Dims compact(const Dims& dims, const Dims& strides) {
  std::vector<std::size_t> order(dims.size());
  std::iota(order.rbegin(), order.rend(), 0);
  std::stable_sort(order.begin(), order.end(), [&strides](std::size_t a, std::size_t b) {
    return std::abs(strides[a]) < std::abs(strides[b]);
  });
  Dims result(dims.size());
  std::int64_t stride = 1;
  for (const std::size_t i : order) {
    if (strides[i] != 0) {
      result[i] = strides[i] < 0 ? -stride : stride;
      stride *= std::max<std::int64_t>(dims[i], 1);
    }
  }
  return result;
}

/// How far a value is from the simplest there is.
int complexity(DataType dtype, std::uint32_t bits) {
  int simple = 0;
  for (const float value : {1.0F, 0.0F, -1.0F}) {
    if (bits == encode(dtype, value)) {
      return simple;
    }
    ++simple;
  }
  return simple + std::popcount(bits);
}

class Shrinker {
 public:
  Shrinker(const StridedCase& c, const std::function<bool(const StridedCase&)>& fails, int most_tries)
      : best_(c), fails_(fails), tries_left_(most_tries) {}

  StridedCase run() {
    // From here on, what each element is in memory, so that it can stay when tensors change.
    const StridedMemory memory(best_);
    take([&memory](StridedCase& c) {
      c.values = {memory.elements(0), memory.elements(1)};
      c.special_one_in = 0;
    });
    take([](StridedCase& c) { c.axis = static_cast<std::int64_t>(axis_of(c)); });
    do {
      has_changed_ = false;
      simplify_settings();
      simplify_dims();
      simplify_strides();
      simplify_values();
    } while (has_changed_ && tries_left_ > 0);
    return best_;
  }

 private:
  bool take(const StridedCase& candidate) {
    if (tries_left_ <= 0 || text_of(candidate) == text_of(best_)) {
      return false;
    }
    --tries_left_;
    if (!fails_(candidate)) {
      return false;
    }
    best_ = candidate;
    has_changed_ = true;
    return true;
  }

  /// Takes the best case with a change, if it fails.
  template <typename Change>
  bool take(const Change& change) requires requires(StridedCase& c) {
    change(c);
  }
  {
    StridedCase candidate = best_;
    change(candidate);
    return take(candidate);
  }

  void simplify_settings() {
    take([](StridedCase& c) { c.threads = 1; });
    take([](StridedCase& c) { c.has_tiny_caches = false; });
    take([](StridedCase& c) { c.threads = std::min(c.threads, 2); });
    for (Isa isa = Isa::portable; isa < best_.isa; isa = static_cast<Isa>(static_cast<int>(isa) + 1)) {
      if (take([isa](StridedCase& c) { c.isa = isa; })) {
        break;
      }
    }
    take([](StridedCase& c) {
      c.sharing = Sharing::none;
      c.distance = 0;
    });
    take([](StridedCase& c) { c.misalignment = {}; });
    for (const std::size_t tensor : {0U, 1U, 2U}) {
      take([tensor](StridedCase& c) { c.misalignment[tensor] = 0; });
    }
    take([](StridedCase& c) {
      for (auto& values : c.values) {
        for (std::uint32_t& value : values) {
          value = encode(DataType::f32, decode(c.dtype, value));
        }
      }
      c.dtype = DataType::f32;
    });
    take([](StridedCase& c) { c.alpha = 1; });
    take([](StridedCase& c) { c.use_dst = false; });
    take([](StridedCase& c) { c.seed %= 4; });
  }

  void simplify_dims() {
    for (std::size_t dim = best_.dims.size(); dim-- > 0;) {
      // By powers of two: what a fault needs is often a remainder, of a register or a loop that is unrolled.
      const auto size = static_cast<std::uint64_t>(best_.dims[dim]);
      for (auto by = static_cast<std::int64_t>(std::bit_floor(size)); by > 0; by /= 2) {
        const auto can = [&] { return by < best_.dims[dim]; };
        while (can() && take(cut(best_, dim, 0, best_.dims[dim] - by))) {
        }
        while (can() && take(cut(best_, dim, by, best_.dims[dim]))) {
        }
      }
      const bool is_axis = !best_.is_elu && dim == static_cast<std::size_t>(best_.axis);
      if (best_.dims[dim] == 1 && !is_axis) {
        take(without(best_, dim));
      }
    }
  }

  void simplify_strides() {
    take([](StridedCase& c) {
      c.strides.fill(dense_strides(c.dims));
      if (c.sharing == Sharing::interleaved) {
        c.distance = 1;
        for (std::size_t tensor : {0U, 2U}) {
          std::ranges::for_each(c.strides[tensor], [](std::int64_t& stride) { stride *= 2; });
        }
      }
    });
    for (const std::size_t tensor : {2U, 1U, 0U}) {
      if (best_.sharing == Sharing::interleaved && tensor != 1) {
        continue;  // A change might let them overlap.
      }
      simplify_strides(tensor);
    }
  }

  /// The first that fails: dense, without gaps, without gaps but for one element, without directions.
  void simplify_strides(std::size_t tensor) {
    const Dims strides = best_.strides[tensor];
    Dims packed = compact(best_.dims, strides);
    Dims spread = packed;
    std::ranges::for_each(spread, [](std::int64_t& stride) { stride *= 2; });
    Dims upwards = strides;
    std::ranges::for_each(upwards, [](std::int64_t& stride) { stride = std::abs(stride); });
    for (const Dims& simpler : {dense_strides(best_.dims), packed, spread, upwards}) {
      const auto change = [&](StridedCase& c) {
        c.strides[tensor] = simpler;
        share_strides(c);
      };
      if (simpler == strides || take(change)) {
        return;
      }
    }
  }

  void simplify_values() {
    for (const std::size_t tensor : {0U, 1U}) {
      const std::size_t size = best_.values[tensor].size();
      for (std::size_t length = size; length > 0; length /= 2) {
        for (std::size_t first = 0; first < size && tries_left_ > 0; first += length) {
          simplify_values(tensor, first, std::min(first + length, size));
        }
      }
    }
  }

  /// Gives all of some values a simple one, or the only one of them a simpler one.
  void simplify_values(std::size_t tensor, std::size_t first, std::size_t last) {
    const DataType dtype = best_.dtype;
    std::vector<std::uint32_t> simpler;
    for (const float value : {1.0F, 0.0F, -1.0F}) {
      simpler.push_back(encode(dtype, value));
    }
    if (last - first == 1) {
      const std::uint32_t bits = best_.values[tensor][first];
      simpler.push_back(encode(dtype, std::trunc(decode(dtype, bits))));
      for (int dropped = 16; dropped > 0; dropped /= 2) {
        simpler.push_back(bits >> dropped << dropped);
      }
    }
    const auto total = [&](const StridedCase& c) {
      int sum = 0;
      for (std::size_t i = first; i < last; ++i) {
        sum += complexity(dtype, c.values[tensor][i]);
      }
      return sum;
    };
    for (const std::uint32_t value : simpler) {
      StridedCase candidate = best_;
      std::fill(candidate.values[tensor].begin() + static_cast<std::ptrdiff_t>(first),
                candidate.values[tensor].begin() + static_cast<std::ptrdiff_t>(last), value);
      if (total(candidate) < total(best_) && take(candidate)) {
        return;
      }
    }
  }

  StridedCase best_;
  const std::function<bool(const StridedCase&)>& fails_;
  int tries_left_;
  bool has_changed_ = false;
};

}  // namespace

StridedCase shrunk(const StridedCase& c, const std::function<bool(const StridedCase&)>& fails,
                   int most_tries) {
  return Shrinker(c, fails, most_tries).run();
}

}  // namespace gradjit::test
