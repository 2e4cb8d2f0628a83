#include "src/execute/strided_copy.hpp"

#include <algorithm>
#include <array>

#include "src/execute/transpose.hpp"

namespace gradjit::detail {
namespace {

// Lines of adjacent bytes, as many as `line.size`. Short ones are moved in pieces that may overlap, which
// needs no branch on the length.

template <typename Unit>
void copy_two(std::byte* to, const std::byte* from, std::int64_t bytes) {
  const auto tail = bytes - static_cast<std::int64_t>(sizeof(Unit));
  const auto first = load_unit<Unit>(from);
  const auto last = load_unit<Unit>(from + tail);
  store_unit(to, first);
  store_unit(to + tail, last);
}

void copy_four(std::byte* to, const std::byte* from, std::int64_t bytes) {
  copy_two<Unit16>(to, from, 32);
  copy_two<Unit16>(to + bytes - 32, from + bytes - 32, 32);
}

void copy_eight(std::byte* to, const std::byte* from, std::int64_t bytes) {
  copy_four(to, from, 64);
  copy_four(to + bytes - 64, from + bytes - 64, 64);
}

void copy_many(std::byte* to, const std::byte* from, std::int64_t bytes) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

template <void (*copy)(std::byte*, const std::byte*, std::int64_t)>
void copy_runs(std::byte* to, const std::byte* from, const CopyLoop& lines, const CopyLoop& line) {
  const auto [size, to_stride, from_stride] = lines;
  const std::int64_t bytes = line.size;
  for (std::int64_t i = 0; i < size; ++i) {
    copy(to + i * to_stride, from + i * from_stride, bytes);
  }
}

// Lines of units that are contiguous on one side at most. The loops are taken by value: for all that the
// compiler knows, `to` might point to them.

template <typename Unit>
void fill(std::byte* to, const std::byte* from, std::int64_t size) {
  constexpr std::int64_t per_vector = sizeof(Unit16) / sizeof(Unit);
  Unit units[per_vector];
  std::fill_n(units, per_vector, load_unit<Unit>(from));
  const auto vector = load_unit<Unit16>(reinterpret_cast<const std::byte*>(units));
  std::int64_t left = size;
  for (; left >= per_vector; left -= per_vector) {
    store_unit(to, vector);
    to += sizeof(Unit16);
  }
  for (; left > 0; --left) {
    store_unit(to, units[0]);
    to += sizeof(Unit);
  }
}

/// Four units at a time: a loop's own work takes as long as one. `to_step` and `from_step` are constants
/// where the callers know them.
template <typename Unit>
inline void copy_units(std::byte* to, std::int64_t to_step, const std::byte* from, std::int64_t from_step,
                       std::int64_t size) {
  std::int64_t left = size;
  for (; left >= 4; left -= 4) {
    const auto unit0 = load_unit<Unit>(from);
    const auto unit1 = load_unit<Unit>(from + from_step);
    const auto unit2 = load_unit<Unit>(from + 2 * from_step);
    const auto unit3 = load_unit<Unit>(from + 3 * from_step);
    store_unit(to, unit0);
    store_unit(to + to_step, unit1);
    store_unit(to + 2 * to_step, unit2);
    store_unit(to + 3 * to_step, unit3);
    to += 4 * to_step;
    from += 4 * from_step;
  }
  for (; left > 0; --left) {
    store_unit(to, load_unit<Unit>(from));
    to += to_step;
    from += from_step;
  }
}

template <typename Unit>
void copy_line(std::byte* to, const std::byte* from, const CopyLoop line) {
  constexpr auto unit = static_cast<std::int64_t>(sizeof(Unit));
  if (line.to == unit && line.from == 0) {
    fill<Unit>(to, from, line.size);
  } else if (line.to == unit) {
    copy_units<Unit>(to, unit, from, line.from, line.size);
  } else if (line.from == unit) {
    copy_units<Unit>(to, line.to, from, unit, line.size);
  } else {
    copy_units<Unit>(to, line.to, from, line.from, line.size);
  }
}

template <typename Unit>
void copy_lines(std::byte* to, const std::byte* from, const CopyLoop& lines, const CopyLoop& line) {
  const auto [size, to_stride, from_stride] = lines;
  for (std::int64_t i = 0; i < size; ++i) {
    copy_line<Unit>(to + i * to_stride, from + i * from_stride, line);
  }
}

/// Of the two loops, `from` is contiguous along one (`read`) and `to` along the other (`written`).
template <typename Unit>
void transpose(std::byte* to, const std::byte* from, const CopyLoop& lines, const CopyLoop& line) {
  constexpr std::int64_t side = Square<Unit>::side;
  const auto [outer_size, outer_to, outer_from] = lines;
  const auto [inner_size, inner_to, inner_from] = line;
  const bool reads_inner = inner_from == static_cast<std::int64_t>(sizeof(Unit));
  const std::int64_t to_pitch = reads_inner ? inner_to : outer_to;
  const std::int64_t from_pitch = reads_inner ? outer_from : inner_from;
  const std::int64_t outer_end = outer_size - outer_size % side;
  const std::int64_t inner_end = inner_size - inner_size % side;
  for (std::int64_t i = 0; i < outer_end; i += side) {
    for (std::int64_t j = 0; j < inner_end; j += side) {
      Square<Unit>::transpose(to + i * outer_to + j * inner_to, to_pitch,
                              from + i * outer_from + j * inner_from, from_pitch);
    }
  }
  for (std::int64_t j = inner_end; j < inner_size; ++j) {
    copy_line<Unit>(to + j * inner_to, from + j * inner_from, {outer_end, outer_to, outer_from});
  }
  for (std::int64_t i = outer_end; i < outer_size; ++i) {
    copy_line<Unit>(to + i * outer_to, from + i * outer_from, {inner_size, inner_to, inner_from});
  }
}

jit::KernelArgs args_of(const CopyCall& call) {
  jit::KernelArgs args;
  args.outer = call.outer.size;
  args.outer_stride = {.activation = call.outer.from, .diff_src = call.outer.to};
  args.inner = call.line.size;
  args.axis = call.rows.size;
  args.axis_stride = {.activation = call.rows.from, .diff_src = call.line.to};
  return args;
}

}  // namespace

StridedCopy::Plane StridedCopy::take_runs(CopyNest& nest, std::int64_t bytes) {
  const auto copy = bytes < 8      ? copy_runs<copy_two<Unit4>>
                    : bytes <= 16  ? copy_runs<copy_two<Unit8>>
                    : bytes <= 32  ? copy_runs<copy_two<Unit16>>
                    : bytes <= 64  ? copy_runs<copy_four>
                    : bytes <= 128 ? copy_runs<copy_eight>
                                   : copy_runs<copy_many>;
  return {copy, nest.take_last(), {bytes, 1, 1}};
}

template <typename Unit>
StridedCopy::Plane StridedCopy::take_units(CopyNest& nest, TileSide tile) {
  const CopyPlane plane = take_plane(nest, sizeof(Unit), tile);
  return {plane.is_transposed ? transpose<Unit> : copy_lines<Unit>, plane.lines, plane.line};
}

StridedCopy::Plane StridedCopy::plane_of(CopyNest& nest, std::int64_t bytes, TileSide tile) {
  switch (bytes) {
    case 2:
      return take_units<Unit2>(nest, tile);
    case 4:
      return take_units<Unit4>(nest, tile);
    case 8:
      return take_units<Unit8>(nest, tile);
    case 16:
      return take_units<Unit16>(nest, tile);
    default:
      return take_runs(nest, bytes);
  }
}

StridedCopy::StridedCopy(std::span<const CopyLoop> loops, std::int64_t unit, TileSide tile,
                         const CompiledKernel* kernel)
    : nest_(loops) {
  const std::int64_t bytes = nest_.take_run(unit);
  if (kernel != nullptr) {
    if (const std::optional<CopyCall> call = take_call(nest_, bytes, kernel->spec)) {
      kernel_ = kernel;
      args_ = args_of(*call);
      if (kernel->spec.loop == jit::Loop::transpose_by_places) {
        set_places(row_places_, call->rows_chain, &CopyLoop::from);
        set_places(column_places_, call->line_chain, &CopyLoop::to);
      }
      return;
    }
  }
  plane_ = plane_of(nest_, bytes, tile);
}

void StridedCopy::run(std::byte* to, const std::byte* from) const {
  if (kernel_ == nullptr) {
    nest_.run(to, from, [this](std::byte* plane_to, const std::byte* plane_from) {
      plane_.copy(plane_to, plane_from, plane_.lines, plane_.line);
    });
    return;
  }
  jit::KernelArgs args = args_;
  args.row_places = row_places_.data();
  args.column_places = column_places_.data();
  nest_.run(to, from, [&](std::byte* plane_to, const std::byte* plane_from) {
    args.activation = plane_from;
    args.diff_src = plane_to;
    kernel_->entry(&args);
  });
}

}  // namespace gradjit::detail
