#include "src/plan/copy_nest.hpp"

#include <algorithm>
#include <bit>
#include <limits>

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
  return CopyCall{nest.take_last(), line, {1, 0, 0}, {}, {}};
}

/// The loops that copies may transpose: those along which `to` is adjacent, and `from`.
auto writes_runs(std::int64_t unit) {
  return [unit](const CopyLoop& loop) { return loop.to == unit && loop.from != 0; };
}
auto reads_runs(std::int64_t unit) {
  return [unit](const CopyLoop& loop) { return loop.from == unit; };
}

std::optional<CopyCall> take_transposed(CopyNest& nest, const KernelSpec& spec) {
  const auto unit = static_cast<std::int64_t>(size_of(spec.dtype));
  const std::int64_t least = jit::least_transposed(unit);
  CopyNest rest = nest;
  CopyLoop written;
  CopyLoop read;
  if (!rest.take(written, writes_runs(unit)) || !rest.take(read, reads_runs(unit)) || written.size < least ||
      read.size < least) {
    return std::nullopt;
  }
  nest = rest;
  return CopyCall{nest.take_last(), read, written, {}, {}};
}

/// Takes the loop that follows on a chain in the buffer whose stride this is; false if there is none.
bool extend(CopyChain& chain, CopyNest& nest, std::int64_t unit, std::int64_t CopyLoop::*stride) {
  CopyLoop next;
  if (chain.count == CopyChain::max_loops || !nest.take(next, [&](const CopyLoop& loop) {
        return loop.*stride == unit * chain.size && loop.from != 0 &&
               loop.size <= greatest_copy_chain / chain.size;
      })) {
    return false;
  }
  chain.loops[chain.count++] = next;
  chain.size *= next.size;
  return true;
}

/// Transposes more than one loop on either side. The shorter side grows first: squares are to be full.
std::optional<CopyCall> take_by_places(CopyNest& nest, const KernelSpec& spec) {
  const auto unit = static_cast<std::int64_t>(size_of(spec.dtype));
  CopyNest rest = nest;
  CopyChain line{1, 0, {}};
  CopyChain rows{1, 0, {}};
  const auto extend_line = [&] { return extend(line, rest, unit, &CopyLoop::from); };
  const auto extend_rows = [&] { return extend(rows, rest, unit, &CopyLoop::to); };
  if (!extend_rows() || !extend_line()) {
    return std::nullopt;
  }
  while (line.size < rows.size ? extend_line() || extend_rows() : extend_rows() || extend_line()) {
  }
  if (std::min(line.size, rows.size) < jit::least_transposed(unit)) {
    return std::nullopt;
  }
  nest = rest;
  return CopyCall{nest.take_last(), {line.size, 0, 0}, {rows.size, 0, 0}, line, rows};
}

/// Sets the loops of a kernel that transposes; false if there is none. Tables of places are for loops that
/// would not fill a line of the cache by themselves.
bool set_transpose(KernelSpec& spec, const CopyNest& nest) {
  constexpr std::int64_t line_bytes = 64;
  const auto unit = static_cast<std::int64_t>(size_of(spec.dtype));
  if (!nest.has(writes_runs(unit)) || !nest.has(reads_runs(unit))) {
    return false;
  }
  spec.loop = Loop::transpose;
  CopyNest rest = nest;
  const auto pitched = take_transposed(rest, spec);
  if (pitched && std::min(pitched->line.size, pitched->rows.size) >= line_bytes / unit) {
    return true;
  }
  rest = nest;
  const auto placed = take_by_places(rest, spec);
  if (placed && placed->line_chain.count + placed->rows_chain.count > 2) {
    spec.loop = Loop::transpose_by_places;
    return true;
  }
  return pitched.has_value();
}

/// The runs along `loop`, of `bytes` each, as elements of `unit` bytes. Pitches that code may not know are 0.
std::optional<jit::RunShape> run_shape_of(const CopyLoop& loop, std::int64_t bytes, std::int64_t unit,
                                          bool with_pitches) {
  const std::int64_t most = std::numeric_limits<std::uint8_t>::max() * unit;
  const std::int64_t from = with_pitches ? loop.from : 0;
  const std::int64_t to = with_pitches ? loop.to : 0;
  if (bytes > most || (with_pitches && (from < bytes || to < bytes || from > most || to > most))) {
    return std::nullopt;
  }
  // Plans are made often, and divisions take long: `unit` is a power of two.
  const int shift = std::countr_zero(static_cast<std::uint64_t>(unit));
  if (((bytes | from | to) & (unit - 1)) != 0) {
    return std::nullopt;
  }
  const auto elements = [shift](std::int64_t size) { return static_cast<std::uint8_t>(size >> shift); };
  return jit::RunShape{elements(bytes), elements(from), elements(to)};
}

/// Takes the first loop whose runs have this shape; of those with any pitches, the longest.
std::optional<CopyCall> take_runs(CopyNest& nest, std::int64_t bytes, const KernelSpec& spec) {
  const auto unit = static_cast<std::int64_t>(size_of(spec.dtype));
  const bool with_pitches = spec.run.from_pitch != 0;
  const std::int64_t least = with_pitches ? jit::runs_at_once(spec.isa, unit, spec.run) : nest.longest();
  CopyLoop runs;
  if (!nest.take(runs, [&](const CopyLoop& loop) {
        return loop.size >= least && run_shape_of(loop, bytes, unit, with_pitches) == spec.run;
      })) {
    return std::nullopt;
  }
  return CopyCall{nest.take_last(), runs, {1, 0, runs.from}, {}, {}};
}

/// Sets the type and the shape of a kernel that moves runs of `bytes`; false if there is none.
bool set_runs(KernelSpec& spec, const CopyNest& nest, std::int64_t bytes) {
  const auto set_shape = [&](const CopyLoop& loop, bool with_pitches) {
    for (const DataType dtype : {DataType::f32, DataType::bf16}) {
      const auto unit = static_cast<std::int64_t>(size_of(dtype));
      if (const auto shape = run_shape_of(loop, bytes, unit, with_pitches)) {
        spec.dtype = dtype;
        spec.run = *shape;
        const int at_once = jit::runs_at_once(spec.isa, unit, *shape);
        return at_once != 0 && loop.size >= at_once;
      }
    }
    return false;
  };
  spec.loop = Loop::runs;
  return nest.has([&](const CopyLoop& loop) { return set_shape(loop, true); }) ||
         nest.has([&](const CopyLoop& loop) { return set_shape(loop, false); });
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

void set_places(CopyPlaces& places, const CopyChain& chain, std::int64_t CopyLoop::*stride) {
  places[0] = 0;
  std::size_t count = 1;
  for (std::size_t i = 0; i < chain.count; ++i) {
    // Each step of an outer loop has those of the loops inside once more.
    const std::size_t inside = count;
    for (std::int64_t step = 1; step < chain.loops[i].size; ++step) {
      for (std::size_t j = 0; j < inside; ++j) {
        places[count++] = places[j] + step * chain.loops[i].*stride;
      }
    }
  }
}

CopyPlane take_plane(CopyNest& nest, std::int64_t unit, TileSide tile) {
  // What is narrower than the squares that are transposed at once had better go line by line.
  const std::int64_t side = (16 - 1) / unit + 1;
  CopyNest rest = nest;
  CopyLoop written;
  CopyLoop read;
  if (rest.take(written, writes_runs(unit)) && rest.take(read, reads_runs(unit)) && written.size >= side &&
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
  if (spec.loop == Loop::runs) {
    return take_runs(nest, unit, spec);
  }
  if (unit != static_cast<std::int64_t>(size_of(spec.dtype))) {
    return std::nullopt;
  }
  switch (spec.loop) {
    case Loop::transpose:
      return take_transposed(nest, spec);
    case Loop::transpose_by_places:
      return take_by_places(nest, spec);
    default:
      return take_strided(nest, spec);
  }
}

std::optional<KernelSpec> copy_spec_of(std::span<const CopyLoop> loops, std::int64_t unit, TileSide tile,
                                       Isa isa) {
  CopyNest nest(loops);
  unit = nest.take_run(unit);
  if (isa == Isa::portable) {
    return std::nullopt;
  }
  KernelSpec spec;
  spec.operation = jit::Operation::copy;
  spec.isa = isa == Isa::avx2 ? Isa::avx2 : Isa::avx512;
  if (unit == 2 || unit == 4) {
    spec.dtype = unit == 2 ? DataType::bf16 : DataType::f32;
    spec.loop = tile == TileSide::to ? Loop::pack : Loop::unpack;
    for (spec.step = 2; spec.step <= jit::greatest_copied_step; ++spec.step) {
      if (jit::copies_step(isa, spec.step) && take_call(nest, unit, spec)) {
        return spec;
      }
    }
    spec.step = 1;
    if (set_transpose(spec, nest)) {
      return spec;
    }
  }
  return set_runs(spec, nest, unit) ? std::optional(spec) : std::nullopt;
}

}  // namespace gradjit::detail
