#include "aten/core/tensor_indexing.h"

#include <cstring>
#include <limits>
#include <ostream>

#include "aten/core/empty.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/view/ops.h"

namespace at {
namespace indexing {

Slice::Slice(std::optional<int64_t> start, std::optional<int64_t> stop, std::optional<int64_t> step)
    : step_(step.value_or(1)) {
  TORCH_CHECK_VALUE(step_ != 0, "slice step cannot be zero");
  start_ = start.value_or(step_ < 0 ? INDEX_MAX : 0);
  stop_ = stop.value_or(step_ < 0 ? INDEX_MIN : INDEX_MAX);
}

TensorIndex::TensorIndex(const char* text) : value_(Ellipsis) {
  TORCH_CHECK_VALUE(
      std::strcmp(text, "...") == 0, "Expected \"...\" to represent an ellipsis index, but got \"", text, "\"");
}

void to_text(std::string& out, const Slice& slice) {
  out += str(slice.start(), ":", slice.stop(), ":", slice.step());
}

void to_text(std::string& out, const TensorIndex& index) {
  if (index.is_none()) {
    out += "None";
  } else if (index.is_ellipsis()) {
    out += "...";
  } else if (index.is_integer()) {
    out += str(index.integer());
  } else if (index.is_boolean()) {
    out += index.boolean() ? "true" : "false";
  } else if (index.is_slice()) {
    to_text(out, index.slice());
  } else {
    out += str(index.tensor().toString(), index.tensor().sizes());
  }
}

std::ostream& operator<<(std::ostream& stream, const Slice& slice) {
  return stream << str(slice);
}

std::ostream& operator<<(std::ostream& stream, const TensorIndex& index) {
  return stream << str(index);
}

void to_text(std::string& out, const std::vector<TensorIndex>& indices) {
  out += str('(', Join(", ", indices), ')');
}

std::ostream& operator<<(std::ostream& stream, const std::vector<TensorIndex>& indices) {
  return stream << str(indices);
}

namespace {

struct Applied {
  Tensor view;
  // A tensor for each dimension of `view` that one indexes; undefined elsewhere.
  std::vector<Tensor> tensors;
  bool has_tensors = false;
};

// Whether a tensor says of each element if it is meant.
bool is_mask(const Tensor& index) {
  return index.scalar_type() == ScalarType::Bool || index.scalar_type() == ScalarType::Byte;
}

int64_t dims_taken(const TensorIndex& index) {
  if (index.is_integer() || index.is_slice()) return 1;
  if (!index.is_tensor()) return 0;
  return is_mask(index.tensor()) ? index.tensor().dim() : 1;
}

// A bool index as a tensor of one element on a new leading dimension: true selects it, false selects nothing.
Tensor boolean_index(bool value, Device device) {
  Tensor index = empty_contiguous({value ? 1 : 0}, ScalarType::Long, device);
  at::zero_(index);
  return index;
}

Applied apply(const char* method, const Tensor& self, ArrayRef<TensorIndex> indices, bool every_slice) {
  TORCH_CHECK(!indices.empty(), "Passing an empty index list to Tensor::", method, "() is not valid syntax");
  int64_t taken = 0;
  int64_t ellipses = 0;
  for (const TensorIndex& index : indices) {
    taken += dims_taken(index);
    ellipses += index.is_ellipsis();
  }
  TORCH_CHECK_INDEX(ellipses <= 1, "an index can only have a single ellipsis ('...')");
  TORCH_CHECK_INDEX(self.dim() > 0 || indices.size() > 1 || !indices[0].is_integer(),
                    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to "
                    "convert a 0-dim tensor to a number");
  TORCH_CHECK_INDEX(taken <= self.dim(), "too many indices for tensor of dimension ", self.dim());

  Applied result{self, {}, false};
  // Where the next index applies: in the view, and in self.
  int64_t dim = 0;
  int64_t self_dim = 0;
  const auto select = [&](int64_t i) {
    const int64_t size = self.size(self_dim);
    TORCH_CHECK_INDEX(
        i >= -size && i < size, "index ", i, " is out of bounds for dimension ", self_dim, " with size ", size);
    result.view = at::select(result.view, dim, i);
  };
  auto place = [&](Tensor tensor) {
    result.tensors.resize(dim + 1);
    result.tensors[dim++] = std::move(tensor);
    result.has_tensors = true;
  };
  for (const TensorIndex& index : indices) {
    if (index.is_none()) {
      result.view = at::unsqueeze(result.view, dim++);
    } else if (index.is_ellipsis()) {
      dim += self.dim() - taken;
      self_dim += self.dim() - taken;
    } else if (index.is_integer()) {
      select(index.integer());
    } else if (index.is_slice()) {
      const Slice& slice = index.slice();
      TORCH_CHECK_VALUE(slice.step() > 0, "step must be greater than zero");
      const int64_t size = result.view.sizes()[static_cast<size_t>(dim)];  // -1 where parts differ in it
      const bool to_end = slice.stop() == std::numeric_limits<int64_t>::max() || (size >= 0 && slice.stop() >= size);
      if (every_slice || slice.start() != 0 || !to_end || slice.step() != 1) {
        result.view = at::slice(result.view, dim, slice.start(), slice.stop(), slice.step());
      }
      ++dim;
    } else if (index.is_boolean()) {
      result.view = at::unsqueeze(result.view, dim);
      place(boolean_index(index.boolean(), self.device()));
    } else {
      const Tensor& tensor = index.tensor();
      const bool mask = is_mask(tensor);
      if (tensor.dim() == 0 && mask) {
        result.view = at::unsqueeze(result.view, dim);
        place(boolean_index(at::item(tensor).toBool(), self.device()));
      } else if (tensor.dim() == 0 && isIntegralType(tensor.scalar_type(), false)) {
        select(at::item(tensor).toLong());
      } else {
        place(tensor);
        if (mask) {
          dim += tensor.dim() - 1;
          result.tensors.resize(dim);
        }
      }
    }
    self_dim += dims_taken(index);
  }
  return result;
}

// Masks stand for all their dimensions at once: the following empty places of theirs are dropped.
c10::List<std::optional<Tensor>> index_list(const Applied& applied) {
  c10::List<std::optional<Tensor>> list;
  for (size_t d = 0; d < applied.tensors.size();) {
    const Tensor& tensor = applied.tensors[d];
    if (!tensor.defined()) {
      list.push_back(std::nullopt);
      ++d;
      continue;
    }
    list.push_back(tensor);
    d += is_mask(tensor) ? tensor.dim() : 1;
  }
  return list;
}

}  // namespace

Tensor get_item(const Tensor& self, ArrayRef<TensorIndex> indices, bool disable_slice_optimization) {
  const Applied applied = apply("index", self, indices, disable_slice_optimization);
  if (applied.has_tensors) return at::index(applied.view, index_list(applied));
  return applied.view.is_same(self) ? at::alias(self) : applied.view;
}

void set_item(const Tensor& self, ArrayRef<TensorIndex> indices, const Tensor& values, bool disable_slice_optimization) {
  Applied applied = apply("index_put_", self, indices, disable_slice_optimization);
  // Leading dimensions of size 1 change nothing where the target has them and are dropped where it lacks them.
  Tensor source = values;
  while (source.dim() > 0 && source.size(0) == 1) source = at::squeeze(source, 0);
  if (applied.has_tensors) {
    at::index_put_(applied.view, index_list(applied), source, /*accumulate=*/false);
  } else {
    TORCH_CHECK(source.dim() <= applied.view.dim(), "expand(", source.toString(), "{", source.sizes(),
                "}, size=", applied.view.sizes(), "): the number of sizes provided (", applied.view.dim(),
                ") must be greater or equal to the number of dimensions in the tensor (", source.dim(), ")");
    at::copy_(applied.view, source);
  }
}

void set_item(const Tensor& self, ArrayRef<TensorIndex> indices, const Scalar& value, bool disable_slice_optimization) {
  Applied applied = apply("index_put_", self, indices, disable_slice_optimization);
  if (applied.has_tensors) {
    Tensor values = empty_contiguous({}, self.scalar_type(), self.device());
    at::fill_(values, value);
    at::index_put_(applied.view, index_list(applied), values, /*accumulate=*/false);
  } else {
    at::fill_(applied.view, value);
  }
}

}  // namespace indexing

Tensor Tensor::operator[](int64_t index) const {
  return at::select(*this, 0, index);
}

Tensor Tensor::operator[](const Scalar& index) const {
  TORCH_CHECK_INDEX(index.isIntegral(false), "Can only index tensors with integral scalars");
  return at::select(*this, 0, index.toLong());
}

Tensor Tensor::operator[](const Tensor& index) const {
  TORCH_CHECK_INDEX(index.defined(), "Can only index with tensors that are defined");
  TORCH_CHECK_INDEX(index.dim() == 0, "Can only index with tensors that are scalars (zero-dim)");
  return (*this)[at::item(index)];
}

Tensor Tensor::index(ArrayRef<indexing::TensorIndex> indices) const {
  return indexing::get_item(*this, indices);
}

Tensor Tensor::index(std::initializer_list<indexing::TensorIndex> indices) const {
  return indexing::get_item(*this, ArrayRef<indexing::TensorIndex>(indices));
}

// These methods are const, as all of a handle's are; what they return is the handle itself.
Tensor& Tensor::index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& values) const {
  indexing::set_item(*this, indices, values);
  return const_cast<Tensor&>(*this);
}

Tensor& Tensor::index_put_(ArrayRef<indexing::TensorIndex> indices, const Scalar& value) const {
  indexing::set_item(*this, indices, value);
  return const_cast<Tensor&>(*this);
}

Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& values) const {
  return index_put_(ArrayRef<indexing::TensorIndex>(indices), values);
}

Tensor& Tensor::index_put_(std::initializer_list<indexing::TensorIndex> indices, const Scalar& value) const {
  return index_put_(ArrayRef<indexing::TensorIndex>(indices), value);
}

Tensor& Tensor::operator=(const Tensor& other) && {
  at::copy_(*this, other);
  return *this;
}

Tensor& Tensor::operator=(Tensor&& other) && {
  at::copy_(*this, other);
  return *this;
}

Tensor& Tensor::operator=(const Scalar& value) && {
  at::fill_(*this, value);
  return *this;
}

}  // namespace at
