#pragma once

#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

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

/// An ISA that was left out, and why.
struct IsaNotRun {
  Isa isa = Isa::portable;
  std::string reason;
};

/// A line for a report.
[[nodiscard]] std::string describe(const IsaNotRun& skipped);

struct Factories {
  std::vector<std::unique_ptr<KernelFactory>> usable;  ///< Lowest ISA first.
  std::vector<IsaNotRun> not_run;
};

/// Factories of the ISAs that `list`, the value of --isa, names; each has to work. Where it is empty, of
/// those of `otherwise` that work; the others are in `not_run`.
[[nodiscard]] Factories make_factories(std::string_view list, std::span<const Isa> otherwise);

/// Whether the system lets generated code run. Where it doesn't, the library takes the portable path.
[[nodiscard]] bool grants_code_memory(KernelFactory& factory);

}  // namespace gradjit::tool
