// embedding, its backward, embedding_renorm_.
#include <cmath>
#include <cstring>
#include <type_traits>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/cpu/index/index.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/index/indexing.h"
#include "aten/ops/index/kernels.h"

namespace at::native {
namespace {

void check_indices(const char* op, const Tensor& indices) {
  TORCH_CHECK(
      indices.scalar_type() == ScalarType::Long || indices.scalar_type() == ScalarType::Int,
      "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got ",
      indices.toString(), " instead (while checking arguments for ", op, ")");
}

std::vector<int64_t> row_offsets(const Tensor& index, int64_t width) {
  std::vector<int64_t> offsets(static_cast<size_t>(index.numel()));
  const auto* p = static_cast<const int64_t*>(index.const_data_ptr());
  for (size_t i = 0; i < offsets.size(); ++i) offsets[i] = p[i] * width;
  return offsets;
}

}  // namespace

TensorSpec embedding_meta(const Tensor& weight, const Tensor& indices, int64_t, bool, bool) {
  TORCH_CHECK(weight.dim() == 2, "'weight' must be 2-D");
  check_indices("embedding", indices);
  DimVector sizes = sizes_of(indices);
  sizes.push_back(weight.sizes()[1]);
  return {std::move(sizes), {}, weight.scalar_type(), weight.device()};
}

void embedding_cpu(const Tensor& weight, const Tensor& indices, int64_t, bool, bool, Tensor& out) {
  const Tensor index = dense(indices, ScalarType::Long), w = dense(weight);
  check_index_in_self(index, w.sizes()[0]);
  const int64_t width = w.sizes()[1];
  const std::vector<int64_t> offsets = row_offsets(index, width);
  DenseOut y(out);
  cpu::take_slices(
      y.tensor().mutable_data_ptr(), w.const_data_ptr(), {1, 0, width, offsets.data(), index.numel()},
      static_cast<int64_t>(w.itemsize()));
  y.commit();
}

TensorSpec embedding_dense_backward_meta(const Tensor& grad_output, const Tensor& indices, int64_t num_weights, int64_t,
                                         bool scale_grad_by_freq) {
  check_indices("embedding_dense_backward", indices);
  TORCH_CHECK_NOT_IMPLEMENTED(!scale_grad_by_freq || grad_output.is_floating_point(),
                              "\"embedding_dense_backward\" not implemented for '", grad_output.scalar_type(), "'");
  TORCH_CHECK(num_weights >= 0, "embedding_dense_backward(): expected num_weights to be non-negative, but got ", num_weights);
  TORCH_CHECK(
      grad_output.dim() == indices.dim() + 1 &&
          grad_output.sizes().slice(0, static_cast<size_t>(indices.dim())) == indices.sizes(),
      "embedding_dense_backward(): expected grad_output of the size of indices and one more dimension, but got ",
      grad_output.sizes(), " for indices of size ", indices.sizes());
  return {{num_weights, grad_output.sizes().back()}, {}, grad_output.scalar_type(), grad_output.device()};
}

// Rows are added in the order of the indices, in float32 for the 16-bit types.
void embedding_dense_backward_cpu(
    const Tensor& grad_output, const Tensor& indices, int64_t num_weights, int64_t padding_idx, bool scale_grad_by_freq, Tensor& out) {
  const Tensor index = dense(indices, ScalarType::Long);
  check_index_in_self(index, num_weights);
  if (out.numel() == 0) return;
  const ScalarType type = grad_output.scalar_type();
  const ScalarType sum_type = type == ScalarType::Half || type == ScalarType::BFloat16 ? ScalarType::Float : type;
  const Tensor g = dense(grad_output, sum_type);
  const int64_t width = out.sizes()[1];
  DenseOut sum(out, sum_type);
  sum.clear();
  const std::vector<int64_t> offsets = row_offsets(index, width);
  cpu::add_slices(
      sum.tensor().mutable_data_ptr(), g.const_data_ptr(), {1, 0, width, offsets.data(), index.numel()}, sum_type, 1, 0, 1);
  char* base = static_cast<char*>(sum.tensor().mutable_data_ptr());
  const auto row_bytes = static_cast<int64_t>(sum.tensor().itemsize()) * width;
  if (padding_idx >= 0 && padding_idx < num_weights) {
    std::memset(base + padding_idx * row_bytes, 0, static_cast<size_t>(row_bytes));
  }
  if (scale_grad_by_freq) {
    std::vector<int64_t> count(static_cast<size_t>(num_weights));
    const auto* p = static_cast<const int64_t*>(index.const_data_ptr());
    for (int64_t i = 0; i < index.numel(); ++i) ++count[static_cast<size_t>(p[i])];
    cpu::visit_float_double(sum_type, "embedding_dense_backward", [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t r = 0; r < num_weights; ++r) {
        T* row = reinterpret_cast<T*>(base + r * row_bytes);
        const int64_t n = count[static_cast<size_t>(r)];
        for (int64_t k = 0; n > 1 && k < width; ++k) row[k] /= static_cast<T>(n);
      }
    });
  }
  sum.commit();
}

// Rows named by `indices` whose norm exceeds max_norm are scaled down to it.
Tensor& embedding_renorm_meta_(Tensor& self, const Tensor& indices, double, double) {
  TORCH_CHECK(self.dim() == 2, "'self' must be 2-D");
  check_indices("embedding_renorm_", indices);
  return self;
}
Tensor& embedding_renorm_inplace(Tensor& self, const Tensor& indices, double max_norm, double norm_type) {
  embedding_renorm_meta_(self, indices, max_norm, norm_type);
  const Tensor index = dense(indices, ScalarType::Long);
  check_index_in_self(index, self.sizes()[0]);
  if (self.numel() == 0) return self;
  DenseInPlace work(self);
  const int64_t width = self.sizes()[1];
  std::vector<bool> seen(static_cast<size_t>(self.sizes()[0]));
  const auto* p = static_cast<const int64_t*>(index.const_data_ptr());
  cpu::visit_floating(self.scalar_type(), "embedding_renorm_", [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* data = static_cast<T*>(work.tensor().mutable_data_ptr());
    for (int64_t i = 0; i < index.numel(); ++i) {
      if (seen[static_cast<size_t>(p[i])]) continue;
      seen[static_cast<size_t>(p[i])] = true;
      T* row = data + p[i] * width;
      double norm = 0;
      for (int64_t k = 0; k < width; ++k) {
        const double a = std::fabs(static_cast<double>(row[k]));
        norm = std::isinf(norm_type) ? (a <= norm ? norm : a) : norm + std::pow(a, norm_type);
      }
      if (!std::isinf(norm_type)) norm = std::pow(norm, 1 / norm_type);
      if (norm <= max_norm) continue;
      const double scale = max_norm / (norm + 1e-7);
      for (int64_t k = 0; k < width; ++k) {
        const double scaled = static_cast<double>(row[k]) * scale;
        if constexpr (std::is_same_v<T, double>)
          row[k] = scaled;
        else
          row[k] = static_cast<T>(static_cast<float>(scaled));
      }
    }
  });
  work.commit();
  return self;
}

}  // namespace at::native
