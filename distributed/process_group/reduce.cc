#include "distributed/process_group/reduce.h"

#include "aten/core/from_blob.h"
#include "aten/ops/binary/ops.h"
#include "c10/core/thread_state.h"
#include "c10/util/exception.h"

namespace c10d {
namespace {

at::Tensor array(const void* data, c10::ScalarType dtype, size_t n) {
  return at::from_blob(const_cast<void*>(data), {static_cast<int64_t>(n)}, at::TensorOptions().dtype(dtype));
}

}  // namespace

void check_reducible(const char* operation, const ReduceOp& op, c10::ScalarType dtype) {
  const bool is_numeric = c10::isFloatingType(dtype) || c10::isComplexType(dtype) || c10::isIntegralType(dtype, true);
  bool takes = false;
  switch (op.op_) {
    case ReduceOp::SUM:
    case ReduceOp::PRODUCT:
      takes = is_numeric;
      break;
    case ReduceOp::MIN:
    case ReduceOp::MAX:
      takes = is_numeric && !c10::isComplexType(dtype);
      break;
    case ReduceOp::AVG:
    case ReduceOp::PREMUL_SUM:
      takes = c10::isFloatingType(dtype) || c10::isComplexType(dtype);
      break;
    case ReduceOp::BAND:
    case ReduceOp::BOR:
    case ReduceOp::BXOR:
      takes = c10::isIntegralType(dtype, true);
      break;
    case ReduceOp::UNUSED:
      break;
  }
  TORCH_CHECK(takes, operation, ": ReduceOp ", name_of(op.op_), " does not take tensors of ", c10::toString(dtype));
}

void Engine::check_reduction(const char* operation, const ReduceOp& op, c10::ScalarType dtype) const {
  check_reducible(operation, op, dtype);
}

void Engine::all_gather_together(const Call& call, const std::vector<Gathered>& parts) {
  for (const Gathered& part : parts) all_gather(call, part.in, part.bytes, part.out);
}
void Engine::reduce_scatter_together(const Call& call, const std::vector<Scattered>& parts, ReduceOp::RedOpType op) {
  for (const Scattered& part : parts) reduce_scatter(call, part.in, part.out, op);
}

void reduce_into(ReduceOp::RedOpType op, c10::ScalarType dtype, void* out, const void* a, const void* b, size_t n) {
  if (n == 0) return;
  const c10::AutoDispatchBelowAutograd plain;
  at::Tensor result = array(out, dtype, n);
  const at::Tensor x = array(a, dtype, n), y = array(b, dtype, n);
  const bool of_bool = dtype == c10::ScalarType::Bool;
  switch (op) {
    case ReduceOp::SUM:
      of_bool ? at::bitwise_or_out(result, x, y) : at::add_out(result, x, y);
      return;
    case ReduceOp::PRODUCT:
      of_bool ? at::bitwise_and_out(result, x, y) : at::mul_out(result, x, y);
      return;
    case ReduceOp::MIN:
      at::minimum_out(result, x, y);
      return;
    case ReduceOp::MAX:
      at::maximum_out(result, x, y);
      return;
    case ReduceOp::BAND:
      at::bitwise_and_out(result, x, y);
      return;
    case ReduceOp::BOR:
      at::bitwise_or_out(result, x, y);
      return;
    case ReduceOp::BXOR:
      at::bitwise_xor_out(result, x, y);
      return;
    default:
      TORCH_INTERNAL_ASSERT(false, "engines do not know ", name_of(op));
  }
}

}  // namespace c10d
