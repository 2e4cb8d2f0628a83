#include "src/plan/copy_nest.hpp"

#include <algorithm>

#include "src/plan/layout.hpp"

namespace gradjit::detail {
namespace {

using jit::KernelSpec;
using jit::Loop;

/// By how much a strided loop moves on its side that is adjacent, and on the other.
struct Sides {
  std::int64_t adjacent;
  std::int64_t strided;
};

Sides sides_of(const CopyLoop& loop, Loop kind) {
  return kind == Loop::pack ? Sides{loop.to, loop.from} : Sides{loop.from, loop.to};
}

std::optional<CopyCall> take_strided(CopyNest& nest, const KernelSpec& spec) {
  const auto unit = static_cast<std::int64_t>(size_of(spec.dtype));
  const std::int64_t shortest = jit::shortest_copied_line(spec.isa);
  CopyLoop line;
  if (!nest.take(line, [&](const CopyLoop& loop) {
        const auto [adjacent, strided] = sides_of(loop, spec.loop);
        return adjacent == unit && strided == unit * spec.step && loop.size >= shortest;
      })) {
    return std::nullopt;
  }
  return CopyCall{nest.take_last(), line, {1, 0, 0}};
}

std::optional<CopyCall> take_transposed(CopyNest& nest, const KernelSpec& spec) {
  const auto unit = static_cast<std::int64_t>(size_of(spec.dtype));
  const std::int64_t least = jit::least_transposed(unit);
  CopyNest rest = nest;
  CopyLoop written;
  CopyLoop read;
  const bool found = rest.take(written, [&](const CopyLoop& loop) {
    return loop.to == unit && loop.from != 0;
  }) && rest.take(read, [&](const CopyLoop& loop) { return loop.from == unit; });
  if (!found || written.size < least || read.size < least) {
    return std::nullopt;
  }
  nest = rest;
  return CopyCall{nest.take_last(), read, written};
}

}  // namespace

CopyNest::CopyNest(std::span<const CopyLoop> loops) {
  for (const CopyLoop& loop : loops) {
    if (loop.size > 1) {
      loops_[count_++] = loop;
    }
  }
  while (merge_one_pair()) {
  }
}

/// Two loops are one where a step of the outer goes on where the inner ends, in both buffers.
bool CopyNest::merge_one_pair() {
  for (std::size_t i = 0; i < count_; ++i) {
    for (std::size_t j = 0; j < count_; ++j) {
      const CopyLoop& outer = loops_[i];
      CopyLoop& inner = loops_[j];
      if (i != j && goes_on(outer.to, inner.to, inner.size) && goes_on(outer.from, inner.from, inner.size)) {
        inner.size *= outer.size;
        remove(i);
        return true;
      }
    }
  }
  return false;
}

void CopyNest::remove(std::size_t index) {
  for (std::size_t i = index + 1; i < count_; ++i) {
    loops_[i - 1] = loops_[i];
  }
  --count_;
}

CopyPlane take_plane(CopyNest& nest, std::int64_t unit, TileSide tile) {
  // What is narrower than the squares that are transposed at once had better go line by line.
  const std::int64_t side = (16 - 1) / unit + 1;
  const auto writes_runs = [&](const CopyLoop& loop) { return loop.to == unit && loop.from != 0; };
  const auto reads_runs = [&](const CopyLoop& loop) { return loop.from == unit; };
  CopyNest rest = nest;
  CopyLoop written;
  CopyLoop read;
  if (rest.take(written, writes_runs) && rest.take(read, reads_runs) && written.size >= side &&
      read.size >= side) {
    nest = rest;
    // The side that is no tile is walked along its lines: they may all fall into the same few sets of the
    // cache, where they would not survive until their next piece is due.
    return tile == TileSide::to ? CopyPlane{written, read, true} : CopyPlane{read, written, true};
  }
  // A line's own work takes as long as several elements, so that an adjacent line had better be no shorter.
  constexpr std::int64_t long_line = 8;
  const std::int64_t least = std::min(long_line, nest.longest());
  CopyLoop line{1, 0, 0};
  const auto writes_line = [&](const CopyLoop& loop) { return loop.to == unit && loop.size >= least; };
  const auto reads_line = [&](const CopyLoop& loop) { return loop.from == unit && loop.size >= least; };
  if (!nest.take(line, writes_line) && !nest.take(line, reads_line)) {
    nest.take_innermost(line, least);
  }
  return {nest.take_last(), line, false};
}

std::optional<CopyCall> take_call(CopyNest& nest, std::int64_t unit, const KernelSpec& spec) {
  if (unit != static_cast<std::int64_t>(size_of(spec.dtype))) {
    return std::nullopt;
  }
  return spec.loop == Loop::transpose ? take_transposed(nest, spec) : take_strided(nest, spec);
}

std::optional<KernelSpec> copy_spec_of(std::span<const CopyLoop> loops, std::int64_t unit, TileSide tile,
                                       Isa isa) {
  CopyNest nest(loops);
  unit = nest.take_run(unit);
  if (isa == Isa::portable || (unit != 2 && unit != 4)) {
    return std::nullopt;
  }
  KernelSpec spec;
  spec.operation = jit::Operation::copy;
  spec.dtype = unit == 2 ? DataType::bf16 : DataType::f32;
  spec.isa = isa == Isa::avx2 ? Isa::avx2 : Isa::avx512;
  spec.loop = tile == TileSide::to ? Loop::pack : Loop::unpack;
  for (spec.step = 2; spec.step <= jit::greatest_copied_step; ++spec.step) {
    if (jit::copies_step(isa, spec.step) && take_call(nest, unit, spec)) {
      return spec;
    }
  }
  spec.step = 1;
  spec.loop = Loop::transpose;
  return take_call(nest, unit, spec) ? std::optional(spec) : std::nullopt;
}

}  // namespace gradjit::detail
