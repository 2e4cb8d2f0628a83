#pragma once

#include <string>
#include <vector>

namespace gradjit::bench {

/// Runs this program again with other arguments, and returns what it prints. For cases on another instruction
/// set: peers choose theirs once per process. Throws `BadInput` when the program does not end well.
[[nodiscard]] std::string run_again(const std::vector<std::string>& arguments);

}  // namespace gradjit::bench
