#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace gradjit::tool {

/// Writes to stdout. Throws `BadInput` when that fails.
void print(std::string_view text);
void print(std::span<const std::byte> bytes);

/// Makes sure that everything printed has arrived: a full disk shows only here.
void flush_output();

}  // namespace gradjit::tool
