// oneDNN as a peer: its primitives, made once and executed through its C interface, which takes the arguments
// as they are (the C++ one copies them to the heap for each call).
#include <cstdio>
#include <exception>
#include <memory>
#include <vector>

#include <dnnl.hpp>
#include <omp.h>

#include "tools/benchmark/peer.h"

namespace {

using Request = gradjit_peer_request;

constexpr auto forward = dnnl::prop_kind::forward_training;

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

dnnl::memory::data_type type_of(const Request& request) {
  if (request.type == gradjit_peer_bf16) return dnnl::memory::data_type::bf16;
  if (request.type == gradjit_peer_f16) return dnnl::memory::data_type::f16;
  return dnnl::memory::data_type::f32;
}

/// Descriptions of the three tensors.
struct Descs {
  explicit Descs(const Request& request)
      : input(describe(request, request.input_strides)),
        diff_dst(describe(request, request.diff_dst_strides)),
        diff_src(describe(request, request.diff_src_strides)) {}

  static dnnl::memory::desc describe(const Request& request, const int64_t* strides) {
    return {{request.dims, request.dims + request.rank}, type_of(request), {strides, strides + request.rank}};
  }

  dnnl::memory::desc input;
  dnnl::memory::desc diff_dst;
  dnnl::memory::desc diff_src;
};

dnnl::algorithm elu_algorithm(const Request& request) {
  return request.use_dst != 0 ? dnnl::algorithm::eltwise_elu_use_dst_for_bwd : dnnl::algorithm::eltwise_elu;
}

#if DNNL_VERSION_MAJOR >= 3

dnnl::primitive make_elu(const Request& request, const Descs& descs) {
  const dnnl::algorithm algorithm = elu_algorithm(request);
  const dnnl::eltwise_forward::primitive_desc hint(engine(), forward, algorithm, descs.input, descs.input,
                                                   request.alpha);
  return dnnl::eltwise_backward(
      {engine(), algorithm, descs.diff_src, descs.diff_dst, descs.input, request.alpha, 0.0F, hint});
}

dnnl::primitive make_log_softmax(const Request& request, const Descs& descs) {
  const auto axis = static_cast<int>(request.axis);
  const auto algorithm = dnnl::algorithm::softmax_log;
  const dnnl::softmax_forward::primitive_desc hint(engine(), forward, algorithm, descs.input, descs.input,
                                                   axis);
  return dnnl::softmax_backward(
      {engine(), algorithm, descs.diff_src, descs.diff_dst, descs.input, axis, hint});
}

#else

/// The descriptors of 2.x have one layout for both gradients.
void expect_same_layout(const Descs& descs) {
  if (descs.diff_dst != descs.diff_src) {
    throw dnnl::error(dnnl_unimplemented, "diff_dst and diff_src must have the same strides");
  }
}

dnnl::primitive make_elu(const Request& request, const Descs& descs) {
  expect_same_layout(descs);
  const dnnl::algorithm algorithm = elu_algorithm(request);
  const dnnl::eltwise_forward::primitive_desc hint({forward, algorithm, descs.input, request.alpha},
                                                   engine());
  return dnnl::eltwise_backward({{algorithm, descs.diff_dst, descs.input, request.alpha}, engine(), hint});
}

dnnl::primitive make_log_softmax(const Request& request, const Descs& descs) {
  expect_same_layout(descs);
  const auto axis = static_cast<int>(request.axis);
  const dnnl::logsoftmax_forward::primitive_desc hint({forward, descs.input, axis}, engine());
  return dnnl::logsoftmax_backward({{descs.diff_dst, descs.input, axis}, engine(), hint});
}

#endif

dnnl::primitive make_primitive(const Request& request, const Descs& descs) {
  constexpr bool is_openmp = DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_OMP;
  constexpr bool is_sequential = DNNL_CPU_THREADING_RUNTIME == DNNL_RUNTIME_SEQ;
  if (!is_openmp && !(is_sequential && request.threads == 1)) {
    throw dnnl::error(dnnl_unimplemented, "this oneDNN is not built for OpenMP, so threads cannot be set");
  }
  omp_set_num_threads(request.threads);
  return request.operation == gradjit_peer_elu_backward ? make_elu(request, descs)
                                                        : make_log_softmax(request, descs);
}

/// A primitive with its arguments.
class Execution {
 public:
  explicit Execution(const Request& request)
      : descs_(request),
        primitive_(make_primitive(request, descs_)),
        stream_(engine()),
        input_(descs_.input, engine(), const_cast<void*>(request.input)),
        diff_dst_(descs_.diff_dst, engine(), const_cast<void*>(request.diff_dst)),
        diff_src_(descs_.diff_src, engine(), request.diff_src) {
    const bool from_src = request.operation == gradjit_peer_elu_backward && request.use_dst == 0;
    args_ = {{from_src ? DNNL_ARG_SRC : DNNL_ARG_DST, input_.get()},
             {DNNL_ARG_DIFF_DST, diff_dst_.get()},
             {DNNL_ARG_DIFF_SRC, diff_src_.get()}};
  }

  void run() const {
    // A stream of the CPU is done when this returns.
    dnnl_primitive_execute(primitive_.get(), stream_.get(), static_cast<int>(args_.size()), args_.data());
  }

 private:
  Descs descs_;
  dnnl::primitive primitive_;
  dnnl::stream stream_;
  dnnl::memory input_;
  dnnl::memory diff_dst_;
  dnnl::memory diff_src_;
  std::vector<dnnl_exec_arg_t> args_;
};

void* create(const Request* request, char* reason, size_t size) {
  try {
    return std::make_unique<Execution>(*request).release();
  } catch (const std::exception& error) {
    std::snprintf(reason, size, "%s", error.what());
    return nullptr;
  }
}

void run(void* created) { static_cast<const Execution*>(created)->run(); }

void destroy(void* created) { delete static_cast<Execution*>(created); }

int make_kernel(const Request* request) {
  try {
    // Its cache would have the kernel from the second call on.
    static const auto cache_off = dnnl_set_primitive_cache_capacity(0);
    static_cast<void>(make_primitive(*request, Descs(*request)));
    return cache_off == dnnl_success ? 1 : 0;
  } catch (const std::exception&) {
    return 0;
  }
}

}  // namespace

const gradjit_peer* gradjit_peer_module() {
  static char version[32];
  const dnnl_version_t* const numbers = dnnl_version();
  std::snprintf(version, sizeof version, "%d.%d.%d", numbers->major, numbers->minor, numbers->patch);
  static const gradjit_peer peer = {
      .version = version, .create = create, .run = run, .destroy = destroy, .make_kernel = make_kernel};
  return &peer;
}
