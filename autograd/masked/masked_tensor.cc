#include "autograd/masked/masked_tensor.h"

#include <algorithm>
#include <cstdio>
#include <ostream>

#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/conv/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/linalg/ops.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/rearrange/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/sparse/ops.h"
#include "aten/ops/special/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "autograd/masked/reductions.h"
#include "c10/core/grad_mode.h"
#include "c10/util/exception.h"
#include "c10/util/string_util.h"

namespace torch::masked {
namespace {

using at::OptionalIntArrayRef;
using at::Scalar;

bool is_coo(const Tensor& t) {
  return t.layout() == at::kSparse;
}
bool is_csr(const Tensor& t) {
  return t.layout() == at::kSparseCsr;
}
bool is_sparse(const Tensor& t) {
  return is_coo(t) || is_csr(t);
}

bool same_indices(const Tensor& a, const Tensor& b) {
  if (is_coo(a)) return at::equal(at::_indices(a), at::_indices(b));
  return at::equal(at::crow_indices(a), at::crow_indices(b)) && at::equal(at::col_indices(a), at::col_indices(b));
}

Tensor values_of(const Tensor& t) {
  return is_sparse(t) ? at::values(t) : t;
}

// The same entries with other values.
Tensor with_values(const Tensor& like, const Tensor& values) {
  const at::TensorOptions options = at::TensorOptions(values.scalar_type()).device(values.device());
  if (is_coo(like))
    return at::sparse_coo_tensor(at::indices(like), values, like.sizes(), options, /*is_coalesced=*/true);
  if (is_csr(like)) {
    return at::sparse_csr_tensor(at::crow_indices(like), at::col_indices(like), values, like.sizes(),
                                 options.layout(at::kSparseCsr));
  }
  return values;
}

bool same_mask(const Tensor& a, const Tensor& b) {
  if (a.is_same(b)) return true;
  if (a.layout() != b.layout() || a.sizes() != b.sizes()) return false;
  return (!is_sparse(a) || same_indices(a, b)) && at::equal(values_of(a), values_of(b));
}

void check_masks(const MaskedTensor& a, const MaskedTensor& b) {
  TORCH_CHECK_VALUE(same_mask(a.get_mask(), b.get_mask()), "Input masks must match.");
  TORCH_CHECK_VALUE(!a.is_sparse() || same_indices(a.get_data(), b.get_data()),
                    "the indices of sparse inputs must match.");
}

template <class F>
MaskedTensor unary(const MaskedTensor& self, const F& f) {
  return {with_values(self.get_data(), f(values_of(self.get_data()))), self.get_mask()};
}

// The data of an operand beside one whose gradient sums over elements: 1 where it is not specified, so that nothing
// there, infinity or NaN, gets into the sum.
Tensor operand(const MaskedTensor& self, const Tensor& other) {
  const bool summed = other.requires_grad() && c10::GradMode::is_enabled();
  return summed ? at::masked_fill(self.get_data(), at::logical_not(self.get_mask()), 1) : self.get_data();
}

// Specified where `mask` is, and which broadcasts.
MaskedTensor specified(const Tensor& data, const Tensor& mask) {
  return {data, is_sparse(data) || mask.sizes() == data.sizes() ? mask : at::expand(mask, data.sizes())};
}

template <class F>
MaskedTensor binary(const MaskedTensor& a, const MaskedTensor& b, const F& f) {
  check_masks(a, b);
  return specified(with_values(a.get_data(), f(values_of(a.get_data()), values_of(b.get_data()))), a.get_mask());
}
template <class F>
MaskedTensor binary(const MaskedTensor& a, const Tensor& b, const F& f) {
  if (!a.is_sparse()) return specified(f(operand(a, b), b), a.get_mask());
  TORCH_CHECK_VALUE(b.dim() == 0 || (b.layout() == a.layout() && same_indices(a.get_data(), b)),
                    "MaskedTensor: expected a number or the same indices beside a sparse one");
  return {with_values(a.get_data(), f(values_of(a.get_data()), values_of(b))), a.get_mask()};
}

template <class F>
MaskedTensor both(const MaskedTensor& self, const F& f) {
  return {f(self.get_data()), f(self.get_mask())};
}

std::pair<std::vector<Tensor>, std::vector<Tensor>> lists(const std::vector<MaskedTensor>& tensors) {
  std::pair<std::vector<Tensor>, std::vector<Tensor>> result;
  for (const MaskedTensor& t : tensors) {
    result.first.push_back(t.get_data());
    result.second.push_back(t.get_mask());
  }
  return result;
}
std::vector<MaskedTensor> together(const std::vector<Tensor>& data, const std::vector<Tensor>& mask) {
  std::vector<MaskedTensor> result;
  for (size_t i = 0; i < data.size(); ++i) result.emplace_back(data[i], mask[i]);
  return result;
}

template <class F>
std::vector<MaskedTensor> parts(const MaskedTensor& self, const F& f) {
  return together(f(self.get_data()), f(self.get_mask()));
}
template <class F>
MaskedTensor joined(const std::vector<MaskedTensor>& tensors, const F& f) {
  const auto [data, mask] = lists(tensors);
  return {f(data), f(mask)};
}
template <class F>
std::vector<MaskedTensor> each(const std::vector<MaskedTensor>& tensors, const F& f) {
  const auto [data, mask] = lists(tensors);
  return together(f(data), f(mask));
}

// Changes the values; copies and views of the tensor see it.
template <class F>
const MaskedTensor& in_place(const MaskedTensor& self, const F& f) {
  Tensor values = values_of(self.get_data());
  f(values);
  return self;
}

// f(data, mask) for what is to be reduced; the result is specified where something was.
template <class F>
MaskedTensor reduced(const char* name, const MaskedTensor& self, OptionalIntArrayRef dim, bool keepdim, const F& f) {
  const bool whole = !dim.has_value() || dim->empty();
  if (self.is_sparse()) {
    TORCH_CHECK_NOT_IMPLEMENTED(whole && !keepdim, "MaskedTensor: ", name,
                                " of a sparse one is implemented without dimensions only");
    const Tensor mask = values_of(self.get_mask());
    return {f(values_of(self.get_data()), mask), at::any(mask)};
  }
  const Tensor& mask = self.get_mask();
  Tensor some;
  if (!whole) {
    some = at::any(mask, dim, keepdim);
  } else {
    some = at::any(mask);
    if (keepdim) some = at::view(some, std::vector<int64_t>(static_cast<size_t>(self.dim()), 1));
  }
  return {f(self.get_data(), mask), some};
}

std::string text_of(const Tensor& element) {
  if (element.scalar_type() == at::kBool) return element.item<bool>() ? "True" : "False";
  if (!element.is_floating_point()) return std::to_string(element.item<int64_t>());
  char text[400];
  std::snprintf(text, sizeof text, "%8.4f", element.item<double>());
  return text;
}

std::string indented(const std::string& text) {
  std::string result = "  ";
  for (const char c : text) {
    result += c;
    if (c == '\n') result += "  ";
  }
  return result;
}

std::string text_of(const Tensor& data, const Tensor& mask) {
  const bool row = data.dim() == 1;
  std::vector<std::string> items;
  size_t width = 0;
  std::vector<bool> shown;
  for (int64_t i = 0; i < data.size(0); ++i) {
    shown.push_back(!row || at::select(mask, 0, i).item<bool>());
    items.push_back(row ? text_of(at::select(data, 0, i))
                        : indented(text_of(at::select(data, 0, i), at::select(mask, 0, i))));
    width = std::max(width, shown.back() ? items.back().size() : size_t{8});
  }
  std::string text = row ? "[" : "[\n";
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += row ? ", " : ",\n";
    text += shown[i] ? items[i] : std::string(width - 2, ' ') + "--";
  }
  return text + (row ? "]" : "\n]");
}

}  // namespace

MaskedTensor::MaskedTensor(Tensor data, Tensor mask) : data_(std::move(data)), mask_(std::move(mask)) {
  TORCH_CHECK_TYPE(data_.defined(), "data must be a Tensor");
  TORCH_CHECK_TYPE(mask_.defined(), "mask must be a Tensor");
  TORCH_CHECK_TYPE(data_.layout() == mask_.layout(), "data and mask must have the same layout.");
  TORCH_CHECK_TYPE(data_.layout() == at::kStrided || masked::is_sparse(data_), "data layout of ", data_.layout(),
                   " is not supported.");
  TORCH_CHECK_TYPE(mask_.scalar_type() == at::kBool, "mask must have dtype bool.");
  const at::ScalarType dtype = data_.scalar_type();
  TORCH_CHECK_TYPE(dtype == at::kHalf || dtype == at::kFloat || dtype == at::kDouble || dtype == at::kBool ||
                       dtype == at::kChar || dtype == at::kShort || dtype == at::kInt || dtype == at::kLong,
                   c10::toString(dtype), " is not supported in MaskedTensor.");
  TORCH_CHECK_VALUE(data_.dim() == mask_.dim(), "data.dim() must equal mask.dim()");
  TORCH_CHECK_VALUE(data_.sizes() == mask_.sizes(), "data.size() must equal mask.size()");
  if (!is_sparse()) return;
  if (is_sparse_coo()) {
    data_ = at::coalesce(data_);
    mask_ = at::coalesce(mask_);
  }
  TORCH_CHECK_VALUE(same_indices(data_, mask_), "data and mask are both sparse but do not have the same indices.");
}

Tensor MaskedTensor::to_tensor(const Scalar& value) const {
  if (is_sparse()) return to_dense().to_tensor(value);
  return at::masked_fill(data_, at::logical_not(mask_), value);
}

Scalar MaskedTensor::item() const {
  TORCH_CHECK_VALUE(numel() != 1 || is_sparse() || mask_.item<bool>(),
                    "item(): the element of this MaskedTensor is not specified");
  return data_.item();
}

std::string MaskedTensor::str() const {
  if (is_sparse()) return to_dense().str();
  const c10::NoGradGuard no_grad;
  if (dim() > 0) return "MaskedTensor(\n" + indented(text_of(data_, mask_)) + "\n)";
  const bool shown = mask_.item<bool>();
  return c10::str("MaskedTensor(", shown ? text_of(data_) : "--", ", ", shown ? "True" : "False", ")");
}

std::ostream& operator<<(std::ostream& out, const MaskedTensor& t) {
  return out << t.str();
}

MaskedTensor& MaskedTensor::requires_grad_(bool requires_grad) {
  data_.requires_grad_(requires_grad);
  return *this;
}

std::optional<MaskedTensor> MaskedTensor::grad() const {
  if (!data_.grad().defined()) return std::nullopt;
  const Tensor& grad = data_.grad();
  return MaskedTensor(grad.layout() == data_.layout() ? grad : at::to_dense(grad),
                      grad.layout() == data_.layout() ? mask_ : at::to_dense(mask_));
}

void MaskedTensor::backward(const std::optional<Tensor>& gradient) const {
  if (!gradient.has_value()) {
    TORCH_CHECK_VALUE(numel() != 1 || is_sparse() || mask_.item<bool>(),
                      "backward(): the element of this MaskedTensor is not specified");
    return data_.backward();
  }
  // What flows where nothing is specified is no gradient of anything.
  data_.backward(is_sparse() ? *gradient : at::masked_fill(*gradient, at::logical_not(mask_), 0));
}

MaskedTensor MaskedTensor::clone() const {
  return both(*this, [](const Tensor& t) { return at::clone(t); });
}
MaskedTensor MaskedTensor::detach() const {
  return {at::detach(data_), mask_};
}
MaskedTensor MaskedTensor::contiguous() const {
  TORCH_CHECK_VALUE(!is_sparse(), "MaskedTensors with sparse data do not have contiguous");
  return both(*this, [](const Tensor& t) { return at::contiguous(t); });
}
MaskedTensor MaskedTensor::to(at::ScalarType dtype) const {
  return {dtype == scalar_type() ? data_ : at::_to_copy(data_, at::TensorOptions().dtype(dtype)), mask_};
}
MaskedTensor MaskedTensor::to_dense() const {
  return both(*this, [](const Tensor& t) { return masked::is_sparse(t) ? at::to_dense(t) : t; });
}
MaskedTensor MaskedTensor::to_sparse() const {
  if (is_sparse_coo()) return *this;
  const MaskedTensor dense = to_dense();
  const Tensor mask = at::coalesce(at::to_sparse(dense.mask_));
  return {at::sparse_mask(dense.data_, mask), mask};
}
MaskedTensor MaskedTensor::to_sparse_csr() const {
  TORCH_CHECK_VALUE(dim() == 2, "Only 2D tensors can be converted to the SparseCsr layout but got shape: ", sizes());
  if (is_sparse_csr()) return *this;
  const MaskedTensor dense = to_dense();
  const Tensor mask = at::to_sparse_csr(dense.mask_);
  return {at::sparse_mask(dense.data_, mask), mask};
}

#define KD_MASKED_DEFINE_(name)                                       \
  MaskedTensor MaskedTensor::name() const {                           \
    return unary(*this, [](const Tensor& t) { return at::name(t); }); \
  }
KD_MASKED_UNARY(KD_MASKED_DEFINE_)
#undef KD_MASKED_DEFINE_
#define KD_MASKED_DEFINE_(name)                                \
  const MaskedTensor& MaskedTensor::name##_() const {          \
    return in_place(*this, [](Tensor& t) { at::name##_(t); }); \
  }
KD_MASKED_UNARY_BOTH(KD_MASKED_DEFINE_)
#undef KD_MASKED_DEFINE_

MaskedTensor MaskedTensor::clamp(const std::optional<Scalar>& min, const std::optional<Scalar>& max) const {
  return unary(*this, [&](const Tensor& t) { return at::clamp(t, min, max); });
}
MaskedTensor MaskedTensor::clip(const std::optional<Scalar>& min, const std::optional<Scalar>& max) const {
  return clamp(min, max);
}
MaskedTensor MaskedTensor::logit(std::optional<double> eps) const {
  return unary(*this, [&](const Tensor& t) { return at::logit(t, eps); });
}
MaskedTensor MaskedTensor::nan_to_num(std::optional<double> nan, std::optional<double> posinf,
                                      std::optional<double> neginf) const {
  return unary(*this, [&](const Tensor& t) { return at::nan_to_num(t, nan, posinf, neginf); });
}
MaskedTensor MaskedTensor::pow(const Scalar& exponent) const {
  return unary(*this, [&](const Tensor& t) { return at::pow(t, exponent); });
}

const MaskedTensor& MaskedTensor::clamp_(const std::optional<Scalar>& min, const std::optional<Scalar>& max) const {
  return in_place(*this, [&](Tensor& t) { at::clamp_(t, min, max); });
}
const MaskedTensor& MaskedTensor::clip_(const std::optional<Scalar>& min, const std::optional<Scalar>& max) const {
  return clamp_(min, max);
}
const MaskedTensor& MaskedTensor::logit_(std::optional<double> eps) const {
  return in_place(*this, [&](Tensor& t) { at::logit_(t, eps); });
}
const MaskedTensor& MaskedTensor::nan_to_num_(std::optional<double> nan, std::optional<double> posinf,
                                              std::optional<double> neginf) const {
  return in_place(*this, [&](Tensor& t) { at::nan_to_num_(t, nan, posinf, neginf); });
}
const MaskedTensor& MaskedTensor::pow_(const Scalar& exponent) const {
  return in_place(*this, [&](Tensor& t) { at::pow_(t, exponent); });
}

#define KD_MASKED_DEFINE_(name)                                                                   \
  MaskedTensor MaskedTensor::name(const MaskedTensor& other) const {                              \
    return binary(*this, other, [](const Tensor& a, const Tensor& b) { return at::name(a, b); }); \
  }                                                                                               \
  MaskedTensor MaskedTensor::name(const Tensor& other) const {                                    \
    return binary(*this, other, [](const Tensor& a, const Tensor& b) { return at::name(a, b); }); \
  }
KD_MASKED_BINARY_SCALAR(KD_MASKED_DEFINE_)
KD_MASKED_BINARY_TENSOR_BOTH(KD_MASKED_DEFINE_)
KD_MASKED_BINARY_TENSOR_ONLY(KD_MASKED_DEFINE_)
#undef KD_MASKED_DEFINE_
#define KD_MASKED_DEFINE_(name)                                               \
  MaskedTensor MaskedTensor::name(const Scalar& other) const {                \
    return unary(*this, [&](const Tensor& t) { return at::name(t, other); }); \
  }
KD_MASKED_BINARY_SCALAR(KD_MASKED_DEFINE_)
#undef KD_MASKED_DEFINE_
#define KD_MASKED_DEFINE_(name)                                                \
  const MaskedTensor& MaskedTensor::name##_(const MaskedTensor& other) const { \
    check_masks(*this, other);                                                 \
    return name##_(values_of(other.data_));                                    \
  }                                                                            \
  const MaskedTensor& MaskedTensor::name##_(const Tensor& other) const {       \
    return in_place(*this, [&](Tensor& t) { at::name##_(t, other); });         \
  }
KD_MASKED_BINARY_SCALAR(KD_MASKED_DEFINE_)
KD_MASKED_BINARY_TENSOR_BOTH(KD_MASKED_DEFINE_)
#undef KD_MASKED_DEFINE_

#define KD_MASKED_DEFINE_(name)                                          \
  const MaskedTensor& MaskedTensor::name##_(const Scalar& other) const { \
    return in_place(*this, [&](Tensor& t) { at::name##_(t, other); });   \
  }
KD_MASKED_BINARY_SCALAR(KD_MASKED_DEFINE_)
#undef KD_MASKED_DEFINE_

MaskedTensor MaskedTensor::sum(OptionalIntArrayRef dim, bool keepdim, std::optional<at::ScalarType> dtype) const {
  return reduced("sum", *this, dim, keepdim,
                 [&](const Tensor& t, const Tensor& mask) { return masked::sum(t, dim, keepdim, dtype, mask); });
}
MaskedTensor MaskedTensor::mean(OptionalIntArrayRef dim, bool keepdim, std::optional<at::ScalarType> dtype) const {
  return reduced("mean", *this, dim, keepdim,
                 [&](const Tensor& t, const Tensor& mask) { return masked::mean(t, dim, keepdim, dtype, mask); });
}
MaskedTensor MaskedTensor::prod(OptionalIntArrayRef dim, bool keepdim, std::optional<at::ScalarType> dtype) const {
  return reduced("prod", *this, dim, keepdim,
                 [&](const Tensor& t, const Tensor& mask) { return masked::prod(t, dim, keepdim, dtype, mask); });
}
MaskedTensor MaskedTensor::amin(OptionalIntArrayRef dim, bool keepdim) const {
  return reduced("amin", *this, dim, keepdim,
                 [&](const Tensor& t, const Tensor& mask) { return masked::amin(t, dim, keepdim, {}, mask); });
}
MaskedTensor MaskedTensor::amax(OptionalIntArrayRef dim, bool keepdim) const {
  return reduced("amax", *this, dim, keepdim,
                 [&](const Tensor& t, const Tensor& mask) { return masked::amax(t, dim, keepdim, {}, mask); });
}
MaskedTensor MaskedTensor::argmin(std::optional<int64_t> dim, bool keepdim) const {
  TORCH_CHECK_NOT_IMPLEMENTED(!is_sparse(), "MaskedTensor: argmin of a sparse one is not implemented");
  return reduced("argmin", *this, dim.has_value() ? OptionalIntArrayRef(*dim) : OptionalIntArrayRef(), keepdim,
                 [&](const Tensor& t, const Tensor& mask) { return masked::argmin(t, dim, keepdim, mask); });
}
MaskedTensor MaskedTensor::argmax(std::optional<int64_t> dim, bool keepdim) const {
  TORCH_CHECK_NOT_IMPLEMENTED(!is_sparse(), "MaskedTensor: argmax of a sparse one is not implemented");
  return reduced("argmax", *this, dim.has_value() ? OptionalIntArrayRef(*dim) : OptionalIntArrayRef(), keepdim,
                 [&](const Tensor& t, const Tensor& mask) { return masked::argmax(t, dim, keepdim, mask); });
}
MaskedTensor MaskedTensor::all(OptionalIntArrayRef dim, bool keepdim) const {
  return reduced("all", *this, dim, keepdim, [&](const Tensor& t, const Tensor& mask) {
    const Tensor counted = at::masked_fill(at::ne(t, 0), at::logical_not(mask), true);
    return dim.has_value() && !dim->empty() ? at::all(counted, dim, keepdim)
                                            : masked::amin(counted, std::nullopt, keepdim);
  });
}
MaskedTensor MaskedTensor::norm(double ord, OptionalIntArrayRef dim, bool keepdim) const {
  return reduced("norm", *this, dim, keepdim,
                 [&](const Tensor& t, const Tensor& mask) { return masked::norm(t, ord, dim, keepdim, {}, mask); });
}
MaskedTensor MaskedTensor::var(OptionalIntArrayRef dim, double correction, bool keepdim) const {
  return reduced("var", *this, dim, keepdim, [&](const Tensor& t, const Tensor& mask) {
    return masked::var(t, dim, correction, keepdim, {}, mask);
  });
}
MaskedTensor MaskedTensor::std(OptionalIntArrayRef dim, double correction, bool keepdim) const {
  return reduced("std", *this, dim, keepdim, [&](const Tensor& t, const Tensor& mask) {
    return masked::std(t, dim, correction, keepdim, {}, mask);
  });
}
MaskedTensor MaskedTensor::softmax(int64_t dim) const {
  return {masked::softmax(data_, dim, {}, mask_), mask_};
}
MaskedTensor MaskedTensor::log_softmax(int64_t dim) const {
  return {masked::log_softmax(data_, dim, {}, mask_), mask_};
}

MaskedTensor MaskedTensor::select(int64_t dim, int64_t index) const {
  return both(*this, [&](const Tensor& t) { return at::select(t, dim, index); });
}
MaskedTensor MaskedTensor::slice(int64_t dim, std::optional<int64_t> start, std::optional<int64_t> end,
                                 int64_t step) const {
  return both(*this, [&](const Tensor& t) { return at::slice(t, dim, start, end, step); });
}
MaskedTensor MaskedTensor::narrow(int64_t dim, int64_t start, int64_t length) const {
  return both(*this, [&](const Tensor& t) { return at::narrow(t, dim, start, length); });
}
MaskedTensor MaskedTensor::index(std::initializer_list<at::indexing::TensorIndex> indices) const {
  const std::vector<at::indexing::TensorIndex> list(indices);
  return both(*this, [&](const Tensor& t) { return at::indexing::get_item(t, list); });
}
MaskedTensor MaskedTensor::transpose(int64_t dim0, int64_t dim1) const {
  return both(*this, [&](const Tensor& t) { return at::transpose(t, dim0, dim1); });
}
MaskedTensor MaskedTensor::t() const {
  return both(*this, [](const Tensor& t) { return at::t(t); });
}
MaskedTensor MaskedTensor::permute(at::IntArrayRef dims) const {
  return both(*this, [&](const Tensor& t) { return at::permute(t, dims); });
}
MaskedTensor MaskedTensor::unsqueeze(int64_t dim) const {
  return both(*this, [&](const Tensor& t) { return at::unsqueeze(t, dim); });
}
MaskedTensor MaskedTensor::view(at::IntArrayRef size) const {
  return both(*this, [&](const Tensor& t) { return at::view(t, size); });
}
MaskedTensor MaskedTensor::reshape(at::IntArrayRef shape) const {
  return both(*this, [&](const Tensor& t) { return at::reshape(t, shape); });
}
MaskedTensor MaskedTensor::expand(at::IntArrayRef size) const {
  return both(*this, [&](const Tensor& t) { return at::expand(t, size); });
}
MaskedTensor MaskedTensor::flatten(int64_t start_dim, int64_t end_dim) const {
  return both(*this, [&](const Tensor& t) { return at::flatten(t, start_dim, end_dim); });
}
MaskedTensor MaskedTensor::ravel() const {
  return both(*this, [](const Tensor& t) { return at::ravel(t); });
}
MaskedTensor MaskedTensor::unfold(int64_t dimension, int64_t size, int64_t step) const {
  return both(*this, [&](const Tensor& t) { return at::unfold(t, dimension, size, step); });
}
std::vector<MaskedTensor> MaskedTensor::split(int64_t split_size, int64_t dim) const {
  return parts(*this, [&](const Tensor& t) { return at::split(t, split_size, dim); });
}
std::vector<MaskedTensor> MaskedTensor::chunk(int64_t chunks, int64_t dim) const {
  return parts(*this, [&](const Tensor& t) { return at::chunk(t, chunks, dim); });
}
std::vector<MaskedTensor> MaskedTensor::hsplit(int64_t sections) const {
  return parts(*this, [&](const Tensor& t) { return at::hsplit(t, sections); });
}
std::vector<MaskedTensor> MaskedTensor::vsplit(int64_t sections) const {
  return parts(*this, [&](const Tensor& t) { return at::vsplit(t, sections); });
}
std::vector<MaskedTensor> MaskedTensor::dsplit(int64_t sections) const {
  return parts(*this, [&](const Tensor& t) { return at::dsplit(t, sections); });
}

MaskedTensor masked_tensor(const Tensor& data, const Tensor& mask, bool requires_grad) {
  const MaskedTensor given(data, mask);
  return MaskedTensor(at::clone(at::detach(given.get_data())), at::clone(given.get_mask()))
      .requires_grad_(requires_grad);
}

MaskedTensor as_masked_tensor(const Tensor& data, const Tensor& mask) {
  const MaskedTensor given(data, mask);
  if (given.is_sparse()) return given;
  // No gradient for what is not specified.
  return {at::where(given.get_mask(), given.get_data(), at::detach(given.get_data())), given.get_mask()};
}

MaskedTensor where(const Tensor& condition, const MaskedTensor& self, const MaskedTensor& other) {
  return {at::where(condition, self.get_data(), other.get_data()),
          at::where(condition, self.get_mask(), other.get_mask())};
}
MaskedTensor cat(const std::vector<MaskedTensor>& tensors, int64_t dim) {
  return joined(tensors, [&](const std::vector<Tensor>& ts) { return at::cat(ts, dim); });
}
MaskedTensor stack(const std::vector<MaskedTensor>& tensors, int64_t dim) {
  return joined(tensors, [&](const std::vector<Tensor>& ts) { return at::stack(ts, dim); });
}
MaskedTensor hstack(const std::vector<MaskedTensor>& tensors) {
  return joined(tensors, [](const std::vector<Tensor>& ts) { return at::hstack(ts); });
}
MaskedTensor vstack(const std::vector<MaskedTensor>& tensors) {
  return joined(tensors, [](const std::vector<Tensor>& ts) { return at::vstack(ts); });
}
MaskedTensor column_stack(const std::vector<MaskedTensor>& tensors) {
  return joined(tensors, [](const std::vector<Tensor>& ts) { return at::column_stack(ts); });
}
MaskedTensor atleast_1d(const MaskedTensor& self) {
  return both(self, [](const Tensor& t) { return at::atleast_1d(t); });
}
std::vector<MaskedTensor> broadcast_tensors(const std::vector<MaskedTensor>& tensors) {
  return each(tensors, [](const std::vector<Tensor>& ts) { return at::broadcast_tensors(ts); });
}
std::vector<MaskedTensor> meshgrid(const std::vector<MaskedTensor>& tensors, std::string_view indexing) {
  return each(tensors, [&](const std::vector<Tensor>& ts) { return at::meshgrid(ts, indexing); });
}
MaskedTensor unfold(const MaskedTensor& input, at::IntArrayRef kernel_size, at::IntArrayRef dilation,
                    at::IntArrayRef padding, at::IntArrayRef stride) {
  const auto columns = [&](const Tensor& t) { return at::im2col(t, kernel_size, dilation, padding, stride); };
  return {columns(input.get_data()),
          at::ne(columns(at::_to_copy(input.get_mask(), at::TensorOptions().dtype(at::kFloat))), 0)};
}
MaskedTensor kron(const MaskedTensor& self, const MaskedTensor& other) {
  return {at::kron(self.get_data(), other.get_data()), at::kron(self.get_mask(), other.get_mask())};
}

}  // namespace torch::masked
