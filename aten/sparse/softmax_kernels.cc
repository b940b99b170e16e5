// Softmax of tensors in coordinates: over the elements that are stored, as if all others were -inf.
#include <cmath>
#include <limits>
#include <vector>

#include "aten/core/empty.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/sparse/kernels.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/sparse/device_parts.h"
#include "aten/sparse/order.h"
#include "aten/sparse/sparse_parts.h"

namespace at::native {
namespace {

// Elements that differ in their index of one sparse dimension only, by number.
struct Pools {
  std::vector<int64_t> of;  // each element's pool
  int64_t count = 0;
};

Pools pools(const Tensor& t, int64_t dim) {
  const SparseTensorImpl& impl = sparse::impl_of("softmax", t);
  std::vector<int64_t> rows;
  for (int64_t d = 0; d < impl.sparse_dim(); ++d) {
    if (d != dim) rows.push_back(d);
  }
  const sparse::Order order = sparse::order_of(at::index_select(impl.indices(), 0, sparse::long_tensor(rows)));
  Pools result{std::vector<int64_t>(order.numbers.size()), order.groups()};
  for (int64_t g = 0; g < result.count; ++g) {
    for (int64_t i = order.starts[g]; i < order.starts[g + 1]; ++i) result.of[order.numbers[i]] = g;
  }
  return result;
}

// Calls f(first, pool) for each element and dense position: their numbers in values, and among pools x positions.
template <class F>
void each(const Pools& pools, int64_t width, const F& f) {
  for (size_t i = 0; i < pools.of.size(); ++i) {
    for (int64_t j = 0; j < width; ++j) f(static_cast<int64_t>(i) * width + j, pools.of[i] * width + j);
  }
}

bool is_narrow(ScalarType type) {
  return type == ScalarType::Half || type == ScalarType::BFloat16;
}

int64_t width_of(const Tensor& values) {
  return values.size(0) == 0 ? 0 : values.numel() / values.size(0);
}

Tensor softmax(const char* op, const Tensor& self, int64_t dim, bool half_to_float, bool log) {
  TORCH_CHECK(!half_to_float, "softmax with half to float conversion is not supported on CPU");
  const Tensor elements = sparse::coalesced(self);
  const SparseTensorImpl& impl = sparse::impl_of(op, elements);
  dim = maybe_wrap_dim(dim, self.dim());
  const Tensor& values = impl.values();
  if (dim >= impl.sparse_dim()) {
    const int64_t own = dim - impl.sparse_dim() + 1;
    return sparse::with_values(elements, log ? at::log_softmax(values, own) : at::softmax(values, own));
  }
  const ScalarType type = self.scalar_type();
  if (!self.is_cpu()) {
    const Tensor wide = is_narrow(type) ? at::to(values, ScalarType::Float) : values;
    return sparse::with_values(elements, at::to(sparse::device::softmax(elements, dim, wide, log), type));
  }
  Tensor result = at::clone(dense(values, is_narrow(type) ? ScalarType::Float : type), MemoryFormat::Contiguous);
  const int64_t width = width_of(values);
  cpu::visit_float_double(result.scalar_type(), op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (result.numel() == 0) return;
    T* x = result.mutable_data_ptr<T>();
    const Pools by = pools(elements, dim);
    std::vector<T> most(static_cast<size_t>(by.count * width), -std::numeric_limits<T>::infinity()), sum(most.size());
    each(by, width, [&](int64_t i, int64_t p) { most[p] = x[i] > most[p] || std::isnan(x[i]) ? x[i] : most[p]; });
    each(by, width, [&](int64_t i, int64_t p) { x[i] -= most[p]; });
    const Tensor powers = log ? at::exp(result) : at::exp_(result);
    const T* e = powers.const_data_ptr<T>();
    each(by, width, [&](int64_t i, int64_t p) { sum[p] += e[i]; });
    if (log) {
      for (T& total : sum) total = std::log(total);
      each(by, width, [&](int64_t i, int64_t p) { x[i] -= sum[p]; });
    } else {
      each(by, width, [&](int64_t i, int64_t p) { x[i] /= sum[p]; });
    }
  });
  return sparse::with_values(elements, at::to(result, type));
}

// grad_output at the places of the output, whose sum over a pool goes into each of its elements.
Tensor softmax_backward(const char* op, const Tensor& grad_output, const Tensor& output, int64_t dim, bool log) {
  const Tensor elements = sparse::coalesced(output);
  const SparseTensorImpl& impl = sparse::impl_of(op, elements);
  dim = maybe_wrap_dim(dim, output.dim());
  TORCH_CHECK(grad_output.sizes() == output.sizes(), op, ": expected a gradient of size ", output.sizes(), ", but got ",
              grad_output.sizes());
  const Tensor grad = at::sparse_mask(grad_output, elements);
  const Tensor &values = impl.values(), &cotangents = sparse::values_of(grad);
  if (dim >= impl.sparse_dim()) {
    const int64_t own = dim - impl.sparse_dim() + 1;
    return sparse::with_values(elements,
                               log ? at::_log_softmax_backward_data(cotangents, values, own, values.scalar_type())
                                   : at::_softmax_backward_data(cotangents, values, own, values.scalar_type()));
  }
  const ScalarType type = output.scalar_type(), wide = is_narrow(type) ? ScalarType::Float : type;
  if (!output.is_cpu()) {
    const Tensor in_self =
        sparse::device::softmax_backward(elements, dim, at::to(cotangents, wide), at::to(values, wide), log);
    return sparse::with_values(elements, at::to(in_self, type));
  }
  const Tensor y_values = dense(values, wide);
  Tensor result = at::clone(dense(cotangents, wide), MemoryFormat::Contiguous);
  const int64_t width = width_of(values);
  cpu::visit_float_double(wide, op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (result.numel() == 0) return;
    T* g = result.mutable_data_ptr<T>();
    const T* y = y_values.const_data_ptr<T>();
    const Pools by = pools(elements, dim);
    std::vector<T> sum(static_cast<size_t>(by.count * width));
    if (log) {
      const Tensor powers = at::exp(y_values);
      const T* e = powers.const_data_ptr<T>();
      each(by, width, [&](int64_t i, int64_t p) { sum[p] += g[i]; });
      each(by, width, [&](int64_t i, int64_t p) { g[i] -= e[i] * sum[p]; });
    } else {
      each(by, width, [&](int64_t i, int64_t p) { sum[p] += g[i] * y[i]; });
      each(by, width, [&](int64_t i, int64_t p) { g[i] = y[i] * (g[i] - sum[p]); });
    }
  });
  return sparse::with_values(elements, at::to(result, type));
}

}  // namespace

Tensor _sparse_softmax_sparse(const Tensor& self, int64_t dim, bool half_to_float) {
  return softmax("softmax", self, dim, half_to_float, false);
}
Tensor _sparse_log_softmax_sparse(const Tensor& self, int64_t dim, bool half_to_float) {
  return softmax("log_softmax", self, dim, half_to_float, true);
}
Tensor _sparse_softmax_backward_data_sparse(const Tensor& grad_output, const Tensor& output, int64_t dim,
                                            const Tensor&) {
  return softmax_backward("softmax_backward", grad_output, output, dim, false);
}
Tensor _sparse_log_softmax_backward_data_sparse(const Tensor& grad_output, const Tensor& output, int64_t dim,
                                                const Tensor&) {
  return softmax_backward("log_softmax_backward", grad_output, output, dim, true);
}

}  // namespace at::native
