#pragma once

#include "jit/vector/vector_unit.hpp"

namespace gradjit::jit {

// Each emits the whole function that `spec` describes.
void emit_elu_backward(const KernelSpec& spec, VectorUnit& v);
void emit_packed_rows(const KernelSpec& spec, VectorUnit& v);
void emit_rows(const KernelSpec& spec, VectorUnit& v);
void emit_columns(const KernelSpec& spec, VectorUnit& v);
void emit_few_columns(const KernelSpec& spec, VectorUnit& v);
void emit_strided_copy(const KernelSpec& spec, VectorUnit& v);
void emit_transpose(const KernelSpec& spec, VectorUnit& v);
void emit_runs(const KernelSpec& spec, VectorUnit& v);

}  // namespace gradjit::jit
