#include <algorithm>
#include <bit>
#include <string_view>

#include "src/plan/message.hpp"
#include "src/plan/request.hpp"
#include "src/plan/tensor_checks.hpp"

namespace gradjit::detail {
namespace {

/// The descriptions of one request; in place, or with one for all, some are the same.
using Descs = PerTensor<Named>;

/// Dense row-major, for tensors whose description leaves the strides out.
void set_dense_strides(DimList& dims, Tensor tensor) {
  std::int64_t stride = 1;
  for (std::size_t i = dims.size(); i-- > 0;) {
    dims[i].stride[tensor] = stride;
    stride *= dims[i].size;
  }
}

void set_strides(DimList& dims, Tensor tensor, const Named& named) {
  const Dims& strides = named.desc->strides();
  if (strides.empty()) {
    set_dense_strides(dims, tensor);
    return;
  }
  for (std::size_t i = 0; i < dims.size(); ++i) {
    dims[i].stride[tensor] = strides[i];
  }
}

/// The descriptions, each by itself and with the others.
void check_tensors(Request& request, const Descs& descs) {
  const Named& first = descs[activation];
  check_data_type(first);
  request.dtype = first.desc->dtype();
  request.elements = check_dims(first);
  for (const Named& named : descs) {
    if (named.desc != first.desc) {
      check_agreement(named, first);
    }
    if (!named.desc->strides().empty() && (&named == &first || named.desc != first.desc)) {
      check_strides(named);
    }
  }
}

bool are_dense(const Descs& descs) {
  return std::all_of(descs.begin(), descs.end(),
                     [](const Named& named) { return named.desc->strides().empty(); });
}

/// Sets the dims of tensors with strides, and checks that the result doesn't overlap itself.
void set_dims(Request& request, const Descs& descs) {
  for (const std::int64_t size : descs[activation].desc->dims()) {
    request.dims.push_back({size, {}});
  }
  for (const Tensor tensor : {activation, diff_dst, diff_src}) {
    set_strides(request.dims, tensor, descs[tensor]);
  }
  check_output(request.dims, descs[diff_src], request.in_place);
}

/// Sets dense dims: those before the axis, the axis, those after it.
void set_dense_dims(Request& request, const Dims& dims) {
  std::int64_t inner = 1;
  for (std::size_t i = request.axis + 1; i < dims.size(); ++i) {
    inner *= dims[i];
  }
  const std::int64_t length = dims.empty() ? 1 : dims[request.axis];
  const std::int64_t step = length * inner;
  request.dims.push_back({request.elements / step, {step, step, step}});
  request.dims.push_back({length, {inner, inner, inner}});
  request.dims.push_back({inner, {1, 1, 1}});
  request.axis = 1;
}

Request take_elu(const EluBackward& attributes, const Descs& descs) {
  Request request;
  const float alpha = attributes.alpha;
  if (!(alpha >= 0)) {
    refuse("alpha is ", alpha, ", expected 0 or more (infinity too)");
  }
  request.operation = jit::Operation::elu_backward;
  request.use_dst = attributes.use_dst;
  request.in_place = attributes.in_place;
  request.alpha_bits = std::bit_cast<std::uint32_t>(alpha == 0 ? 0.0F : alpha);
  check_tensors(request, descs);
  if (request.elements == 0) {
    return request;
  }
  if (are_dense(descs)) {
    request.dims.push_back({request.elements, {1, 1, 1}});
  } else {
    set_dims(request, descs);
  }
  return request;
}

std::size_t checked_axis(std::int64_t axis, std::size_t rank) {
  const auto limit = static_cast<std::int64_t>(std::max<std::size_t>(rank, 1));
  if (axis < -limit || axis >= limit) {
    refuse("axis is ", axis, ", expected ", -limit, " to ", limit - 1, " for tensors of rank ", rank);
  }
  return static_cast<std::size_t>(axis < 0 ? axis + limit : axis);
}

Request take_log_softmax(const LogSoftmaxBackward& attributes, const Descs& descs) {
  Request request;
  request.operation = jit::Operation::log_softmax_backward;
  request.in_place = attributes.in_place;
  check_tensors(request, descs);
  const Dims& dims = descs[activation].desc->dims();
  request.axis = checked_axis(attributes.axis, dims.size());
  if (request.elements == 0) {
    return request;
  }
  if (are_dense(descs)) {
    set_dense_dims(request, dims);
  } else {
    set_dims(request, descs);
  }
  return request;
}

/// A description that must be there; `why` ends the sentence if it is not.
const TensorDesc* required(const std::optional<TensorDesc>& desc, std::string_view name,
                           std::string_view why = "") {
  if (!desc) {
    refuse(name, " has no description, expected one", why);
  }
  return &*desc;
}

/// In place, diff_dst's description is the result's too.
Named described_diff_src(const std::optional<TensorDesc>& desc, bool in_place,
                         const TensorDesc& diff_dst_desc) {
  if (!in_place) {
    return {"diff_src", required(desc, "diff_src", ", because in_place is false")};
  }
  if (desc) {
    refuse("diff_src has a description, expected none, because in_place is true: diff_dst's holds");
  }
  return {"diff_dst", &diff_dst_desc};
}

}  // namespace

Request validated(const EluBackward& attributes, const TensorDesc& desc) {
  return take_elu(attributes, {{{"desc", &desc}, {"desc", &desc}, {"desc", &desc}}});
}

Request validated(const EluBackward& attributes, const EluBackwardTensors& tensors) {
  const bool use_dst = attributes.use_dst;
  const std::string_view used = use_dst ? "dst" : "src";
  const std::string_view unused = use_dst ? "src" : "dst";
  const std::string_view why = use_dst ? ", because use_dst is true" : ", because use_dst is false";
  if (use_dst ? tensors.src : tensors.dst) {
    refuse(unused, " has a description, expected only ", used, why);
  }
  const TensorDesc* activation_desc = required(use_dst ? tensors.dst : tensors.src, used, why);
  const TensorDesc* diff_dst_desc = required(tensors.diff_dst, "diff_dst");
  return take_elu(attributes, {{{used, activation_desc},
                                {"diff_dst", diff_dst_desc},
                                described_diff_src(tensors.diff_src, attributes.in_place, *diff_dst_desc)}});
}

Request validated(const LogSoftmaxBackward& attributes, const TensorDesc& desc) {
  return take_log_softmax(attributes, {{{"desc", &desc}, {"desc", &desc}, {"desc", &desc}}});
}

Request validated(const LogSoftmaxBackward& attributes, const LogSoftmaxBackwardTensors& tensors) {
  const TensorDesc* dst_desc = required(tensors.dst, "dst");
  const TensorDesc* diff_dst_desc = required(tensors.diff_dst, "diff_dst");
  return take_log_softmax(attributes,
                          {{{"dst", dst_desc},
                            {"diff_dst", diff_dst_desc},
                            described_diff_src(tensors.diff_src, attributes.in_place, *diff_dst_desc)}});
}

}  // namespace gradjit::detail
