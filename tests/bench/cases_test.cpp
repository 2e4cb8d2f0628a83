// The table of cases, and what is made of a row.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tools/benchmark/case.hpp"
#include "tools/benchmark/own_contenders.hpp"
#include "tools/benchmark/tensors.hpp"
#include "tools/gradjit/elements.hpp"

namespace gradjit::bench {
namespace {

const Case& find(const std::string& name) {
  const std::vector<Case>& cases = all_cases();
  const auto found =
      std::find_if(cases.begin(), cases.end(), [&](const Case& source) { return source.name() == name; });
  if (found == cases.end()) throw std::runtime_error("no case " + name);
  return *found;
}

TEST(CasesTest, NamesAreUnique) {
  std::set<std::string> names;
  for (const Case& source : all_cases()) EXPECT_TRUE(names.insert(source.name()).second) << source.name();
}

TEST(CasesTest, NamesSayWhatSetsACaseApart) {
  EXPECT_EQ(find("elu_backward_bf16_src_33554432_in_place").in_place, true);
  EXPECT_EQ(find("log_softmax_backward_f32_32x81x8732_axis1").axis, 1);
  EXPECT_EQ(find("log_softmax_backward_f32_64x1024_avx2").isa, Isa::avx2);
  EXPECT_EQ(find("create_elu_backward_f32_dst_4096").use_dst, true);
}

TEST(CasesTest, WhatIsComparedWithTheReferenceHasOne) {
  for (const Case& source : all_cases()) {
    for (const Target& target : source.targets) {
      if (target.of != Bound::reference) continue;
      EXPECT_NE(source.reference, Reference::none) << source.name();
    }
  }
}

TEST(CasesTest, References) {
  const Case last = find("log_softmax_backward_f32_64x128x28x28_axis1").reference_case();
  EXPECT_EQ(last.shape, (Dims{64, 28, 28, 128}));
  EXPECT_EQ(last.axis, 3);
  EXPECT_EQ(find("elu_backward_f16_src_4096").reference_case().dtype, DataType::bf16);
  EXPECT_EQ(find("elu_backward_f32_src_1048576_2_threads").reference_case().threads, 1);
  EXPECT_EQ(find("hit_same_kernel_elu_backward_f32_src_4096").reference_case().measures, Measures::hit);
  EXPECT_EQ(find("elu_backward_f32_src_64x256_stride3").reference_case().strides()[0], (Dims{256, 1}));
}

TEST(CasesTest, Strides) {
  const std::array<Dims, 3> transposed = find("elu_backward_f32_src_64x256_transposed").strides();
  EXPECT_EQ(transposed, (std::array<Dims, 3>{Dims{256, 1}, Dims{1, 64}, Dims{256, 1}}));
  const Dims row_major = {16464, 784, 28, 1};
  EXPECT_EQ(find("elu_backward_f32_src_4x21x28x28_channels_last").strides(),
            (std::array<Dims, 3>{row_major, Dims{16464, 1, 588, 21}, row_major}));
  EXPECT_EQ(find("elu_backward_f32_src_12x30x40_three_orders").strides(),
            (std::array<Dims, 3>{Dims{1, 12, 360}, Dims{1200, 1, 30}, Dims{1200, 40, 1}}));
  const Case& strided = find("elu_backward_f32_src_64x256_stride3");
  EXPECT_EQ(strided.strides(), (std::array<Dims, 3>{Dims{768, 3}, Dims{768, 3}, Dims{768, 3}}));
  EXPECT_EQ(strided.extent(), 3 * strided.elements());
}

// Gradients that go to zero by way of subnormals would make the timings those of subnormals.
TEST(CasesTest, GradientsKeepTheirMagnitudeInPlace) {
  for (const Case& source : all_cases()) {
    if (!source.in_place || source.measures != Measures::run) continue;
    SCOPED_TRACE(source.name());
    Case small = source;
    for (std::int64_t& size : small.shape) size = std::min<std::int64_t>(size, 1024);
    if (small.shape.size() == 2) small.shape[0] = 2;
    const auto tensors = std::make_shared<const Tensors>(small);
    const auto contender = make_own_contender(small, Isa::portable, tensors);
    const auto read = [&] {
      const auto* bytes = static_cast<const std::byte*>(tensors->diff_dst());
      return tool::decode({bytes, static_cast<std::size_t>(small.bytes())}, small.dtype);
    };
    const auto magnitude = [](const std::vector<float>& values) {
      double sum = 0;
      for (const float value : values) sum += std::abs(value);
      return sum / static_cast<double>(values.size());
    };
    const double before = magnitude(read());
    const auto [function, context] = contender->call();
    for (int i = 0; i < 2000; ++i) function(context);
    EXPECT_NEAR(magnitude(read()), before, 0.1 * before);
  }
}

}  // namespace
}  // namespace gradjit::bench
