#include "src/code_memory/code_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <gradjit/error.hpp>

#include "tests/support/code_blocks.hpp"

namespace gradjit::detail {
namespace {

using test::Block;
using test::call;
using test::MappedRange;
using test::read_maps;
using test::store_returning;

TEST(CodeMemory, RunsWhatWasStored) {
  const Block block = store_returning(0x12345678, 100);
  EXPECT_EQ(call(block), 0x12345678U);
  EXPECT_EQ(block->size(), 100U);
  EXPECT_EQ(block->bytes().size(), 100U);
  EXPECT_EQ(block->bytes()[0], 0xb8);
  EXPECT_EQ(block->bytes()[99], 0xcc);
}

TEST(CodeMemory, IsNeverWritableAndExecutable) {
  std::vector<Block> blocks;
  for (const std::size_t size : {6U, 64U, 4096U, 70'000U, 1'500'000U}) {
    blocks.push_back(store_returning(static_cast<std::uint32_t>(size), size));
  }
  test::expect_never_writable_and_executable(blocks);
  blocks.erase(blocks.begin() + 1);
  blocks.push_back(store_returning(1));
  test::expect_never_writable_and_executable(blocks);
}

TEST(CodeMemory, IsAligned) {
  for (std::size_t size = 6; size < 300; size += 7) {
    const Block first = store_returning(1, size);
    const Block second = store_returning(2, size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first->data()) % code_alignment, 0U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second->data()) % code_alignment, 0U);
    EXPECT_EQ(call(first), 1U);
  }
}

TEST(CodeMemory, RefusesWhatCannotBeAKernel) {
  const auto message_for = [](std::size_t size) -> std::string {
    const std::vector<std::uint8_t> bytes(size);
    try {
      (void)store_code(bytes);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::internal);
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_EQ(message_for(0), "code has 0 bytes, expected 1 to 16777216");
  EXPECT_EQ(message_for(max_code_size + 1), "code has 16777217 bytes, expected 1 to 16777216");
  EXPECT_EQ(message_for(max_code_size), "nothing was thrown");
}

// Bytes of memory behind all chunks.
std::size_t resident_bytes() {
  std::size_t pages = 0;
  for (const MappedRange& range : read_maps()) {
    if (range.is_chunk() && range.permissions.at(2) == 'x') {
      std::vector<unsigned char> resident((range.end - range.begin) / 4096);
      EXPECT_EQ(mincore(reinterpret_cast<void*>(range.begin), range.end - range.begin, resident.data()), 0);
      pages += static_cast<std::size_t>(std::count_if(resident.begin(), resident.end(),
                                                      [](unsigned char page) { return (page & 1) != 0; }));
    }
  }
  return pages * 4096;
}

TEST(CodeMemory, DoesNotUseAnAddressTwiceWhileItsChunkLives) {
  std::vector<Block> anchors;
  std::set<const std::uint8_t*> seen;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    anchors.push_back(store_returning(i));
    const Block block = store_returning(i);
    EXPECT_TRUE(seen.insert(block->data()).second);
  }
}

TEST(CodeMemory, GivesPagesBack) {
  if (!test::madvise_works()) {
    GTEST_SKIP() << "memory does not go back here";
  }
  constexpr std::uint32_t count = 400;
  constexpr std::size_t size = 10'000;
  std::vector<Block> blocks;
  for (std::uint32_t i = 0; i < count; ++i) {
    blocks.push_back(store_returning(i, size));
  }
  const std::size_t before = resident_bytes();
  const std::size_t mapped = code_memory_stats().mapped_bytes;
  // Three of five, in an order in which pages lose their last block by either end.
  std::vector<std::uint32_t> kept;
  for (std::uint32_t i = 0; i < count; i += 5) {
    blocks[i].reset();
    blocks[i + 2].reset();
    blocks[i + 1].reset();
    kept.insert(kept.end(), {i + 3, i + 4});
  }
  // Up to a quarter of a chunk may stay, and these blocks are in five chunks at the most; so may the pages at
  // both ends of each gap.
  EXPECT_LE(resident_bytes() + count / 5 * 3 * size, before + 5 * (1 << 18) + count / 5 * 2 * 4096);
  EXPECT_EQ(code_memory_stats().mapped_bytes, mapped);
  for (const std::uint32_t i : kept) {
    EXPECT_EQ(call(blocks[i]), i);
    EXPECT_EQ(blocks[i]->bytes()[size - 1], 0xcc);
  }
}

TEST(CodeMemory, DoesNotGrowWhenOneBlockIsMadeAfterTheOther) {
  const std::size_t before = code_memory_stats().chunks;
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    ASSERT_EQ(call(store_returning(i, 3000)), i);
    ASSERT_LE(code_memory_stats().chunks, before + 1) << "the one that is being filled";
  }
}

TEST(CodeMemory, KeepsTheFewThatStayAmongManyThatGo) {
  std::vector<Block> kept;
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    Block block = store_returning(i, 3000);
    if (i % 7 == 0) {
      kept.push_back(std::move(block));
    }
  }
  for (std::uint32_t i = 0; i < kept.size(); ++i) {
    ASSERT_EQ(call(kept[i]), i * 7);
    ASSERT_EQ(kept[i]->bytes()[2'999], 0xcc);
  }
}

TEST(CodeMemory, HoldsTensOfThousandsOfBlocks) {
  constexpr std::uint32_t count = 30'000;
  const std::size_t maps_before = read_maps().size();
  const CodeMemoryStats before = code_memory_stats();
  std::mt19937 random(1);
  std::uniform_int_distribution<std::size_t> sizes(1000, 4000);
  std::vector<Block> blocks;
  for (std::uint32_t i = 0; i < count; ++i) {
    blocks.push_back(store_returning(i, sizes(random)));
  }
  EXPECT_LT(read_maps().size() - maps_before, 400U);

  // Each of them replaced four times, in random order: the worst case for memory that isn't reused in place.
  for (std::uint32_t i = 0; i < 4 * count; ++i) {
    const std::uint32_t victim = static_cast<std::uint32_t>(random()) % count;
    blocks[victim].reset();
    blocks[victim] = store_returning(victim, sizes(random));
  }
  if (test::madvise_works()) {
    EXPECT_LT(resident_bytes(), 3 * code_memory_stats().used_bytes);
  }
  EXPECT_LT(read_maps().size() - maps_before, 3000U);
  for (std::uint32_t i = 0; i < count; ++i) {
    ASSERT_EQ(call(blocks[i]), i);
  }

  blocks.clear();
  const CodeMemoryStats after = code_memory_stats();
  EXPECT_EQ(after.used_bytes, before.used_bytes);
  EXPECT_LE(after.chunks, before.chunks + 1) << "the one that is being filled";
}

TEST(CodeMemory, IsSafeFromManyThreads) {
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([t, &wrong] {
      std::mt19937 random(t);
      std::vector<Block> blocks(50);
      std::vector<std::uint32_t> values(blocks.size());
      for (std::uint32_t i = 0; i < 3000; ++i) {
        const std::size_t place = random() % blocks.size();
        if (blocks[place] && call(blocks[place]) != values[place]) {
          ++wrong;
        }
        values[place] = t * 1'000'000 + i;
        blocks[place] = store_returning(values[place], 64 + random() % 5000);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace gradjit::detail
