#include "jit/operations/tensors.hpp"

#include <cstddef>

namespace gradjit::jit {

Tensors::Tensors(Assembler& a, const KernelSpec& spec)
    : a_(a),
      streaming_(spec.streaming),
      in_pieces_(streams_in_pieces(spec)),
      activation_(a.argument(offsetof(KernelArgs, activation), "activation")),
      diff_dst_(a.argument(offsetof(KernelArgs, diff_dst), "diff_dst")) {
  if (!spec.in_place) {
    diff_src_ = a.argument(offsetof(KernelArgs, diff_src), "diff_src");
  }
}

void Tensors::advance(std::size_t offset) {
  const auto stride = [&](std::size_t member) {
    return a_.qword[Assembler::args() + static_cast<int>(offset + member)];
  };
  a_.add(activation(), stride(offsetof(KernelArgs::Strides, activation)));
  a_.add(diff_dst(), stride(offsetof(KernelArgs::Strides, diff_dst)));
  if (diff_src_.held()) {
    a_.add(diff_src(), stride(offsetof(KernelArgs::Strides, diff_src)));
  }
}

void Tensors::advance_by(int bytes) {
  a_.add(activation(), bytes);
  a_.add(diff_dst(), bytes);
  if (diff_src_.held()) {
    a_.add(diff_src(), bytes);
  }
}

void Tensors::prefetch(const Xbyak::RegExp& tensor_at_offset, int bytes) {
  if (!streaming_) {
    return;
  }
  constexpr int line = 64;
  for (int ahead = prefetch_distance; ahead < prefetch_distance + bytes; ahead += line) {
    a_.prefetcht0(a_.ptr[tensor_at_offset + ahead]);
  }
}

std::optional<Xbyak::Reg64> Tensors::aligned() const {
  // In place, what is stored has just been read: it is in the cache anyway.
  return streaming_ && diff_src_.held() ? std::optional(diff_src()) : std::nullopt;
}

void Tensors::store(Elements& elements, const Xbyak::RegExp& to, const Vec& result, const Tail& tail) const {
  if (aligned() && in_pieces_) {
    elements.stream_in_pieces(to, result, tail);
  } else if (aligned() && tail.whole()) {
    elements.stream(to, result);
  } else {
    elements.store(to, result, tail);
  }
}

void Tensors::store(Elements& elements, const Xbyak::RegExp& to, std::span<const Vec* const> results,
                    const Tail& tail) const {
  const auto at = [&](std::size_t i) { return to + static_cast<int>(i) * elements.vector_bytes(); };
  const auto pair = [&](std::size_t i) {
    if (aligned()) {
      elements.stream_pair(at(i), *results[i], *results[i + 1]);
    } else {
      elements.store_pair(at(i), *results[i], *results[i + 1]);
    }
  };
  for_pairs(results.size(), tail, pair, [&](std::size_t i) { store(elements, at(i), *results[i], tail); });
}

void Tensors::finish() {
  if (aligned()) {
    a_.sfence();
  }
}

void Tensors::save(int at) {
  a_.mov(a_.qword[a_.rsp + at], activation());
  a_.mov(a_.qword[a_.rsp + at + 8], diff_dst());
  if (diff_src_.held()) {
    a_.mov(a_.qword[a_.rsp + at + 16], diff_src());
  }
}

void Tensors::restore(int at) {
  a_.mov(activation(), a_.qword[a_.rsp + at]);
  a_.mov(diff_dst(), a_.qword[a_.rsp + at + 8]);
  if (diff_src_.held()) {
    a_.mov(diff_src(), a_.qword[a_.rsp + at + 16]);
  }
}

}  // namespace gradjit::jit
