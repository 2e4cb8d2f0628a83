// The cache under many threads, and across forks.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "src/cache/kernel_cache.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/fake_kernels.hpp"

namespace gradjit::detail {
namespace {

using test::make_kernel;
using test::spec_of;
using Kernel = KernelCache::Kernel;

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

TEST(KernelCacheThreads, MakesOnceForManyThreads) { expect_one_emission(4); }

TEST(KernelCacheThreads, SharesAmongThoseWhoAskAtOnceWithCapacityZero) { expect_one_emission(0); }

TEST(KernelCacheThreads, TriesAgainAfterAFailureForThoseWhoWaited) {
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

TEST(KernelCacheThreads, MakesDifferentKernelsAtTheSameTime) {
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

TEST(KernelCacheThreads, HitsWhileAnotherKernelIsMade) {
  KernelCache cache(4);
  (void)cache.get(spec_of(1), make_kernel);
  (void)cache.get(spec_of(2), [&](const jit::KernelSpec& spec) {
    EXPECT_EQ(cache.get(spec_of(1), make_kernel)->spec, spec_of(1));
    EXPECT_EQ(cache.get(spec_of(3), make_kernel)->spec, spec_of(3))
        << "another kernel may even be made meanwhile";
    EXPECT_EQ(cache.stats().kernels, 2U);
    return make_kernel(spec);
  });
  EXPECT_EQ(cache.stats().hits, 1U);
}

TEST(KernelCacheThreads, StaysConsistentUnderChurn) {
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
TEST(KernelCacheThreads, WorksInAForkedChild) {
  KernelCache cache(100);
  (void)cache.get(spec_of(1), make_kernel);
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
  int failed = 0;
  for (int i = 0; i < 20 && failed == 0; ++i) {
    failed = test::run_in_child([&] {
      bool good = cache.get(spec_of(2), make_kernel)->spec == spec_of(2);
      for (std::uint32_t id = 1; id < 300; ++id) {
        good = good && cache.get(spec_of(id), make_kernel)->spec == spec_of(id);
      }
      return good && cache.stats().kernels == 100;
    });
  }
  EXPECT_EQ(failed, 0);
  stop = true;
  maker_of_two.join();
  busy.join();
}

}  // namespace
}  // namespace gradjit::detail
