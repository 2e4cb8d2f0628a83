#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include <gradjit/gradjit.hpp>

namespace gradjit::tool {

/// An ISA that cannot be used here, and why.
class IsaUnavailable : public std::runtime_error {
 public:
  IsaUnavailable(Isa isa, const std::string& reason);

  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  std::string reason_;
};

/// A factory whose kernels use exactly `isa`, or what the library chooses. Throws `IsaUnavailable` when the
/// CPU lacks `isa`, GRADJIT_MAX_ISA forbids it, or the system doesn't let generated code run.
[[nodiscard]] std::unique_ptr<KernelFactory> make_factory(std::optional<Isa> isa);

/// Whether the system lets generated code run. Where it doesn't, the library takes the portable path.
[[nodiscard]] bool grants_code_memory(KernelFactory& factory);

}  // namespace gradjit::tool
