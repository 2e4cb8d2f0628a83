#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

#include "tools/benchmark/case.hpp"

namespace gradjit::bench {

/// The buffers of a case, with values that are usual for its operation, and such that running it in place
/// again and again changes neither the magnitude of a gradient nor what it takes.
class Tensors {
 public:
  explicit Tensors(const Case& source);

  [[nodiscard]] const void* input() const { return input_.get(); }  ///< src or dst
  [[nodiscard]] void* diff_dst() const { return diff_dst_.get(); }
  /// Another buffer than `diff_dst`, in place too.
  [[nodiscard]] void* diff_src() const { return diff_src_.get(); }

 private:
  struct Free {
    void operator()(void* pointer) const { std::free(pointer); }
  };
  /// Begins a page, as large allocations do.
  using Buffer = std::unique_ptr<std::byte, Free>;

  static Buffer allocate(std::size_t bytes);

  Buffer input_;
  Buffer diff_dst_;
  Buffer diff_src_;
};

}  // namespace gradjit::bench
