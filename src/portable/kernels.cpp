// The executable specification: what every emitted kernel computes, one element at a time, with the same
// operations in the same order. Built three times; see portable.cpp.

#include <limits>
#include <type_traits>

#include "jit/kernel_spec.hpp"
#include "src/portable/kernels_math.hpp"

namespace gradjit::detail::portable {

inline namespace GRADJIT_PORTABLE_NAMESPACE {

namespace {

using jit::KernelArgs;
using jit::KernelSpec;
using jit::Loop;
using jit::Stage;

/// Where a kernel reads and writes: advances of the three tensors go together.
struct Pointers {
  const std::byte* activation;
  const std::byte* diff_dst;
  std::byte* diff_src;

  [[nodiscard]] Pointers at(const KernelArgs::Strides& stride, std::int64_t index) const {
    return {activation + stride.activation * index, diff_dst + stride.diff_dst * index,
            diff_src + stride.diff_src * index};
  }
};

Pointers pointers_of(const KernelSpec& spec, const KernelArgs& args) {
  const void* diff_src = spec.in_place ? args.diff_dst : args.diff_src;
  return {static_cast<const std::byte*>(args.activation), static_cast<const std::byte*>(args.diff_dst),
          static_cast<std::byte*>(const_cast<void*>(diff_src))};
}

constexpr KernelArgs::Strides adjacent(std::int64_t size) { return {size, size, size}; }

/// Calls `gradient(activation, diff_dst)` for each element.
template <DataType dtype, typename Gradient>
void for_each_element(const KernelSpec& spec, const KernelArgs& args, Gradient gradient) {
  using E = Element<dtype>;
  const std::int64_t count = args.inner;  // a copy, which no store can change
  const auto for_each = [&](auto distance) {
    for (std::int64_t run = 0; run < args.outer; ++run) {
      const Pointers from = pointers_of(spec, args).at(args.outer_stride, run);
      for (std::int64_t i = 0; i < count; ++i) {
        const Pointers p = from.at(adjacent(distance), i);
        E::store(p.diff_src, gradient(E::load(p.activation), E::load(p.diff_dst)));
      }
    }
  };
  if (spec.step == 1) {
    for_each(std::integral_constant<std::int64_t, E::size>());  // known, the loop becomes vector code
  } else {
    for_each(std::int64_t{spec.step} * E::size);
  }
}

template <DataType dtype>
void elu_backward(const KernelSpec& spec, const KernelArgs& args) {
  const auto alpha = std::bit_cast<float>(spec.alpha_bits);
  // Where the activation is positive, diff_dst itself; what is worked out besides is not used.
  const auto run = [&](auto otherwise) {
    for_each_element<dtype>(spec, args, [otherwise](float activation, float g) {
      const float product = otherwise(activation, g);
      return activation > 0 ? g : product;
    });
  };
  if (spec.use_dst) {
    run([alpha](float dst, float g) { return (dst + alpha) * g; });
  } else if (alpha == 0) {
    run([](float src, float g) { return src != src ? src : g * 0.0F; });
  } else if (alpha == std::numeric_limits<float>::infinity()) {
    // Infinity for a finite src; NaN for -infinity, where exp is 0, and for NaN.
    run([alpha](float src, float g) { return std::fma(src, 0.0F, alpha) * g; });
  } else {
    with_steps_of(jit::elu_exp_model(dtype, alpha), [&](auto exp) {
      run([exp](float src, float g) { return times_scaled_exp(g, exp(src)); });
    });
  }
}

/// One row or column along the axis.
template <DataType dtype>
struct Line {
  using E = Element<dtype>;
  Pointers start;
  KernelArgs::Strides stride;
  std::int64_t length;

  /// Reads `count` elements of diff_dst from `first` on; beyond the end, zeros.
  void read(std::int64_t first, int count, float* to) const {
    const auto present = static_cast<int>(std::min<std::int64_t>(length - first, count));
    for (int i = 0; i < present; ++i) {
      to[i] = E::load(start.at(stride, first + i).diff_dst);
    }
    std::fill(to + present, to + count, 0.0F);
  }

  /// Loop::packed_rows: 32 lanes, the absent ones zero, folded in f32.
  [[nodiscard]] float short_sum() const {
    float lanes[jit::packed_rows_limit];
    read(0, jit::packed_rows_limit, lanes);
    return fold(lanes, jit::packed_rows_limit / 2) + 0.0F;
  }

  /// A segment of Loop::rows: element i belongs to lane i mod 16; eight elements of a lane are added in
  /// f32, the rest in f64.
  [[nodiscard]] double row_total() const {
    double lanes[16] = {};
    for (std::int64_t first = 0; first < length; first += jit::rows_chunk) {
      float chunk[jit::rows_chunk];
      read(first, jit::rows_chunk, chunk);
      for (int lane = 0; lane < 16; ++lane) {
        lanes[lane] += static_cast<double>(sum_of_eight(chunk + lane, 16));
      }
    }
    return fold(lanes, 8);
  }

  /// `total` and a part of a segment of Loop::columns, or a column of Loop::few_columns: eight steps are
  /// added in f32, the rest in f64.
  [[nodiscard]] double column_total(double total) const {
    for (std::int64_t first = 0; first < length; first += jit::columns_group) {
      float group[jit::columns_group];
      read(first, jit::columns_group, group);
      total += static_cast<double>(sum_of_eight(group, 1));
    }
    return total;
  }

  void update(const DegreeSixExp& exp, float sum) const {
    for (std::int64_t i = 0; i < length; ++i) {
      const Pointers p = start.at(stride, i);
      E::store(p.diff_src, std::fma(-exp_of(exp, E::load(p.activation)), sum, E::load(p.diff_dst)));
    }
  }
};

/// Does the stage of one row or column; `index` is its place among `totals` and `sums`.
template <DataType dtype>
void log_softmax_line(const KernelSpec& spec, const KernelArgs& args, const DegreeSixExp& exp,
                      const Line<dtype>& line, std::int64_t index) {
  const bool is_column = spec.loop == Loop::columns || spec.loop == Loop::few_columns;
  const auto total = [&](double before) { return is_column ? line.column_total(before) : line.row_total(); };
  if (spec.stage == Stage::sum) {
    args.totals[index] = total(args.totals[index]);
  } else if (spec.stage == Stage::update) {
    line.update(exp, args.sums[index]);
  } else if (spec.loop == Loop::packed_rows) {
    line.update(exp, line.short_sum());
  } else {
    line.update(exp, static_cast<float>(total(0)));
  }
}

template <DataType dtype>
void log_softmax_backward(const KernelSpec& spec, const KernelArgs& args) {
  const DegreeSixExp exp{jit::log_softmax_exp_model()};
  const auto element = adjacent(spec.step * Element<dtype>::size);
  const bool columns = spec.loop == Loop::columns;
  const bool few_columns = spec.loop == Loop::few_columns;
  const bool packed = spec.loop == Loop::packed_rows;
  const std::int64_t length = packed ? spec.axis_rest : args.axis;
  const std::int64_t packed_stride = length * spec.step * Element<dtype>::size;
  const std::int64_t lines = columns ? args.inner : few_columns ? spec.columns : 1;
  const auto axis_stride = columns       ? args.axis_stride
                           : few_columns ? adjacent(spec.columns * spec.step * Element<dtype>::size)
                                         : element;
  for (std::int64_t outer = 0; outer < args.outer; ++outer) {
    const Pointers from =
        pointers_of(spec, args).at(packed ? adjacent(packed_stride) : args.outer_stride, outer);
    for (std::int64_t i = 0; i < lines; ++i) {
      const Line<dtype> line{from.at(element, i), axis_stride, length};
      log_softmax_line(spec, args, exp, line, outer * lines + i);
    }
  }
}

template <DataType dtype>
void run_typed(const KernelSpec& spec, const KernelArgs& args) {
  if (spec.operation == jit::Operation::elu_backward) {
    elu_backward<dtype>(spec, args);
  } else {
    log_softmax_backward<dtype>(spec, args);
  }
}

}  // namespace

void run(const KernelSpec& spec, const KernelArgs& args) {
  switch (spec.dtype) {
    case DataType::f32:
      return run_typed<DataType::f32>(spec, args);
    case DataType::bf16:
      return run_typed<DataType::bf16>(spec, args);
    case DataType::f16:
      return run_typed<DataType::f16>(spec, args);
  }
}

}  // namespace GRADJIT_PORTABLE_NAMESPACE

}  // namespace gradjit::detail::portable
