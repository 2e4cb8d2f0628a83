// Properties of the generated code that hold whatever the host can run: every spec is emitted, is the same
// each time, and says what it does.

#include "jit/emit.hpp"

#include <bit>
#include <cstdint>
#include <exception>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace gradjit::jit {
namespace {

constexpr Isa isas[] = {Isa::avx2, Isa::avx512, Isa::avx512_bf16};
constexpr DataType dtypes[] = {DataType::f32, DataType::bf16, DataType::f16};

void add_elu(std::vector<KernelSpec>& specs, KernelSpec spec) {
  for (const float alpha : {0.0F, 1.0F, 0.37F, 2.0F, 1e-40F, 3e38F, std::bit_cast<float>(0x7F800000U)}) {
    for (const bool use_dst : {false, true}) {
      spec.alpha_bits = std::bit_cast<std::uint32_t>(alpha);
      spec.use_dst = use_dst;
      specs.push_back(spec);
    }
  }
}

void add_dense(std::vector<KernelSpec>& specs, KernelSpec spec) {
  if (spec.stage == Stage::whole) {
    spec.is_dense = true;
    specs.push_back(spec);
  }
}

void add_log_softmax(std::vector<KernelSpec>& specs, KernelSpec spec) {
  spec.operation = Operation::log_softmax_backward;
  spec.loop = Loop::packed_rows;
  for (const Stage stage : {Stage::whole, Stage::update}) {
    spec.stage = stage;
    for (std::uint32_t length = 1; length <= packed_rows_limit; ++length) {
      spec.axis_rest = length;
      specs.push_back(spec);
    }
  }
  for (const Stage stage : {Stage::whole, Stage::sum, Stage::update}) {
    spec.stage = stage;
    spec.loop = Loop::rows;
    for (std::uint32_t rest = 0; rest < rows_chunk; ++rest) {
      spec.axis_rest = rest;
      specs.push_back(spec);
      add_dense(specs, spec);
    }
    spec.loop = Loop::columns;
    for (std::uint32_t rest = 0; rest < columns_group; ++rest) {
      spec.axis_rest = rest;
      specs.push_back(spec);
      add_dense(specs, spec);
    }
  }
}

void add_few_columns(std::vector<KernelSpec>& specs, KernelSpec spec) {
  spec.operation = Operation::log_softmax_backward;
  spec.loop = Loop::few_columns;
  for (spec.columns = 2; spec.columns <= few_columns_limit(spec.isa); ++spec.columns) {
    for (spec.axis_rest = 0; spec.axis_rest < few_columns_modulus; ++spec.axis_rest) {
      specs.push_back(spec);
    }
  }
}

void add_copies(std::vector<KernelSpec>& specs, Isa isa) {
  for (const DataType dtype : {DataType::f32, DataType::bf16}) {
    KernelSpec spec{.operation = Operation::copy, .loop = Loop::transpose, .dtype = dtype, .isa = isa};
    specs.push_back(spec);
    spec.loop = Loop::transpose_by_places;
    specs.push_back(spec);
    for (spec.step = 2; spec.step <= greatest_copied_step; ++spec.step) {
      for (const Loop loop : {Loop::pack, Loop::unpack}) {
        spec.loop = loop;
        if (copies_step(isa, spec.step)) {
          specs.push_back(spec);
        }
      }
    }
  }
}

void add_runs(std::vector<KernelSpec>& specs, Isa isa) {
  for (const DataType dtype : {DataType::f32, DataType::bf16}) {
    KernelSpec spec{.operation = Operation::copy, .loop = Loop::runs, .dtype = dtype, .isa = isa};
    const auto add = [&](const RunShape& shape) {
      spec.run = shape;
      if (runs_at_once(isa, static_cast<std::int64_t>(size_of(dtype)), shape) != 0) {
        specs.push_back(spec);
      }
    };
    for (std::uint8_t length = 1; length <= 64; ++length) {
      add({length, 0, 0});
      for (std::uint8_t gap = 1; gap <= 32; gap *= 2) {
        const auto pitch = static_cast<std::uint8_t>(length + gap);
        add({length, pitch, length});
        add({length, length, pitch});
      }
    }
  }
}

/// Adds those with a step of the specs that are there from `first` on.
void add_steps(std::vector<KernelSpec>& specs, std::size_t first) {
  for (std::size_t i = first, end = specs.size(); i < end; ++i) {
    KernelSpec spec = specs[i];
    for (spec.step = 2; spec.step < 10; ++spec.step) {
      if (!spec.streaming && !spec.is_dense && takes_step(spec, spec.step)) {
        specs.push_back(spec);
      }
    }
  }
}

/// Every spec that there is, but for the values of alpha.
std::vector<KernelSpec> all_specs() {
  std::vector<KernelSpec> specs;
  for (const Isa isa : isas) {
    add_copies(specs, isa);
    add_runs(specs, isa);
    for (const DataType dtype : dtypes) {
      for (const bool in_place : {false, true}) {
        const std::size_t first = specs.size();
        for (const bool streaming : {false, true}) {
          const KernelSpec spec{.dtype = dtype, .isa = isa, .in_place = in_place, .streaming = streaming};
          add_elu(specs, spec);
          add_log_softmax(specs, spec);
          add_few_columns(specs, spec);
        }
        add_steps(specs, first);
      }
    }
  }
  return specs;
}

TEST(Emit, EverySpecIsEmittedTheSameTwice) {
  for (const KernelSpec& spec : all_specs()) {
    const EmittedKernel first = emit(spec);
    ASSERT_GT(first.code_size, 0U) << name_of(spec);
    ASSERT_LE(first.code_size, first.bytes.size());
    ASSERT_EQ(first.bytes, emit(spec).bytes) << name_of(spec);
  }
}

TEST(Emit, EntryIsEndbr64) {
  const std::vector<std::uint8_t> endbr64{0xF3, 0x0F, 0x1E, 0xFA};
  for (const KernelSpec& spec : all_specs()) {
    const EmittedKernel kernel = emit(spec);
    ASSERT_EQ(std::vector(kernel.bytes.begin(), kernel.bytes.begin() + 4), endbr64) << name_of(spec);
  }
}

TEST(Emit, MarksAreInOrderAndInTheCode) {
  for (const KernelSpec& spec : all_specs()) {
    const EmittedKernel kernel = emit(spec);
    ASSERT_FALSE(kernel.marks.empty());
    std::size_t last = 0;
    for (const Mark& mark : kernel.marks) {
      ASSERT_GE(mark.offset, last) << name_of(spec);
      ASSERT_LE(mark.offset, kernel.code_size) << name_of(spec);
      ASSERT_FALSE(mark.text.empty());
      last = mark.offset;
    }
  }
}

TEST(Emit, NamesTellSpecsApart) {
  const std::vector<KernelSpec> specs = all_specs();
  std::set<std::string> names;
  std::set<std::size_t> hashes;
  for (const KernelSpec& spec : specs) {
    names.insert(name_of(spec));
    hashes.insert(KernelSpecHash()(spec));
  }
  EXPECT_EQ(names.size(), specs.size());
  EXPECT_EQ(hashes.size(), specs.size());
}

TEST(Emit, PortableHasNoCode) {
  EXPECT_THROW(static_cast<void>(emit({.isa = Isa::portable})), std::exception);
}

}  // namespace
}  // namespace gradjit::jit
