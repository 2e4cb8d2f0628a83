#include <array>
#include <memory>
#include <string>
#include <vector>

#include <gradjit/gradjit.hpp>

#include "tools/gradjit/cases.hpp"
#include "tools/gradjit/check_case.hpp"
#include "tools/gradjit/check_report.hpp"
#include "tools/gradjit/command.hpp"
#include "tools/gradjit/factory.hpp"
#include "tools/gradjit/output.hpp"
#include "tools/gradjit/text.hpp"

namespace gradjit::tool {
namespace {

struct Options {
  std::string file;
  std::string isa;
  std::string dtype = "f32,bf16,f16";
  bool json = false;
};

constexpr std::array all_isas = {Isa::portable, Isa::avx2, Isa::avx512, Isa::avx512_bf16};

int run_check(const Options& options) {
  const std::vector<DataType> dtypes = parse_data_types("--dtype", options.dtype);
  const auto [factories, not_run] = make_factories(options.isa, all_isas);
  CheckReport report{.file = options.file, .not_run = not_run};
  for (const auto& factory : factories) report.isas.push_back(factory->isa());
  const std::unique_ptr<KernelFactory> portable = make_factory(Isa::portable);
  const std::vector<Case> cases = read_cases(options.file);
  report.cases = cases.size();
  for (const Case& source : cases) {
    for (const DataType dtype : dtypes) {
      report.results.push_back(check_case(source, dtype, *portable, factories));
    }
  }
  print(options.json ? format_json(report) : format_table(report));
  return report.failures() == 0 ? status_good : status_check_failed;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  CLI::App& check = *app.add_subcommand("check", "Checks every ISA and type against recorded cases");
  const auto options = std::make_shared<Options>();
  check.add_option("CASES.json", options->file, "The cases: requests, inputs and expected results")
      ->required();
  check
      .add_option("--isa", options->isa,
                  "Of portable, avx2, avx512, avx512_bf16: a list with commas; all that "
                  "the CPU has when left out")
      ->check(not_empty);
  check.add_option("--dtype", options->dtype, "Of f32, bf16, f16: a list with commas; all when left out");
  check.add_flag("--json", options->json, "Print one JSON document");
  check.callback([&action, options] { action = [options] { return run_check(*options); }; });
}

}  // namespace gradjit::tool
