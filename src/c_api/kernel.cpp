#include <optional>
#include <utility>

#include "src/c_api/guard.hpp"
#include "src/c_api/handles.hpp"

namespace gradjit::detail {
namespace {

Dims dims_of(const std::int64_t* values, std::int32_t rank) {
  return values == nullptr ? Dims() : Dims(values, values + rank);
}

std::optional<TensorDesc> desc_of(const gradjit_tensor_desc* desc) {
  return desc == nullptr ? std::nullopt : std::optional(desc->desc);
}

const TensorDesc& required_desc(const gradjit_tensor_desc* desc) {
  return required(desc, "desc", "a tensor description").desc;
}

EluBackwardTensors tensors_of(const gradjit_elu_backward_tensors* tensors) {
  const auto& given = required(tensors, "tensors", "tensor descriptions");
  return {.src = desc_of(given.src),
          .dst = desc_of(given.dst),
          .diff_dst = desc_of(given.diff_dst),
          .diff_src = desc_of(given.diff_src)};
}

LogSoftmaxBackwardTensors tensors_of(const gradjit_log_softmax_backward_tensors* tensors) {
  const auto& given = required(tensors, "tensors", "tensor descriptions");
  return {
      .diff_dst = desc_of(given.diff_dst), .dst = desc_of(given.dst), .diff_src = desc_of(given.diff_src)};
}

/// What all four create functions do. `make` makes the kernel with a factory.
template <typename Make>
gradjit_status create(gradjit_factory* factory, gradjit_kernel** kernel, Make make) {
  return guarded([&] {
    KernelFactory& source = *required(factory, "factory", "a factory").factory;
    gradjit_kernel*& result = required_output(kernel, "kernel");
    result = new gradjit_kernel{make(source)};
  });
}

const gradjit_kernel& required_kernel(const gradjit_kernel* kernel) {
  return required(kernel, "kernel", "a kernel");
}

/// The kernel if it is of the operation that is asked for.
template <typename Kernel>
const Kernel& required_kernel(const gradjit_kernel* kernel, const char* expected, const char* other) {
  const auto* found = std::get_if<Kernel>(&required_kernel(kernel).kernel);
  if (found == nullptr) {
    refuse("kernel is ", other, " kernel, expected ", expected, " kernel");
  }
  return *found;
}

template <typename Kernel, typename Args>
void run(const Kernel& kernel, const Args& args, const gradjit_executor* executor) {
  if (executor == nullptr) {
    kernel.run(args);
  } else {
    CExecutor own(*executor);
    kernel.run(args, own);
  }
}

/// What the kernels of both operations have in common.
const Kernel& base_of(const gradjit_kernel* kernel) {
  return std::visit([](const auto& either) -> const Kernel& { return either; },
                    required_kernel(kernel).kernel);
}

}  // namespace
}  // namespace gradjit::detail

using namespace gradjit::detail;

gradjit_status gradjit_tensor_desc_create(gradjit_data_type dtype, int32_t rank, const int64_t* dims,
                                          const int64_t* strides, gradjit_tensor_desc** desc) {
  return guarded([&] {
    gradjit_tensor_desc*& result = required_output(desc, "desc");
    const gradjit::DataType type = to_data_type(dtype, "dtype");
    // Before as many numbers are read.
    if (rank < 0 || rank > static_cast<std::int32_t>(gradjit::max_rank)) {
      refuse("rank is ", rank, ", expected 0 to ", gradjit::max_rank);
    }
    if (rank > 0 && dims == nullptr) {
      refuse("dims is null, expected ", rank, " sizes");
    }
    result = new gradjit_tensor_desc{{type, dims_of(dims, rank), dims_of(strides, rank)}};
  });
}

void gradjit_tensor_desc_destroy(gradjit_tensor_desc* desc) { delete desc; }

gradjit_status gradjit_elu_backward_create(gradjit_factory* factory, float alpha, int32_t use_dst,
                                           int32_t in_place, const gradjit_tensor_desc* desc,
                                           gradjit_kernel** kernel) {
  return create(factory, kernel, [&](gradjit::KernelFactory& source) {
    return source.elu_backward(
        {.alpha = alpha, .use_dst = flag(use_dst, "use_dst"), .in_place = flag(in_place, "in_place")},
        required_desc(desc));
  });
}

gradjit_status gradjit_elu_backward_create_strided(gradjit_factory* factory, float alpha, int32_t use_dst,
                                                   int32_t in_place,
                                                   const gradjit_elu_backward_tensors* tensors,
                                                   gradjit_kernel** kernel) {
  return create(factory, kernel, [&](gradjit::KernelFactory& source) {
    return source.elu_backward(
        {.alpha = alpha, .use_dst = flag(use_dst, "use_dst"), .in_place = flag(in_place, "in_place")},
        tensors_of(tensors));
  });
}

gradjit_status gradjit_elu_backward_run(const gradjit_kernel* kernel, const gradjit_elu_backward_args* args,
                                        const gradjit_executor* executor) {
  return guarded([&] {
    const auto& elu =
        required_kernel<gradjit::EluBackwardKernel>(kernel, "an elu_backward", "a log_softmax_backward");
    const gradjit_elu_backward_args& given = required(args, "args", "the buffers");
    run(elu,
        gradjit::EluBackwardArgs{
            .src = given.src, .dst = given.dst, .diff_dst = given.diff_dst, .diff_src = given.diff_src},
        executor);
  });
}

gradjit_status gradjit_log_softmax_backward_create(gradjit_factory* factory, int64_t axis, int32_t in_place,
                                                   const gradjit_tensor_desc* desc, gradjit_kernel** kernel) {
  return create(factory, kernel, [&](gradjit::KernelFactory& source) {
    return source.log_softmax_backward({.axis = axis, .in_place = flag(in_place, "in_place")},
                                       required_desc(desc));
  });
}

gradjit_status gradjit_log_softmax_backward_create_strided(
    gradjit_factory* factory, int64_t axis, int32_t in_place,
    const gradjit_log_softmax_backward_tensors* tensors, gradjit_kernel** kernel) {
  return create(factory, kernel, [&](gradjit::KernelFactory& source) {
    return source.log_softmax_backward({.axis = axis, .in_place = flag(in_place, "in_place")},
                                       tensors_of(tensors));
  });
}

gradjit_status gradjit_log_softmax_backward_run(const gradjit_kernel* kernel,
                                                const gradjit_log_softmax_backward_args* args,
                                                const gradjit_executor* executor) {
  return guarded([&] {
    const auto& log_softmax = required_kernel<gradjit::LogSoftmaxBackwardKernel>(
        kernel, "a log_softmax_backward", "an elu_backward");
    const gradjit_log_softmax_backward_args& given = required(args, "args", "the buffers");
    run(log_softmax,
        gradjit::LogSoftmaxBackwardArgs{
            .diff_dst = given.diff_dst, .dst = given.dst, .diff_src = given.diff_src},
        executor);
  });
}

gradjit_status gradjit_kernel_copy(const gradjit_kernel* kernel, gradjit_kernel** copy) {
  return guarded([&] {
    const gradjit_kernel& source = required_kernel(kernel);
    gradjit_kernel*& result = required_output(copy, "copy");
    result = new gradjit_kernel(source);
  });
}

void gradjit_kernel_destroy(gradjit_kernel* kernel) { delete kernel; }

gradjit_status gradjit_kernel_name(const gradjit_kernel* kernel, const char** name) {
  return guarded([&] {
    const gradjit::Kernel& source = base_of(kernel);
    required_output(name, "name") = source.name().c_str();
  });
}

gradjit_status gradjit_kernel_isa(const gradjit_kernel* kernel, gradjit_isa* isa) {
  return guarded([&] {
    const gradjit::Kernel& source = base_of(kernel);
    required_output(isa, "isa") = to_c(source.isa());
  });
}

gradjit_status gradjit_kernel_code(const gradjit_kernel* kernel, const uint8_t** bytes, size_t* size) {
  return guarded([&] {
    const std::span<const std::byte> code = base_of(kernel).code();
    const std::uint8_t*& bytes_result = required_output(bytes, "bytes");
    required_output(size, "size") = code.size();
    bytes_result = reinterpret_cast<const std::uint8_t*>(code.data());
  });
}
