#pragma once

#include <memory>

#include <gradjit/gradjit.hpp>

#include "tools/benchmark/case.hpp"
#include "tools/benchmark/contender.hpp"
#include "tools/benchmark/tensors.hpp"

namespace gradjit::bench {

/// gradjit itself at a case, with kernels that use no more than `isa`. It keeps the tensors alive.
[[nodiscard]] std::unique_ptr<Contender> make_own_contender(const Case& source, Isa isa,
                                                            std::shared_ptr<const Tensors> tensors);

}  // namespace gradjit::bench
