#include "tools/gradjit/factory.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "src/cpu/probe.hpp"
#include "tools/gradjit/text.hpp"

namespace gradjit::tool {

IsaUnavailable::IsaUnavailable(Isa isa, const std::string& reason)
    : std::runtime_error(fmt::format("isa {}: {}", name_of(isa), reason)), reason_(reason) {}

std::unique_ptr<KernelFactory> make_factory(std::optional<Isa> isa) {
  if (!isa) return std::make_unique<KernelFactory>();
  const detail::IsaChoice& choice = detail::cpu_info().choice;
  if (*isa > choice.isa) {
    throw IsaUnavailable(*isa, fmt::format("this CPU and system offer no more than {}: {}",
                                           name_of(choice.isa), choice.reason));
  }
  auto factory = std::make_unique<KernelFactory>(FactoryOptions{.max_isa = isa});
  if (factory->isa() != *isa) {
    throw IsaUnavailable(*isa,
                         fmt::format("GRADJIT_MAX_ISA allows no more than {}", name_of(factory->isa())));
  }
  if (!grants_code_memory(*factory)) throw IsaUnavailable(*isa, "the system grants no executable memory");
  return factory;
}

std::string describe(const IsaNotRun& skipped) {
  return fmt::format("not run: {} ({})\n", name_of(skipped.isa), one_line(skipped.reason));
}

Factories make_factories(std::string_view list, std::span<const Isa> otherwise) {
  const bool by_name = !list.empty();
  std::vector<Isa> isas =
      by_name ? parse_isas("--isa", list) : std::vector<Isa>(otherwise.begin(), otherwise.end());
  std::sort(isas.begin(), isas.end());
  Factories factories;
  for (const Isa isa : isas) {
    try {
      factories.usable.push_back(make_factory(isa));
    } catch (const IsaUnavailable& error) {
      if (by_name) throw;
      factories.not_run.push_back({.isa = isa, .reason = error.reason()});
    }
  }
  return factories;
}

bool grants_code_memory(KernelFactory& factory) {
  const EluBackwardKernel kernel = factory.elu_backward({.alpha = 1.0F}, {DataType::f32, {16}});
  return kernel.isa() == factory.isa();
}

}  // namespace gradjit::tool
