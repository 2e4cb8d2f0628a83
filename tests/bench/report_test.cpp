#include "tools/benchmark/report.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tools/benchmark/plot.hpp"

namespace gradjit::bench {
namespace {

const Case plain = {.shape = {4096},
                    .targets = {{.of = Bound::onednn, .bound = 3}, {.of = Bound::nanoseconds, .bound = 100}},
                    .plotted = true};

Result result_of(const Case& source) {
  return {.source = &source,
          .isa = Isa::avx512,
          .gradjit_ns = 90,
          .onednn = Result::Rival{.ns = 250, .speedup = 2.5},
          .roofline = Result::Rival{.ns = 50, .speedup = 0.6},
          .plain_multiply = Result::Rival{.ns = 80, .speedup = 0.9},
          .spread = 0.01,
          .repetitions = 5,
          .refusals = {{"torch", "no"}}};
}

TEST(BenchReportTest, TargetsAreAtLeastRatiosAndAtMostNanoseconds) {
  Result result = result_of(plain);
  EXPECT_FALSE(result.meets(plain.targets[0]));
  EXPECT_TRUE(result.meets(plain.targets[1]));
  result.onednn->speedup = 3;
  result.gradjit_ns = 101;
  EXPECT_TRUE(result.meets(plain.targets[0]));
  EXPECT_FALSE(result.meets(plain.targets[1]));
  result.onednn.reset();
  EXPECT_FALSE(result.meets(plain.targets[0]));
}

TEST(BenchReportTest, TargetsAreForAvx512UnlessTheCaseNamesAnother) {
  Result result = result_of(plain);
  EXPECT_EQ(result.targets().size(), 2U);
  result.isa = Isa::avx2;
  EXPECT_EQ(result.targets().size(), 0U);
  Case named = plain;
  named.isa = Isa::avx2;
  result.source = &named;
  EXPECT_EQ(result.targets().size(), 2U);
}

TEST(BenchReportTest, LimitsFollowTheMultiplies) {
  Result result = result_of(plain);
  EXPECT_NE(result.limited_by(), "instructions");
  result.plain_multiply->speedup = 0.6;
  EXPECT_EQ(result.limited_by(), "instructions");
  result.plain_multiply.reset();
  EXPECT_EQ(result.limited_by(), "");
  Case small = plain;
  small.shape = {16};
  result = result_of(small);
  EXPECT_EQ(result.limited_by(), "the call");
}

TEST(BenchReportTest, TheTableCountsTargets) {
  Report report{.cpu = "CPU", .isa = Isa::avx512, .results = {result_of(plain)}};
  EXPECT_NE(format_row(report.results[0]).find("onednn 3.00: MISSED; at most 100 ns: met"), std::string::npos)
      << format_row(report.results[0]);
  EXPECT_NE(format_summary(report).find("1 cases, 1 of 2 targets met"), std::string::npos);
  report.results[0].onednn.reset();
  EXPECT_NE(format_row(report.results[0]).find("onednn 3.00: not measured"), std::string::npos);
  EXPECT_NE(format_summary(report).find("1 of 1 targets met"), std::string::npos);
  report.not_run.push_back({.name = "other", .reason = "why"});
  EXPECT_NE(format_summary(report).find("not run: other (why)"), std::string::npos);
}

TEST(BenchReportTest, ResultsSurviveJson) {
  const Report report{.cpu = "CPU", .isa = Isa::avx512, .results = {result_of(all_cases().front())}};
  const std::vector<Result> results = parse_results(format_json(report));
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].source, &all_cases().front());
  EXPECT_EQ(results[0].isa, Isa::avx512);
  EXPECT_EQ(results[0].gradjit_ns, 90);
  EXPECT_EQ(results[0].onednn->ns, 250);
  EXPECT_EQ(results[0].onednn->speedup, 2.5);
  EXPECT_FALSE(results[0].torch);
  EXPECT_EQ(results[0].roofline->speedup, 0.6);
  EXPECT_EQ(results[0].plain_multiply->speedup, 0.9);
  EXPECT_FALSE(results[0].reference);
  EXPECT_EQ(results[0].spread, 0.01);
  EXPECT_EQ(results[0].repetitions, 5);
  EXPECT_EQ(results[0].refusals.at("torch"), "no");
}

TEST(BenchReportTest, ThePlotEscapesText) {
  const Report report{.cpu = "<A & B>", .isa = Isa::avx512, .results = {result_of(plain)}};
  EXPECT_NE(format_plot(report).find("&lt;A &amp; B>"), std::string::npos);
}

}  // namespace
}  // namespace gradjit::bench
