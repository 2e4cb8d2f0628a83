#include "src/cache/kernel_cache.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include <gradjit/error.hpp>

#include "tests/support/fake_kernels.hpp"

namespace gradjit::detail {
namespace {

using test::make_kernel;
using test::spec_of;
using Kernel = KernelCache::Kernel;

// Makes kernels, and counts how many.
class Maker {
 public:
  Kernel operator()(const jit::KernelSpec& spec) {
    ++made_;
    return make_kernel(spec);
  }
  [[nodiscard]] int made() const { return made_; }

 private:
  std::atomic<int> made_{0};
};

Kernel get(KernelCache& cache, std::uint32_t id, Maker& maker) {
  return cache.get(spec_of(id), std::ref(maker));
}

// Whether the cache holds a kernel, without making it or telling the cache that it was used.
bool holds(KernelCache& cache, std::uint32_t id) {
  class Absent : public std::exception {};
  try {
    (void)cache.get(spec_of(id), [](const jit::KernelSpec&) -> Kernel { throw Absent(); });
  } catch (const Absent&) {
    return false;
  }
  return true;
}

TEST(KernelCache, MakesOncePerSpec) {
  KernelCache cache(10);
  Maker maker;
  const Kernel first = get(cache, 1, maker);
  EXPECT_EQ(first->spec, spec_of(1));
  EXPECT_EQ(get(cache, 1, maker), first);
  EXPECT_EQ(get(cache, 1, maker), first);
  const Kernel second = get(cache, 2, maker);
  EXPECT_NE(second, first);
  EXPECT_EQ(second->spec, spec_of(2));
  EXPECT_EQ(maker.made(), 2);

  const FactoryStats stats = cache.stats();
  EXPECT_EQ(stats.hits, 2U);
  EXPECT_EQ(stats.misses, 2U);
  EXPECT_EQ(stats.emissions, 2U);
  EXPECT_EQ(stats.evictions, 0U);
  EXPECT_EQ(stats.kernels, 2U);
  EXPECT_EQ(stats.code_bytes, 101U + 102U);
}

TEST(KernelCache, TellsSpecsApartByEveryField) {
  std::vector<jit::KernelSpec> specs(10);
  specs[1].operation = jit::Operation::log_softmax_backward;
  specs[2].loop = jit::Loop::rows;
  specs[3].stage = jit::Stage::sum;
  specs[4].dtype = DataType::f16;
  specs[5].isa = Isa::avx512;
  specs[6].use_dst = true;
  specs[7].in_place = true;
  specs[8].alpha_bits = 1;
  specs[9].axis_rest = 1;
  KernelCache cache(100);
  for (const auto& spec : specs) {
    EXPECT_EQ(cache.get(spec, make_kernel)->spec, spec);
  }
  for (const auto& spec : specs) {
    EXPECT_EQ(cache.get(spec, make_kernel)->spec, spec);
  }
  EXPECT_EQ(cache.stats().emissions, specs.size());
}

TEST(KernelCache, IsBounded) {
  KernelCache cache(8);
  Maker maker;
  for (std::uint32_t i = 0; i < 100; ++i) {
    (void)get(cache, i, maker);
    EXPECT_EQ(cache.stats().kernels, std::min(i + 1, 8U));
  }
  const FactoryStats stats = cache.stats();
  EXPECT_EQ(stats.evictions, 92U);
  EXPECT_EQ(stats.code_bytes, 102U + 103 + 104 + 105 + 106 + 107 + 108 + 109) << "those of 92 to 99";
}

TEST(KernelCache, KeepsAsManyAsItMay) {
  KernelCache cache(1024);
  Maker maker;
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t i = 0; i < 1024; ++i) {
      (void)get(cache, i, maker);
    }
  }
  EXPECT_EQ(maker.made(), 1024);
}

TEST(KernelCache, LetsGoOfWhatIsNotUsed) {
  KernelCache cache(2);
  Maker maker;
  (void)get(cache, 1, maker);
  (void)get(cache, 2, maker);
  (void)get(cache, 1, maker);
  (void)get(cache, 3, maker);  // 2 has to go.
  EXPECT_TRUE(holds(cache, 1));
  EXPECT_TRUE(holds(cache, 3));
  EXPECT_FALSE(holds(cache, 2));
}

TEST(KernelCache, KeepsWhatIsInUseThroughAScan) {
  KernelCache cache(16);
  Maker maker;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    (void)get(cache, 1000 + i, maker);
    for (std::uint32_t used = 0; used < 8; ++used) {
      (void)get(cache, used, maker);
    }
  }
  EXPECT_EQ(maker.made(), 1008);
}

TEST(KernelCache, HandlesOutliveTheirEvictionAndTheCache) {
  std::weak_ptr<const CompiledKernel> forgotten;
  Kernel kept;
  {
    KernelCache cache(1);
    Maker maker;
    kept = get(cache, 1, maker);
    forgotten = get(cache, 2, maker);
    EXPECT_FALSE(forgotten.expired()) << "the cache holds it";
    EXPECT_EQ(kept.use_count(), 1);
  }
  EXPECT_TRUE(forgotten.expired());
  EXPECT_EQ(kept->code->bytes()[0], 0xc3);
}

TEST(KernelCache, KeepsNoneWithCapacityZero) {
  KernelCache cache(0);
  Maker maker;
  const std::weak_ptr<const CompiledKernel> kernel = get(cache, 1, maker);
  EXPECT_TRUE(kernel.expired());
  (void)get(cache, 1, maker);
  EXPECT_EQ(maker.made(), 2);
  const FactoryStats stats = cache.stats();
  EXPECT_EQ(stats.hits, 0U);
  EXPECT_EQ(stats.misses, 2U);
  EXPECT_EQ(stats.emissions, 2U);
  EXPECT_EQ(stats.evictions, 0U);
  EXPECT_EQ(stats.kernels, 0U);
  EXPECT_EQ(stats.code_bytes, 0U);
}

TEST(KernelCache, ForgetsAFailure) {
  KernelCache cache(4);
  Maker maker;
  const auto fail = [](const jit::KernelSpec&) -> Kernel {
    throw Error(ErrorCode::out_of_memory, "none left");
  };
  for (int i = 0; i < 3; ++i) {
    EXPECT_THROW((void)cache.get(spec_of(1), fail), Error);
  }
  EXPECT_EQ(cache.stats().kernels, 0U);
  EXPECT_EQ(cache.stats().emissions, 0U);
  EXPECT_EQ(get(cache, 1, maker)->spec, spec_of(1));
  EXPECT_EQ(cache.get(spec_of(1), fail)->spec, spec_of(1)) << "held, so that nothing is made";
}

TEST(KernelCache, RefusesNoKernel) {
  KernelCache cache(4);
  EXPECT_THROW((void)cache.get(spec_of(1), [](const jit::KernelSpec&) { return Kernel(); }), Error);
}

}  // namespace
}  // namespace gradjit::detail
