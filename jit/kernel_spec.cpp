#include "jit/kernel_spec.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>

namespace gradjit::jit {

std::string_view name_of(Operation operation) {
  switch (operation) {
    case Operation::elu_backward:
      return "elu_backward";
    case Operation::log_softmax_backward:
      return "log_softmax_backward";
    case Operation::copy:
      return "copy";
  }
  return "?";
}

std::string_view name_of(Loop loop) {
  switch (loop) {
    case Loop::elements:
      return "elements";
    case Loop::packed_rows:
      return "packed_rows";
    case Loop::rows:
      return "rows";
    case Loop::columns:
      return "columns";
    case Loop::few_columns:
      return "few_columns";
    case Loop::pack:
      return "pack";
    case Loop::unpack:
      return "unpack";
    case Loop::transpose:
      return "transpose";
    case Loop::transpose_by_places:
      return "transpose_by_places";
    case Loop::runs:
      return "runs";
  }
  return "?";
}

std::string_view name_of(Stage stage) {
  switch (stage) {
    case Stage::whole:
      return "whole";
    case Stage::sum:
      return "sum";
    case Stage::update:
      return "update";
  }
  return "?";
}

namespace {

/// alpha in C's hexadecimal notation: short for the usual values, and exact. (Not by printf, whose decimal
/// point is the host's.)
std::string hexadecimal(float value) {
  std::array<char, 32> text{};
  const auto result = std::to_chars(text.data(), text.data() + text.size(), static_cast<double>(value),
                                    std::chars_format::hex);
  return (std::isinf(value) ? "" : "0x") + std::string(text.data(), result.ptr);
}

void append(std::string& name, std::string_view part) {
  name += '_';
  name += part;
}

void append(std::string& name, std::int64_t number) { append(name, std::to_string(number)); }

void append_copy(std::string& name, const KernelSpec& spec) {
  append(name, name_of(spec.loop));
  append(name, std::to_string(size_of(spec.dtype)) + "_bytes");
  append(name, name_of(spec.isa));
  if (spec.loop == Loop::runs) {
    append(name, spec.run.length);
    if (spec.run.from_pitch != 0) {
      append(name, "pitch");
      append(name, spec.run.from_pitch);
      append(name, "to");
      append(name, spec.run.to_pitch);
    }
  } else if (spec.loop == Loop::pack || spec.loop == Loop::unpack) {
    append(name, "step");
    append(name, spec.step);
  }
}

void append_log_softmax(std::string& name, const KernelSpec& spec) {
  append(name, name_of(spec.loop));
  append(name, spec.axis_rest);
  if (spec.loop == Loop::few_columns) {
    append(name, "by");
    append(name, spec.columns);
  }
  if (spec.is_dense) {
    append(name, "dense");
  }
  if (spec.stage != Stage::whole) {
    append(name, name_of(spec.stage));
  }
}

}  // namespace

std::string name_of(const KernelSpec& spec) {
  std::string name(name_of(spec.operation));
  if (spec.operation == Operation::copy) {
    append_copy(name, spec);
    return name;
  }
  append(name, name_of(spec.dtype));
  append(name, name_of(spec.isa));
  if (spec.operation == Operation::elu_backward) {
    append(name, "alpha");
    append(name, hexadecimal(std::bit_cast<float>(spec.alpha_bits)));
    append(name, spec.use_dst ? "dst" : "src");
  } else {
    append_log_softmax(name, spec);
  }
  if (spec.step != 1) {
    append(name, "step");
    append(name, spec.step);
  }
  if (spec.in_place) {
    append(name, "in_place");
  }
  if (spec.streaming) {
    append(name, "streaming");
  }
  return name;
}

bool streams_in_pieces(const KernelSpec& spec) {
  return spec.loop == Loop::packed_rows || spec.loop == Loop::few_columns ||
         (spec.loop == Loop::columns && spec.is_dense);
}

bool copies_step(Isa isa, std::int64_t step) {
  switch (isa) {
    case Isa::portable:
      return false;
    case Isa::avx2:
      return step >= 2 && step <= 4;
    default:
      // An odd step takes up to as many masks, of which there are seven.
      return step >= 2 && step <= greatest_copied_step && step != 6;
  }
}

int runs_at_once(Isa isa, std::int64_t size, const RunShape& shape) {
  if (isa == Isa::portable || isa == Isa::avx2) {
    return 0;
  }
  if (shape.from_pitch == 0 && shape.to_pitch == 0) {
    const std::int64_t bytes = shape.length * size;
    return bytes > 32 && bytes <= 128 ? 1 : 0;
  }
  const int lanes_log2 = size == 2 ? 5 : 4;
  const auto vectors = [&](int runs, int pitch) {
    return (((runs - 1) * pitch + shape.length - 1) >> lanes_log2) + 1;
  };
  // The fewest instructions for each run: loads; for each vector that is written, a permutation and a store.
  int best = 0;
  int fewest = 0;
  for (int runs = 2; runs <= 1 << lanes_log2; ++runs) {
    const int loads = vectors(runs, shape.from_pitch);
    const int stores = vectors(runs, shape.to_pitch);
    const int instructions = loads + 2 * stores;
    if (loads > 2 || stores > 2) {
      break;
    }
    if (best == 0 || instructions * best < fewest * runs) {
      best = runs;
      fewest = instructions;
    }
  }
  // Few elements are better moved one by one: f32 that lie 8 apart, of which it would be four, took 20 %
  // less.
  return best * shape.length < 6 ? 0 : best;
}

bool takes_step(const KernelSpec& spec, std::int64_t step) {
  return spec.operation != Operation::copy && spec.isa != Isa::portable && step >= 2 && step <= 4;
}

std::size_t KernelSpecHash::operator()(const KernelSpec& spec) const noexcept {
  const auto byte = [](auto value) { return static_cast<std::uint64_t>(value); };
  const std::uint64_t shape = byte(spec.operation) | byte(spec.loop) << 8 | byte(spec.stage) << 16 |
                              byte(spec.dtype) << 24 | byte(spec.isa) << 32 | byte(spec.use_dst) << 40 |
                              byte(spec.in_place) << 41 | byte(spec.streaming) << 42 |
                              byte(spec.is_dense) << 43 | byte(spec.step) << 48 | byte(spec.columns) << 56;
  const std::uint64_t run =
      byte(spec.run.length) | byte(spec.run.from_pitch) << 8 | byte(spec.run.to_pitch) << 16;
  const std::uint64_t values = std::uint64_t{spec.alpha_bits} << 32 | spec.axis_rest | run << 8;
  // Two multiplications by odd constants (the golden ratio's, and MurmurHash3's finaliser's).
  std::uint64_t hash = (shape ^ values * 0x9E3779B97F4A7C15U) * 0xFF51AFD7ED558CCDU;
  hash ^= hash >> 32;
  return static_cast<std::size_t>(hash);
}

}  // namespace gradjit::jit
