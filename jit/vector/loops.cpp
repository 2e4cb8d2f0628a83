#include "jit/vector/loops.hpp"

#include <bit>
#include <cstddef>
#include <string>

namespace gradjit::jit {

ElementLoop::ElementLoop(Assembler& a, Elements& elements, std::optional<Xbyak::Reg64> aligned)
    : a_(a),
      elements_(elements),
      aligned_(aligned),
      offset_(a.general("offset")),
      bytes_(a.argument(offsetof(KernelArgs, inner), "bytes")),
      end_(a.general("end of whole groups")),
      tail_count_(a.general("elements of the tail")) {
  a.mov(Assembler::r32(tail_count_), Assembler::r32(bytes_));
  a.and_(Assembler::r32(tail_count_), elements.lanes() - 1);
  tail_ = elements.tail(tail_count_);
  a.imul(bytes(), bytes(), elements.size());
}

void ElementLoop::emit(int unroll, const std::function<void(int, const Tail&)>& group) const {
  a_.xor_(Assembler::r32(offset_), Assembler::r32(offset_));
  if (aligned_) {
    up_to_alignment(group);
    set_tail();
  }
  a_.mark("groups of " + std::to_string(unroll) + (unroll == 1 ? " vector" : " vectors"));
  whole_groups(unroll, [&](int vectors, const Tail& tail) {
    a_.begin_main_loop("diff_src", vectors);
    group(vectors, tail);
  });
  a_.end_main_loop();
  if (unroll > 1) {
    a_.mark("single vectors");
    whole_groups(1, group);
  }
  partial_vector(group);
}

void ElementLoop::emit_singly(const char* does, int operands,
                              const std::function<void(const Tail&)>& body) const {
  a_.xor_(Assembler::r32(offset_), Assembler::r32(offset_));
  if (aligned_) {
    set_tail();
  }
  whole_groups(1, [&](int, const Tail& tail) {
    a_.begin_main_loop(does, operands);
    body(tail);
  });
  a_.end_main_loop();
  partial_vector([&](int, const Tail& tail) { body(tail); });
}

void ElementLoop::partial_vector(const std::function<void(int, const Tail&)>& group) const {
  a_.mark("partial vector");
  Xbyak::Label done;
  a_.cmp(offset(), bytes());
  a_.je(done);
  group(1, tail_);
  a_.L(done);
}

void ElementLoop::up_to_alignment(const std::function<void(int, const Tail&)>& group) const {
  const Xbyak::Reg64 count = Assembler::r64(tail_count_);
  const int size_bits = std::countr_zero(static_cast<unsigned>(elements_.size()));
  a_.mark("up to where diff_src is aligned");
  count_to_alignment(a_, tail_count_, *aligned_, elements_);
  Xbyak::Label skip;
  a_.mov(Assembler::r64(end_), bytes());
  a_.shr(Assembler::r64(end_), size_bits);
  a_.cmp(count, Assembler::r64(end_));
  a_.cmovg(count, Assembler::r64(end_));
  a_.test(count, count);
  a_.jz(skip, Xbyak::CodeGenerator::T_NEAR);
  elements_.refresh(tail_);
  group(1, tail_);
  a_.lea(offset(), a_.ptr[count * elements_.size()]);
  a_.L(skip);
}

/// The tail is what remains beyond the offset after whole vectors.
void ElementLoop::set_tail() const {
  const Xbyak::Reg64 count = Assembler::r64(tail_count_);
  a_.mov(count, bytes());
  a_.sub(count, offset());
  a_.shr(count, std::countr_zero(static_cast<unsigned>(elements_.size())));
  a_.and_(Assembler::r32(tail_count_), elements_.lanes() - 1);
  elements_.refresh(tail_);
}

/// While at least `vectors` vectors are left: a group of them.
void ElementLoop::whole_groups(int vectors, const std::function<void(int, const Tail&)>& group) const {
  repeat_up_to(a_, bytes(), offset(), vectors * elements_.vector_bytes(), end_,
               [&] { group(vectors, whole_); });
}

void count_to_alignment(Assembler& a, const General& count, const Xbyak::Reg64& pointer,
                        const Elements& elements) {
  a.mov(Assembler::r64(count), pointer);
  a.neg(Assembler::r64(count));
  a.and_(Assembler::r32(count), elements.vector_bytes() - 1);
  a.shr(Assembler::r32(count), std::countr_zero(static_cast<unsigned>(elements.size())));
}

void repeat_up_to(Assembler& a, const Xbyak::RegExp& end, const Xbyak::Reg64& offset, int bytes,
                  const General& last, const std::function<void()>& body) {
  Xbyak::Label next;
  Xbyak::Label done;
  a.lea(Assembler::r64(last), a.ptr[end - bytes]);
  a.cmp(offset, Assembler::r64(last));
  a.jg(done, Xbyak::CodeGenerator::T_NEAR);
  a.align(16);
  a.L(next);
  body();
  a.add(offset, bytes);
  a.cmp(offset, Assembler::r64(last));
  a.jle(next);
  a.L(done);
}

void repeat_in_groups(Assembler& a, const Elements& elements, const Xbyak::Reg64& end,
                      const Xbyak::Reg64& offset, const General& last, int unroll,
                      const std::function<void(int)>& group) {
  const auto while_left = [&](int vectors) {
    repeat_up_to(a, end, offset, vectors * elements.vector_bytes(), last, [&] {
      if (vectors == unroll) {
        a.begin_main_loop("diff_src", vectors);
      }
      group(vectors);
    });
    if (vectors == unroll) {
      a.end_main_loop();
    }
  };
  while_left(unroll);
  if (unroll > 2) {
    while_left(2);
  }
  if (unroll > 1) {
    while_left(1);
  }
}

void repeat(Assembler& a, const General& count, const std::function<void()>& body) {
  Xbyak::Label next;
  Xbyak::Label done;
  a.test(Assembler::r64(count), Assembler::r64(count));
  a.jle(done);
  a.L(next);
  body();
  a.dec(Assembler::r64(count));
  a.jnz(next);
  a.L(done);
}

void copy_elements(VectorUnit& v, Elements& elements, const General& to, const Xbyak::RegExp& from,
                   const General& count) {
  Assembler& a = v.assembler();
  const Vec vector = v.vec("copy");
  const General source = a.general("source");
  const auto copy = [&](const Tail& tail) {
    elements.load(vector, Assembler::r64(source), tail);
    elements.store(Assembler::r64(to), vector, tail);
  };
  Xbyak::Label next;
  Xbyak::Label partial;
  Xbyak::Label done;
  a.lea(Assembler::r64(source), a.ptr[from]);
  a.L(next);
  a.cmp(Assembler::r64(count), v.lanes());
  a.jl(partial);
  copy(Tail{});
  a.add(Assembler::r64(source), elements.vector_bytes());
  a.add(Assembler::r64(to), elements.vector_bytes());
  a.sub(Assembler::r64(count), v.lanes());
  a.jmp(next);
  a.L(partial);
  a.test(Assembler::r64(count), Assembler::r64(count));
  a.jz(done);
  const Tail tail = elements.tail(count);
  copy(tail);
  a.L(done);
}

namespace {

/// Copies 2 to 32 bytes, a power of two.
void copy_piece(Assembler& a, const Xbyak::RegExp& to, const Xbyak::RegExp& from, int bytes,
                const Vec& vector, const General& value) {
  if (bytes >= 16) {
    const Xbyak::Xmm reg(bytes == 16 ? Xbyak::Operand::XMM : Xbyak::Operand::YMM, vector.index());
    a.vmovups(reg, a.ptr[from]);
    a.vmovups(a.ptr[to], reg);
  } else {
    const Xbyak::Reg reg = Assembler::r64(value).changeBit(8 * bytes);
    a.mov(reg, a.ptr[from]);
    a.mov(a.ptr[to], reg);
  }
}

}  // namespace

void copy_adjacent(VectorUnit& v, const General& to, const Xbyak::RegExp& from, const General& bytes) {
  Assembler& a = v.assembler();
  const General copied = a.general("bytes copied");
  const General value = a.general("value");
  const Vec vector = v.vec("copy");
  const Xbyak::Reg64 offset = Assembler::r64(copied);
  const Xbyak::RegExp source = from + offset;
  const Xbyak::RegExp target = Assembler::r64(to) + offset;
  Xbyak::Label next;
  Xbyak::Label pieces;
  a.xor_(Assembler::r32(copied), Assembler::r32(copied));
  a.L(next);
  // Whole vectors: what is written in pieces cannot be read as one until it is in the cache.
  a.lea(Assembler::r64(value), a.ptr[offset + 4 * v.lanes()]);
  a.cmp(Assembler::r64(value), Assembler::r64(bytes));
  a.ja(pieces);
  v.load_raw(vector, a.ptr[source]);
  v.store_raw(a.ptr[target], vector);
  a.mov(offset, Assembler::r64(value));
  a.jmp(next);
  a.L(pieces);
  for (int piece = 2 * v.lanes(); piece >= 2; piece /= 2) {
    Xbyak::Label skip;
    a.test(Assembler::r32(bytes), piece);
    a.jz(skip);
    copy_piece(a, target, source, piece, vector, value);
    a.add(offset, piece);
    a.L(skip);
  }
}

}  // namespace gradjit::jit
