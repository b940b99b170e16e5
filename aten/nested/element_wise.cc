#include "aten/nested/element_wise.h"

#include <algorithm>
#include <string>

#include "aten/core/empty.h"
#include "aten/nested/nested_parts.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/reduce/ops.h"

namespace at::nested {
namespace {

// "add.Tensor" without the overload.
std::string base_name(const char* op) {
  const std::string name = op;
  return name.substr(0, name.find('.'));
}

[[noreturn]] void refuse_jagged(const char* op, std::initializer_list<const Tensor*> tensors) {
  const std::string name = op;
  std::string shapes;
  size_t count = 0;
  for (const Tensor* t : tensors) {
    if (t == nullptr || !t->defined()) continue;
    shapes += (count == 0 ? "" : " and ") + size_text(*t);
    ++count;
  }
  TORCH_CHECK(false, "cannot call ", count == 2 ? "binary " : "", "pointwise function ", name,
              name.find('.') == std::string::npos ? ".default" : "", " with inputs of shapes ", shapes);
}

// For each place of the packed dimension the part that it belongs to; the first for those in none.
Tensor parts_of_places(const RaggedStructure& ragged, int64_t places, Device device) {
  const Tensor result = empty_contiguous({places}, kLong);
  int64_t* const data = static_cast<int64_t*>(result.data_ptr());
  std::fill_n(data, places, 0);
  for (size_t i = 0; i < ragged.begin.size(); ++i) {
    std::fill_n(data + ragged.begin[i], ragged.length[i], static_cast<int64_t>(i));
  }
  return at::to(result, device, kLong);
}

// A dense tensor of parts x dimensions, of size 1 in the ragged one, as it goes with the values; of one row for all
// parts or one for each.
Tensor rows_for_values(const Tensor& dense, const Tensor& like) {
  const Jagged& jagged = jagged_of(like);
  if (dense.size(0) == 1) return at::select(dense, 0, 0);
  if (dense.size(0) == 0) return at::sum(dense, IntArrayRef({0}));
  const int64_t places = impl_of("broadcast", like).buffer().size(jagged.dim - 1);
  const Tensor rows =
      at::index_select(at::select(dense, jagged.dim, 0), 0, parts_of_places(*jagged.ragged, places, dense.device()));
  return at::movedim(rows, 0, jagged.dim - 1);
}

// The parts of the dense `other` that go with those of the strided nested tensor of `shape`: other[i], which has the
// number of dimensions of a part and is broadcast to it.
std::vector<Tensor> dense_parts(const char* op, const NestedShape& shape, const Tensor& other, bool nested_first) {
  TORCH_CHECK(other.dim() == shape.dims + 1 && other.size(0) == shape.parts,
              "Expected both self and other to be nested, but got a ",
              nested_first ? "nested self and non-nested other" : "non-nested self and nested other", " of size ",
              other.sizes(), ", which does not broadcast to the parts, in ", base_name(op));
  std::vector<Tensor> parts = at::unbind(other);
  for (int64_t i = 0; i < shape.parts; ++i) {
    const IntArrayRef own = shape.sizes_of(i), given = parts[static_cast<size_t>(i)].sizes();
    for (size_t d = 0; d < own.size(); ++d) {
      TORCH_CHECK(given[d] == own[d] || given[d] == 1, base_name(op), ": the dense tensor's part ", i, " has size ",
                  given, ", which does not broadcast to that of the nested one, ", own);
    }
  }
  return parts;
}

}  // namespace

ElementWise::ElementWise(const char* op, std::initializer_list<const Tensor*> tensors) {
  for (const Tensor* t : tensors) {
    if (t == nullptr || !t->defined() || !t->is_nested()) continue;
    if (!like_.defined()) like_ = *t;
    TORCH_CHECK(is_jagged(*t) == is_jagged(like_), base_name(op),
                ": nested tensors of the strided and of the jagged layout do not go together");
  }
  parts_ = impl_of(op, like_).part_count();
  is_jagged(like_) ? take_jagged(op, tensors) : take_strided(op, tensors);
}

void ElementWise::take_jagged(const char* op, std::initializer_list<const Tensor*> tensors) {
  const Jagged& own = jagged_of(like_);
  const int64_t dims = like_.dim();
  for (const Tensor* t : tensors) {
    if (t == nullptr || !t->defined()) continue;
    Argument argument{t->unsafeGetTensorImpl(), {}, {}};
    if (t->is_nested()) {
      const Jagged& other = jagged_of(*t);
      if (t->dim() != dims || other.dim != own.dim || other.ragged != own.ragged) refuse_jagged(op, tensors);
      argument.elements = at::_nested_get_values(*t);
    } else {
      TORCH_CHECK_NOT_IMPLEMENTED(t->dim() <= dims, base_name(op), "(): broadcasting NT with T with larger dim");
      const int64_t ragged = own.dim - (dims - t->dim());
      const bool fits = ragged < 0 || t->size(ragged) == 1;
      if (!fits || (t->dim() == dims && t->size(0) != 1 && t->size(0) != parts_)) refuse_jagged(op, tensors);
      argument.elements = t->dim() == dims ? rows_for_values(*t, like_) : *t;
    }
    arguments_.push_back(std::move(argument));
  }
}

void ElementWise::take_strided(const char* op, std::initializer_list<const Tensor*> tensors) {
  const NestedShape& shape = *impl_of(op, like_).shape();
  bool first = true, nested_first = true;
  for (const Tensor* t : tensors) {
    if (t == nullptr || !t->defined()) continue;
    if (std::exchange(first, false)) nested_first = t->is_nested();
    if (!t->is_nested()) {
      at_once_ &= t->dim() == 0;
      continue;
    }
    const NestedTensorImpl& impl = impl_of(op, *t);
    TORCH_CHECK(same_sizes(*impl.shape(), shape), base_name(op),
                " does not support broadcasting when given a NestedTensor");
    at_once_ &= impl.fills_buffer() && same_places(*impl.shape(), shape);
  }
  for (const Tensor* t : tensors) {
    if (t == nullptr || !t->defined()) continue;
    Argument argument{t->unsafeGetTensorImpl(), {}, {}};
    if (t->is_nested()) {
      if (at_once_) argument.elements = at::_nested_values(*t);
      if (!at_once_) argument.parts = at::_nested_unbind(*t);
    } else {
      argument.elements = *t;
      if (t->dim() > 0) argument.parts = dense_parts(op, shape, *t, nested_first);
    }
    arguments_.push_back(std::move(argument));
  }
}

const ElementWise::Argument& ElementWise::argument(const Tensor& t) const {
  const auto found = std::find_if(arguments_.begin(), arguments_.end(),
                                  [&](const Argument& a) { return a.tensor == t.unsafeGetTensorImpl(); });
  TORCH_INTERNAL_ASSERT(found != arguments_.end());
  return *found;
}

Tensor ElementWise::of(const Tensor& t, int64_t i) const {
  if (!t.defined()) return t;
  const Argument& own = argument(t);
  if (i < 0) return own.elements;
  if (!own.parts.empty()) return own.parts[static_cast<size_t>(i)];
  if (!is_jagged(like_)) return own.elements;  // a number
  const Jagged& jagged = jagged_of(like_);
  const int64_t ragged = jagged.dim - (like_.dim() - own.elements.dim());
  if (ragged < 0 || own.elements.size(ragged) == 1) return own.elements;
  const int64_t begin = jagged.ragged->begin[static_cast<size_t>(i)];
  return at::slice(own.elements, ragged, begin, begin + jagged.ragged->length[static_cast<size_t>(i)]);
}

Tensor ElementWise::own(Tensor& self, int64_t i) const {
  const NestedTensorImpl& impl = impl_of("in place", self);
  return i < 0 ? impl.buffer() : impl.part(i);
}

bool ElementWise::fills(const Tensor& self) const {
  return impl_of("in place", self).fills_buffer();
}

void check_nested(const Tensor& self) {
  TORCH_CHECK(self.is_nested(),
              "Expected both self and other to be nested, but got a non-nested self and nested other");
}

Tensor ElementWise::made(const Tensor& elements) const {
  return is_jagged(like_) ? with_values(elements, like_) : in_shape(elements, *impl_of("result", like_).shape());
}

Tensor ElementWise::made(const std::vector<Tensor>& parts) const {
  return joined(parts, like_);
}

}  // namespace at::nested
