#include "jit/emit.hpp"

#include <gradjit/error.hpp>

#include "jit/operations/operations.hpp"
#include "jit/vector/vector_unit.hpp"

namespace gradjit::jit {

namespace {

using EmitOperation = void (*)(const KernelSpec&, VectorUnit&);

/// One row per operation and shape of loops.
struct Row {
  Operation operation;
  Loop loop;
  EmitOperation emit;
};
constexpr Row rows[] = {
    {Operation::elu_backward, Loop::elements, emit_elu_backward},
    {Operation::log_softmax_backward, Loop::packed_rows, emit_packed_rows},
    {Operation::log_softmax_backward, Loop::rows, emit_rows},
    {Operation::log_softmax_backward, Loop::columns, emit_columns},
    {Operation::log_softmax_backward, Loop::few_columns, emit_few_columns},
    {Operation::copy, Loop::pack, emit_strided_copy},
    {Operation::copy, Loop::unpack, emit_strided_copy},
    {Operation::copy, Loop::transpose, emit_transpose},
    {Operation::copy, Loop::transpose_by_places, emit_transpose},
    {Operation::copy, Loop::runs, emit_runs},
};

EmitOperation emitter_of(const KernelSpec& spec) {
  for (const Row& row : rows) {
    if (row.operation == spec.operation && row.loop == spec.loop) {
      return row.emit;
    }
  }
  throw Error(ErrorCode::internal, "no kernel " + name_of(spec));
}

}  // namespace

EmittedKernel emit(const KernelSpec& spec) {
  try {
    Assembler assembler;
    const std::unique_ptr<VectorUnit> v = VectorUnit::make(spec.isa, assembler);
    emitter_of(spec)(spec, *v);
    return assembler.finish();
  } catch (const Xbyak::Error& error) {
    throw Error(ErrorCode::internal, "cannot emit " + name_of(spec) + ": " + error.what());
  }
}

}  // namespace gradjit::jit
