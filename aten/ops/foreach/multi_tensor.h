#pragma once

#include <initializer_list>
#include <optional>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/cpu/elementwise.h"
#include "aten/cpu/reduce/reduce.h"
#include "aten/cpu/support/alignment.h"
#include "c10/core/scalar.h"

// Operators on lists of tensors in one parallel region: the elements of all tensors are one range that the threads
// share, so that a thousand small tensors cost one call and a large one among them does not keep one thread busy alone.
//
// For calls with CPU tensors that record no gradient; pointwise() for such with CUDA tensors, too, where the operator
// has kernels for lists: some fifty tensors are one launch. It is taken for tensors of one dtype that are dense in one
// order of dimensions, where results share no memory but with the input that they are written to. Every function here
// returns false, with nothing done, for any other call; the caller then calls the operators one by one.

namespace at::foreach {

/// One number for all tensors, or one for each.
class Numbers {
 public:
  Numbers(const Scalar& one) : first_(&one), step_(0) {}
  Numbers(ArrayRef<Scalar> many) : first_(many.data()), step_(1) {}
  const Scalar& operator[](size_t i) const { return first_[i * step_]; }
  size_t distinct(size_t tensors) const { return step_ == 0 ? 1 : tensors; }

 private:
  const Scalar* first_;
  size_t step_;
};

/// What a loop reads: a list of tensors, or numbers that take part as 0-dim operands.
class Operand {
 public:
  Operand(TensorList tensors) : tensors_(tensors) {}
  Operand(Numbers numbers) : numbers_(numbers) {}
  TensorList tensors() const { return tensors_; }
  const std::optional<Numbers>& numbers() const { return numbers_; }

 private:
  TensorList tensors_;
  std::optional<Numbers> numbers_;
};

/// Whether the elements of `t` are one run of memory that may be walked by a pointer to them.
inline bool is_run(const Tensor& t) {
  return (t.is_contiguous() || t.is_non_overlapping_and_dense()) &&
         cpu::is_aligned(t.const_data_ptr(), static_cast<int64_t>(t.itemsize()));
}
/// Whether runs of one size have their elements in one order.
inline bool same_layout(const Tensor& a, const Tensor& b) {
  return (a.is_contiguous() && b.is_contiguous()) || a.strides() == b.strides();
}

/// Runs `op` over the operands, at least one of them a list; lists have one length. `parameter` is the loop's p0.
/// Results go to new tensors in `results` or, where that is null, into the first operand.
bool pointwise(const cpu::ElementOp& op, std::initializer_list<Operand> operands,
               const std::optional<Numbers>& parameter, std::vector<Tensor>* results);

/// Fills with zeros.
bool zero(TensorList self);
/// Copies src[i] into self[i], converting where the dtypes of the lists differ.
bool copy(TensorList self, TensorList src);

/// The reduction of every tensor to one element of params.out_type in `results`. A null kernel does not fit.
bool reduce(const cpu::ReduceKernel* kernel, const cpu::ReduceParams& params, TensorList self,
            std::vector<Tensor>& results);

}  // namespace at::foreach
