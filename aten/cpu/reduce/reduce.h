#pragma once
// Reductions over any subset of dimensions of a strided array, without Tensor: a type-erased driver over kernels that each
// know one operation and one element type.
//
// The driver brings kept and reduced dimensions to as few as possible, walks memory in order, and splits the work over the
// thread pool by outputs or, where there are few outputs, by inputs: partial states of fixed pieces are combined in order, so
// that the result does not depend on the number of threads.

#include <cstdint>

#include "c10/core/scalar_type.h"

namespace at::cuda {
struct ReduceLaunchers;
}

namespace at::cpu {

struct ReduceParams {
  double divisor = 1;                                 // sum: the result is divided by it (mean)
  double p = 2;                                       // norms: the exponent
  double correction = 1;                              // moments: the variance divides by max(0, count - correction)
  bool root = false;                                  // moments: the first result is the standard deviation
  c10::ScalarType out_type = c10::ScalarType::Float;  // of the first result
};

// What a kernel does to an array of `m` states, one for each output of a tile.
struct ReduceKernel {
  int64_t state_size;  // bytes, at most 64, alignment at most 16
  bool ordered;        // the state depends on elements' positions: reduced dimensions are walked in logical order
  void (*init)(void* states, int64_t m);
  // State j takes the n elements at x + j * m_stride + i * n_stride (bytes); `position` is the logical number of i = 0.
  void (*accumulate)(void* states, const char* x, int64_t m, int64_t m_stride, int64_t n, int64_t n_stride, int64_t position,
                     const ReduceParams& params);
  // into[j] takes what from[j] saw; `from` saw later positions.
  void (*combine)(void* into, const void* from, int64_t m);
  // Writes results j to out0 + j * stride0 and, for kernels with two results, out1 + j * stride1. A null output is left out.
  void (*finish)(const void* states, int64_t m, char* out0, int64_t stride0, char* out1, int64_t stride1,
                 const ReduceParams& params);
  // The operation's kernels for CUDA tensors (aten/cuda/reduce/reduce.h); null in programs without them.
  cuda::ReduceLaunchers (*cuda)(c10::ScalarType type, const ReduceParams& params) = nullptr;
};

struct ReduceArgs {
  const void* in;
  int ndim;
  const int64_t* sizes;
  const int64_t* strides;     // bytes
  const bool* reduced;        // per dimension
  void* out[2];               // the second may be null
  const int64_t* out_strides[2];  // bytes, per input dimension; ignored where reduced
};

void reduce(const ReduceKernel& kernel, const ReduceArgs& args, const ReduceParams& params);

// All n elements of dense memory to one result.
void reduce_all(const ReduceKernel& kernel, const void* in, int64_t n, int64_t item_size, void* out0, void* out1,
                const ReduceParams& params);

// The kernels; null for element types that they do not take.
// Results of sum, nansum and prod are accumulated in double, int64 or complex double (sum of double: compensated) and
// converted to params.out_type at the end.
const ReduceKernel* sum_kernel(c10::ScalarType type);
const ReduceKernel* nansum_kernel(c10::ScalarType type);
const ReduceKernel* prod_kernel(c10::ScalarType type);
// Results have the element type; NaN wins.
const ReduceKernel* max_kernel(c10::ScalarType type);
const ReduceKernel* min_kernel(c10::ScalarType type);
// First result: the least element, second: the greatest, in the element type; NaN wins.
const ReduceKernel* minmax_kernel(c10::ScalarType type);
// First result: the value, in the element type; second: int64 position of its first occurrence; NaN wins.
const ReduceKernel* argmax_kernel(c10::ScalarType type);
const ReduceKernel* argmin_kernel(c10::ScalarType type);
// First result: variance (or standard deviation), second: mean. Element type, or where params.out_type is Double, and the
// elements are not complex, double; the variance of complex is real.
const ReduceKernel* moments_kernel(c10::ScalarType type);
// bool results; for uint8 input params.out_type may be Byte.
const ReduceKernel* all_kernel(c10::ScalarType type);
const ReduceKernel* any_kernel(c10::ScalarType type);
// int64 results.
const ReduceKernel* count_nonzero_kernel(c10::ScalarType type);
// (sum |x|^p)^(1/p) with the limits p = 0 (count of non-zeros), inf and -inf; floating and complex types, real results.
const ReduceKernel* norm_kernel(c10::ScalarType type, double p);
// log sum exp(x), floating types.
const ReduceKernel* logsumexp_kernel(c10::ScalarType type);

}  // namespace at::cpu
