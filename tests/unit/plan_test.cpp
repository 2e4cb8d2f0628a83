#include "src/plan/plan.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace gradjit::detail {
namespace {

using jit::Loop;
using jit::Stage;

constexpr auto f32 = DataType::f32;
constexpr CacheSizes tiny_caches{.l2 = 64, .l3 = 1024};

Plan elu_plan(const Dims& dims, const Dims& src, const Dims& diff_dst, const Dims& diff_src) {
  const TensorDesc first(f32, dims, src);
  return make_plan(validated(EluBackward{.alpha = 1, .use_dst = false},
                             EluBackwardTensors{.src = first,
                                                .diff_dst = TensorDesc(f32, dims, diff_dst),
                                                .diff_src = TensorDesc(f32, dims, diff_src)}),
                   Isa::avx512);
}

Plan log_softmax_plan(const Dims& dims, std::int64_t axis, const Dims& strides = {}, DataType dtype = f32,
                      Isa isa = Isa::avx2, const CacheSizes& caches = {}) {
  return make_plan(validated(LogSoftmaxBackward{.axis = axis}, TensorDesc(dtype, dims, strides)), isa,
                   caches);
}

std::string staged(const Plan& plan) {
  std::string text;
  for (const bool is_staged : plan.staged) {
    text += is_staged ? '1' : '0';
  }
  return text;
}

void expect_spec(const jit::KernelSpec& spec, Loop loop, std::uint32_t rest, Stage stage) {
  EXPECT_EQ(spec.loop, loop);
  EXPECT_EQ(spec.axis_rest, rest);
  EXPECT_EQ(spec.stage, stage);
}

/// Loop and what is known of the axis, as the logical shape demands.
void expect_spec(const Plan& plan, Loop loop, std::uint32_t rest, Stage stage = Stage::whole) {
  expect_spec(plan.spec, loop, rest, stage);
}

/// The sums as the logical shape demands, the update as the memory has it.
void expect_split(const Plan& plan, Loop sum_loop, std::uint32_t rest, Loop loop) {
  EXPECT_TRUE(plan.is_split);
  EXPECT_FALSE(plan.is_segmented());
  EXPECT_EQ(staged(plan), "010");
  expect_spec(plan.sum_spec, sum_loop, rest, Stage::sum);
  EXPECT_EQ(plan.spec.loop, loop);
  EXPECT_EQ(plan.spec.stage, Stage::update);
  const std::vector<jit::KernelSpec> specs = kernel_specs_of(plan);
  ASSERT_EQ(specs.size(), 2U);
  EXPECT_EQ(specs[0], plan.spec);
  EXPECT_EQ(specs[1], plan.sum_spec);
}

TEST(Plan, ChoosesTheLoopByTheLogicalShape) {
  expect_spec(log_softmax_plan({5, 10}, 1), Loop::packed_rows, 10);
  expect_spec(log_softmax_plan({5, 32}, -1), Loop::packed_rows, 32);
  expect_spec(log_softmax_plan({5, 33}, 1), Loop::rows, 33);
  expect_spec(log_softmax_plan({5, 300}, 1), Loop::rows, 300 % jit::rows_chunk);
  expect_spec(log_softmax_plan({10, 7}, 0), Loop::few_columns, 10 % jit::few_columns_modulus);
  expect_spec(log_softmax_plan({10, 16}, 0), Loop::columns, 10 % jit::columns_group);
  expect_spec(log_softmax_plan({3, 21, 19}, 1), Loop::columns, 21 % jit::columns_group);
  // Sizes of 1 don't count, and an axis of 1 is trivial.
  expect_spec(log_softmax_plan({10, 1, 1}, 0), Loop::packed_rows, 10);
  expect_spec(log_softmax_plan({4, 1, 9}, 1), Loop::packed_rows, 1);
  expect_spec(log_softmax_plan({}, 0), Loop::packed_rows, 1);
  expect_spec(log_softmax_plan({3, 0}, 1), Loop::packed_rows, 1);
  // Strides change nothing.
  expect_spec(log_softmax_plan({5, 10}, 1, {1, 5}), Loop::packed_rows, 10);
  expect_spec(log_softmax_plan({5, 300}, 1, {2, 10}), Loop::rows, 300 % jit::rows_chunk);
  expect_spec(log_softmax_plan({10, 19}, 0, {2, 20}), Loop::columns, 10 % jit::columns_group);
  expect_spec(log_softmax_plan({10, 19}, 0, {-19, -1}), Loop::columns, 10 % jit::columns_group);
}

/// How many columns the kernel takes; it then has no loop over them.
int few_columns_of(const Plan& plan) {
  return plan.spec.loop == Loop::few_columns ? static_cast<int>(plan.spec.columns) : 0;
}

TEST(Plan, HasAKernelForFewAdjacentColumns) {
  const Plan plan = log_softmax_plan({1000, 21, 3}, 1);
  expect_spec(plan, Loop::few_columns, 21 % jit::few_columns_modulus);
  EXPECT_EQ(plan.spec.columns, 3);
  EXPECT_EQ(staged(plan), "000");
  ASSERT_EQ(plan.loops().size(), 1U);
  EXPECT_EQ(plan.block[0], block_bytes / (3 * 4) / 63);
  EXPECT_TRUE(plan.is_one_call);
  // One slab; slabs that lie apart.
  EXPECT_EQ(few_columns_of(log_softmax_plan({8, 7}, 0)), 7);
  EXPECT_EQ(few_columns_of(log_softmax_plan({5, 21, 3}, 1, {100, 3, 1})), 3);
  // More columns, a shorter axis, steps with gaps, segments.
  EXPECT_EQ(few_columns_of(log_softmax_plan({5, 21, 8}, 1)), 0);
  EXPECT_EQ(few_columns_of(log_softmax_plan({5, 21, 15}, 1, {}, f32, Isa::avx512)), 15);
  EXPECT_EQ(few_columns_of(log_softmax_plan({5, 21, 16}, 1, {}, f32, Isa::avx512)), 0);
  EXPECT_EQ(few_columns_of(log_softmax_plan({5, 3, 3}, 1)), 3);
  EXPECT_EQ(few_columns_of(log_softmax_plan({5, 2, 3}, 1)), 0);
  EXPECT_EQ(few_columns_of(log_softmax_plan({5, 21, 3}, 1, {84, 4, 1})), 0);
  EXPECT_EQ(few_columns_of(log_softmax_plan({jit::segment_length + 1, 3}, 0)), 0);
  // What pays.
  EXPECT_EQ(few_columns_of(log_softmax_plan({5, 21, 2}, 1)), 2);
  EXPECT_EQ(few_columns_of(log_softmax_plan({5, 31, 2}, 1, {}, DataType::bf16)), 0);
  EXPECT_EQ(few_columns_of(log_softmax_plan({5, 32, 2}, 1, {}, DataType::bf16)), 2);
  EXPECT_EQ(few_columns_of(log_softmax_plan({5, 8, 3}, 1, {}, DataType::bf16)), 3);
}

TEST(Plan, UpdatesDenseSlabsAsOneRun) {
  const auto has_dense_slabs = [](const Plan& plan) { return plan.spec.is_dense; };
  EXPECT_TRUE(has_dense_slabs(log_softmax_plan({5, 21, 16}, 1)));
  EXPECT_TRUE(has_dense_slabs(log_softmax_plan({5, 21, 49}, 1, {2000, 49, 1})));
  EXPECT_TRUE(has_dense_slabs(log_softmax_plan({5, 2, 32}, 1)));
  // Steps with gaps, or twice as far apart; what does not pay.
  EXPECT_FALSE(has_dense_slabs(log_softmax_plan({5, 21, 49}, 1, {21 * 50, 50, 1})));
  EXPECT_FALSE(has_dense_slabs(log_softmax_plan({5, 21, 49}, 1, {2 * 21 * 49, 2 * 49, 2})));
  EXPECT_FALSE(has_dense_slabs(log_softmax_plan({5, 21, 1025}, 1)));
  EXPECT_FALSE(has_dense_slabs(log_softmax_plan({5, 2, 20}, 1)));
}

/// The alignment in bytes that streaming needs of diff_src, of f32 unless said otherwise; 0 for plans that
/// don't stream.
std::int64_t streamed_alignment(const Dims& dims, std::int64_t axis, const Dims& strides = {},
                                DataType dtype = f32) {
  const Plan plan = log_softmax_plan(dims, axis, strides, dtype, Isa::avx512, tiny_caches);
  return plan.spec.streaming ? plan.diff_src_alignment : 0;
}

TEST(Plan, StreamsLongRunsFromAnyAddress) {
  EXPECT_EQ(streamed_alignment({4, 257}, 1, {259, 1}), 4);
  EXPECT_EQ(streamed_alignment({4, 513}, 1, {515, 1}, DataType::bf16), 2);
  EXPECT_EQ(streamed_alignment({3, 5, 257}, 1), 4);
  EXPECT_EQ(streamed_alignment({4, 255}, 1, {257, 1}), 0);
  EXPECT_EQ(streamed_alignment({4, 257}, 1, {259, 1}, DataType::bf16), 0);
}

TEST(Plan, StreamsAdjacentRowsAsOneRun) {
  const auto is_run = [](const Dims& dims, const Dims& strides, bool in_place, const CacheSizes& caches) {
    const LogSoftmaxBackward attributes{.axis = 1, .in_place = in_place};
    const Plan plan = make_plan(validated(attributes, TensorDesc(f32, dims, strides)), Isa::avx512, caches);
    EXPECT_LE(plan.spec.is_dense, plan.spec.streaming);
    return plan.spec.is_dense;
  };
  EXPECT_TRUE(is_run({50, 33}, {}, false, tiny_caches));
  EXPECT_TRUE(is_run({50, 1000}, {}, false, tiny_caches));
  EXPECT_FALSE(is_run({50, 1000}, {1001, 1}, false, tiny_caches));
  EXPECT_FALSE(is_run({50, 1000}, {}, true, tiny_caches));
  EXPECT_FALSE(is_run({50, 1000}, {}, false, CacheSizes{}));
  EXPECT_EQ(streamed_alignment({50, 33}, 1), 4);
}

TEST(Plan, StreamsShortRunsOfWholeLines) {
  // Rows, steps of columns, slabs of columns, few columns.
  EXPECT_EQ(streamed_alignment({50, 48}, 1, {64, 1}), 64);
  EXPECT_EQ(streamed_alignment({50, 3, 32}, 1, {128, 32, 1}), 64);
  EXPECT_EQ(streamed_alignment({50, 3, 32}, 1, {3 * 48, 48, 1}), 64);
  EXPECT_EQ(streamed_alignment({50, 16, 49}, 1), 16);
  EXPECT_EQ(streamed_alignment({50, 16, 49}, 1, {800, 49, 1}), 64);
  EXPECT_EQ(streamed_alignment({50, 16, 3}, 1), 16);
  EXPECT_EQ(streamed_alignment({50, 16, 3}, 1, {64, 3, 1}), 64);
  // A run that ends, or begins, inside a line.
  EXPECT_EQ(streamed_alignment({50, 50}, 1, {64, 1}), 0);
  EXPECT_EQ(streamed_alignment({50, 48}, 1, {64, 1}, DataType::f16), 0);
  EXPECT_EQ(streamed_alignment({50, 48}, 1, {49, 1}), 0);
  EXPECT_EQ(streamed_alignment({50, 3, 32}, 1, {3 * 40, 40, 1}), 0);
  EXPECT_EQ(streamed_alignment({50, 16, 49}, 1, {16 * 49 + 1, 49, 1}), 0);
  EXPECT_EQ(streamed_alignment({50, 15, 3}, 1), 0);
  // Slabs that fill lines together, and such that don't.
  EXPECT_EQ(streamed_alignment({50, 12, 49}, 1), 16);
  EXPECT_EQ(streamed_alignment({50, 12, 49}, 1, {592, 49, 1}), 0);
  EXPECT_EQ(streamed_alignment({50, 20, 3}, 1), 16);
  EXPECT_EQ(streamed_alignment({50, 20, 3}, 1, {}, DataType::bf16), 0);
}

TEST(Plan, StreamsPackedRowsThatBeginALine) {
  EXPECT_EQ(streamed_alignment({50, 9}, 1), 16);
  EXPECT_EQ(streamed_alignment({3, 50, 9}, 2, {464, 9, 1}), 64);
  EXPECT_EQ(streamed_alignment({3, 50, 9}, 2, {465, 9, 1}), 0);
}

TEST(Plan, StagesFewColumnsInOneTile) {
  for (const Plan& plan :
       {log_softmax_plan({1000, 3}, 0, {2, 3000}), log_softmax_plan({2, 1000, 3}, 1, {2001, 2, 5000})}) {
    EXPECT_EQ(plan.spec.loop, Loop::few_columns);
    EXPECT_EQ(plan.spec.columns, plan.elements / 1000);
    EXPECT_EQ(staged(plan), "111");
    for (std::size_t i = 0; i < plan.loops().size(); ++i) {
      EXPECT_EQ(plan.block[i], plan.loops()[i].size);
    }
  }
  EXPECT_EQ(log_softmax_plan({1000, 9}, 0, {1, 1000}).spec.loop, Loop::rows);  // Sums are split off.
  EXPECT_EQ(log_softmax_plan({7, 3}, 0, {2, 20}).spec.loop, Loop::few_columns);
  EXPECT_EQ(log_softmax_plan({60'000, 3}, 0, {1, 60'000}).spec.loop, Loop::columns);
}

TEST(Plan, SplitsSumsFromUpdatesOfTensorsThatLieAsAnotherKernelWantsThem) {
  // Channels-last images, few classes and many; a transposed matrix.
  expect_split(log_softmax_plan({4, 21, 28, 28}, 1, {16464, 1, 588, 21}), Loop::columns, 5,
               Loop::packed_rows);
  expect_split(log_softmax_plan({4, 44, 28, 28}, 1, {34496, 1, 1232, 44}), Loop::columns, 4, Loop::rows);
  expect_split(log_softmax_plan({60, 300}, 1, {1, 60}), Loop::rows, 300 % jit::rows_chunk, Loop::columns);
  // Short rows with gaps, tiles of few elements, tiles of few positions.
  EXPECT_FALSE(log_softmax_plan({21, 50}, 0, {1, 22}).is_split);
  EXPECT_FALSE(log_softmax_plan({9, 40, 4}, 1, {200, 1, 48}).is_split);
  EXPECT_FALSE(log_softmax_plan({60, 5000}, 1, {1, 60}).is_split);
}

TEST(Plan, CutsLongAxesIntoSegments) {
  const std::int64_t segment = jit::segment_length;
  expect_spec(log_softmax_plan({2, segment}, 1), Loop::rows, 0);
  const Plan plan = log_softmax_plan({2, 2 * segment + 77}, 1);
  expect_spec(plan, Loop::rows, 0, Stage::update);
  EXPECT_EQ(plan.update_steps % jit::rows_chunk, 0);
  const std::vector<jit::KernelSpec> specs = kernel_specs_of(plan);
  ASSERT_EQ(specs.size(), 4U);
  EXPECT_EQ(specs[0], plan.spec);
  EXPECT_EQ(specs[1].axis_rest, 77U);
  EXPECT_EQ(specs[2].stage, Stage::sum);
  EXPECT_EQ(specs[3].stage, Stage::sum);
  EXPECT_EQ(specs[3].axis_rest, 77U);
  EXPECT_EQ(kernel_specs_of(log_softmax_plan({2, 2 * segment}, 1)).size(), 2U);
  EXPECT_EQ(kernel_specs_of(log_softmax_plan({2, segment}, 1)).size(), 1U);
}

TEST(Plan, KernelsOfEluDependOnNoShape) {
  const Plan a = elu_plan({64}, {}, {}, {});
  const Plan b = elu_plan({6, 4, 10}, {1, 6, 24}, {}, {80, 20, 2});
  EXPECT_EQ(a.spec, b.spec);
  EXPECT_EQ(a.spec.axis_rest, 0U);
  EXPECT_EQ(a.spec.isa, Isa::avx512);
  EXPECT_EQ(kernel_specs_of(b), std::vector{a.spec});
}

TEST(Plan, WorksOnTensorsWhereTheyLieIfItCan) {
  for (const Plan& plan : {elu_plan({64, 192}, {}, {}, {}), elu_plan({64, 192}, {1, 64}, {1, 64}, {1, 64}),
                           elu_plan({64, 192}, {256, 1}, {0, 1}, {192, 1}), elu_plan({}, {}, {}, {}),
                           elu_plan({7, 5}, {-5, -1}, {-5, -1}, {-5, -1}), log_softmax_plan({8, 10}, 1),
                           log_softmax_plan({8, 100}, 1), log_softmax_plan({8, 100}, 1, {200, 1}),
                           log_softmax_plan({4, 21, 49}, 1), log_softmax_plan({21, 5}, 0)}) {
    EXPECT_EQ(staged(plan), "000");
    EXPECT_TRUE(plan.is_one_call);
  }
  EXPECT_FALSE(elu_plan({9, 8, 64}, {1024, 100, 1}, {}, {}).is_one_call);
  EXPECT_EQ(staged(elu_plan({9, 8, 64}, {1024, 100, 1}, {}, {})), "000");
  EXPECT_FALSE(log_softmax_plan({4, 8, 100}, 2, {2000, 200, 1}).is_one_call);
  EXPECT_EQ(staged(log_softmax_plan({4, 8, 100}, 2, {2000, 200, 1})), "000");
  EXPECT_FALSE(log_softmax_plan({2, 81, 8732}, 1).is_one_call);
}

TEST(Plan, TakesSmallStepsWhereTheyLieIfTheyAreEqual) {
  const auto expect_step = [](const Plan& plan, int step) {
    EXPECT_EQ(plan.spec.step, step);
    EXPECT_EQ(staged(plan), "000");
    EXPECT_TRUE(plan.is_one_call);
  };
  expect_step(elu_plan({64}, {1}, {1}, {1}), 1);
  expect_step(elu_plan({64}, {2}, {2}, {2}), 2);
  expect_step(elu_plan({7, 64}, {200, 3}, {192, 3}, {192, 3}), 3);
  expect_step(elu_plan({64}, {-4}, {-4}, {-4}), 4);
  expect_step(log_softmax_plan({8, 100}, 1, {400, 4}), 4);
  // Short runs are staged, dense.
  EXPECT_EQ(elu_plan({50, 3}, {360, 4}, {360, 4}, {360, 4}).spec.step, 1);
  EXPECT_EQ(staged(elu_plan({50, 3}, {360, 4}, {360, 4}, {360, 4})), "111");
  // Packed rows that go on where they end; one row; an axis of 1, which is trivial.
  expect_step(log_softmax_plan({8, 10}, 1, {20, 2}), 2);
  expect_step(log_softmax_plan({10}, 0, {3}), 3);
  expect_step(log_softmax_plan({20, 1}, 1, {4, 1}), 4);
  EXPECT_EQ(log_softmax_plan({8, 10}, 1, {22, 2}).spec.step, 1);
  EXPECT_EQ(staged(log_softmax_plan({8, 10}, 1, {22, 2})), "111");
  // Columns, whatever lies between the steps of the axis.
  expect_step(log_softmax_plan({21, 50}, 0, {100, 2}), 2);
  expect_step(log_softmax_plan({2, 21, 50}, 1, {7000, 333, 4}), 4);
  EXPECT_EQ(log_softmax_plan({21, 6, 6}, 0, {108, 18, 2}).spec.step, 1);
  // Few columns, as packed rows.
  const Plan few = log_softmax_plan({5, 21, 3}, 1, {200, 9, 3});
  expect_step(few, 3);
  EXPECT_EQ(few_columns_of(few), 3);
  EXPECT_EQ(log_softmax_plan({5, 21, 3}, 1, {300, 10, 3}).spec.step, 1);
  EXPECT_EQ(few_columns_of(log_softmax_plan({5, 21, 3}, 1, {315, 15, 5})), 0);
}

TEST(Plan, StagesWhatDoesNotFit) {
  EXPECT_EQ(staged(elu_plan({64, 192}, {1, 64}, {}, {})), "100");
  EXPECT_EQ(staged(elu_plan({64, 192}, {}, {}, {1, 64})), "001");
  EXPECT_EQ(staged(elu_plan({64, 192}, {}, {1, 0}, {})), "010");
  EXPECT_EQ(staged(elu_plan({64}, {5}, {5}, {5})), "111");
  EXPECT_EQ(staged(elu_plan({64}, {2}, {3}, {2})), "111");
  EXPECT_EQ(staged(elu_plan({64}, {2}, {}, {2})), "101");
  EXPECT_EQ(staged(elu_plan({64, 192}, {}, {-192, -1}, {})), "010");
  // Short runs go together.
  EXPECT_EQ(staged(elu_plan({1000, 3}, {4, 1}, {4, 1}, {4, 1})), "111");
  EXPECT_EQ(staged(log_softmax_plan({8, 10}, 1, {12, 1})), "111");
  EXPECT_EQ(staged(log_softmax_plan({8, 100}, 1, {2, 16})), "111");
  EXPECT_EQ(staged(log_softmax_plan({4, 21, 3}, 1, {84, 4, 1})), "111");
}

TEST(Plan, TilesOfThreeOrdersLieAsOneTensorDoes) {
  const auto expect_tiles_like_one = [](const Plan& plan) {
    EXPECT_EQ(std::ranges::count(plan.staged, false), 1);
    const std::ptrdiff_t tensor = std::ranges::find(plan.staged, false) - plan.staged.begin();
    // A run is several loops, each of which goes on where the one inside it ends.
    EXPECT_LT(plan.first_dense, plan.dense);
    for (std::size_t i = plan.first_dense; i < plan.dense; ++i) {
      const Dim& inside = plan.loops()[i + 1];
      EXPECT_EQ(plan.block[i + 1], inside.size);
      const auto stride = [tensor](const Dim& dim) { return dim.stride[static_cast<std::size_t>(tensor)]; };
      EXPECT_EQ(stride(plan.loops()[i]), inside.size * stride(inside));
    }
  };
  expect_tiles_like_one(elu_plan({16, 32, 48}, {}, {32, 1, 512}, {1, 768, 16}));
  expect_tiles_like_one(elu_plan({10, 20, 300}, {1, 10, 200}, {20, 1, 200}, {}));
  // Columns, along an axis that is outermost in diff_src.
  const TensorDesc dst(f32, {16, 32, 48});
  const Plan softmax =
      make_plan(validated(LogSoftmaxBackward{.axis = 1},
                          LogSoftmaxBackwardTensors{.diff_dst = TensorDesc(f32, {16, 32, 48}, {32, 1, 512}),
                                                    .dst = dst,
                                                    .diff_src = TensorDesc(f32, {16, 32, 48}, {1, 768, 16})}),
                Isa::avx512);
  EXPECT_EQ(softmax.spec.loop, Loop::columns);
  expect_tiles_like_one(softmax);
  // Inputs that lie as diff_src does are not copied.
  EXPECT_EQ(staged(elu_plan({16, 16, 16}, {1, 16, 256}, {}, {})), "100");
}

TEST(Plan, LeavesLongColumnsWhereTheyLie) {
  const Plan few = log_softmax_plan({4, 20'000, 3}, 1, {80'000, 4, 1});
  EXPECT_EQ(staged(few), "000");
  EXPECT_EQ(few.loops()[few.dense].size, 3);
  EXPECT_EQ(staged(log_softmax_plan({4, 70'000, 3}, 1)), "000");
}

TEST(Plan, StagesLongColumnsThatLieApart) {
  EXPECT_EQ(staged(log_softmax_plan({4, 20'000, 3}, 1, {20'000 * 3, 1, 20'000})), "111");
  EXPECT_EQ(staged(log_softmax_plan({4, 65'536, 3}, 1, {65'536 * 3, 1, 65'536})), "111");
  const Plan segmented = log_softmax_plan({4, 70'000, 100}, 1, {70'000 * 100, 1, 70'000});
  EXPECT_EQ(staged(segmented), "111");
  EXPECT_TRUE(segmented.is_segmented());
  EXPECT_LE(segmented.block[segmented.dense] * segmented.sum_steps, usual_tile);
  EXPECT_EQ(segmented.sum_steps % jit::columns_group, 0);
}

TEST(Plan, StagesFewColumnsWithGaps) {
  for (const Dims& strides : {Dims{3, 1}, Dims{24, 3}}) {
    const Plan plan = log_softmax_plan({96, 2}, 0, strides);
    EXPECT_EQ(staged(plan), "111");
    EXPECT_EQ(few_columns_of(plan), 2);
    EXPECT_EQ(plan.spec.step, 1);
  }
  // Little to gain, and too short.
  EXPECT_EQ(staged(log_softmax_plan({95, 2}, 0, {3, 1})), "000");
  EXPECT_EQ(staged(log_softmax_plan({7, 2}, 0, {3, 1})), "000");
}

TEST(Plan, TilesAreBounded) {
  const auto tile = [](const Plan& plan) {
    std::int64_t elements = plan.axis.size;
    for (std::size_t i = 0; i < plan.loops().size(); ++i) {
      elements *= plan.block[i];
    }
    return elements;
  };
  for (const Plan& plan : {elu_plan({1000, 2000}, {1, 1000}, {}, {}), elu_plan({1 << 20}, {5}, {5}, {5}),
                           elu_plan({100'000, 3}, {4, 1}, {4, 1}, {4, 1})}) {
    EXPECT_LE(tile(plan), usual_tile);
    EXPECT_GE(tile(plan), usual_tile / 2);
  }
  for (const std::int64_t size : {100, 200}) {
    EXPECT_LE(tile(elu_plan({100, 100, size}, {1, 100, 10000}, {100, 1, 10000}, {})), greatest_whole_runs);
  }
  for (const Plan& plan :
       {log_softmax_plan({4000, 10}, 1, {1, 4000}), log_softmax_plan({4000, 100}, 1, {1, 4000}),
        log_softmax_plan({100, 4096, 3}, 1), log_softmax_plan({40, 5000}, 1, {1, 40}),
        log_softmax_plan({40, 65536}, 1, {1, 40})}) {
    EXPECT_LE(tile(plan), greatest_tile);
  }
  // Whole cache lines of transposed tensors.
  const Plan transposed = elu_plan({1000, 2000}, {1, 1000}, {}, {});
  EXPECT_EQ(transposed.block[0], 64);
  EXPECT_EQ(transposed.block[1], 64);
}

TEST(Plan, TilesAreLargeWhereOrdersHaveLittleInCommon) {
  // Along the innermost loops of both orders, a tile would have 28 elements; they took 26 times as long as
  // dense tensors.
  const Plan reversed = elu_plan({2, 64, 14, 14}, {}, {}, {1, 2, 128, 1792});
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < reversed.loops().size(); ++i) {
    elements *= reversed.block[i];
  }
  EXPECT_GE(elements, usual_tile / 4);
}

TEST(Plan, KnowsWhatTensorsSpan) {
  const Plan plan = elu_plan({3, 4}, {4, 1}, {-8, 2}, {-4, -1});
  EXPECT_EQ(plan.range[activation].begin, 0);
  EXPECT_EQ(plan.range[activation].end, 48);
  EXPECT_EQ(plan.range[diff_dst].begin, -64);
  EXPECT_EQ(plan.range[diff_dst].end, 28);
  EXPECT_EQ(plan.range[diff_src].begin, -44);
  EXPECT_EQ(plan.range[diff_src].end, 4);
  EXPECT_EQ(plan.lies_like_diff_src, (PerTensor<bool>{false, false, true}));
  EXPECT_EQ(elu_plan({1, 4}, {9, 1}, {-8, 1}, {4, 1}).lies_like_diff_src,
            (PerTensor<bool>{true, true, true}));
}

TEST(Plan, TakesTheLargestTensors) {
  const std::int64_t huge = std::int64_t{1} << 60;
  const Plan plan = elu_plan({huge}, {}, {}, {});
  EXPECT_GT(plan.bytes, huge);
  EXPECT_EQ(plan.range[diff_src].end, 4 * huge);
  EXPECT_EQ(log_softmax_plan({huge}, 0).spec.stage, Stage::update);
  EXPECT_EQ(staged(elu_plan({huge / 2}, {0}, {}, {2})), "101");
  EXPECT_EQ(log_softmax_plan({huge / 2, 2}, 0).spec.loop, Loop::columns);
  EXPECT_EQ(log_softmax_plan({2, huge / 2}, 0).spec.loop, Loop::columns);
  EXPECT_EQ(log_softmax_plan({huge / 2, 2}, 1).spec.loop, Loop::packed_rows);
  // Steps of such a length that two of them are more than 64 bits tell.
  EXPECT_EQ(log_softmax_plan({1000, 2}, 0, {1, huge}).sum_spec.loop, Loop::columns);
  EXPECT_EQ(log_softmax_plan({1000, 2}, 1, {1, huge}).spec.loop, Loop::packed_rows);
}

}  // namespace
}  // namespace gradjit::detail
