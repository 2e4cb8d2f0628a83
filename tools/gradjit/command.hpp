#pragma once

#include <functional>
#include <stdexcept>
#include <string_view>

#include <CLI/CLI.hpp>

#include "tools/gradjit/text.hpp"

namespace gradjit::tool {

/// The exit statuses.
inline constexpr int status_good = 0;
inline constexpr int status_check_failed = 1;
inline constexpr int status_bad_input = 2;

/// What is wrong with the arguments or a file, in one line: `message` may quote anything from them. Ends the
/// tool with `status_bad_input`.
class BadInput : public std::runtime_error {
 public:
  explicit BadInput(std::string_view message) : std::runtime_error(one_line(message)) {}
};

/// What a command does once its arguments are read. Returns the exit status.
using Action = std::function<int()>;

/// Each command is a file with one function of this form: it adds the command to `app`, and its callback
/// sets `action`.
using AddCommand = void (*)(CLI::App& app, Action& action);

void add_info(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_dump(CLI::App& app, Action& action);
void add_graph(CLI::App& app, Action& action);
void add_verify(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);

}  // namespace gradjit::tool
