#pragma once

#include <memory>
#include <variant>

#include <gradjit/gradjit.h>
#include <gradjit/gradjit.hpp>

// What the opaque types of gradjit.h are.

struct gradjit_factory_options {
  gradjit::FactoryOptions options;
};

struct gradjit_factory {
  std::unique_ptr<gradjit::KernelFactory> own;  ///< Empty for the shared one.
  gradjit::KernelFactory* factory;
};

struct gradjit_tensor_desc {
  gradjit::TensorDesc desc;
};

struct gradjit_kernel {
  std::variant<gradjit::EluBackwardKernel, gradjit::LogSoftmaxBackwardKernel> kernel;
};

namespace gradjit::detail {

/// Makes C's executors ones of the library's. `self` is borrowed.
class CExecutor final : public Executor {
 public:
  /// Throws `Error` (invalid_argument) for a function that is null.
  explicit CExecutor(const gradjit_executor& executor);

  [[nodiscard]] int concurrency() const override;
  void parallel_for(std::size_t tasks, void (*task)(void* context, std::size_t index),
                    void* context) override;

 private:
  gradjit_executor executor_;
};

[[nodiscard]] constexpr gradjit_isa to_c(Isa isa) { return static_cast<gradjit_isa>(isa); }
[[nodiscard]] constexpr gradjit_data_type to_c(DataType dtype) {
  return static_cast<gradjit_data_type>(dtype);
}

/// Throw `Error` (invalid_argument) for what is none. `name` is the argument's.
[[nodiscard]] Isa to_isa(gradjit_isa isa, const char* name);
[[nodiscard]] DataType to_data_type(gradjit_data_type dtype, const char* name);

}  // namespace gradjit::detail
