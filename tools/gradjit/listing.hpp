#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "jit/emit.hpp"
#include "tools/gradjit/disassembly.hpp"

namespace gradjit::tool {

enum class ListingFormat : std::uint8_t {
  intel,  ///< To read, in Intel's syntax.
  att,    ///< To read, in AT&T's syntax.
  gas,    ///< To assemble: GNU as makes the same bytes of it.
  hex,    ///< A hex dump.
};

/// A kernel as text: its name and size, the instructions under the emitter's marks, the constants.
/// `with_bytes` puts the bytes of each instruction before it (intel and att).
[[nodiscard]] std::string format_listing(const jit::KernelSpec& spec, const jit::EmittedKernel& kernel,
                                         ListingFormat format, bool with_bytes, LabelNumbers& numbers);

}  // namespace gradjit::tool
