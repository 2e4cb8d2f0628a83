#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <gradjit/version.hpp>

#include "tools/gradjit/command.hpp"
#include "tools/gradjit/output.hpp"
#include "tools/gradjit/text.hpp"

namespace gradjit::tool {
namespace {

constexpr AddCommand commands[] = {add_info, add_check, add_run, add_dump, add_graph, add_verify, add_bench};

/// The one place that writes to stderr: one line, whatever the message holds.
int complain(const std::string& message) {
  std::fputs(("gradjit: " + one_line(message) + "\n").c_str(), stderr);
  return status_bad_input;
}

/// The last command that was named, or the tool itself.
const CLI::App& last_command(const CLI::App& app) {
  const CLI::App* last = &app;
  while (!last->get_subcommands().empty()) last = last->get_subcommands().front();
  return *last;
}

/// Names the commands to choose from: of the tool, or of the command that lacks one or was given `wrong`.
[[noreturn]] void refuse_command(const CLI::App& app, const std::string& wrong = "") {
  const CLI::App& last = last_command(app);
  std::string names;
  for (const CLI::App* command : last.get_subcommands(nullptr)) {
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  const std::string where = &last == &app ? "" : last.get_name() + ": ";
  const std::string what = wrong.empty() ? "a command is missing" : fmt::format("'{}' is no command", wrong);
  throw BadInput(fmt::format("{}{}; expected one of {}", where, what, names));
}

/// What stands where a command should; empty if nothing does.
std::string wrong_command(const CLI::App& app) {
  const CLI::App& last = last_command(app);
  const std::vector<std::string> rest = last.remaining();
  const bool is_wanted = !last.get_subcommands(nullptr).empty() && !rest.empty() && !rest[0].starts_with('-');
  return is_wanted ? rest[0] : "";
}

/// --help and --version reach us as exceptions too.
int parse_result(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() != 0) return complain(fmt::format("{} (see gradjit --help)", error.what()));
  std::ostringstream text;
  app.exit(error, text, text);
  print(text.str());
  flush_output();
  return status_good;
}

int run_tool(int argc, char** argv) {
  CLI::App app("gradjit: just-in-time compiled gradients of ELU and log-softmax for x86-64", "gradjit");
  app.set_version_flag("--version", std::string("gradjit ") + version);
  app.footer("Exit status: 0 good, 1 a check failed, 2 wrong usage or bad input.");
  Action action;
  for (const AddCommand add : commands) add(app, action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const std::string wrong = wrong_command(app);
    if (!wrong.empty() && error.get_exit_code() != 0) refuse_command(app, wrong);
    return parse_result(app, error);
  }
  if (!action) refuse_command(app);
  const int status = action();
  flush_output();
  return status;
}

}  // namespace
}  // namespace gradjit::tool

int main(int argc, char** argv) {
  // A write beyond the file-size limit then fails like any other, and what was begun is removed.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return gradjit::tool::run_tool(argc, argv);
  } catch (const std::bad_alloc&) {
    return gradjit::tool::complain("out of memory");
  } catch (const std::exception& error) {
    return gradjit::tool::complain(error.what());
  }
}
