#pragma once

#include <cstdint>
#include <initializer_list>

#include "aten/core/result_spec.h"
#include "aten/core/tensor_base.h"
#include "aten/cpu/elementwise.h"
#include "c10/core/scalar.h"

// What the CPU kernels of pointwise operators share: running a loop over tensors.

namespace at::pointwise {

/// Up to four numbers in a compute type, as a loop's context.
class Params {
 public:
  Params(ScalarType compute, std::initializer_list<Scalar> numbers);
  const void* get() const { return bytes_; }

 private:
  alignas(16) char bytes_[4 * 16];
};

/// Runs `op` in the compute type of `dtype` over the inputs into `out`. Inputs of other dtypes are converted on the
/// way. `in_dtype` is the dtype the elements are taken as; `out` may have another (predicates: bool). Throws
/// NotImplementedError
/// "\"name\" not implemented for 'Half'" where `op` has no such loop.
/// `params`: null, or 64 bytes. On CUDA tensors: the operator's kernels, where they are linked.
void run(const char* name, const cpu::ElementOp& op, ScalarType in_dtype, const void* params, const TensorBase& out,
         Inputs inputs);
/// The common call at no cost: all contiguous, of one shape and of a dtype that is its own compute type, and too small to be
/// shared between threads. False, and nothing done, for any other call.
inline bool run_direct(const cpu::ElementOp& op, const TensorBase& out, const TensorBase& a, const TensorBase& b) {
  const TensorImpl &to = *out.unsafeGetTensorImpl(), &x = *a.unsafeGetTensorImpl(), &y = *b.unsafeGetTensorImpl();
  const ScalarType dtype = to.dtype();
  if (C10_UNLIKELY(!to.device().is_cpu())) return false;
  if (dtype != x.dtype() || dtype != y.dtype()) return false;
  if (!to.is_contiguous() || !x.is_contiguous() || !y.is_contiguous()) return false;
  const int64_t n = to.numel();
  if (n != x.numel() || n != y.numel() || n > cpu::kPointwiseGrain) return false;
  const cpu::ElementTable* table = &op.float32;
  uintptr_t element_mask = sizeof(float) - 1;
  if (C10_UNLIKELY(dtype != ScalarType::Float)) {
    element_mask = sizeof(double) - 1;
    if (dtype == ScalarType::ComplexDouble) {
      table = &op.complex128;
      element_mask = 2 * sizeof(double) - 1;
    } else if (dtype == ScalarType::Double) {
      table = &op.float64;
    } else if (dtype == ScalarType::Long) {
      table = &op.int64;
    } else {
      return false;
    }
  }
  char* const data[] = {static_cast<char*>(to.data()), static_cast<char*>(x.data()), static_cast<char*>(y.data())};
  // Foreign memory may begin anywhere.
  const uintptr_t bits = reinterpret_cast<uintptr_t>(data[0]) | reinterpret_cast<uintptr_t>(data[1]) | reinterpret_cast<uintptr_t>(data[2]);
  if (C10_UNLIKELY(!*table || (bits & element_mask) != 0)) return false;
  if (n > 0) table->get()(data, n, nullptr);
  return true;
}

/// The same for an operator whose results have another compute type than its arguments.
void run_to(ScalarType out_compute, const char* name, const cpu::ElementOp& op, ScalarType in_dtype,
            const TensorBase& out, Inputs inputs);
/// A predicate: `op` writes bools.
inline void run_predicate(const char* name, const cpu::ElementOp& op, ScalarType in_dtype, const TensorBase& out,
                          Inputs inputs) {
  run_to(ScalarType::Bool, name, op, in_dtype, out, inputs);
}
/// A predicate of bools, which `of_bytes` takes as they are on the CPU.
void run_of_bools(const char* name, const cpu::ElementTable& of_bytes, const cpu::ElementOp& op, const TensorBase& out,
                  Inputs inputs);
/// Writes the elements of `from`, converted, into `out`, which has the same size.
void copy(const TensorBase& out, const TensorBase& from);
/// CPU tensors only: the same with the loop and the operands' compute types given; used by operators with mixed
/// operands. computes[0] is out's.
void run_loop(cpu::ElementLoop loop, const void* context, const ScalarType* computes, const TensorBase& out, Inputs inputs);

cpu::Operand operand_of(const TensorBase& t);

/// One element of a dtype, to and from a number (range-checked like Scalar::to).
void store_element(const Scalar& number, ScalarType dtype, void* to);
Scalar load_element(const void* from, ScalarType dtype);

}  // namespace at::pointwise
