#include <sched.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <latch>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <omp.h>

#include <gradjit/executor.hpp>

#include "src/process/fork.hpp"
#include "tests/support/child_process.hpp"

namespace gradjit {
namespace {

// parallel_for with a callable.
template <typename Body>
void run(Executor& executor, std::size_t tasks, Body body) {
  executor.parallel_for(
      tasks, [](void* context, std::size_t index) { (*static_cast<Body*>(context))(index); }, &body);
}

bool runs_each_index_once(Executor& executor, std::size_t tasks) {
  std::vector<int> counts(tasks);  // Not atomic: no index is for two threads.
  run(executor, tasks, [&counts](std::size_t index) { ++counts.at(index); });
  return counts == std::vector<int>(tasks, 1);
}

constexpr std::size_t sizes[] = {0, 1, 2, 3, 7, 64, 1000, 100'000};

TEST(SerialExecutor, RunsEachIndexOnceOnTheCallingThread) {
  for (const std::size_t tasks : sizes) {
    EXPECT_TRUE(runs_each_index_once(serial_executor(), tasks)) << tasks;
  }
  EXPECT_EQ(serial_executor().concurrency(), 1);
  run(serial_executor(), 10,
      [caller = std::this_thread::get_id()](std::size_t) { EXPECT_EQ(std::this_thread::get_id(), caller); });
}

TEST(OpenMpExecutor, RunsEachIndexOnce) {
  for (const std::size_t tasks : sizes) {
    EXPECT_TRUE(runs_each_index_once(openmp_executor(), tasks)) << tasks;
  }
}

TEST(OpenMpExecutor, MakesItsResultsVisible) {
  // Under ThreadSanitizer this is also a test of how tasks and the caller synchronise.
  std::vector<std::size_t> values(1000);
  for (std::size_t round = 0; round < 200; ++round) {
    run(openmp_executor(), values.size(),
        [&values, round](std::size_t index) { values[index] += index * round; });
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    ASSERT_EQ(values[i], i * (199 * 200 / 2));
  }
}

TEST(OpenMpExecutor, RunsTasksAtTheSameTime) {
  if (openmp_executor().concurrency() < 2) {
    GTEST_SKIP() << "one CPU only";
  }
  std::latch both(2);
  run(openmp_executor(), 2, [&both](std::size_t) { both.arrive_and_wait(); });  // Hangs if it doesn't.
}

TEST(OpenMpExecutor, GivesASlowTaskItsOwnThread) {
  if (openmp_executor().concurrency() < 2) {
    GTEST_SKIP() << "one CPU only";
  }
  // The first task ends when all others have, which are therefore not waiting behind it.
  std::atomic<int> done{0};
  run(openmp_executor(), 100, [&done](std::size_t index) {
    while (index == 0 && done < 99) {
      std::this_thread::yield();
    }
    ++done;
  });
  EXPECT_EQ(done, 100);
}

TEST(OpenMpExecutor, ServesSeveralThreadsAtOnce) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&wrong] {
      for (int round = 0; round < 50; ++round) {
        wrong += runs_each_index_once(openmp_executor(), 100) ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0);
}

TEST(OpenMpExecutor, IsSerialInsideAParallelRegion) {
  if (openmp_executor().concurrency() < 2) {
    GTEST_SKIP() << "one CPU only";
  }
  std::atomic<int> wrong{0};
  std::atomic<int> inner_tasks{0};
  run(openmp_executor(), 8, [&](std::size_t) {
    wrong += openmp_executor().concurrency() == 1 ? 0 : 1;
    const auto caller = std::this_thread::get_id();
    run(openmp_executor(), 10, [&](std::size_t) {
      wrong += std::this_thread::get_id() == caller ? 0 : 1;
      ++inner_tasks;
    });
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(inner_tasks, 80);
}

TEST(OpenMpExecutor, IsSerialInAForkedChild) {
  EXPECT_TRUE(runs_each_index_once(openmp_executor(), 100));  // GNU's OpenMP has threads from here on.
  EXPECT_FALSE(detail::in_forked_child());
  EXPECT_EQ(test::run_in_child([] {
              bool good = detail::in_forked_child() && openmp_executor().concurrency() == 1;
              good = good && runs_each_index_once(openmp_executor(), 100);
              // A child of the child too.
              return good && test::run_in_child([] {
                               return openmp_executor().concurrency() == 1 &&
                                      runs_each_index_once(openmp_executor(), 100);
                             }) == 0;
            }),
            0);
  EXPECT_FALSE(detail::in_forked_child());
  EXPECT_TRUE(runs_each_index_once(openmp_executor(), 100));
}

TEST(OpenMpExecutor, FollowsTheAffinityOfTheCallingThread) {
  int concurrency = 0;
  std::thread([&concurrency] {
    cpu_set_t all;
    sched_getaffinity(0, sizeof all, &all);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
      if (CPU_ISSET(cpu, &all)) {
        CPU_SET(cpu, &one);
      }
    }
    sched_setaffinity(0, sizeof one, &one);
    concurrency = openmp_executor().concurrency();
  }).join();
  EXPECT_EQ(concurrency, 1);
}

TEST(OpenMpExecutor, FollowsTheHostsSettingsAndLeavesThem) {
  const int threads = omp_get_max_threads();
  const int dynamic = omp_get_dynamic();
  EXPECT_LE(openmp_executor().concurrency(), threads);
  EXPECT_TRUE(runs_each_index_once(openmp_executor(), 100));
  EXPECT_EQ(omp_get_max_threads(), threads);
  EXPECT_EQ(omp_get_dynamic(), dynamic);
  omp_set_num_threads(1);
  EXPECT_EQ(openmp_executor().concurrency(), 1);
  run(openmp_executor(), 10,
      [caller = std::this_thread::get_id()](std::size_t) { EXPECT_EQ(std::this_thread::get_id(), caller); });
  EXPECT_EQ(omp_get_max_threads(), 1);
  omp_set_num_threads(threads);
}

TEST(OpenMpExecutor, RespectsOmpNumThreads) {
  // In a process of its own, because OpenMP reads the variable when it is loaded.
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  setenv("OMP_NUM_THREADS", "1", 1);
  EXPECT_EXIT(std::exit(openmp_executor().concurrency()), testing::ExitedWithCode(1), "");
  unsetenv("OMP_NUM_THREADS");
}

}  // namespace
}  // namespace gradjit
