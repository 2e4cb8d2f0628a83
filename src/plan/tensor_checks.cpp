#include "src/plan/tensor_checks.hpp"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>

#include "src/plan/message.hpp"
#include "src/plan/overlap.hpp"

namespace gradjit::detail {
namespace {

constexpr std::int64_t most_bytes = std::numeric_limits<std::int64_t>::max();

std::string text_of(const Dims& dims) {
  std::string text = "(";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
  }
  return text + ")";
}

/// From the first byte of the lowest element to the last of the highest.
bool extent_overflows(const Named& tensor) {
  const Dims& dims = tensor.desc->dims();
  const Dims& strides = tensor.desc->strides();
  const auto size = static_cast<std::int64_t>(size_of(tensor.desc->dtype()));
  std::int64_t extent = size;
  bool overflows = false;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    std::int64_t step = 0;
    std::int64_t length = 0;
    if (dims[i] > 1) {
      overflows = overflows || strides[i] == std::numeric_limits<std::int64_t>::min() ||
                  __builtin_mul_overflow(std::abs(strides[i]), size, &step) ||
                  __builtin_mul_overflow(step, dims[i] - 1, &length) ||
                  __builtin_add_overflow(extent, length, &extent);
    }
  }
  return overflows;
}

DimList dims_above_one(const DimList& dims) {
  DimList longer;
  for (const Dim& dim : dims) {
    if (dim.size > 1) {
      longer.push_back(dim);
    }
  }
  return longer;
}

}  // namespace

void check_data_type(const Named& tensor) {
  const DataType dtype = tensor.desc->dtype();
  if (dtype != DataType::f32 && dtype != DataType::bf16 && dtype != DataType::f16) {
    refuse(tensor.name, ".dtype is ", static_cast<int>(dtype), ", expected f32, bf16 or f16");
  }
}

std::int64_t check_dims(const Named& tensor) {
  const Dims& dims = tensor.desc->dims();
  if (dims.size() > max_rank) {
    refuse(tensor.name, ".dims has ", dims.size(), " entries, expected at most ", max_rank);
  }
  std::int64_t elements = 1;
  bool overflows = false;
  bool is_empty = false;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0) {
      refuse(tensor.name, ".dims[", i, "] is ", dims[i], ", expected a size >= 0");
    }
    is_empty = is_empty || dims[i] == 0;
    overflows = __builtin_mul_overflow(elements, dims[i], &elements) || overflows;
  }
  if (is_empty) {
    return 0;
  }
  const auto size = static_cast<std::int64_t>(size_of(tensor.desc->dtype()));
  if (overflows || elements > most_bytes / size) {
    refuse(tensor.name, ".dims is ", text_of(dims), ", expected a product of at most ", most_bytes,
           " bytes, with elements of ", size);
  }
  return elements;
}

void check_strides(const Named& tensor) {
  const Dims& dims = tensor.desc->dims();
  const Dims& strides = tensor.desc->strides();
  if (strides.size() != dims.size()) {
    refuse(tensor.name, ".strides has ", strides.size(), strides.size() == 1 ? " entry" : " entries",
           ", expected ", dims.size(), ", one for each of dims, or none for dense row-major");
  }
  const bool is_empty = std::find(dims.begin(), dims.end(), 0) != dims.end();
  if (!is_empty && extent_overflows(tensor)) {
    refuse(tensor.name, ".strides is ", text_of(strides), " for dims ", text_of(dims),
           ", expected elements that lie less than ", most_bytes, " bytes apart");
  }
}

void check_agreement(const Named& tensor, const Named& first) {
  if (tensor.desc->dtype() != first.desc->dtype()) {
    refuse(tensor.name, ".dtype is ", name_of(tensor.desc->dtype()), ", expected ",
           name_of(first.desc->dtype()), " as ", first.name, " has");
  }
  if (tensor.desc->dims() != first.desc->dims()) {
    refuse(tensor.name, ".dims is ", text_of(tensor.desc->dims()), ", expected ", text_of(first.desc->dims()),
           " as ", first.name, " has");
  }
}

void check_output(const DimList& dims, const Named& output, bool in_place) {
  if (output.desc->strides().empty()) {
    return;
  }
  const Overlap overlap = self_overlap(dims_above_one(dims), diff_src);
  if (overlap == Overlap::none) {
    return;
  }
  refuse(output.name, ".strides is ", text_of(output.desc->strides()), " for dims ",
         text_of(output.desc->dims()), in_place ? " of a result in place" : " of a result",
         ", expected strides that ", overlap == Overlap::some ? "" : "can be shown to ",
         "put no two elements in one place");
}

}  // namespace gradjit::detail
