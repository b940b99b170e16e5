// Ranges, identities, triangles.
#include <algorithm>
#include <cmath>

#include "aten/core/tensor.h"
#include "aten/cuda/creation/creation_call.h"
#include "aten/cuda/index/dense.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/kernels.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

// f(memory for all of `out`, without gaps)
template <class F>
void write_dense(const Tensor& out, const F& f) {
  if (out.numel() == 0) return;
  cuda::DenseInPlace work(out, /*reads=*/false);
  f(work.tensor().mutable_data_ptr());
  work.commit();
}

void fill_progression(const char* name, const Tensor& out, const Scalar& start, const Scalar& step) {
  TORCH_CHECK_NOT_IMPLEMENTED(!out.is_complex() && out.scalar_type() != ScalarType::Bool, "\"", name,
                              "\" not implemented for '", toString(out.scalar_type()), "'");
  write_dense(out, [&](void* to) {
    if (isIntegralType(out.scalar_type(), false)) {
      cuda::launch_progression(name, to, out.scalar_type(), out.numel(), start.to<int64_t>(), step.to<int64_t>());
    } else {
      cuda::launch_progression(name, to, out.scalar_type(), out.numel(), start.toDouble(), step.toDouble());
    }
  });
}

void fill_space(const char* name, const Tensor& out, const Scalar& start, const Scalar& end, const double* base) {
  const ScalarType dtype = out.scalar_type();
  const bool integer = isIntegralType(dtype, false), complex = isComplexType(dtype);
  // An end of an interval of integers is an integer, too.
  const auto bound = [&](const Scalar& value) -> c10::complex<double> {
    if (complex) return value.toComplexDouble();
    return integer ? std::trunc(value.toDouble()) : value.toDouble();
  };
  const ScalarType compute = complex                                                     ? ScalarType::ComplexDouble
                             : base != nullptr || integer || dtype == ScalarType::Double ? ScalarType::Double
                                                                                         : ScalarType::Float;
  write_dense(out, [&](void* to) {
    cuda::launch_space({.name = name,
                        .to = to,
                        .dtype = dtype,
                        .n = out.numel(),
                        .powers = base != nullptr,
                        .base = base != nullptr ? *base : 0,
                        .first = bound(start),
                        .last = bound(end)},
                       compute);
  });
}

void triangle_indices(const char* name, bool lower, int64_t row, int64_t col, int64_t offset, const Tensor& out) {
  write_dense(out, [&](void* to) {
    cuda::launch_triangle_indices({.name = name,
                                   .to = to,
                                   .dtype = out.scalar_type(),
                                   .n = out.size(1),
                                   .rows = row,
                                   .columns = col,
                                   .offset = std::clamp(offset, -row, col),
                                   .lower = lower});
  });
}

void copy_triangle(const char* name, const Tensor& self, int64_t diagonal, bool upper, const Tensor& out) {
  if (self.numel() == 0) return;
  const int64_t rows = self.size(-2), columns = self.size(-1);
  const Tensor x = dense(self);
  write_dense(out, [&](void* to) {
    cuda::launch_triangle({.name = name,
                           .to = static_cast<char*>(to),
                           .from = static_cast<const char*>(x.const_data_ptr()),
                           .matrices = self.numel() / (rows * columns),
                           .rows = rows,
                           .columns = columns,
                           .diagonal = std::clamp(diagonal, -rows, columns),
                           .upper = upper,
                           .item_size = static_cast<int>(self.itemsize())});
  });
}

}  // namespace

void arange_cuda(const Scalar& start, const Scalar&, const Scalar& step, TensorOptions, Tensor& out) {
  fill_progression("arange", out, start, step);
}
void range_cuda(const Scalar& start, const Scalar&, const Scalar& step, TensorOptions, Tensor& out) {
  fill_progression("range", out, start, step);
}
void linspace_cuda(const Scalar& start, const Scalar& end, int64_t, TensorOptions, Tensor& out) {
  fill_space("linspace", out, start, end, nullptr);
}
void logspace_cuda(const Scalar& start, const Scalar& end, int64_t, double base, TensorOptions, Tensor& out) {
  fill_space("logspace", out, start, end, &base);
}

void eye_cuda(int64_t, int64_t, TensorOptions, Tensor& out) {
  at::zero_(out);
  if (out.numel() == 0) return;
  Tensor diagonal = at::diagonal(out, 0, 0, 1);
  at::fill_(diagonal, Scalar(1));
}

void tril_indices_cuda(int64_t row, int64_t col, int64_t offset, TensorOptions, Tensor& out) {
  triangle_indices("tril_indices", true, row, col, offset, out);
}
void triu_indices_cuda(int64_t row, int64_t col, int64_t offset, TensorOptions, Tensor& out) {
  triangle_indices("triu_indices", false, row, col, offset, out);
}

void tril_cuda(const Tensor& self, int64_t diagonal, Tensor& out) {
  copy_triangle("tril", self, diagonal, false, out);
}
void triu_cuda(const Tensor& self, int64_t diagonal, Tensor& out) {
  copy_triangle("triu", self, diagonal, true, out);
}

}  // namespace at::native
