#include "aten/ops/index/decompositions.h"

#include "aten/ops/binary/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/shared/decomposing.h"
#include "c10/value/list.h"

namespace at::decompositions {
namespace {

// A tensor without dimensions as one of one element.
Tensor with_dimension(const Tensor& t) {
  return t.dim() == 0 ? at::reshape(t, {1}) : t;
}

// The index of a slice, for each of the slice's elements.
Tensor of_each_element(const Tensor& index, int64_t dim, const Tensor& source) {
  return at::expand(along(cast(index, ScalarType::Long), dim, source.dim()), source.sizes());
}

// f(self, dim, index, source) of tensors with dimensions; `index` has source's size.
template <class F>
Tensor by_element(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const F& f) {
  const Tensor to = with_dimension(self), from = with_dimension(source);
  const int64_t d = maybe_wrap_dim(dim, to.dim());
  return at::reshape(f(to, d, of_each_element(index, d, from), from), self.sizes());
}

}  // namespace

Tensor index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) {
  return by_element(
      self, dim, index, source, [&](const Tensor& to, int64_t d, const Tensor& places, const Tensor& from) {
        const bool one = !alpha.isComplex() && alpha.toDouble() == 1;
        return at::scatter_add(to, d, places, one ? from : cast(at::mul(from, alpha), from.scalar_type()));
      });
}

Tensor index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  return by_element(self, dim, index, source,
                    [](const Tensor& to, int64_t d, const Tensor& places, const Tensor& from) {
                      return at::scatter(to, d, places, from);
                    });
}

Tensor index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  const Tensor to = with_dimension(self);
  c10::List<std::optional<Tensor>> indices;
  for (int64_t d = maybe_wrap_dim(dim, to.dim()); d > 0; --d) indices.push_back(std::nullopt);
  indices.push_back(cast(with_dimension(index), ScalarType::Long));
  return at::reshape(at::index_put(to, indices, cast(value, self.scalar_type())), self.sizes());
}
Tensor index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  return decompositions::index_fill(self, dim, index, at::scalar_tensor(value, self.options()));
}

Tensor masked_fill(const Tensor& self, const Tensor& mask, const Tensor& value) {
  return at::where(cast(mask, ScalarType::Bool), cast(value, self.scalar_type()), self);
}
Tensor masked_fill(const Tensor& self, const Tensor& mask, const Scalar& value) {
  return decompositions::masked_fill(self, mask, at::scalar_tensor(value, self.options()));
}

Tensor take(const Tensor& self, const Tensor& index) {
  c10::List<std::optional<Tensor>> indices;
  indices.push_back(index);
  return at::index(at::reshape(self, {-1}), indices);
}

Tensor embedding_dense_backward(const Tensor& grad_output, const Tensor& indices, int64_t num_weights,
                                int64_t padding_idx, bool scale_grad_by_freq) {
  const Tensor index = at::reshape(cast(indices, ScalarType::Long), {-1});
  Tensor grad = at::reshape(widened(grad_output), {index.numel(), grad_output.size(-1)});
  if (padding_idx >= 0) grad = kept_where(at::unsqueeze(at::ne(index, padding_idx), 1), grad, 0);
  Tensor sum = at::index_add(filled({num_weights, grad.size(1)}, 0, grad), 0, index, grad);
  if (scale_grad_by_freq) {
    const Tensor count = at::index_add(filled({num_weights}, 0, grad), 0, index, filled({index.numel()}, 1, grad));
    sum = at::div(sum, at::unsqueeze(at::clamp(count, 1), 1));
  }
  return cast(sum, grad_output.scalar_type());
}

}  // namespace at::decompositions
