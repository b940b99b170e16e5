// median, nanmedian, mode, hash_tensor of CUDA tensors.
#include "aten/cuda/reduce/select.h"

#include <limits>

#include "aten/core/tensor.h"
#include "aten/cuda/reduce/reduce.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/reduce/kernels.h"
#include "aten/ops/reduce/reduction.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

void check_supported(const char* name, ScalarType dtype) {
  const bool floating = dtype == ScalarType::Half || dtype == ScalarType::BFloat16 || dtype == ScalarType::Float ||
                        dtype == ScalarType::Double;
  const bool integer = c10::isIntegralType(dtype, true) && dtype != ScalarType::UInt16 && dtype != ScalarType::UInt32 &&
                       dtype != ScalarType::UInt64;
  if (!floating && !integer) throw_not_implemented(name, dtype);
}

using Launcher = void (*)(const cuda::SelectCall&);

void select_along(const char* name, Launcher launcher, const Tensor& self, int64_t dim, bool skip_nan, Tensor& values,
                  Tensor& indices) {
  check_supported(name, self.scalar_type());
  if (values.numel() == 0) return;
  const Tensor x = dense(self);
  const DimSplit s = split_at_dim(x.sizes(), maybe_wrap_dim(dim, x.dim()));
  DenseOut v(values), i(indices);
  launcher({x.scalar_type(), static_cast<const char*>(x.const_data_ptr()), s.outer * s.inner, s.size, s.inner,
            v.data<char>(), i.data<int64_t>(), skip_nan});
  v.commit();
  i.commit();
}

// Of an empty tensor: NaN, or the smallest integer.
void median_of_all(const Tensor& self, bool skip_nan, Tensor& out) {
  check_supported("median", self.scalar_type());
  if (self.numel() == 0) {
    if (isFloatingType(self.scalar_type())) {
      at::fill_(out, Scalar(std::numeric_limits<double>::quiet_NaN()));
      return;
    }
    const bool is_unsigned = self.scalar_type() == ScalarType::Byte || self.scalar_type() == ScalarType::Bool;
    const int64_t bits = static_cast<int64_t>(8 * self.itemsize());
    at::fill_(out, Scalar(is_unsigned ? int64_t{0} : std::numeric_limits<int64_t>::min() >> (64 - bits)));
    return;
  }
  const Tensor x = dense(self);
  DenseOut v(out);
  cuda::launch_median({x.scalar_type(), static_cast<const char*>(x.const_data_ptr()), 1, x.numel(), 1, v.data<char>(),
                       nullptr, skip_nan});
  v.commit();
}

}  // namespace

void median_dim_cuda(const Tensor& self, int64_t dim, bool, Tensor& values, Tensor& indices) {
  select_along("median", &cuda::launch_median, self, dim, false, values, indices);
}
void nanmedian_dim_cuda(const Tensor& self, int64_t dim, bool, Tensor& values, Tensor& indices) {
  select_along("nanmedian", &cuda::launch_median, self, dim, true, values, indices);
}
void median_cuda(const Tensor& self, Tensor& out) {
  median_of_all(self, false, out);
}
void nanmedian_cuda(const Tensor& self, Tensor& out) {
  median_of_all(self, true, out);
}
void mode_cuda(const Tensor& self, int64_t dim, bool, Tensor& values, Tensor& indices) {
  select_along("mode", &cuda::launch_mode, self, dim, false, values, indices);
}

void hash_tensor_cuda(const Tensor& self, IntArrayRef dim, bool, int64_t, Tensor& out) {
  if (out.numel() == 0) return;
  // An element as the 64 bits that count: of its value as double or int64.
  const Tensor bits = self.is_floating_point() ? at::view(dense(self, ScalarType::Double), ScalarType::Long)
                                               : dense(self, ScalarType::Long);
  cpu::ReduceKernel kernel{};
  kernel.cuda = &cuda::exclusive_or;
  run_reduction("hash_tensor", &kernel, bits, make_dim_mask(dim, bits.dim()), out, Tensor(), {});
}

}  // namespace at::native
