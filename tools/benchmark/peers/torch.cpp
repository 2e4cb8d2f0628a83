// PyTorch as a peer: its operators in their out variants, on tensors made once, in inference mode, so that
// nothing is allocated for results or recorded for a gradient of the gradient.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>

#include <ATen/Parallel.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/_log_softmax_backward_data.h>
#include <ATen/ops/elu_backward.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>
#include <torch/csrc/api/include/torch/version.h>

#include "tools/benchmark/peer.h"

namespace {

using Request = gradjit_peer_request;

at::ScalarType type_of(const Request& request) {
  if (request.type == gradjit_peer_bf16) return at::kBFloat16;
  return request.type == gradjit_peer_f16 ? at::kHalf : at::kFloat;
}

at::Tensor view(const Request& request, const void* data, const int64_t* strides) {
  const auto rank = static_cast<size_t>(request.rank);
  return at::from_blob(const_cast<void*>(data), at::IntArrayRef(request.dims, rank),
                       at::IntArrayRef(strides, rank), at::TensorOptions().dtype(type_of(request)));
}

/// An operator with its arguments.
class Operation {
 public:
  explicit Operation(const Request& request)
      : is_elu_(request.operation == gradjit_peer_elu_backward),
        use_dst_(request.use_dst != 0),
        axis_(request.axis),
        alpha_(request.alpha),
        input_(view(request, request.input, request.input_strides)),
        diff_dst_(view(request, request.diff_dst, request.diff_dst_strides)),
        diff_src_(view(request, request.diff_src, request.diff_src_strides)),
        result_(is_elu_ || diff_src_.is_contiguous()
                    ? diff_src_
                    : at::empty_like(diff_src_, at::MemoryFormat::Contiguous)) {}

  void run() {
    if (is_elu_) {
      at::elu_backward_out(diff_src_, diff_dst_, alpha_, one_, one_, use_dst_, input_);
      return;
    }
    at::_log_softmax_backward_data_out(result_, diff_dst_, input_, axis_, input_.scalar_type());
    if (!result_.is_same(diff_src_)) diff_src_.copy_(result_);
  }

 private:
  // Before the tensors: it holds for what is made while it lives.
  c10::InferenceMode inference_mode_;
  bool is_elu_;
  bool use_dst_;
  int64_t axis_;
  at::Scalar alpha_;
  at::Scalar one_ = 1;
  at::Tensor input_;
  at::Tensor diff_dst_;
  at::Tensor diff_src_;
  // What log-softmax writes to: 1.13 takes any result for a contiguous one.
  at::Tensor result_;
};

void* create(const Request* request, char* reason, size_t size) {
  try {
    at::set_num_threads(request->threads);
    auto operation = std::make_unique<Operation>(*request);
    // Types that an operator does not have show when it is called.
    operation->run();
    return operation.release();
  } catch (const c10::Error& error) {
    std::snprintf(reason, size, "%s", error.what_without_backtrace());
  } catch (const std::exception& error) {
    std::snprintf(reason, size, "%s", error.what());
  }
  return nullptr;
}

void run(void* created) { static_cast<Operation*>(created)->run(); }

void destroy(void* created) { delete static_cast<Operation*>(created); }

}  // namespace

const gradjit_peer* gradjit_peer_module() {
  static const gradjit_peer peer = {
      .version = TORCH_VERSION, .create = create, .run = run, .destroy = destroy, .make_kernel = nullptr};
  return &peer;
}
