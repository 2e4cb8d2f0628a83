#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <omp.h>

#include <gradjit/gradjit.hpp>

#include "src/cpu/probe.hpp"
#include "tools/benchmark/plot.hpp"
#include "tools/benchmark/report.hpp"
#include "tools/benchmark/run_again.hpp"
#include "tools/gradjit/command.hpp"
#include "tools/gradjit/factory.hpp"
#include "tools/gradjit/file.hpp"
#include "tools/gradjit/output.hpp"
#include "tools/gradjit/text.hpp"

namespace gradjit::bench {
namespace {

using tool::BadInput;

struct Options {
  std::string filter;
  std::string peers;
  bool quick = false;
  std::string json;
  std::string plot;
  std::string isa;
};

/// A full run takes about seven minutes, a quick one about one.
constexpr Pace full_pace = {.repetition_seconds = 0.02, .repetitions = 15, .case_seconds = 15};
constexpr Pace quick_pace = {.repetition_seconds = 0.002, .repetitions = 5, .case_seconds = 1};

/// What was asked for, checked.
struct Request {
  Isa isa = Isa::portable;
  bool isa_by_name = false;
  std::vector<std::string> peers;
  bool peers_by_name = false;
  std::vector<const Case*> cases;  ///< On `isa`.
  std::vector<const Case*> other;  ///< On another instruction set, which each of them names.
};

/// The instruction set that kernels really use.
Isa choose_isa(const std::string& name) {
  const auto factory = tool::make_factory(name.empty() ? std::nullopt : std::optional<Isa>(parse_isa(name)));
  return tool::grants_code_memory(*factory) ? factory->isa() : Isa::portable;
}

std::regex parse_filter(const std::string& text) {
  try {
    return std::regex(text, std::regex::ECMAScript);
  } catch (const std::regex_error&) {
    throw BadInput(fmt::format("--filter: '{}' is no regular expression", text));
  }
}

void select_cases(const std::string& filter, Request& request) {
  const std::regex pattern = parse_filter(filter);
  for (const Case& source : all_cases()) {
    if (!std::regex_search(source.name(), pattern)) continue;
    if (source.isa.value_or(request.isa) == request.isa) {
      request.cases.push_back(&source);
    } else if (!request.isa_by_name) {
      request.other.push_back(&source);
    }
  }
  if (request.cases.empty() && request.other.empty()) {
    throw BadInput(fmt::format("--filter: '{}' matches no case on {}; the first one is {}", filter,
                               name_of(request.isa), all_cases().front().name()));
  }
}

void check_plot(const std::string& path, const Request& request) {
  if (!path.ends_with(".svg")) throw BadInput(fmt::format("--plot: '{}' does not end in .svg", path));
  const auto is_plotted = [](const Case* source) { return source->plotted; };
  if (std::none_of(request.cases.begin(), request.cases.end(), is_plotted)) {
    throw BadInput("--plot: --filter leaves none of the cases that are plotted");
  }
  tool::expect_writable(path);
}

/// Whether two paths lead to one file, which need not be there yet.
bool are_same(const std::filesystem::path& a, const std::filesystem::path& b) {
  return std::filesystem::weakly_canonical(absolute(a)) == std::filesystem::weakly_canonical(absolute(b));
}

Request parse(const Options& options) {
  Request request{.isa = choose_isa(options.isa),
                  .isa_by_name = !options.isa.empty(),
                  .peers = options.peers.empty() ? built_peers() : parse_peers(options.peers),
                  .peers_by_name = !options.peers.empty()};
  select_cases(options.filter, request);
  if (!options.json.empty()) tool::expect_writable(options.json);
  if (!options.plot.empty()) check_plot(options.plot, request);
  if (!options.json.empty() && !options.plot.empty() && are_same(options.json, options.plot)) {
    throw BadInput(fmt::format("--plot: '{}' is the file of --json too, expected another", options.plot));
  }
  return request;
}

/// The peers; their versions, and those that are not there, go into the report. What was asked for by name
/// has to load.
std::vector<Peer> load_peers(const Request& request, Report& report) {
  for (const std::string& name : peer_names()) {
    if (request.peers_by_name || is_built(name)) continue;
    report.not_run.push_back({.name = name, .reason = how_to_get(name)});
  }
  if (request.isa < detail::cpu_info().choice.isa) cap_peers(request.isa);
  std::vector<Peer> peers;
  for (const std::string& name : request.peers) {
    try {
      peers.emplace_back(name);
      report.versions.emplace_back(name, peers.back().version());
    } catch (const BadInput& error) {
      if (request.peers_by_name) throw;
      report.not_run.push_back({.name = name, .reason = error.what()});
    }
  }
  return peers;
}

/// Whether so many threads run at once here.
bool has_threads(int threads) {
  omp_set_num_threads(threads);
  return openmp_executor().concurrency() >= threads;
}

/// What measures cases on another instruction set and prints a document.
std::vector<std::string> arguments_for(Isa isa, const std::vector<std::string>& names,
                                       const std::vector<Peer>& peers, bool quick) {
  std::vector<std::string> peer_list;
  for (const Peer& peer : peers) peer_list.push_back(peer.name());
  std::vector<std::string> arguments = {"bench", "--json", "/dev/stdout"};
  const auto add = [&](const char* option, std::string value) {
    arguments.insert(arguments.end(), {option, std::move(value)});
  };
  add("--isa", std::string(name_of(isa)));
  add("--filter", fmt::format("^({})$", fmt::join(names, "|")));
  add("--peers", peers.empty() ? "none" : fmt::format("{}", fmt::join(peer_list, ",")));
  if (quick) arguments.emplace_back("--quick");
  return arguments;
}

/// Measures the cases of another instruction set, in a process for each. What fails there costs only these.
std::vector<Result> measure_other(const Request& request, const std::vector<Peer>& peers, bool quick,
                                  Report& report) {
  std::map<Isa, std::vector<std::string>> names;
  for (const Case* source : request.other) names[*source->isa].push_back(source->name());
  std::vector<Result> results;
  for (const auto& [isa, some] : names) {
    std::string reason = fmt::format("no more than {} here", name_of(request.isa));
    try {
      if (isa < request.isa) {
        std::vector<Result> more = parse_results(run_again(arguments_for(isa, some, peers, quick)));
        std::move(more.begin(), more.end(), std::back_inserter(results));
        continue;
      }
    } catch (const std::exception& error) {
      // Also where something else has printed between the results, as oneDNN does with DNNL_VERBOSE=1.
      reason = error.what();
    }
    for (const std::string& name : some) report.not_run.push_back({.name = name, .reason = reason});
  }
  return results;
}

void write_text(const std::string& path, const std::string& text) {
  tool::write_file(path, std::as_bytes(std::span(text)));
}

int run_bench(const Options& options) {
  const Request request = parse(options);
  Report report{.cpu = detail::cpu_info().brand,
                .isa = request.isa,
                .quick = options.quick,
                .versions = {{"gradjit", version}}};
  const std::vector<Peer> peers = load_peers(request, report);
  // A document and a table in one stream would be of no use.
  const bool shows_table = options.json != "/dev/stdout";
  const auto show = [shows_table](const std::string& text) {
    if (!shows_table) return;
    tool::print(text);
    tool::flush_output();
  };
  const auto add = [&](Result result) {
    show(format_row(result));
    report.results.push_back(std::move(result));
  };

  show(format_header(report));
  for (const Case* source : request.cases) {
    if (!has_threads(source->threads)) {
      report.not_run.push_back(
          {.name = source->name(),
           .reason = fmt::format("{} threads do not run at once here", source->threads)});
      continue;
    }
    add(measure_case(*source, request.isa, peers, options.quick ? quick_pace : full_pace));
  }
  for (Result& result : measure_other(request, peers, options.quick, report)) add(std::move(result));
  show(format_summary(report));
  if (!options.json.empty()) write_text(options.json, format_json(report));
  if (!options.plot.empty()) write_text(options.plot, format_plot(report));
  return tool::status_good;
}

}  // namespace
}  // namespace gradjit::bench

namespace gradjit::tool {

void add_bench(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("bench", "Measures speed against other libraries and the machine");
  const auto options = std::make_shared<bench::Options>();
  const auto add_option = [&command](const char* name, std::string& value, const char* description) {
    command.add_option(name, value, description)->check(not_empty);
  };
  add_option("--filter", options->filter, "Only cases whose name this regular expression finds");
  add_option("--peers", options->peers,
             "Of onednn, torch: a list with commas, or none; those that are built when left out");
  command.add_flag("--quick", options->quick, "Few short repetitions: a minute rather than seven");
  add_option("--json", options->json, "Write one JSON document to this file");
  add_option("--plot", options->plot, "Draw speed against size into this file, whose name ends in .svg");
  add_option("--isa", options->isa, "Run everything on this instruction set, and keep the peers to it");
  command.callback([&action, options] { action = [options] { return bench::run_bench(*options); }; });
}

}  // namespace gradjit::tool
