#include "tools/benchmark/statistics.hpp"

#include <gtest/gtest.h>

namespace gradjit::bench {
namespace {

TEST(StatisticsTest, MedianIsTheMiddleOrTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(median({5}), 5);
  EXPECT_EQ(median({9, 1, 2}), 2);
  EXPECT_EQ(median({9, 1, 2, 4}), 3);
}

TEST(StatisticsTest, RatiosAreTakenPairByPair) {
  // The machine gets slower and slower; the ratio of the medians would be 2.
  EXPECT_EQ(median_ratio({6, 20, 200}, {2, 10, 50}), 3);
}

TEST(StatisticsTest, SpreadIsRelativeAndIgnoresOneOutlier) {
  EXPECT_EQ(relative_spread({4, 4, 4}), 0);
  EXPECT_EQ(relative_spread({10, 9, 11, 1000, 10}), 0.1);
}

}  // namespace
}  // namespace gradjit::bench
