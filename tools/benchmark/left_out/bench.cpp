// In the place of the bench command where Google Benchmark was not found.
#include "tools/gradjit/command.hpp"

namespace gradjit::tool {

void add_bench(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("bench", "Not in this build: run tools/bench");
  command.allow_extras();
  command.callback([&action] {
    action = []() -> int { throw BadInput("bench: built without Google Benchmark: run tools/bench"); };
  });
}

}  // namespace gradjit::tool
