#include "tests/support/kernel_case.hpp"

#include <cstring>
#include <map>
#include <memory>
#include <numeric>
#include <sstream>

#include <gtest/gtest.h>

#include "src/cpu/probe.hpp"

namespace gradjit::test {

namespace {

std::size_t elements_of(const KernelCase& c) {
  return static_cast<std::size_t>(
      std::accumulate(c.dims.begin(), c.dims.end(), std::int64_t{1}, std::multiplies<>()));
}

/// Elements in a guarded buffer.
class Tensor {
 public:
  Tensor(DataType dtype, const std::vector<std::uint32_t>& bits, GuardedBuffer::Guard guard)
      : size_(size_of(dtype)), buffer_(size_ * bits.size(), guard) {
    for (std::size_t i = 0; i < bits.size(); ++i) {
      std::memcpy(buffer_.data() + size_ * i, &bits[i], size_);
    }
  }

  [[nodiscard]] void* data() const { return buffer_.data(); }
  [[nodiscard]] std::vector<std::uint32_t> bits() const {
    std::vector<std::uint32_t> result(buffer_.bytes().size() / size_);
    for (std::size_t i = 0; i < result.size(); ++i) {
      std::memcpy(&result[i], buffer_.data() + size_ * i, size_);
    }
    return result;
  }

 private:
  std::size_t size_;
  GuardedBuffer buffer_;
};

}  // namespace

std::string text_of(const KernelCase& c) {
  std::ostringstream text;
  text << (c.is_elu ? "elu_backward " : "log_softmax_backward ") << name_of(c.dtype) << " dims";
  for (const std::int64_t size : c.dims) {
    text << ' ' << size;
  }
  if (c.is_elu) {
    text << " alpha " << c.alpha << (c.use_dst ? " from dst" : " from src");
  } else {
    text << " axis " << c.axis;
  }
  text << (c.in_place ? " in place" : "");
  return text.str();
}

KernelFactory& factory_of(Isa isa) {
  static std::map<Isa, std::unique_ptr<KernelFactory>> factories;
  std::unique_ptr<KernelFactory>& factory = factories[isa];
  if (!factory) {
    factory = std::make_unique<KernelFactory>(FactoryOptions{.max_isa = isa, .executor = serial_executor()});
  }
  return *factory;
}

std::vector<Isa> emitted_isas() {
  std::vector<Isa> isas;
  for (const Isa isa : {Isa::avx2, Isa::avx512, Isa::avx512_bf16}) {
    if (isa <= detail::effective_isa(std::nullopt)) {
      isas.push_back(isa);
    }
  }
  return isas;
}

Inputs random_inputs(const KernelCase& c, std::mt19937& random) {
  Inputs inputs;
  for (std::size_t i = 0; i < elements_of(c); ++i) {
    inputs.activation.push_back(random_element(c.dtype, random, c.special_one_in, !c.is_elu));
    inputs.diff_dst.push_back(random_element(c.dtype, random, c.special_one_in, false));
  }
  return inputs;
}

std::vector<std::uint32_t> run(const KernelCase& c, const Inputs& inputs, Isa isa,
                               GuardedBuffer::Guard guard) {
  const Tensor activation(c.dtype, inputs.activation, guard);
  const Tensor diff_dst(c.dtype, inputs.diff_dst, guard);
  const Tensor diff_src(c.dtype, std::vector<std::uint32_t>(inputs.diff_dst.size(), 0xA5A5A5A5U), guard);
  void* out = c.in_place ? nullptr : diff_src.data();
  if (c.is_elu) {
    const EluBackward attributes{.alpha = c.alpha, .use_dst = c.use_dst, .in_place = c.in_place};
    const auto kernel = factory_of(isa).elu_backward(attributes, {c.dtype, c.dims});
    EXPECT_EQ(kernel.isa(), isa);
    kernel.run({.src = c.use_dst ? nullptr : activation.data(),
                .dst = c.use_dst ? activation.data() : nullptr,
                .diff_dst = diff_dst.data(),
                .diff_src = out});
  } else {
    const LogSoftmaxBackward attributes{.axis = c.axis, .in_place = c.in_place};
    const auto kernel = factory_of(isa).log_softmax_backward(attributes, {c.dtype, c.dims});
    EXPECT_EQ(kernel.isa(), isa);
    kernel.run({.diff_dst = diff_dst.data(), .dst = activation.data(), .diff_src = out});
  }
  EXPECT_EQ(activation.bits(), inputs.activation) << text_of(c);
  if (c.in_place) {
    return diff_dst.bits();
  }
  EXPECT_EQ(diff_dst.bits(), inputs.diff_dst) << text_of(c);
  return diff_src.bits();
}

std::optional<std::string> difference(const KernelCase& c, const Inputs& inputs,
                                      const std::vector<std::uint32_t>& expected,
                                      const std::vector<std::uint32_t>& actual) {
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (expected[i] == actual[i] || (is_nan(c.dtype, expected[i]) && is_nan(c.dtype, actual[i]))) {
      continue;
    }
    std::ostringstream text;
    text << std::hex << "element 0x" << i << ": 0x" << actual[i] << ", portable 0x" << expected[i]
         << "; src or dst 0x" << inputs.activation[i] << ", diff_dst 0x" << inputs.diff_dst[i];
    return text.str();
  }
  return std::nullopt;
}

void expect_same_bits(const KernelCase& c, const Inputs& inputs) {
  // Not against a page at the end: qemu 7.2 reads 16 bytes for a scalar FMA's operand of 4, which a compiler
  // may put in memory. (The emitted code has none.)
  const auto expected = run(c, inputs, Isa::portable, GuardedBuffer::Guard::before);
  for (const Isa isa : emitted_isas()) {
    for (const auto guard : {GuardedBuffer::Guard::before, GuardedBuffer::Guard::after}) {
      const auto found = difference(c, inputs, expected, run(c, inputs, isa, guard));
      EXPECT_FALSE(found) << text_of(c) << " on " << name_of(isa) << ": " << found.value_or("");
    }
  }
}

}  // namespace gradjit::test
