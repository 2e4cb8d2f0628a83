// The cases of the bench: what issues and users ask about, with the bounds that are aimed at.
#include <iterator>
#include <utility>

#include "tools/benchmark/case.hpp"

namespace gradjit::bench {
namespace {

using enum DataType;
using enum Measures;
using enum tool::CaseOperation;
using enum Reference;

constexpr Target onednn(double ratio) { return {.of = Bound::onednn, .bound = ratio}; }
constexpr Target torch(double ratio) { return {.of = Bound::torch, .bound = ratio}; }
constexpr Target roofline(double share) { return {.of = Bound::roofline, .bound = share}; }
constexpr Target against_reference(double ratio) { return {.of = Bound::reference, .bound = ratio}; }
constexpr Target nanoseconds(double most) { return {.of = Bound::nanoseconds, .bound = most}; }

constexpr std::int64_t large = std::int64_t{1} << 25;

/// Calls of kernels on data in cache.
std::vector<Case> cached_cases() {
  return {
      {.shape = {4096}, .targets = {onednn(2.8)}, .plotted = true},
      {.shape = {65536}, .targets = {onednn(2.6)}, .plotted = true},
      {.shape = {4096}, .use_dst = true, .targets = {onednn(5)}},
      {.dtype = bf16, .shape = {4096}, .targets = {onednn(2.8)}, .plotted = true},
      {.dtype = bf16, .shape = {65536}, .targets = {onednn(2.4)}, .plotted = true},
      {.dtype = f16, .shape = {4096}, .reference = in_bf16, .targets = {against_reference(0.85)}},
      {.dtype = f16, .shape = {65536}, .reference = in_bf16, .targets = {against_reference(0.85)}},
      {.shape = {16}, .targets = {onednn(6)}, .plotted = true},
      {.shape = {256}, .targets = {onednn(6)}, .plotted = true},
      {.operation = log_softmax_backward,
       .shape = {64, 1024},
       .axis = 1,
       .targets = {onednn(2.3)},
       .plotted = true},
      {.operation = log_softmax_backward, .shape = {8192, 128}, .axis = 1, .targets = {onednn(2.2)}},
      {.operation = log_softmax_backward, .shape = {65536, 10}, .axis = 1, .targets = {onednn(4.5)}},
      {.operation = log_softmax_backward, .shape = {16384, 3}, .axis = 1, .targets = {onednn(20)}},
      {.operation = log_softmax_backward,
       .dtype = bf16,
       .shape = {64, 1024},
       .axis = 1,
       .targets = {onednn(2)}},
      {.operation = log_softmax_backward,
       .shape = {64, 128, 28, 28},
       .axis = 1,
       .reference = last_axis,
       .targets = {onednn(100), torch(2), against_reference(0.85)}},
      {.operation = log_softmax_backward,
       .shape = {1024, 64},
       .axis = 0,
       .reference = last_axis,
       .targets = {onednn(100), torch(2), against_reference(0.85)}},
      {.shape = {4096}, .isa = Isa::avx2, .targets = {onednn(1.9)}},
      {.shape = {65536}, .isa = Isa::avx2, .targets = {onednn(1.9)}},
      {.operation = log_softmax_backward,
       .shape = {64, 1024},
       .axis = 1,
       .isa = Isa::avx2,
       .targets = {onednn(20)}},
  };
}

/// Tensors larger than the last-level cache.
std::vector<Case> large_cases() {
  std::vector<Case> cases;
  for (const bool in_place : {false, true}) {
    for (const DataType dtype : {f32, bf16}) {
      cases.push_back({.dtype = dtype,
                       .shape = {large},
                       .in_place = in_place,
                       .targets = {roofline(dtype == f32 ? 0.85 : 0.75)},
                       .plotted = !in_place});
      cases.push_back({.operation = log_softmax_backward,
                       .dtype = dtype,
                       .shape = {512, 50257},
                       .axis = 1,
                       .in_place = in_place,
                       .targets = {roofline(dtype == f32 ? 0.8 : 0.65)}});
    }
  }
  // Rows and slabs that are short, but whole cache lines.
  cases.push_back({.operation = log_softmax_backward, .shape = {262144, 96}, .axis = 1});
  cases.push_back({.operation = log_softmax_backward, .shape = {131072, 64, 3}, .axis = 1});
  return cases;
}

/// Kernels made, kernels found, and two threads.
std::vector<Case> runtime_cases() {
  const std::vector<Target> created = {nanoseconds(100'000), onednn(20)};
  return {
      {.measures = create, .shape = {4096}, .targets = created},
      {.measures = create, .shape = {4096}, .use_dst = true, .targets = created},
      {.measures = create, .dtype = bf16, .shape = {4096}, .targets = created},
      {.measures = create,
       .operation = log_softmax_backward,
       .shape = {64, 1024},
       .axis = 1,
       .targets = created},
      {.measures = create,
       .operation = log_softmax_backward,
       .shape = {65536, 10},
       .axis = 1,
       .targets = created},
      {.measures = create,
       .operation = log_softmax_backward,
       .shape = {64, 128, 28, 28},
       .axis = 1,
       .targets = created},
      {.measures = hit, .shape = {4096}, .targets = {nanoseconds(100)}},
      {.measures = hit_other_kernel,
       .shape = {4096},
       .threads = 2,
       .reference = one_thread,
       .targets = {against_reference(1)}},
      {.measures = hit_same_kernel,
       .shape = {4096},
       .threads = 2,
       .reference = one_thread,
       .targets = {nanoseconds(150)}},
      {.shape = {1 << 20}, .threads = 2, .reference = one_thread, .targets = {against_reference(1.8)}},
      {.operation = log_softmax_backward,
       .shape = {1024, 1024},
       .axis = 1,
       .threads = 2,
       .reference = one_thread,
       .targets = {against_reference(1.8)}},
  };
}

/// The shapes that log-softmax comes in.
std::vector<Case> shape_cases() {
  const std::pair<Dims, std::int64_t> shapes[] = {
      // Axes from 1 to hundreds, last.
      {{65536, 1}, 1},
      {{32768, 2}, 1},
      {{16384, 4}, 1},
      {{8192, 8}, 1},
      {{4096, 16}, 1},
      {{2048, 32}, 1},
      {{2048, 33}, 1},
      {{1024, 64}, 1},
      {{64, 100}, 1},
      {{256, 300}, 1},
      {{128, 1000}, 1},
      // Vocabularies, and one long row.
      {{32, 32000}, 1},
      {{16, 128256}, 1},
      {{8, 262144}, 1},
      {{1, 1 << 24}, 1},
      // Inner extents from 2 to thousands, with the axis in the middle.
      {{64, 100, 2}, 1},
      {{64, 100, 3}, 1},
      {{64, 100, 7}, 1},
      {{64, 100, 8}, 1},
      {{64, 100, 14}, 1},
      {{1024, 5, 6}, 1},
      {{16, 81, 49}, 1},
      {{32, 81, 8732}, 1},
      {{16, 64, 4096}, 1},
      // The axis first, in the middle and last of one tensor.
      {{32, 48, 64}, 0},
      {{32, 48, 64}, 1},
      {{32, 48, 64}, 2},
  };
  std::vector<Case> cases;
  for (const auto& [shape, axis] : shapes) {
    const bool is_last = axis + 1 == std::ssize(shape);
    cases.push_back({.operation = log_softmax_backward,
                     .shape = shape,
                     .axis = axis,
                     .reference = is_last ? none : last_axis});
  }
  for (const DataType dtype : {bf16, f16}) {
    cases.push_back({.operation = log_softmax_backward, .dtype = dtype, .shape = {65536, 10}, .axis = 1});
    cases.push_back({.operation = log_softmax_backward, .dtype = dtype, .shape = {32, 32000}, .axis = 1});
    cases.push_back(
        {.operation = log_softmax_backward, .dtype = dtype, .shape = {64, 128, 28, 28}, .axis = 1});
  }
  cases.push_back({.operation = log_softmax_backward,
                   .dtype = f16,
                   .shape = {64, 1024},
                   .axis = 1,
                   .reference = in_bf16});
  return cases;
}

/// Tensors that are transposes of one another, and views with gaps, on data in cache.
std::vector<Case> layout_cases() {
  struct Kind {
    Dims shape;
    Layout layout;
    double most;  ///< Times what dense tensors take.
    std::int64_t axis = 1;
  };
  const Kind kinds[] = {
      {{64, 256}, {.order = Order::transposed}, 3},
      {{64, 256}, {.inner_stride = 2}, 3},
      {{64, 256}, {.inner_stride = 3}, 3},
      {{64, 256}, {.inner_stride = 4}, 3},
      {{64, 256}, {.inner_stride = 7}, 10},
      {{32, 128}, {.inner_stride = 16}, 10},
      {{100, 100}, {.inner_stride = 3}, 3},
      {{20, 20}, {.order = Order::transposed}, 3},
      {{4, 21, 28, 28}, {.order = Order::channels_last}, 3},
      {{12, 30, 40}, {.order = Order::three_orders}, 3},
      {{2, 64, 14, 14}, {.order = Order::three_orders}, 3},
      {{100'000, 8}, {.order = Order::transposed}, 3, 0},
  };
  std::vector<Case> cases;
  for (const auto& [shape, layout, most, axis] : kinds) {
    for (const DataType dtype : {f32, bf16}) {
      for (const Operation operation : {elu_backward, log_softmax_backward}) {
        cases.push_back({.operation = operation,
                         .dtype = dtype,
                         .shape = shape,
                         .axis = axis,
                         .layout = layout,
                         .reference = dense,
                         .targets = {against_reference(1 / most)}});
      }
    }
  }
  return cases;
}

/// The sizes of the plot that no other case has.
std::vector<Case> size_cases() {
  std::vector<Case> cases;
  for (const std::int64_t size : {64, 1024, 16384, 1 << 18, 1 << 20, 1 << 22, 1 << 24}) {
    cases.push_back({.shape = {size}, .plotted = true});
  }
  for (const std::int64_t size : {16, 64, 256, 1024, 16384, 1 << 18, 1 << 20, 1 << 22, 1 << 24}) {
    cases.push_back({.dtype = bf16, .shape = {size}, .plotted = true});
  }
  for (const std::int64_t length : {16, 64, 256, 1024}) {
    cases.push_back({.operation = log_softmax_backward, .shape = {1, length}, .axis = 1, .plotted = true});
  }
  for (const std::int64_t rows : {4, 16, 256, 1024, 4096, 16384, 32768}) {
    cases.push_back({.operation = log_softmax_backward, .shape = {rows, 1024}, .axis = 1, .plotted = true});
  }
  return cases;
}

}  // namespace

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases = [] {
    std::vector<Case> all;
    for (const auto group :
         {cached_cases, large_cases, runtime_cases, shape_cases, layout_cases, size_cases}) {
      std::vector<Case> some = group();
      all.insert(all.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
    }
    return all;
  }();
  return cases;
}

}  // namespace gradjit::bench
