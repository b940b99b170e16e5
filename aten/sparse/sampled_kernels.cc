// Products at the places of a sparse matrix, and products that reduce otherwise than by sums.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "aten/core/empty.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/sparse/kernels.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/sparse/compressed_parts.h"
#include "aten/sparse/csr_loops.h"
#include "aten/sparse/csr_rows.h"
#include "aten/sparse/device_parts.h"
#include "aten/sparse/sparse_parts.h"

namespace at::native {
namespace {

// Of each element at (i, j) the product of row i of `left` with row j of `right`, both contiguous.
Tensor row_products(const char* op, const sparse::Rows& a, const Tensor& left, const Tensor& right) {
  if (!left.is_cpu()) return sparse::device::sampled_products(op, a, left, right);
  Tensor result = empty_contiguous({a.nnz()}, left.scalar_type());
  const int64_t inner = left.size(1);
  cpu::visit_all(left.scalar_type(), op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using A = std::conditional_t<std::is_same_v<T, c10::Half> || std::is_same_v<T, c10::BFloat16>, float, T>;
    const T *x = static_cast<const T*>(left.const_data_ptr()), *y = static_cast<const T*>(right.const_data_ptr());
    T* out = static_cast<T*>(result.mutable_data_ptr());
    sparse::for_rows(a, inner, [&](int64_t first, int64_t end) {
      if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
        sparse::multiply_sampled(a.begin(), a.place(), x, y, inner, first, end, out);
      } else {
        for (int64_t i = first; i < end; ++i) {
          for (int64_t k = a.begin()[i]; k < a.begin()[i + 1]; ++k) {
            const T *p = x + i * inner, *q = y + a.place()[k] * inner;
            A sum{};
            for (int64_t l = 0; l < inner; ++l) sum = static_cast<A>(sum + static_cast<A>(p[l]) * static_cast<A>(q[l]));
            out[k] = static_cast<T>(sum);
          }
        }
      }
    });
  });
  return result;
}

}  // namespace

Tensor sparse_sampled_addmm_sparse(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
                                   const Scalar& alpha) {
  TORCH_CHECK(self.layout() == Layout::SparseCsr, "sampled_addmm: Expected self to have sparse csr layout, but got ",
              self.layout());
  TORCH_CHECK(mat1.layout() == Layout::Strided, "sampled_addmm: Expected mat1 to have strided layout, but got ",
              mat1.layout());
  TORCH_CHECK(mat2.layout() == Layout::Strided, "sampled_addmm: Expected mat2 to have strided layout, but got ",
              mat2.layout());
  TORCH_CHECK(mat1.scalar_type() == mat2.scalar_type(),
              "sampled_addmm: Expected mat1 and mat2 to have the same dtype, but got ", mat1.scalar_type(), " and ",
              mat2.scalar_type());
  TORCH_CHECK(mat1.scalar_type() == self.scalar_type(),
              "sampled_addmm: Expected mat1 and self to have the same dtype, but got ", mat1.scalar_type(), " and ",
              self.scalar_type());
  TORCH_CHECK(self.is_floating_point() || self.is_complex(),
              "sampled_addmm: Expected self to be a floating-point or complex tensor, but got ", self.scalar_type());
  TORCH_CHECK(mat1.dim() == 2 && mat2.dim() == 2 && self.dim() == 2,
              "sampled_addmm: Expected matrices, but got tensors of ", self.dim(), ", ", mat1.dim(), " and ",
              mat2.dim(), " dimensions");
  TORCH_CHECK(mat1.size(1) == mat2.size(0), "sampled_addmm: mat1 and mat2 shapes cannot be multiplied (", mat1.size(0),
              "x", mat1.size(1), " and ", mat2.size(0), "x", mat2.size(1), ")");
  TORCH_CHECK(self.size(0) == mat1.size(0), "sampled_addmm: self.shape[-2] must match mat1.shape[-2]");
  TORCH_CHECK(self.size(1) == mat2.size(1), "sampled_addmm: self.shape[-1] must match mat2.shape[-1]");
  const Tensor products = row_products("sampled_addmm", sparse::rows_of("sampled_addmm", self), dense(mat1),
                                       dense(at::transpose(mat2, 0, 1)));
  const Tensor scaled = alpha.equal(1) ? products : at::mul(products, alpha);
  return sparse::with_values(self, beta.equal(0) ? scaled : at::add(scaled, sparse::values_of(self), beta));
}
Tensor& sparse_sampled_addmm_out_sparse(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
                                        const Scalar& alpha, Tensor& out) {
  return sparse::write_out("sampled_addmm", out, sparse_sampled_addmm_sparse(self, mat1, mat2, beta, alpha));
}

// --- reductions of weighted rows ---
namespace {

using Reduce = sparse::device::RowReduction;
Reduce reduce_of(std::string_view name) {
  if (name == "sum") return Reduce::kSum;
  if (name == "mean") return Reduce::kMean;
  TORCH_CHECK(name == "amax" || name == "amin", "reduce argument must be either sum, prod, mean, amax or amin, got ",
              name);
  return name == "amax" ? Reduce::kMost : Reduce::kLeast;
}

void check_reduced(const Tensor& self, const Tensor& other) {
  TORCH_CHECK(self.layout() == Layout::SparseCsr, "sparse_mm_reduce: expect self to be SparseCsr, got ", self.layout());
  TORCH_CHECK(other.layout() == Layout::Strided, "sparse_mm_reduce: expect other to be strided, got ", other.layout());
  TORCH_CHECK(self.dim() == 2 && other.dim() == 2 && sparse::values_of(self).dim() == 1,
              "sparse_mm_reduce: expected matrices, but got tensors of ", self.dim(), " and ", other.dim(),
              " dimensions");
  TORCH_CHECK(self.size(1) == other.size(0), "sparse_mm_reduce: mat1 and mat2 shapes cannot be multiplied (",
              self.size(0), "x", self.size(1), " and ", other.size(0), "x", other.size(1), ")");
  TORCH_CHECK(self.scalar_type() == other.scalar_type(), "sparse_mm_reduce: expected tensors of one dtype, but got ",
              self.scalar_type(), " and ", other.scalar_type());
}

template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

}  // namespace

// Also which element gave the greatest or least product, by its number; -1 where a row has none.
std::tuple<Tensor, Tensor> _sparse_mm_reduce_impl_sparse(const Tensor& self, const Tensor& other,
                                                         std::string_view reduce) {
  check_reduced(self, other);
  const Reduce kind = reduce_of(reduce);
  const sparse::Rows a = sparse::rows_of("sparse_mm_reduce", self);
  if (!self.is_cpu()) {
    const auto [result, argument] = sparse::device::reduce_rows("sparse_mm_reduce", a, other, kind);
    return {fresh(result), fresh(argument)};
  }
  const Tensor right = dense(other);
  const int64_t columns = other.size(1);
  const bool chosen = kind == Reduce::kMost || kind == Reduce::kLeast;
  Tensor result = empty_contiguous({a.rows, columns}, self.scalar_type());
  Tensor argument = empty_contiguous(chosen ? IntArrayRef({a.rows, columns}) : IntArrayRef({0}), ScalarType::Long);
  cpu::visit_floating(self.scalar_type(), "sparse_mm_reduce", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *weight = static_cast<const T*>(a.values.const_data_ptr()),
            *y = static_cast<const T*>(right.const_data_ptr());
    T* out = static_cast<T*>(result.mutable_data_ptr());
    int64_t* from = static_cast<int64_t*>(argument.mutable_data_ptr());
    sparse::for_rows(a, columns, [&](int64_t first, int64_t end) {
      if constexpr (std::is_same_v<T, Wide<T>>) {
        const sparse::RowsMemory<T, int64_t> memory{a.begin(), a.place(), weight};
        if (chosen) {
          return sparse::reduce_rows(memory, y, columns, kind == Reduce::kMost, first, end, out, from);
        }
        sparse::multiply_rows(memory, y, a.columns, columns, first, end, out);
        for (int64_t i = first; kind == Reduce::kMean && i < end; ++i) {
          const T factor = T{1} / static_cast<T>(std::max<int64_t>(a.begin()[i + 1] - a.begin()[i], 1));
          for (int64_t j = i * columns; j < (i + 1) * columns; ++j) out[j] *= factor;
        }
      } else {
        std::vector<Wide<T>> row(static_cast<size_t>(columns));
        for (int64_t i = first; i < end; ++i) {
          std::fill(row.begin(), row.end(), Wide<T>{0});
          const int64_t begin = a.begin()[i], count = a.begin()[i + 1] - begin;
          for (int64_t j = 0; chosen && j < columns; ++j) from[i * columns + j] = -1;
          for (int64_t k = begin; k < begin + count; ++k) {
            const T* source = y + a.place()[k] * columns;
            for (int64_t j = 0; j < columns; ++j) {
              const Wide<T> product = static_cast<Wide<T>>(weight[k]) * static_cast<Wide<T>>(source[j]);
              if (!chosen) {
                row[j] += product;
              } else if (k == begin || std::isnan(product) ||
                         (kind == Reduce::kMost ? product > row[j] : product < row[j])) {
                row[j] = product;
                from[i * columns + j] = k;
              }
            }
          }
          const Wide<T> factor =
              kind == Reduce::kMean && count > 0 ? Wide<T>{1} / static_cast<Wide<T>>(count) : Wide<T>{1};
          for (int64_t j = 0; j < columns; ++j) out[i * columns + j] = static_cast<T>(row[j] * factor);
        }
      }
    });
  });
  return {fresh(result), fresh(argument)};
}

std::tuple<Tensor, Tensor> _sparse_mm_reduce_impl_backward_sparse(const Tensor& self, const Tensor& grad_out,
                                                                  const Tensor& weight, std::string_view reduce,
                                                                  const Tensor& arg_out,
                                                                  std::array<bool, 2> output_mask) {
  check_reduced(self, weight);
  const Reduce kind = reduce_of(reduce);
  TORCH_CHECK(grad_out.layout() == Layout::Strided && grad_out.dim() == 2 && grad_out.size(0) == self.size(0) &&
                  grad_out.size(1) == weight.size(1) && grad_out.scalar_type() == self.scalar_type(),
              "sparse_mm_reduce_backward: expected a gradient of size ", self.size(0), "x", weight.size(1),
              " and dtype ", self.scalar_type(), ", but got ", grad_out.sizes(), " and ", grad_out.scalar_type());
  const sparse::Rows a = sparse::rows_of("sparse_mm_reduce_backward", self);
  const bool chosen = kind == Reduce::kMost || kind == Reduce::kLeast;
  TORCH_CHECK(!chosen || (arg_out.sizes() == grad_out.sizes() && arg_out.scalar_type() == ScalarType::Long),
              "sparse_mm_reduce_backward: expected int64 arg_out of size ", grad_out.sizes(), ", but got ",
              arg_out.sizes());
  if (!self.is_cpu()) {
    const auto [of_values, of_dense] =
        sparse::device::reduce_rows_backward("sparse_mm_reduce_backward", a, weight, grad_out, kind, arg_out);
    return {output_mask[0] ? sparse::with_values(self, of_values) : Tensor(), output_mask[1] ? of_dense : Tensor()};
  }
  const Tensor grad = dense(grad_out), right = dense(weight), argument = chosen ? dense(arg_out) : arg_out;
  const int64_t columns = weight.size(1);
  Tensor of_self, of_weight;
  cpu::visit_floating(self.scalar_type(), "sparse_mm_reduce_backward", [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = Wide<T>;
    const T *value = static_cast<const T*>(a.values.const_data_ptr()),
            *y = static_cast<const T*>(right.const_data_ptr()), *g = static_cast<const T*>(grad.const_data_ptr());
    std::vector<W> self_sums(static_cast<size_t>(output_mask[0] ? a.nnz() : 0)),
        weight_sums(static_cast<size_t>(output_mask[1] ? right.numel() : 0));
    const auto add = [&](int64_t i, int64_t k, int64_t j, W factor) {
      const W cotangent = static_cast<W>(g[i * columns + j]) * factor;
      const int64_t at = a.place()[k] * columns + j;
      if (output_mask[0]) self_sums[k] += cotangent * static_cast<W>(y[at]);
      if (output_mask[1]) weight_sums[at] += cotangent * static_cast<W>(value[k]);
    };
    for (int64_t i = 0; i < a.rows; ++i) {
      const int64_t begin = a.begin()[i], end = a.begin()[i + 1];
      if (chosen) {
        for (int64_t j = 0; j < columns; ++j) {
          const int64_t k = argument.const_data_ptr<int64_t>()[i * columns + j];
          if (k >= begin && k < end) add(i, k, j, W{1});
        }
        continue;
      }
      const W factor = kind == Reduce::kMean && end > begin ? W{1} / static_cast<W>(end - begin) : W{1};
      for (int64_t k = begin; k < end; ++k) {
        for (int64_t j = 0; j < columns; ++j) add(i, k, j, factor);
      }
    }
    const auto stored = [&](const std::vector<W>& sums, IntArrayRef sizes) {
      Tensor t = empty_contiguous(sizes, self.scalar_type());
      T* out = static_cast<T*>(t.mutable_data_ptr());
      for (size_t i = 0; i < sums.size(); ++i) out[i] = static_cast<T>(sums[i]);
      return t;
    };
    if (output_mask[0]) of_self = sparse::with_values(self, stored(self_sums, {a.nnz()}));
    if (output_mask[1]) of_weight = stored(weight_sums, weight.sizes());
  });
  return {of_self, of_weight};
}

}  // namespace at::native
