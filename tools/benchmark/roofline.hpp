#pragma once

#include <cstddef>

#include <gradjit/types.hpp>

#include "tools/benchmark/contender.hpp"

namespace gradjit::bench {

/// The least that an operation on two inputs and a result could take: a multiply of f32 over the same arrays
/// and bytes, with the widest vectors of an instruction set.
class Multiply : public Contender {
 public:
  enum class Stores : bool { plain, non_temporal };

  /// `bytes` of each array are gone through, in whole f32. `result` begins a cache line, and may be `b`.
  Multiply(Isa isa, Stores stores, const void* a, const void* b, void* result, std::size_t bytes);

  /// Subnormals count as zero while this runs: bytes of other types make any values.
  void begin() override;
  [[nodiscard]] Call call() override { return {run, this}; }
  void end() override;

  using Function = void (*)(const float* a, const float* b, float* result, std::size_t count);

 private:
  static void run(void* context);

  Function function_;
  const float* a_;
  const float* b_;
  float* result_;
  std::size_t count_;
  unsigned saved_mxcsr_ = 0;
};

}  // namespace gradjit::bench
