// matmul and the products that are put together from other operators.
#include <limits>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/matmul/chain.h"
#include "aten/ops/matmul/kernels.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/rearrange/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/shared/matrix_support.h"
#include "aten/ops/view/ops.h"
#include "c10/util/safe_numerics.h"

namespace at::native {
namespace {

int64_t product_of(IntArrayRef sizes) {
  int64_t n = 1;
  for (int64_t s : sizes) n *= s;
  return n;
}

DimVector joined(IntArrayRef a, IntArrayRef b) {
  DimVector r(a.begin(), a.end());
  r.insert(r.end(), b.begin(), b.end());
  return r;
}

}  // namespace

Tensor matmul(const Tensor& self, const Tensor& other) {
  const int64_t a = self.dim(), b = other.dim();
  TORCH_CHECK(a != 0 && b != 0, "both arguments to matmul need to be at least 1D, but they are ", a, "D and ", b, "D");
  if (a == 1 && b == 1) return at::dot(self, other);
  if (a == 2 && b == 1) return at::mv(self, other);
  if (a == 1 && b == 2) return at::squeeze(at::mm(at::unsqueeze(self, 0), other), 0);
  if (a == 2 && b == 2) return at::mm(self, other);

  if (b <= 2) {
    // A batch times one matrix is one product of all its rows.
    const int64_t k = self.size(-1);
    const IntArrayRef outer = self.sizes().slice(0, static_cast<size_t>(a - 1));
    const Tensor rows = at::reshape(self, {product_of(outer), k});
    if (b == 1) return at::reshape(at::mv(rows, other), outer);
    return at::reshape(at::mm(rows, other), joined(outer, {other.size(1)}));
  }

  const Tensor left = a == 1 ? at::unsqueeze(self, 0) : self;
  const Tensor right = b == 1 ? at::unsqueeze(other, -1) : other;
  const IntArrayRef left_batch = left.sizes().slice(0, static_cast<size_t>(left.dim() - 2));
  const IntArrayRef right_batch = right.sizes().slice(0, static_cast<size_t>(right.dim() - 2));
  const DimVector batch = broadcast_shapes(left_batch, right_batch);
  const int64_t batches = product_of(batch), m = left.size(-2), k = left.size(-1), n = right.size(-1);
  TORCH_CHECK(right.size(-2) == k, "Expected size for first two dimensions of batch2 tensor to be: [", batches, ", ", k,
              "] but got: [", batches, ", ", right.size(-2), "].");
  auto as_batch = [&](const Tensor& t, IntArrayRef own_batch, int64_t rows, int64_t cols) {
    if (t.dim() == 2) return at::expand(t, {batches, rows, cols}, false);
    Tensor full = own_batch == IntArrayRef(batch) ? t : at::expand(t, joined(batch, {rows, cols}), false);
    return full.dim() == 3 ? full : at::reshape(full, {batches, rows, cols});
  };
  const Tensor result = at::bmm(as_batch(left, left_batch, m, k), as_batch(right, right_batch, k, n));
  DimVector sizes = batch;
  if (a > 1) sizes.push_back(m);
  if (b > 1) sizes.push_back(n);
  return at::reshape(result, sizes);
}

Tensor outer(const Tensor& self, const Tensor& vec2) {
  TORCH_CHECK(self.dim() == 1, "outer: Expected 1-D argument self, but got ", self.dim(), "-D");
  TORCH_CHECK(vec2.dim() == 1, "outer: Expected 1-D argument vec2, but got ", vec2.dim(), "-D");
  return at::mul(at::unsqueeze(self, 1), vec2);
}

Tensor inner(const Tensor& self, const Tensor& other) {
  if (self.dim() == 0 || other.dim() == 0) return at::mul(self, other);
  TORCH_CHECK(self.size(-1) == other.size(-1),
              "inner() the last dimension must match on both input tensors but got shapes ", self.sizes(), " and ", other.sizes());
  if (self.dim() == 1 && other.dim() == 1) return at::dot(self, other);
  const int64_t first[] = {self.dim() - 1}, second[] = {other.dim() - 1};
  return at::tensordot(self, other, first, second);
}

Tensor kron(const Tensor& self, const Tensor& other) {
  const int64_t rank = std::max(self.dim(), other.dim());
  DimVector left, right, sizes;
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t x = i - (rank - self.dim()) >= 0 ? self.size(i - (rank - self.dim())) : 1;
    const int64_t y = i - (rank - other.dim()) >= 0 ? other.size(i - (rank - other.dim())) : 1;
    left.push_back(x), left.push_back(1);
    right.push_back(1), right.push_back(y);
    int64_t size;
    TORCH_CHECK(!__builtin_mul_overflow(x, y, &size), "kron: the size of the result overflows for ", self.sizes(), " and ", other.sizes());
    sizes.push_back(size);
  }
  return at::reshape(at::mul(at::reshape(self, left), at::reshape(other, right)), sizes);
}

Tensor tensordot(const Tensor& self, const Tensor& other, IntArrayRef dims_self, IntArrayRef dims_other) {
  TORCH_CHECK(dims_self.size() == dims_other.size(), "both dimension lists should have same length");
  TORCH_CHECK(self.scalar_type() == other.scalar_type(), "both inputs should have same dtype");
  std::vector<bool> first(static_cast<size_t>(self.dim()) + 1), second(static_cast<size_t>(other.dim()) + 1);
  // A dimension of size 1 stands for as many equal ones as the other tensor has: that one is summed.
  DimVector summed_self, summed_other;
  DimVector contracted_self, contracted_other, kept_self, kept_other, sizes;
  int64_t k = 1, m = 1, n = 1;
  for (size_t i = 0; i < dims_self.size(); ++i) {
    const int64_t d = maybe_wrap_dim(dims_self[i], self.dim()), e = maybe_wrap_dim(dims_other[i], other.dim());
    TORCH_CHECK(self.dim() > 0 && other.dim() > 0, "tensordot: a 0-dim tensor has no dimension to contract");
    TORCH_CHECK(!first[d], "dim ", d, " appears multiple times in the list of dims");
    TORCH_CHECK(!second[e], "dim ", e, " appears multiple times in the list of dims");
    first[d] = second[e] = true;
    TORCH_CHECK(self.size(d) == other.size(e) || self.size(d) == 1 || other.size(e) == 1, "contracted dimensions need to match, but first has size ", self.size(d),
                " in dim ", dims_self[i], " and second has size ", other.size(e), " in dim ", dims_other[i]);
    contracted_self.push_back(d);
    contracted_other.push_back(e);
    k *= std::min(self.size(d), other.size(e));
    if (self.size(d) != other.size(e)) (self.size(d) == 1 ? summed_other : summed_self).push_back(self.size(d) == 1 ? e : d);
  }
  for (int64_t d = 0; d < self.dim(); ++d)
    if (!first[d]) kept_self.push_back(d), sizes.push_back(self.size(d)), m *= self.size(d);
  for (int64_t d = 0; d < other.dim(); ++d)
    if (!second[d]) kept_other.push_back(d), sizes.push_back(other.size(d)), n *= other.size(d);
  const auto summed = [](const Tensor& t, const DimVector& dims) { return dims.empty() ? t : at::sum(t, dims, true); };
  const Tensor left =
      at::reshape(at::permute(summed(self, summed_self), joined(kept_self, contracted_self)), {m, k});
  const Tensor right =
      at::reshape(at::permute(summed(other, summed_other), joined(contracted_other, kept_other)), {k, n});
  return at::reshape(at::mm(left, right), sizes);
}

Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const std::optional<Tensor>& bias) {
  TORCH_CHECK(input1.dim() == input2.dim() && input1.dim() > 0,
              "bilinear(): input dimensions do not match: got ", input1.dim(), " and ", input2.dim());
  for (int64_t i = 0; i + 1 < input1.dim(); ++i)
    TORCH_CHECK(input1.size(i) == input2.size(i), "bilinear(): input batch dimensions do not match at dim ", i, ": got ",
                input1.size(i), " and ", input2.size(i));
  TORCH_CHECK(weight.dim() == 3, "bilinear(): weight must be 3-dimensional, got ", weight.dim());
  TORCH_CHECK(input1.size(-1) == weight.size(1), "bilinear(): input1 size does not match weight size: got ", input1.size(-1),
              " but expected ", weight.size(1));
  TORCH_CHECK(input2.size(-1) == weight.size(2), "bilinear(): input2 size does not match weight size: got ", input2.size(-1),
              " but expected ", weight.size(2));
  const IntArrayRef outer = input1.sizes().slice(0, static_cast<size_t>(input1.dim() - 1));
  const int64_t rows = product_of(outer), o = weight.size(0), i = weight.size(1), j = weight.size(2);
  const Tensor x = at::reshape(input1, {rows, i}), y = at::reshape(input2, {rows, j, 1});
  const Tensor by_input = at::reshape(at::permute(weight, {1, 0, 2}), {i, o * j});
  Tensor result = at::reshape(at::bmm(at::reshape(at::mm(x, by_input), {rows, o, j}), y), joined(outer, {o}));
  if (bias.has_value() && bias->defined()) {
    TORCH_CHECK(bias->dim() == 1 && bias->size(0) == o, "bilinear(): bias size does not match weight size: got ", bias->sizes(),
                " but expected ", o);
    result = at::add(result, *bias);
  }
  return result;
}

namespace {

// The product of matrices [first, last] in the order that `split` chose.
Tensor chain(TensorList matrices, const std::vector<std::vector<size_t>>& split, size_t first, size_t last) {
  if (first == last) return matrices[first];
  const size_t at = split[first][last];
  return at::mm(chain(matrices, split, first, at), chain(matrices, split, at + 1, last));
}

}  // namespace

Tensor multiply_chain(TensorList matrices) {
  const size_t n = matrices.size();
  // The cheapest order, by the classic recurrence over intervals (Cormen et al., "Introduction to Algorithms", 15.2).
  std::vector<std::vector<double>> cost(n, std::vector<double>(n, 0));
  std::vector<std::vector<size_t>> split(n, std::vector<size_t>(n, 0));
  for (size_t length = 1; length < n; ++length) {
    for (size_t i = 0; i + length < n; ++i) {
      const size_t j = i + length;
      cost[i][j] = std::numeric_limits<double>::infinity();
      for (size_t s = i; s < j; ++s) {
        const double c = cost[i][s] + cost[s + 1][j] + static_cast<double>(matrices[i].size(0)) *
                                                           static_cast<double>(matrices[s].size(1)) * static_cast<double>(matrices[j].size(1));
        if (c < cost[i][j]) cost[i][j] = c, split[i][j] = s;
      }
    }
  }
  return chain(matrices, split, 0, n - 1);
}

Tensor chain_matmul(TensorList matrices) {
  KD_WARN_DEPRECATION_ONCE("torch.chain_matmul is deprecated and will be removed in a future release. Use torch.linalg.multi_dot "
                           "instead, which accepts a list of two or more tensors rather than multiple parameters.");
  TORCH_CHECK(!matrices.empty(), "chain_matmul(): Expected one or more matrices");
  for (const Tensor& m : matrices) TORCH_CHECK(m.dim() == 2, "Tensor dimension is ", m.dim(), ", expected 2 instead.");
  const size_t n = matrices.size();
  if (n == 1) return at::clone(matrices[0], std::nullopt);
  for (size_t i = 0; i + 1 < n; ++i)
    TORCH_CHECK(matrices[i].size(1) == matrices[i + 1].size(0), "multi_dot(): tensors ", i, " and ", i + 1, " with shapes ",
                matrices[i].sizes(), " and ", matrices[i + 1].sizes(), " cannot be multiplied");
  return multiply_chain(matrices);
}

Tensor cross(const Tensor& self, const Tensor& other, std::optional<int64_t> dim) {
  check_same_device({&self, &other});
  TORCH_CHECK(self.dim() == other.dim(), "inconsistent tensors dimensions input: ", self.dim(), " other: ", other.dim());
  const DimVector sizes = broadcast_shapes(self.sizes(), other.sizes());
  int64_t d = -1;
  if (dim.has_value()) {
    d = maybe_wrap_dim(*dim, self.dim());
    TORCH_CHECK(self.dim() > 0 && self.size(d) == 3 && other.size(d) == 3, "linalg.cross: inputs dimension ", *dim,
                " must have length 3. Got ", self.dim() > 0 ? self.size(d) : 1, " and ", other.dim() > 0 ? other.size(d) : 1);
  } else {
    KD_WARN_DEPRECATION_ONCE(
        "Using torch.cross without specifying the dim arg is deprecated. Please either pass the dim explicitly or simply use "
        "torch.linalg.cross. The default value of dim will change to agree with that of linalg.cross in a future release.");
    for (int64_t i = self.dim() - 1; i >= 0; --i)
      if (self.size(i) == 3 && other.size(i) == 3) d = i;
    TORCH_CHECK(d >= 0, "no dimension of size 3 in input");
  }
  const Tensor a = at::expand(self, sizes, false), b = at::expand(other, sizes, false);
  auto turned = [d](const Tensor& t, int64_t by) { return at::roll(t, IntArrayRef{by}, IntArrayRef{d}); };
  return at::sub(at::mul(turned(a, -1), turned(b, -2)), at::mul(turned(a, -2), turned(b, -1)));
}

namespace {

// With new dimensions of size 1 at the places `dims` of the result.
Tensor expanded(Tensor t, IntArrayRef dims) {
  for (int64_t d : dims) t = at::unsqueeze(t, d);
  return t;
}

}  // namespace

// The product of the three, broadcast together after each got its new dimensions, summed over `sumdim`.
Tensor trilinear(const Tensor& i1, const Tensor& i2, const Tensor& i3, IntArrayRef expand1, IntArrayRef expand2,
                 IntArrayRef expand3, IntArrayRef sumdim, int64_t unroll_dim) {
  const int64_t rank = i1.dim() + static_cast<int64_t>(expand1.size());
  TORCH_CHECK(i2.dim() + static_cast<int64_t>(expand2.size()) == rank &&
                  i3.dim() + static_cast<int64_t>(expand3.size()) == rank,
              "_trilinear: expected as many dimensions of all three with the expanded ones, but got ", i1.sizes(), ", ",
              i2.sizes(), " and ", i3.sizes());
  TORCH_CHECK(unroll_dim >= 0 && unroll_dim < rank, "_trilinear: unroll_dim must be in [0, ", rank - 1, "], but got ",
              unroll_dim);
  // Two products and a sum are rounded once.
  const ScalarType type = i1.scalar_type();
  if (isReducedFloatingType(type) && i2.scalar_type() == type && i3.scalar_type() == type) {
    const auto wide = [](const Tensor& t) { return at::to(t, kFloat); };
    return at::to(trilinear(wide(i1), wide(i2), wide(i3), expand1, expand2, expand3, sumdim, unroll_dim), type);
  }
  const Tensor product = at::mul(at::mul(expanded(i1, expand1), expanded(i2, expand2)), expanded(i3, expand3));
  return sumdim.empty() ? product : at::sum(product, sumdim, false, product.scalar_type());
}

// coefficients [m, n] times input [n, ...] along its first dimension.
Tensor compute_linear_combination(const Tensor& input, const Tensor& coefficients) {
  TORCH_CHECK(input.dim() >= 1 && input.numel() > 0,
              "_compute_linear_combination: expected an input of at least one dimension ",
              "with elements, but got sizes ", input.sizes());
  TORCH_CHECK(coefficients.dim() == 2 && coefficients.size(1) == input.size(0),
              "_compute_linear_combination: expected coefficients of ", input.size(0), " columns, but got sizes ",
              coefficients.sizes());
  const DimVector sizes = joined(IntArrayRef{coefficients.size(0)}, input.sizes().slice(1));
  return at::reshape(at::mm(coefficients, at::reshape(input, {input.size(0), -1})), sizes);
}

}  // namespace at::native
