#pragma once

#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <gradjit/gradjit.hpp>

namespace gradjit::tool {

/// What `verify` is asked to do.
struct VerifyPlan {
  bool exhaustive = false;
  std::uint32_t seed = 1;
  /// portable first: what the others are compared with.
  std::vector<std::unique_ptr<KernelFactory>> factories;
  std::vector<DataType> dtypes;
};

/// The greatest of the errors of a block of values, and which value's it is.
struct GreatestError {
  std::uint64_t values = 0;
  double error = 0;
  std::size_t where = 0;

  /// NaN, where a result is one and should be a number, is greater than all.
  void add(double value_error, std::size_t value) {
    ++values;
    if (!(value_error <= error)) {
      error = std::isnan(value_error) ? std::numeric_limits<double>::infinity() : value_error;
      where = value;
    }
  }
};

/// The greatest error of one quantity so far, and how its bits compare between instruction sets. Safe to
/// use from several threads.
class Quantity {
 public:
  /// `bound` is in `unit`, the greatest error allowed.
  Quantity(std::string operation, DataType dtype, std::string what, std::string unit, double bound,
           std::size_t isas)
      : operation_(std::move(operation)),
        dtype_(dtype),
        what_(std::move(what)),
        unit_(std::move(unit)),
        bound_(bound),
        bits_(isas) {}

  /// The greatest error among more values; `where` is asked for that value's place only when it is the
  /// greatest so far.
  void add(const GreatestError& greatest, const std::function<std::string(std::size_t)>& where);
  /// Of `compared` more values of instruction set `isa` (by its place among the factories), `different` ones
  /// have other bits than portable; `where` is the first of them.
  void add_compared(std::size_t isa, std::uint64_t compared, std::uint64_t different,
                    const std::function<std::string()>& where);

  [[nodiscard]] double greatest() const;
  [[nodiscard]] bool good() const;
  /// A line per instruction set, and what follows from them.
  [[nodiscard]] std::string rows(const VerifyPlan& plan) const;
  /// What the columns of `rows` are.
  [[nodiscard]] static std::string header();

  /// Says what follows from the greatest error.
  std::function<std::string(double greatest)> consequence;

 private:
  struct Bits {
    std::uint64_t compared = 0;
    std::uint64_t different = 0;
    std::string where;
  };
  [[nodiscard]] std::string row(const VerifyPlan& plan, std::size_t isa) const;

  mutable std::mutex mutex_;
  std::string operation_;
  DataType dtype_;
  std::string what_;
  std::string unit_;
  double bound_;
  double greatest_ = 0;
  std::string where_;
  std::uint64_t values_ = 0;
  std::vector<Bits> bits_;
};

using Quantities = std::vector<std::unique_ptr<Quantity>>;

void verify_elu_backward(const VerifyPlan& plan, DataType dtype, Quantities& quantities);
void verify_log_softmax_backward(const VerifyPlan& plan, DataType dtype, Quantities& quantities);

/// Tells on standard error, once a minute at most, how much of something long is done. Safe to use from
/// several threads.
class Progress {
 public:
  explicit Progress(std::size_t tasks) : tasks_(tasks) {}
  void one_done();

 private:
  using Clock = std::chrono::steady_clock;
  std::mutex mutex_;
  std::size_t tasks_;
  std::size_t done_ = 0;
  Clock::time_point started_ = Clock::now();
  Clock::time_point told_ = started_;
};

/// Calls `task(index)` for each index in [0, tasks) on the library's threads.
template <typename Task>
void in_parallel(std::size_t tasks, Task task) {
  Progress progress(tasks);
  auto told = [&](std::size_t index) {
    task(index);
    progress.one_done();
  };
  openmp_executor().parallel_for(
      tasks, [](void* context, std::size_t index) { (*static_cast<decltype(told)*>(context))(index); },
      &told);
}

/// Where the bits of `actual`, the results of instruction set `isa`, differ from the portable ones, NaNs
/// counted as one, it goes to `quantity`.
void compare_bits(const std::vector<float>& portable, const std::vector<float>& actual, std::size_t isa,
                  Quantity& quantity, const std::function<std::string(std::size_t)>& where);

/// Results of one call, as f32 (exact), for each factory, compared with those of the first.
using Results = std::vector<std::vector<float>>;
void compare_bits(const Results& results, Quantity& quantity,
                  const std::function<std::string(std::size_t)>& where);

}  // namespace gradjit::tool
