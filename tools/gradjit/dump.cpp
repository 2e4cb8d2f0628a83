#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <gradjit/gradjit.hpp>

#include "jit/emit.hpp"
#include "jit/kernel_spec.hpp"
#include "src/plan/plan.hpp"
#include "src/plan/request.hpp"
#include "tools/gradjit/command.hpp"
#include "tools/gradjit/file.hpp"
#include "tools/gradjit/listing.hpp"
#include "tools/gradjit/output.hpp"
#include "tools/gradjit/text.hpp"

namespace gradjit::tool {
namespace {

/// What the command line says; empty where it says nothing.
struct Options {
  std::string alpha;
  std::string use_dst = "true";
  std::string axis = "-1";
  std::string shape = "4096";
  std::string dtype = "f32";
  std::string isa;
  std::string format = "intel";
  std::string kernel;
  std::string out;
  bool in_place = false;
  bool bytes = false;
};

Isa isa_of(const Options& options) {
  // Made in any case, for a wrong GRADJIT_MAX_ISA is an error.
  const Isa best = KernelFactory().isa();
  const Isa isa = options.isa.empty() ? best : parse_isa(options.isa);
  if (isa != Isa::portable) return isa;
  throw BadInput(options.isa.empty()
                     ? "no code is generated for this CPU; name an isa with --isa"
                     : "isa portable: it has no generated code; expected avx2, avx512 or avx512_bf16");
}

/// A kernel of the request, and its code.
struct DumpedKernel {
  jit::KernelSpec spec;
  jit::EmittedKernel code;
};

/// Those that `--kernel` asks for: one by its position, or all.
std::vector<DumpedKernel> emit_chosen(const Options& options, const std::vector<jit::KernelSpec>& specs) {
  const auto count = static_cast<std::int64_t>(specs.size());
  std::int64_t first = 0;
  std::int64_t last = count;
  if (!options.kernel.empty()) {
    last = parse_integer("--kernel", options.kernel);
    first = last - 1;
    if (first < 0 || last > count) throw BadInput(fmt::format("--kernel: {} is not in 1 to {}", last, count));
  }
  std::vector<DumpedKernel> kernels;
  for (std::int64_t i = first; i < last; ++i) {
    const jit::KernelSpec& spec = specs[static_cast<std::size_t>(i)];
    kernels.push_back({.spec = spec, .code = jit::emit(spec)});
  }
  return kernels;
}

std::string format_text(const Options& options, std::span<const DumpedKernel> kernels) {
  constexpr std::array<std::pair<std::string_view, ListingFormat>, 4> formats = {
      {{"intel", ListingFormat::intel},
       {"att", ListingFormat::att},
       {"gas", ListingFormat::gas},
       {"hex", ListingFormat::hex}}};
  for (const auto& [name, format] : formats) {
    if (options.format != name) continue;
    std::string text = format == ListingFormat::gas ? "    .intel_syntax noprefix\n    .text\n" : "";
    LabelNumbers numbers;
    for (const DumpedKernel& kernel : kernels) {
      if (&kernel != &kernels.front()) text += "\n";
      text += format_listing(kernel.spec, kernel.code, format, options.bytes, numbers);
    }
    return text;
  }
  throw BadInput(fmt::format("--format: '{}' is not intel, att, gas, hex or bin", options.format));
}

/// The bytes of the one kernel, without anything around them.
std::string format_binary(std::span<const DumpedKernel> kernels) {
  if (kernels.size() != 1) {
    throw BadInput(fmt::format("--format bin: there are {} kernels for this shape; choose one with --kernel",
                               kernels.size()));
  }
  const std::vector<std::uint8_t>& bytes = kernels.front().code.bytes;
  return {bytes.begin(), bytes.end()};
}

int dump(const Options& options, const detail::Request& request) {
  const Isa isa = isa_of(options);
  if (request.elements == 0) throw BadInput("--shape: it has no elements, no code is generated for it");
  const std::vector<jit::KernelSpec> specs =
      detail::kernel_specs_of(detail::make_plan(request, isa, detail::cpu_cache_sizes()));
  const std::vector<DumpedKernel> kernels = emit_chosen(options, specs);
  const std::string text = options.format == "bin" ? format_binary(kernels) : format_text(options, kernels);
  if (options.out.empty()) {
    print(text);
  } else {
    write_file(options.out, std::as_bytes(std::span(text)));
  }
  return status_good;
}

TensorDesc desc_of(const Options& options) {
  return {parse_data_type(options.dtype), parse_shape("--shape", options.shape)};
}

int dump_elu_backward(const Options& options) {
  const EluBackward attributes{.alpha = parse_float("--alpha", options.alpha),
                               .use_dst = parse_bool("--use-dst", options.use_dst),
                               .in_place = options.in_place};
  return dump(options, detail::validated(attributes, desc_of(options)));
}

int dump_log_softmax_backward(const Options& options) {
  const LogSoftmaxBackward attributes{.axis = parse_integer("--axis", options.axis),
                                      .in_place = options.in_place};
  return dump(options, detail::validated(attributes, desc_of(options)));
}

void add_common_options(CLI::App& command, Options& options) {
  command.add_option("--dtype", options.dtype, "f32, bf16 or f16; f32 when left out");
  command
      .add_option("--isa", options.isa,
                  "avx2, avx512 or avx512_bf16, also those that this CPU lacks; the best here when left out")
      ->check(not_empty);
  command.add_flag("--in-place", options.in_place, "The result overwrites diff_dst");
  command.add_option(
      "--format", options.format,
      "intel or att (annotated listings), gas (assembles to the same bytes), hex, bin; intel when left out");
  command.add_flag("--bytes", options.bytes, "Show the bytes of each instruction (intel and att)");
  command.add_option("--kernel", options.kernel, "Only the n-th of the kernels that the request needs")
      ->check(not_empty);
  command.add_option("--out", options.out, "A file to write to in place of stdout")->check(not_empty);
}

}  // namespace

void add_dump(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("dump", "Shows the code that is generated for a request");
  const auto options = std::make_shared<Options>();

  CLI::App& elu = *command.add_subcommand("elu_backward", "The gradient of ELU");
  elu.add_option("--alpha", options->alpha, "ELU's alpha, at least 0; inf is fine")->required();
  elu.add_option("--use-dst", options->use_dst, "true (the default) or false");
  elu.add_option("--shape", options->shape, "Sizes with commas between them, 4096 when left out");
  add_common_options(elu, *options);
  elu.callback([&action, options] { action = [options] { return dump_elu_backward(*options); }; });

  CLI::App& log_softmax = *command.add_subcommand("log_softmax_backward", "The gradient of log-softmax");
  log_softmax.add_option("--shape", options->shape, "Sizes with commas between them, as 64,1024")->required();
  log_softmax.add_option("--axis", options->axis, "The axis of the sum, -1 when left out");
  add_common_options(log_softmax, *options);
  log_softmax.callback(
      [&action, options] { action = [options] { return dump_log_softmax_backward(*options); }; });
}

}  // namespace gradjit::tool
