#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <gradjit/gradjit.hpp>

#include "tools/gradjit/command.hpp"
#include "tools/gradjit/elements.hpp"
#include "tools/gradjit/factory.hpp"
#include "tools/gradjit/npy.hpp"
#include "tools/gradjit/text.hpp"

namespace gradjit::tool {
namespace {

/// What the command line says; empty where it says nothing.
struct Options {
  std::string alpha;
  std::string axis = "-1";
  std::string src;
  std::string dst;
  std::string diff_dst;
  std::string out;
  std::string dtype;
  std::string isa;
  bool in_place = false;
};

/// A file's elements as the library takes them. Fortran order becomes strides.
struct Tensor {
  TensorDesc desc;
  Bytes bytes;
};

Dims strides_of(const NpyArray& array) {
  if (!array.fortran_order || array.bytes.empty()) return {};
  Dims strides;
  std::int64_t stride = 1;
  for (const std::int64_t size : array.shape) {
    strides.push_back(stride);
    stride *= size;
  }
  return strides;
}

Tensor tensor_of(const NpyArray& array, DataType dtype) {
  return {.desc = {dtype, array.shape, strides_of(array)}, .bytes = encode(floats_of(array), dtype)};
}

NpyArray read_input(const std::string& file) {
  NpyArray array = read_npy(file);
  if (array.type == NpyType::f8) {
    throw BadInput(fmt::format("{}: elements of type '<f8' are not an input; give '<f4' or '<f2'", file));
  }
  return array;
}

/// The two inputs of either operation, and how the result is laid out: as diff_dst.
struct Inputs {
  Tensor activation;
  Tensor diff_dst;
  bool fortran_order;
};

DataType choose_dtype(const Options& options, const std::string& activation_file, const NpyArray& activation,
                      const NpyArray& diff_dst) {
  if (!options.dtype.empty()) return parse_data_type(options.dtype);
  if (activation.type != diff_dst.type) {
    throw BadInput(fmt::format("{}: type '{}' differs from the '{}' of {}; choose with --dtype",
                               options.diff_dst, name_of(diff_dst.type), name_of(activation.type),
                               activation_file));
  }
  return activation.type == NpyType::f2 ? DataType::f16 : DataType::f32;
}

Inputs read_inputs(const Options& options, const std::string& activation_file) {
  const NpyArray activation = read_input(activation_file);
  const NpyArray diff_dst = read_input(options.diff_dst);
  if (activation.shape != diff_dst.shape) {
    throw BadInput(fmt::format("{}: shape {} differs from the {} of {}", options.diff_dst,
                               format_shape(diff_dst.shape), format_shape(activation.shape),
                               activation_file));
  }
  const DataType dtype = choose_dtype(options, activation_file, activation, diff_dst);
  return {.activation = tensor_of(activation, dtype),
          .diff_dst = tensor_of(diff_dst, dtype),
          .fortran_order = diff_dst.fortran_order};
}

std::unique_ptr<KernelFactory> factory_of(const Options& options) {
  return make_factory(options.isa.empty() ? std::nullopt : std::optional(parse_isa(options.isa)));
}

/// Runs `kernel` with `args`, into a new buffer or over diff_dst, and writes the result.
template <typename Kernel, typename Args>
void run_and_write(const Options& options, const Kernel& kernel, Args args, Inputs& inputs) {
  Bytes result(options.in_place ? 0 : inputs.diff_dst.bytes.size());
  Bytes& destination = options.in_place ? inputs.diff_dst.bytes : result;
  args.diff_dst = inputs.diff_dst.bytes.data();
  args.diff_src = destination.data();
  kernel.run(args);

  const DataType dtype = inputs.diff_dst.desc.dtype();
  NpyArray out{.type = file_type_of(dtype),
               .fortran_order = inputs.fortran_order,
               .shape = inputs.diff_dst.desc.dims(),
               .bytes = {}};
  out.bytes = dtype == DataType::bf16 ? encode(decode(destination, DataType::bf16), DataType::f32)
                                      : std::move(destination);
  write_npy(options.out, out);
}

int run_elu_backward(const Options& options) {
  if (options.src.empty() == options.dst.empty())
    throw BadInput("run elu_backward: give either --src or --dst");
  const bool use_dst = options.src.empty();
  const EluBackward attributes{
      .alpha = parse_float("--alpha", options.alpha), .use_dst = use_dst, .in_place = options.in_place};
  const std::unique_ptr<KernelFactory> factory = factory_of(options);
  Inputs inputs = read_inputs(options, use_dst ? options.dst : options.src);

  EluBackwardTensors tensors{.diff_dst = inputs.diff_dst.desc};
  (use_dst ? tensors.dst : tensors.src) = inputs.activation.desc;
  if (!options.in_place) tensors.diff_src = inputs.diff_dst.desc;
  const EluBackwardKernel kernel = factory->elu_backward(attributes, tensors);

  EluBackwardArgs args;
  (use_dst ? args.dst : args.src) = inputs.activation.bytes.data();
  run_and_write(options, kernel, args, inputs);
  return status_good;
}

int run_log_softmax_backward(const Options& options) {
  const LogSoftmaxBackward attributes{.axis = parse_integer("--axis", options.axis),
                                      .in_place = options.in_place};
  const std::unique_ptr<KernelFactory> factory = factory_of(options);
  Inputs inputs = read_inputs(options, options.dst);

  LogSoftmaxBackwardTensors tensors{.diff_dst = inputs.diff_dst.desc, .dst = inputs.activation.desc};
  if (!options.in_place) tensors.diff_src = inputs.diff_dst.desc;
  const LogSoftmaxBackwardKernel kernel = factory->log_softmax_backward(attributes, tensors);
  run_and_write(options, kernel, LogSoftmaxBackwardArgs{.dst = inputs.activation.bytes.data()}, inputs);
  return status_good;
}

void add_common_options(CLI::App& command, Options& options) {
  command.add_option("--diff-dst", options.diff_dst, "The gradient of the result, a .npy file")->required();
  command.add_option("--out", options.out, "Where the gradient of the argument goes; may name an input")
      ->required();
  command
      .add_option(
          "--dtype", options.dtype,
          "f32, bf16 or f16, which inputs are rounded to; the files' type when left out. f32 and bf16 "
          "write '<f4', f16 writes '<f2'")
      ->check(not_empty);
  command
      .add_option("--isa", options.isa, "portable, avx2, avx512 or avx512_bf16; the best here when left out")
      ->check(not_empty);
  command.add_flag("--in-place", options.in_place, "Overwrite diff_dst in memory, and write that");
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  CLI::App& run = *app.add_subcommand("run", "Runs an operation on .npy files");
  const auto options = std::make_shared<Options>();

  CLI::App& elu = *run.add_subcommand("elu_backward", "The gradient of ELU");
  elu.add_option("--alpha", options->alpha, "ELU's alpha, at least 0; inf is fine")->required();
  elu.add_option("--src", options->src, "ELU's argument, a .npy file (use_dst = false)")->check(not_empty);
  elu.add_option("--dst", options->dst, "ELU's result, a .npy file (use_dst = true)")->check(not_empty);
  add_common_options(elu, *options);
  elu.callback([&action, options] { action = [options] { return run_elu_backward(*options); }; });

  CLI::App& log_softmax = *run.add_subcommand("log_softmax_backward", "The gradient of log-softmax");
  log_softmax.add_option("--axis", options->axis, "The axis of the sum, -1 when left out");
  log_softmax.add_option("--dst", options->dst, "Log-softmax's result, a .npy file")->required();
  add_common_options(log_softmax, *options);
  log_softmax.callback(
      [&action, options] { action = [options] { return run_log_softmax_backward(*options); }; });
}

}  // namespace gradjit::tool
