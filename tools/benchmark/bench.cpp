#include <algorithm>
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

/// A full run takes about ten minutes, a quick one about one.
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

Request parse(const Options& options) {
  Request request{.isa = choose_isa(options.isa),
                  .isa_by_name = !options.isa.empty(),
                  .peers = options.peers.empty() ? peers_that_are_built() : parse_peers(options.peers),
                  .peers_by_name = !options.peers.empty()};
  select_cases(options.filter, request);
  if (!options.json.empty()) tool::expect_writable(options.json);
  if (!options.plot.empty()) check_plot(options.plot, request);
  return request;
}

/// The peers, and their versions and failures into the report. What was asked for by name has to load.
std::vector<Peer> load_peers(const Request& request, Report& report) {
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

/// The cases of another instruction set, each group in a process of its own.
std::vector<Result> measure_other(const Request& request, const Options& options, Report& report) {
  std::vector<Result> results;
  for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512, Isa::avx512_bf16}) {
    std::vector<std::string> names;
    for (const Case* source : request.other) {
      if (source->isa != isa) continue;
      if (isa < request.isa) {
        names.push_back(source->name());
      } else {
        report.not_run.push_back(
            {.name = source->name(), .reason = fmt::format("no more than {} here", name_of(request.isa))});
      }
    }
    if (names.empty()) continue;
    std::vector<std::string> arguments = {
        "bench",
        "--isa",
        std::string(name_of(isa)),
        "--filter",
        fmt::format("^({})$", fmt::join(names, "|")),
        "--peers",
        request.peers.empty() ? "none" : fmt::to_string(fmt::join(request.peers, ",")),
        "--json",
        "/dev/stdout"};
    if (options.quick) arguments.emplace_back("--quick");
    for (Result& result : parse_results(run_again(arguments))) results.push_back(std::move(result));
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
  for (Result& result : measure_other(request, options, report)) add(std::move(result));
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
  command.add_option("--filter", options->filter, "Only cases whose name this regular expression finds");
  command.add_option("--peers", options->peers,
                     "Of onednn, torch: a list with commas, or none; those that are built when left out");
  command.add_flag("--quick", options->quick, "Few short repetitions: a minute rather than ten");
  command.add_option("--json", options->json, "Write one JSON document to this file");
  command.add_option("--plot", options->plot,
                     "Draw speed against size into this file, whose name ends in .svg");
  command.add_option("--isa", options->isa,
                     "Run everything on this instruction set, and keep the peers to it");
  command.callback([&action, options] { action = [options] { return bench::run_bench(*options); }; });
}

}  // namespace gradjit::tool
