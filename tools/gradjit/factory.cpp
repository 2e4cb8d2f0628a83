#include "tools/gradjit/factory.hpp"

#include <fmt/format.h>

namespace gradjit::tool {
namespace {

std::unique_ptr<KernelFactory> make_capped_factory(Isa isa) {
  try {
    return std::make_unique<KernelFactory>(FactoryOptions{.max_isa = isa});
  } catch (const Error& error) {
    if (error.code() != ErrorCode::unsupported) throw;
    throw IsaUnavailable(fmt::format("isa {}: {}", name_of(isa), error.what()));
  }
}

}  // namespace

std::unique_ptr<KernelFactory> make_factory(std::optional<Isa> isa) {
  if (!isa) return std::make_unique<KernelFactory>();
  std::unique_ptr<KernelFactory> factory = make_capped_factory(*isa);
  if (factory->isa() != *isa) {
    throw IsaUnavailable(fmt::format("isa {}: GRADJIT_MAX_ISA allows no more than {}", name_of(*isa),
                                     name_of(factory->isa())));
  }
  if (!grants_code_memory(*factory)) {
    throw IsaUnavailable(fmt::format("isa {}: the system grants no executable memory", name_of(*isa)));
  }
  return factory;
}

bool grants_code_memory(KernelFactory& factory) {
  const EluBackwardKernel kernel = factory.elu_backward({.alpha = 1.0F}, {DataType::f32, {16}});
  return kernel.isa() == factory.isa();
}

}  // namespace gradjit::tool
