// for each run of adjacent elements, a group of vectors at a time:
//   x = src or dst, g = diff_dst
//   from src:  e = alpha * exp(x)     (all x >= fast_from, else the careful form for this group)
//   from dst:  e = x + alpha
//   diff_src = x > 0 ? g : e * g

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "jit/math/exp.hpp"
#include "jit/operations/operations.hpp"
#include "jit/operations/tensors.hpp"
#include "jit/vector/loops.hpp"
#include "jit/vector/strided_elements.hpp"

namespace gradjit::jit {

namespace {

/// The factor of diff_dst where x > 0 does not hold, and how a group of vectors is worked out with it.
class Derivative {
 public:
  virtual ~Derivative() = default;
  /// How many vectors to work on at once.
  [[nodiscard]] virtual int unroll() const = 0;
  virtual void group(int vectors, const Tail& tail) = 0;
};

/// What the derivatives share: where elements are, and constants.
struct Context {
  VectorUnit& v;
  Elements& elements;
  Tensors& tensors;
  Xbyak::Reg64 offset;  ///< In bytes, from the start of the run.
  float alpha;

  int first_vector = 0;  ///< Of the group's.

  using Vectors = std::span<const Vec* const>;
  [[nodiscard]] Xbyak::RegExp at(const Xbyak::Reg64& tensor) const {
    return tensor + offset + first_vector * elements.vector_bytes();
  }
  /// The same from another vector of the group on.
  [[nodiscard]] Context from(int vector) const {
    Context context = *this;
    context.first_vector = vector;
    return context;
  }
  void load_activation(Vectors x, const Tail& tail) const {
    elements.load_group(x, at(tensors.activation()), tail);
  }
  void load_diff_dst(Vectors g, const Tail& tail) const {
    elements.load_group(g, at(tensors.diff_dst()), tail);
  }
  void store(Vectors results, const Tail& tail) const {
    tensors.store(elements, at(tensors.diff_src()), results, tail);
  }
  void prefetch(int vectors) const {
    tensors.prefetch(at(tensors.activation()), vectors * elements.vector_bytes());
    tensors.prefetch(at(tensors.diff_dst()), vectors * elements.vector_bytes());
  }
};

/// From src with a finite alpha > 0.
class FromSrc : public Derivative {
 public:
  FromSrc(const Context& context, DataType dtype)
      : c_(context),
        model_(elu_exp_model(dtype, context.alpha)),
        exp_(context.v, model_),
        zero_(context.v.constant(0.0F)),
        fast_from_(context.v.constant(model_.fast_from)) {
    const int per_vector = exp_.registers_per_vector() + c_.v.registers_per_mask();
    const int scratch = std::max(2, c_.elements.scratch_registers());  // careful_vector takes two
    unroll_ = std::min(4, (c_.v.free_registers() - scratch - 1) / per_vector);
    const int reserve = unroll_ * per_vector + scratch;
    std::array first{&zero_, &fast_from_};
    c_.v.hoist(first, reserve);
    exp_.hoist(reserve);
  }

  [[nodiscard]] int unroll() const override { return unroll_; }

  void group(int vectors, const Tail& tail) override {
    if (!tail.whole()) {
      careful_vector(tail);
      return;
    }
    VectorUnit& v = c_.v;
    c_.prefetch(vectors);
    std::vector<ExpRegisters> lanes;
    for (int i = 0; i < vectors; ++i) {
      lanes.push_back(exp_.registers());
    }
    std::vector<const Vec*> x;
    for (const ExpRegisters& lane : lanes) {
      x.push_back(&lane.x);
    }
    c_.load_activation(x, tail);
    const auto done = std::make_shared<Xbyak::Label>();
    jump_if_careful(lanes, done);
    std::vector<Mask> not_positive;
    for (const ExpRegisters& lane : lanes) {
      not_positive.push_back(v.compare(lane.x, Compare::not_greater_or_nan, zero_));
    }
    v.assembler().mark("alpha * exp(src)");
    exp_.fast(lanes);
    v.assembler().mark("diff_src = diff_dst, times that where src > 0 does not hold");
    const std::vector<const Vec*>& g = x;  // src is no longer needed
    c_.load_diff_dst(g, tail);
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      v.multiply_where(not_positive[i], *g[i], lanes[i].mantissa, *g[i]);
    }
    c_.store(g, tail);
    v.assembler().L(*done);
  }

 private:
  /// Jumps away if an x is below fast_from. As unsigned integers, negative numbers come above the
  /// positive ones and grow with their magnitude, so that one maximum covers the group.
  void jump_if_careful(std::span<const ExpRegisters> lanes, const std::shared_ptr<Xbyak::Label>& done) {
    VectorUnit& v = c_.v;
    v.assembler().mark("is any src far below zero?");
    const Vec* most_negative = &lanes[0].x;
    for (std::size_t i = 1; i < lanes.size(); ++i) {
      v.max_u32(lanes[0].power, *most_negative, lanes[i].x);
      most_negative = &lanes[0].power;
    }
    const auto careful = std::make_shared<Xbyak::Label>();
    v.jump_if_any(v.compare(*most_negative, Compare::not_greater_equal_or_nan, fast_from_), *careful);
    const int vectors = static_cast<int>(lanes.size());
    v.assembler().later([this, careful, done, vectors] {
      c_.v.assembler().L(*careful);
      careful_group(vectors);
      c_.v.assembler().jmp(*done, Xbyak::CodeGenerator::T_NEAR);
    });
  }

  void careful_group(int vectors) {
    Assembler& a = c_.v.assembler();
    a.mark("a group with an src far below zero");
    const General left = a.general("vectors left");
    a.mov(Assembler::r32(left), vectors);
    repeat(a, left, [&] {
      careful_vector(Tail{});
      a.add(c_.offset, c_.elements.vector_bytes());
    });
    a.sub(c_.offset, vectors * c_.elements.vector_bytes());
  }

  /// alpha * exp(x) may be below f32's range: what 2^N lacks comes after the multiplication by diff_dst.
  void careful_vector(const Tail& tail) {
    VectorUnit& v = c_.v;
    ExpRegisters lane = exp_.registers();
    c_.load_activation(std::array{&lane.x}, tail);
    const Mask not_positive = v.compare(lane.x, Compare::not_greater_or_nan, zero_);
    exp_.careful_mantissa(lane);
    const auto& [first, rest, product, scratch] = lane;
    const Vec g = v.vec("diff_dst");
    c_.load_diff_dst(std::array{&g}, tail);
    v.move(first, v.constant_bits(lowest_single_exponent + 127));
    v.max_i32(first, first, rest);
    v.sub_i32(rest, rest, first);
    exp_.power_of_biased(first, first);
    v.mul(product, product, first);
    v.mul(product, product, g);
    const Vec& half = first;
    exp_.powers_of_halves(half, rest);
    v.mul(product, product, half);
    v.multiply_where(not_positive, g, product, rest);
    c_.store(std::array{&g}, tail);
  }

  Context c_;
  ExpModel model_;
  ExpEmitter exp_;
  Constant zero_;
  Constant fast_from_;
  int unroll_ = 1;
};

/// The other cases need no exp: the factor of diff_dst is `factor(x)`, worked out in x's register.
class Simple : public Derivative {
 public:
  using Factor = std::function<void(const Vec& x)>;
  Simple(const Context& context, Constant zero, Factor factor)
      : c_(context), zero_(std::move(zero)), factor_(std::move(factor)) {}

  [[nodiscard]] int unroll() const override { return 4; }

  void group(int vectors, const Tail& tail) override {
    c_.prefetch(vectors);
    // Two at a time, where elements come in pairs.
    for (int first = 0; first < vectors; first += 2) {
      few(first, std::min(2, vectors - first), tail);
    }
  }

 private:
  void few(int first, int count, const Tail& tail) {
    std::array<Vec, 2> x;
    std::array<Vec, 2> g;
    std::vector<const Vec*> all_x;
    std::vector<const Vec*> all_g;
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
      x[i] = c_.v.vec("x");
      g[i] = c_.v.vec("diff_dst");
      all_x.push_back(&x[i]);
      all_g.push_back(&g[i]);
    }
    const Context c = c_.from(first);
    c.load_activation(all_x, tail);
    c.load_diff_dst(all_g, tail);
    for (std::size_t i = 0; i < all_x.size(); ++i) {
      const Mask not_positive = c_.v.compare(x[i], Compare::not_greater_or_nan, zero_);
      factor_(x[i]);
      c_.v.multiply_where(not_positive, g[i], x[i], g[i]);
    }
    c.store(all_g, tail);
  }

  Context c_;
  Constant zero_;
  Factor factor_;
};

/// A constant in a register.
Constant hoisted(VectorUnit& v, float value) {
  Constant constant = v.constant(value);
  std::array all{&constant};
  v.hoist(all, 0);
  return constant;
}

std::unique_ptr<Derivative> from_dst(const Context& context) {
  VectorUnit& v = context.v;
  const auto alpha = std::make_shared<Constant>(hoisted(v, context.alpha));
  return std::make_unique<Simple>(context, hoisted(v, 0.0F),
                                  [&v, alpha](const Vec& x) { v.add(x, x, *alpha); });
}

/// The factor is 0, but NaN for NaN.
std::unique_ptr<Derivative> from_src_zero_alpha(const Context& context) {
  VectorUnit& v = context.v;
  return std::make_unique<Simple>(context, hoisted(v, 0.0F), [&v](const Vec& x) {
    const Vec factor = v.vec("factor");
    const Mask nan = v.compare(x, Compare::is_nan, x);
    v.zero(factor);
    v.move_where(nan, factor, x);
    v.move(x, factor);
  });
}

/// The factor is infinite for a finite src, and NaN for -infinity, where exp is 0, and for NaN.
std::unique_ptr<Derivative> from_src_infinite_alpha(const Context& context) {
  VectorUnit& v = context.v;
  const auto zero = std::make_shared<Constant>(hoisted(v, 0.0F));
  const auto infinity = std::make_shared<Constant>(hoisted(v, context.alpha));
  return std::make_unique<Simple>(context, hoisted(v, 0.0F), [&v, zero, infinity](const Vec& x) {
    const Vec factor = v.vec("factor");
    v.move(factor, *infinity);
    v.add_product(factor, x, *zero);
    v.move(x, factor);
  });
}

std::unique_ptr<Derivative> derivative_of(const KernelSpec& spec, const Context& context) {
  if (spec.use_dst) {
    return from_dst(context);
  }
  if (context.alpha == 0) {
    return from_src_zero_alpha(context);
  }
  if (context.alpha == std::numeric_limits<float>::infinity()) {
    return from_src_infinite_alpha(context);
  }
  return std::make_unique<FromSrc>(context, spec.dtype);
}

}  // namespace

void emit_elu_backward(const KernelSpec& spec, VectorUnit& v) {
  Assembler& a = v.assembler();
  a.enter(4);
  const std::unique_ptr<Elements> elements = elements_of(spec, v);
  a.mark("arguments");
  Tensors tensors(a, spec);
  const General runs = a.argument(offsetof(KernelArgs, outer), "runs");
  const ElementLoop loop(a, *elements, tensors.aligned());
  a.mark("constants");
  const Context context{v, *elements, tensors, loop.offset(), std::bit_cast<float>(spec.alpha_bits)};
  const std::unique_ptr<Derivative> derivative = derivative_of(spec, context);
  repeat(a, runs, [&] {
    loop.emit(derivative->unroll(), [&](int vectors, const Tail& tail) { derivative->group(vectors, tail); });
    tensors.advance(offsetof(KernelArgs, outer_stride));
  });
  tensors.finish();
  a.leave();
  a.emit_later();
}

}  // namespace gradjit::jit
