#include "src/cache/kernel_cache.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <latch>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <gradjit/error.hpp>

#include "tests/support/child_process.hpp"

namespace gradjit::detail {
namespace {

using Kernel = KernelCache::Kernel;

jit::KernelSpec spec_of(std::uint32_t id) {
  jit::KernelSpec spec;
  spec.isa = Isa::avx2;
  spec.alpha_bits = id;
  return spec;
}

Kernel make_kernel(const jit::KernelSpec& spec) {
  const std::vector<std::uint8_t> code(100 + spec.alpha_bits % 10, 0xc3);
  return std::make_shared<const CompiledKernel>(CompiledKernel{spec, "fake", store_code(code), nullptr});
}

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

Kernel get(KernelCache& cache, std::uint32_t id, Maker& maker) { return cache.get(spec_of(id), std::ref(maker)); }

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
  specs[8].streaming = true;
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
  const auto fail = [](const jit::KernelSpec&) -> Kernel { throw Error(ErrorCode::out_of_memory, "none left"); };
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

// Calls `body(index)` on so many threads, which start at about the same time.
template <typename Body>
void on_threads(std::ptrdiff_t count, Body body) {
  std::latch start(count);
  std::vector<std::thread> threads;
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    threads.emplace_back([&start, &body, i] {
      start.arrive_and_wait();
      body(static_cast<std::uint32_t>(i));
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

constexpr std::uint32_t many = 12;

// Returns when so many requests have found that the cache doesn't hold their kernel.
void wait_for_misses(const KernelCache& cache, std::uint64_t count) {
  while (cache.stats().misses < count) {
    std::this_thread::yield();
  }
}

void expect_one_emission(std::size_t capacity) {
  KernelCache cache(capacity);
  std::atomic<int> made{0};
  std::vector<Kernel> kernels(many);
  on_threads(many, [&](std::uint32_t i) {
    kernels[i] = cache.get(spec_of(1), [&](const jit::KernelSpec& spec) {
      ++made;
      wait_for_misses(cache, many);
      return make_kernel(spec);
    });
  });
  EXPECT_EQ(made, 1);
  for (const Kernel& kernel : kernels) {
    EXPECT_EQ(kernel, kernels[0]);
  }
  EXPECT_EQ(cache.stats().emissions, 1U);
  EXPECT_EQ(cache.stats().misses, std::uint64_t{many});
  EXPECT_EQ(cache.stats().hits, 0U);
}

TEST(KernelCache, MakesOnceForManyThreads) { expect_one_emission(4); }

TEST(KernelCache, SharesAmongThoseWhoAskAtOnceWithCapacityZero) { expect_one_emission(0); }

TEST(KernelCache, TriesAgainAfterAFailureForThoseWhoWaited) {
  KernelCache cache(4);
  std::atomic<int> attempts{0};
  std::atomic<int> failures{0};
  on_threads(many, [&](std::uint32_t) {
    try {
      const Kernel kernel = cache.get(spec_of(1), [&](const jit::KernelSpec& spec) -> Kernel {
        const int attempt = ++attempts;
        wait_for_misses(cache, many);
        if (attempt <= 3) {
          throw std::runtime_error("attempt " + std::to_string(attempt));
        }
        return make_kernel(spec);
      });
      EXPECT_EQ(kernel->spec, spec_of(1));
    } catch (const std::runtime_error&) {
      ++failures;
    }
  });
  EXPECT_EQ(failures, 3);
  EXPECT_EQ(attempts, 4);
  EXPECT_EQ(cache.stats().misses, std::uint64_t{many}) << "who tries again is not counted again";
  EXPECT_EQ(cache.stats().hits, 0U);
}

TEST(KernelCache, MakesDifferentKernelsAtTheSameTime) {
  KernelCache cache(4);
  std::latch both_are_at_it(2);
  on_threads(2, [&](std::uint32_t i) {
    (void)cache.get(spec_of(i), [&](const jit::KernelSpec& spec) {
      both_are_at_it.arrive_and_wait();  // Would hang if one waited for the other.
      return make_kernel(spec);
    });
  });
  EXPECT_EQ(cache.stats().kernels, 2U);
}

TEST(KernelCache, HitsWhileAnotherKernelIsMade) {
  KernelCache cache(4);
  Maker maker;
  (void)get(cache, 1, maker);
  (void)cache.get(spec_of(2), [&](const jit::KernelSpec& spec) {
    EXPECT_EQ(get(cache, 1, maker)->spec, spec_of(1));
    EXPECT_EQ(get(cache, 3, maker)->spec, spec_of(3)) << "another kernel may even be made meanwhile";
    EXPECT_EQ(cache.stats().kernels, 2U);
    return make_kernel(spec);
  });
  EXPECT_EQ(cache.stats().hits, 1U);
}

TEST(KernelCache, StaysConsistentUnderChurn) {
  KernelCache cache(20);
  constexpr std::uint32_t rounds = 5000;
  std::atomic<int> wrong{0};
  std::atomic<std::uint64_t> made{0};
  std::atomic<std::uint64_t> failed{0};
  on_threads(4, [&](std::uint32_t thread) {
    std::mt19937 random(thread);
    for (std::uint32_t i = 0; i < rounds; ++i) {
      const auto id = static_cast<std::uint32_t>(random() % (i % 7 == 0 ? 200 : 15));
      try {
        const Kernel kernel = cache.get(spec_of(id), [&](const jit::KernelSpec& spec) {
          if (spec.alpha_bits % 50 == 49) {
            throw std::runtime_error("never");
          }
          ++made;
          return make_kernel(spec);
        });
        wrong += kernel->spec == spec_of(id) ? 0 : 1;
      } catch (const std::runtime_error&) {
        ++failed;
      }
    }
  });
  EXPECT_EQ(wrong, 0);
  const FactoryStats stats = cache.stats();
  EXPECT_EQ(stats.hits + stats.misses, 4U * rounds);
  EXPECT_EQ(stats.emissions, made);
  EXPECT_LE(stats.emissions + failed, stats.misses);
  EXPECT_EQ(stats.kernels, 20U);
  EXPECT_EQ(stats.emissions - stats.evictions, stats.kernels);
  EXPECT_GT(failed, 0U);
}

// Whatever threads of the parent were doing with the cache, a child can use it.
TEST(KernelCache, WorksInAForkedChild) {
  KernelCache cache(100);
  Maker maker;
  (void)get(cache, 1, maker);
  std::latch started(2);
  std::atomic<bool> stop{false};
  std::thread maker_of_two([&] {
    (void)cache.get(spec_of(2), [&](const jit::KernelSpec& spec) {
      started.count_down();
      while (!stop) {
        std::this_thread::yield();
      }
      return make_kernel(spec);
    });
  });
  std::thread busy([&] {
    started.count_down();
    for (std::uint32_t i = 0; !stop; ++i) {
      (void)cache.get(spec_of(10 + i % 200), make_kernel);
    }
  });
  started.wait();
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(test::run_in_child([&] {
                bool good = cache.get(spec_of(2), make_kernel)->spec == spec_of(2);
                for (std::uint32_t id = 1; id < 300; ++id) {
                  good = good && cache.get(spec_of(id), make_kernel)->spec == spec_of(id);
                }
                return good && cache.stats().kernels == 100;
              }),
              0);
  }
  stop = true;
  maker_of_two.join();
  busy.join();
}

}  // namespace
}  // namespace gradjit::detail
