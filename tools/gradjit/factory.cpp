#include "tools/gradjit/factory.hpp"

#include <fmt/format.h>

#include "src/cpu/probe.hpp"

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

bool grants_code_memory(KernelFactory& factory) {
  const EluBackwardKernel kernel = factory.elu_backward({.alpha = 1.0F}, {DataType::f32, {16}});
  return kernel.isa() == factory.isa();
}

}  // namespace gradjit::tool
