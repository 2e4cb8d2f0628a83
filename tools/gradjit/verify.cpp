#include "tools/gradjit/verify.hpp"

#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>

#include <fmt/format.h>

#include "tools/gradjit/command.hpp"
#include "tools/gradjit/factory.hpp"
#include "tools/gradjit/output.hpp"
#include "tools/gradjit/text.hpp"

namespace gradjit::tool {

void Quantity::add(const GreatestError& greatest, const std::function<std::string(std::size_t)>& where) {
  const std::scoped_lock lock(mutex_);
  values_ += greatest.values;
  if (greatest.error > greatest_) {
    greatest_ = greatest.error;
    where_ = where(greatest.where);
  }
}

void Quantity::add_compared(std::size_t isa, std::uint64_t compared, std::uint64_t different,
                            const std::function<std::string()>& where) {
  const std::scoped_lock lock(mutex_);
  Bits& bits = bits_.at(isa);
  if (bits.different == 0 && different != 0) {
    bits.where = where();
  }
  bits.compared += compared;
  bits.different += different;
}

double Quantity::greatest() const {
  const std::scoped_lock lock(mutex_);
  return greatest_;
}

bool Quantity::good() const {
  const std::scoped_lock lock(mutex_);
  for (std::size_t isa = 1; isa < bits_.size(); ++isa) {
    if (bits_[isa].compared == 0 || bits_[isa].different != 0) return false;
  }
  return values_ > 0 && greatest_ <= bound_;
}

std::string Quantity::header() {
  return fmt::format("{:<20}  {:<5}  {:<11}  {:<28}  {:>8}  {:>6} {:<12}  {:>13}  {:>13}  {}\n", "operation",
                     "dtype", "isa", "quantity", "greatest", "bound", "", "measured", "same bits", "where");
}

std::string Quantity::row(const VerifyPlan& plan, std::size_t isa) const {
  const Bits& bits = bits_[isa];
  const bool good = values_ > 0 && greatest_ <= bound_ && bits.different == 0;
  std::string text = fmt::format(
      "{:<20}  {:<5}  {:<11}  {:<28}  {:>8.4f}  {:>6.6g} {:<12}  {:>13}  {:>13}  {}{}\n", operation_,
      name_of(dtype_), name_of(plan.factories[isa]->isa()), what_, greatest_, bound_, unit_, values_,
      isa == 0 ? "" : fmt::format("{}", bits.compared - bits.different), where_, good ? "" : "  FAILED");
  if (bits.different != 0) {
    text += fmt::format("  {} of {} values differ from portable, the first at {}\n", bits.different,
                        bits.compared, bits.where);
  }
  return text;
}

std::string Quantity::rows(const VerifyPlan& plan) const {
  const std::scoped_lock lock(mutex_);
  std::string text;
  for (std::size_t isa = 0; isa < bits_.size(); ++isa) {
    text += row(plan, isa);
  }
  return consequence ? text + "  " + consequence(greatest_) + "\n" : text;
}

void compare_bits(const std::vector<float>& portable, const std::vector<float>& actual, std::size_t isa,
                  Quantity& quantity, const std::function<std::string(std::size_t)>& where) {
  std::uint64_t different = 0;
  std::size_t first = 0;
  for (std::size_t i = 0; i < portable.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(portable[i]) != std::bit_cast<std::uint32_t>(actual[i]) &&
        !(std::isnan(portable[i]) && std::isnan(actual[i]))) {
      first = different == 0 ? i : first;
      ++different;
    }
  }
  quantity.add_compared(isa, portable.size(), different, [&] { return where(first); });
}

void compare_bits(const Results& results, Quantity& quantity,
                  const std::function<std::string(std::size_t)>& where) {
  for (std::size_t isa = 1; isa < results.size(); ++isa) {
    compare_bits(results[0], results[isa], isa, quantity, where);
  }
}

void Progress::one_done() {
  const std::scoped_lock lock(mutex_);
  ++done_;
  const Clock::time_point now = Clock::now();
  if (now - told_ < std::chrono::minutes(1)) return;
  told_ = now;
  const std::chrono::duration<double, std::ratio<60>> minutes = now - started_;
  fmt::print(stderr, "{:.1f} % of these values after {:.0f} min\n",
             100.0 * static_cast<double>(done_) / static_cast<double>(tasks_), minutes.count());
}

namespace {

struct Options {
  std::string op = "elu_backward,log_softmax_backward";
  std::string dtype = "f32,bf16,f16";
  std::string isa;
  bool exhaustive = false;
  std::uint32_t seed = 1;
};

constexpr std::array generated_isas = {Isa::avx2, Isa::avx512, Isa::avx512_bf16};

/// portable first, which the others are compared with.
Factories factories_of(const Options& options) {
  Factories factories = make_factories(options.isa, generated_isas);
  if (factories.usable.empty() || factories.usable.front()->isa() != Isa::portable) {
    factories.usable.insert(factories.usable.begin(), make_factory(Isa::portable));
  }
  return factories;
}

std::vector<std::string> parse_operations(const std::string& text) {
  const std::vector<std::string> names = split_distinct("--op", text);
  for (const std::string& name : names) {
    if (name != "elu_backward" && name != "log_softmax_backward") {
      throw BadInput(
          fmt::format("--op: \"{}\" is no operation; expected elu_backward or log_softmax_backward", name));
    }
  }
  return names;
}

int run_verify(const Options& options) {
  VerifyPlan plan{.exhaustive = options.exhaustive, .seed = options.seed, .factories = {}, .dtypes = {}};
  const std::vector<std::string> operations = parse_operations(options.op);
  plan.dtypes = parse_data_types("--dtype", options.dtype);
  auto [factories, not_run] = factories_of(options);
  plan.factories = std::move(factories);
  const auto start = std::chrono::steady_clock::now();
  print(fmt::format("seed {}, {}\n", plan.seed, plan.exhaustive ? "every value" : "a stratified sample"));
  print(Quantity::header());
  bool good = true;
  std::size_t checked = 0;
  for (const std::string& operation : operations) {
    for (const DataType dtype : plan.dtypes) {
      Quantities quantities;
      (operation == "elu_backward" ? verify_elu_backward : verify_log_softmax_backward)(plan, dtype,
                                                                                        quantities);
      for (const auto& quantity : quantities) {
        print(quantity->rows(plan));
        good = good && quantity->good();
        ++checked;
      }
      flush_output();
    }
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  for (const IsaNotRun& skipped : not_run) print(describe(skipped));
  print(fmt::format("{} quantities on {} instruction sets, {} not run, in {:.1f} s: {}\n", checked,
                    plan.factories.size(), not_run.size(), seconds.count(), good ? "all good" : "FAILED"));
  return good ? status_good : status_check_failed;
}

}  // namespace

void add_verify(CLI::App& app, Action& action) {
  CLI::App& verify = *app.add_subcommand("verify", "Measures the errors over the inputs themselves");
  const auto options = std::make_shared<Options>();
  verify.add_option("--op", options->op, "Of elu_backward, log_softmax_backward: a list with commas");
  verify.add_option("--dtype", options->dtype, "Of f32, bf16, f16: a list with commas");
  verify
      .add_option("--isa", options->isa,
                  "Compared with portable: of avx2, avx512, avx512_bf16; all that the CPU has when left out")
      ->check(not_empty);
  verify.add_option("--seed", options->seed, "For what is drawn at random")->capture_default_str();
  verify.add_flag("--exhaustive", options->exhaustive, "Every source value: more than an hour of CPU time");
  verify.callback([&action, options] { action = [options] { return run_verify(*options); }; });
}

}  // namespace gradjit::tool
