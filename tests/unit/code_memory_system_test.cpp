// Code memory across forks, and where the system refuses things.
#include <sys/resource.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <gradjit/error.hpp>

#include "src/code_memory/code_memory.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/code_blocks.hpp"
#include "tests/support/refusal.hpp"

namespace gradjit::detail {
namespace {

using test::Block;
using test::call;
using test::MappedRange;
using test::read_maps;
using test::store_returning;

std::vector<Block> store_many(std::uint32_t first_value) {
  std::vector<Block> blocks;
  for (std::uint32_t i = 0; i < 500; ++i) {
    blocks.push_back(store_returning(first_value + i, 4000));
  }
  return blocks;
}

bool all_return(const std::vector<Block>& blocks, std::uint32_t first_value) {
  std::uint32_t expected = first_value;
  return std::all_of(blocks.begin(), blocks.end(), [&expected](const Block& block) {
    return call(block) == expected++ && block->bytes().back() == 0xcc;
  });
}

// Parent and child share the memory of older blocks. Whatever either of them does afterwards, the code of the
// other stays.
TEST(CodeMemorySystem, SurvivesAFork) {
  const std::vector<Block> kept = store_many(0);
  std::vector<Block> dropped = store_many(1000);
  const test::Signal parent_is_done;
  const test::Signal child_is_done;
  const int child = test::start_child([&] {
    std::vector<Block> own = store_many(2000);
    parent_is_done.wait();
    bool good = all_return(kept, 0) && all_return(dropped, 1000) && all_return(own, 2000);
    dropped.clear();
    own = store_many(3000);
    child_is_done.send();
    parent_is_done.wait();
    return good && all_return(kept, 0) && all_return(own, 3000);
  });
  dropped.erase(dropped.begin() + 1, dropped.end());  // The child still has them.
  std::vector<Block> own = store_many(4000);
  parent_is_done.send();
  child_is_done.wait();
  EXPECT_TRUE(all_return(kept, 0));
  EXPECT_TRUE(all_return(dropped, 1000));
  EXPECT_TRUE(all_return(own, 4000));
  own = store_many(5000);
  parent_is_done.send();
  EXPECT_EQ(test::wait_for_child(child), 0);
  EXPECT_TRUE(all_return(own, 5000));
}

TEST(CodeMemorySystem, IsFreeAgainAfterForks) {
  const CodeMemoryStats before = code_memory_stats();
  for (int i = 0; i < 20; ++i) {
    std::vector<Block> blocks;
    for (std::uint32_t j = 0; j < 100; ++j) {
      blocks.push_back(store_returning(j, 4000));
    }
    EXPECT_EQ(test::run_in_child([] { return call(store_returning(7)) == 7; }), 0);
  }
  EXPECT_EQ(code_memory_stats().used_bytes, before.used_bytes);
  EXPECT_LE(code_memory_stats().chunks, before.chunks + 2);
}

TEST(CodeMemorySystem, IsNotWritableInAForkedChild) {
  if (!test::madvise_works()) {
    GTEST_SKIP() << "fork copies every mapping here";
  }
  const Block block = store_returning(1);
  EXPECT_EQ(test::run_in_child([&] {
              const auto maps = read_maps();
              return std::none_of(maps.begin(), maps.end(), [](const MappedRange& range) {
                return range.is_chunk() && range.permissions.at(1) == 'w';
              });
            }),
            0);
}

TEST(CodeMemorySystem, ManagesWithoutMemfd) {
  const int result = test::run_refused({.memfd = true}, [] {
    const std::size_t inherited = code_memory_stats().chunks;
    std::vector<Block> blocks;
    for (std::uint32_t i = 0; i < 100; ++i) {
      blocks.push_back(store_returning(i, 3000));
      blocks.push_back(store_returning(i, 3000));
      blocks.erase(blocks.begin());
    }
    test::expect_never_writable_and_executable(blocks);
    return !testing::Test::HasFailure() && code_memory_stats().chunks == inherited &&
           call(blocks.back()) == 99;
  });
  if (result == test::cannot_refuse) {
    GTEST_SKIP() << "no seccomp here";
  }
  EXPECT_EQ(result, 0);
}

TEST(CodeMemorySystem, ManagesUnderAFileSizeLimit) {
  EXPECT_EQ(test::run_in_child([] {
              const rlimit limit{0, 0};
              return setrlimit(RLIMIT_FSIZE, &limit) == 0 && call(store_returning(5)) == 5;
            }),
            0);
}

TEST(CodeMemorySystem, SaysSoWhereThereIsNoExecutableMemory) {
  const int result = test::run_refused({.executable_pages = true}, [] {
    try {
      (void)store_returning(1);
    } catch (const Error& error) {
      const std::string expected = "the system grants no executable memory: Operation not permitted";
      return error.code() == ErrorCode::code_memory_denied && error.what() == expected;
    }
    return false;
  });
  if (result == test::cannot_refuse) {
    GTEST_SKIP() << "no seccomp here";
  }
  EXPECT_EQ(result, 0);
}

}  // namespace
}  // namespace gradjit::detail
