// Tuples of elements, powers and classes as rows.
#include <algorithm>
#include <limits>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/composite/kernels.h"
#include "aten/ops/composite/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {

Tensor cartesian_prod(TensorList tensors) {
  for (const Tensor& tensor : tensors) {
    TORCH_CHECK(tensor.dim() == 1, "Expect a 1D vector, but got shape ", tensor.sizes());
  }
  if (tensors.size() == 1) return tensors[0];
  std::vector<Tensor> columns = at::meshgrid(tensors, "ij");
  for (Tensor& column : columns) column = at::reshape(column, {-1});
  return at::stack(columns, 1);
}

namespace {

// How many rows of r elements out of n there are: n over r, with replacement n + r - 1 over r. Throws ValueError where their
// elements overflow.
int64_t number_of_combinations(int64_t n, int64_t r, bool with_replacement) {
  using Wide = unsigned __int128;
  const Wide of = Wide(n) + (with_replacement ? Wide(r) - 1 : 0);
  const Wide chosen = std::min(Wide(r), of - Wide(r));
  Wide count = 1;
  for (Wide i = 1; i <= chosen; ++i) {
    count = count * (of - chosen + i) / i;
    TORCH_CHECK_VALUE(count <= Wide(std::numeric_limits<int64_t>::max()) / Wide(r), "combinations: the number of combinations of ",
                      r, " out of ", n, " elements overflows");
  }
  return static_cast<int64_t>(count);
}

}  // namespace

Tensor combinations(const Tensor& self, int64_t r, bool with_replacement) {
  TORCH_CHECK(self.dim() == 1, "Expect a 1D vector, but got shape ", self.sizes());
  TORCH_CHECK(r >= 0, "Expect a non-negative number, but got ", r);
  if (r == 0) return at::slice(self, 0, 0, 0);
  const int64_t n = self.numel();
  if (n == 0 || (!with_replacement && r > n)) return at::expand(at::slice(at::unsqueeze(self, 1), 0, 0, 0), {0, r});
  // Index tuples in lexicographic order: strictly increasing, or not decreasing with replacement.
  const int64_t count = number_of_combinations(n, r, with_replacement);
  const Tensor index = empty_contiguous({count * r}, ScalarType::Long);
  int64_t* row = index.data_ptr<int64_t>();
  for (int64_t i = 0; i < r; ++i) row[i] = with_replacement ? 0 : i;
  for (int64_t k = 1; k < count; ++k, row += r) {
    int64_t i = r - 1;
    while (row[i] == (with_replacement ? n - 1 : n - r + i)) --i;
    std::copy(row, row + i, row + r);
    for (int64_t j = i; j < r; ++j) row[r + j] = row[i] + 1 + (with_replacement ? 0 : j - i);
  }
  return at::reshape(at::index_select(self, 0, at::to(index, self.device(), ScalarType::Long)), {count, r});
}

Tensor vander(const Tensor& x, std::optional<int64_t> N, bool increasing) {
  TORCH_CHECK(x.dim() == 1, "x must be a one-dimensional tensor.");
  const int64_t count = N.value_or(x.size(0));
  TORCH_CHECK(count >= 0, "N must be non-negative.");
  const Tensor powers = increasing ? at::arange(count, TensorOptions(kLong).device(x.device()))
                                   : at::arange(count - 1, -1, -1, TensorOptions(kLong).device(x.device()));
  return at::pow(at::unsqueeze(x, 1), powers);
}

Tensor one_hot(const Tensor& self, int64_t num_classes) {
  TORCH_CHECK(
      self.scalar_type() == ScalarType::Long, "one_hot is only applicable to index tensor of type LongTensor.");
  TORCH_CHECK(
      self.numel() != 0 || num_classes > 0, "Can not infer total number of classes from empty tensor.");
  // On meta the classes are not known; only where their number is asked for, that matters.
  const bool known = self.numel() != 0 && !(self.is_meta() && num_classes != -1);
  TORCH_CHECK(!known || at::item(at::min(self)).toLong() >= 0, "Class values must be non-negative.");
  const int64_t largest = known ? at::item(at::max(self)).toLong() : -1;
  TORCH_CHECK(largest < std::numeric_limits<int64_t>::max(), "Class values must be smaller than num_classes.");
  const int64_t least = largest + 1;
  if (num_classes == -1) num_classes = least;
  TORCH_CHECK(num_classes > 0, "num_classes should be positive");
  TORCH_CHECK(num_classes >= least, "Class values must be smaller than num_classes.");
  if (self.is_nested()) {  // whose sizes are not all numbers
    const Tensor classes = at::arange(num_classes, TensorOptions(ScalarType::Long).device(self.device()));
    return at::_to_copy(at::eq(at::unsqueeze(self, -1), classes), TensorOptions().dtype(ScalarType::Long));
  }
  DimVector sizes(self.sizes().begin(), self.sizes().end());
  sizes.push_back(num_classes);
  Tensor result = empty_contiguous(sizes, ScalarType::Long, self.device());
  at::zero_(result);
  at::scatter_(result, -1, at::unsqueeze(self, -1), Scalar(1));
  return result;
}

Tensor test_ambiguous_defaults(const Tensor& dummy, int64_t a, int64_t b) {
  TORCH_CHECK(a == 1 && b == 1, "_test_ambiguous_defaults: expected 1 and 1, got ", a, " and ", b);
  return at::scalar_tensor(5, dummy.options());
}
Tensor test_ambiguous_defaults_text(const Tensor& dummy, int64_t a, std::string_view b) {
  TORCH_CHECK(a == 2 && b == "2", "_test_ambiguous_defaults: expected 2 and \"2\", got ", a, " and \"", b, "\"");
  return at::scalar_tensor(5, dummy.options());
}

}  // namespace at::native
