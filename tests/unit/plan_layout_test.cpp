#include <algorithm>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "src/plan/layout.hpp"

namespace gradjit::detail {
namespace {

using Places = std::vector<PerTensor<std::int64_t>>;

/// Where each position lies in each tensor, sorted.
Places places(const DimList& dims, const PerTensor<std::int64_t>& offset) {
  Places found{offset};
  for (const Dim& dim : dims) {
    Places next;
    for (const auto& place : found) {
      for (std::int64_t step = 0; step < dim.size; ++step) {
        next.push_back({place[0] + step * dim.stride[0], place[1] + step * dim.stride[1],
                        place[2] + step * dim.stride[2]});
      }
    }
    found = next;
  }
  std::sort(found.begin(), found.end());
  return found;
}

Layout layout_of(const DimList& dims, std::int64_t scale = 1) {
  Layout layout;
  for (const Dim& dim : dims) {
    add_loop(layout, dim, scale);
  }
  order_and_merge(layout.loops);
  return layout;
}

DimList list(std::initializer_list<Dim> dims) {
  DimList result;
  for (const Dim& dim : dims) {
    result.push_back(dim);
  }
  return result;
}

void expect_loops(const DimList& dims, std::initializer_list<Dim> expected) {
  const Layout layout = layout_of(dims);
  ASSERT_EQ(layout.loops.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(layout.loops[i].size, expected.begin()[i].size) << i;
    EXPECT_EQ(layout.loops[i].stride, expected.begin()[i].stride) << i;
  }
}

TEST(PlanLayout, DropsOrdersAndMerges) {
  expect_loops({}, {});
  expect_loops(list({{1, {5, 6, 7}}, {1, {0, 0, 0}}}), {});
  expect_loops(list({{2, {12, 12, 12}}, {3, {4, 4, 4}}, {4, {1, 1, 1}}}), {{24, {1, 1, 1}}});
  // One order of dims in all tensors, but not the row-major one.
  expect_loops(list({{2, {1, 1, 1}}, {3, {2, 2, 2}}, {4, {6, 6, 6}}}), {{24, {1, 1, 1}}});
  // A gap, in one tensor, before the outermost.
  expect_loops(list({{2, {12, 13, 12}}, {3, {4, 4, 4}}, {4, {1, 1, 1}}}),
               {{2, {12, 13, 12}}, {12, {1, 1, 1}}});
  // A transposed input keeps loops apart; a broadcast one may not.
  expect_loops(list({{2, {1, 3, 3}}, {3, {2, 1, 1}}}), {{2, {1, 3, 3}}, {3, {2, 1, 1}}});
  expect_loops(list({{2, {0, 3, 3}}, {3, {0, 1, 1}}}), {{6, {0, 1, 1}}});
}

TEST(PlanLayout, WalksUpwardsWhereMostTensorsAllow) {
  expect_loops(list({{2, {-3, -3, -3}}, {3, {-1, -1, -1}}}), {{6, {1, 1, 1}}});
  expect_loops(list({{4, {0, -1, -1}}}), {{4, {0, 1, 1}}});
  expect_loops(list({{4, {1, -1, -1}}}), {{4, {-1, 1, 1}}});
  expect_loops(list({{4, {1, 1, -1}}}), {{4, {1, 1, -1}}});
  EXPECT_EQ(layout_of(list({{4, {2, -1, -3}}}), 2).offset, (PerTensor<std::int64_t>{12, -6, -18}));
}

TEST(PlanLayout, KeepsEveryPosition) {
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    DimList dims;
    std::vector<std::int64_t> order;
    const std::size_t rank = random() % 5;
    PerTensor<std::int64_t> stride = {1, 1, 1};
    for (std::size_t k = 0; k < rank; ++k) {
      const auto size = static_cast<std::int64_t>(1 + random() % 4);
      Dim dim{size, stride};
      for (std::size_t tensor = 0; tensor < tensor_count; ++tensor) {
        stride[tensor] *= size + (random() % 4 == 0 ? 1 : 0);
        dim.stride[tensor] *= random() % 4 == 0 ? -1 : 1;
      }
      dim.stride[activation] *= random() % 4 == 0 ? 0 : 1;
      dims.push_back(dim);
    }
    std::shuffle(dims.begin(), dims.end(), random);
    const Layout layout = layout_of(dims);
    ASSERT_EQ(places(layout.loops, layout.offset), places(dims, {}));
    for (std::size_t k = 1; k < layout.loops.size(); ++k) {
      ASSERT_LT(std::abs(layout.loops[k].stride[diff_src]), std::abs(layout.loops[k - 1].stride[diff_src]));
    }
  }
}

TEST(PlanLayout, MovesLoops) {
  for (std::size_t from = 0; from < 4; ++from) {
    for (std::size_t to = 0; to < 4; ++to) {
      DimList loops = list({{2, {}}, {3, {}}, {4, {}}, {5, {}}});
      std::vector<std::int64_t> expected = {2, 3, 4, 5};
      const std::int64_t moved = expected[from];
      expected.erase(expected.begin() + static_cast<std::ptrdiff_t>(from));
      expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(to), moved);
      move_loop(loops, from, to);
      for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(loops[i].size, expected[i]);
      }
    }
  }
}

}  // namespace
}  // namespace gradjit::detail
