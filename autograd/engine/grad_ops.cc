#include "autograd/engine/grad_ops.h"

#include <algorithm>
#include <utility>

#include "aten/core/empty.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "c10/core/grad_mode.h"

namespace torch::autograd::grad_ops {
namespace {

// Keys of tensors that hold more than their values: a sum with one of these is no plain tensor, whatever the other is.
constexpr c10::DispatchKeySet kHoldMore{c10::DispatchKey::ForwardAD,       c10::DispatchKey::Wrapper,
                                        c10::DispatchKey::Functionalize,   c10::DispatchKey::FuncTorchBatched,
                                        c10::DispatchKey::NestedTensorCPU, c10::DispatchKey::NestedTensorCUDA};

bool hold_more(const at::Tensor& a, const at::Tensor& b) {
  return (a.unsafeGetTensorImpl()->key_set() | b.unsafeGetTensorImpl()->key_set()).has_any(kHoldMore);
}

// What `t` covers of its storage, first element to one past the last, in elements.
struct Span {
  int64_t first;
  int64_t end;
};

Span span_of(const Geometry& g) {
  int64_t last = g.offset;
  for (size_t d = 0; d < g.sizes.size(); ++d) {
    if (g.sizes[d] == 0) return {g.offset, g.offset};
    last += (g.sizes[d] - 1) * g.strides[d];
  }
  return {g.offset, last + 1};
}

// Whether two indices may lead to one element. Never false where they do.
bool may_overlap(const Geometry& g) {
  c10::SmallVector<size_t, 5> order;
  for (size_t d = 0; d < g.sizes.size(); ++d) {
    if (g.sizes[d] == 0) return false;
    if (g.sizes[d] != 1) order.push_back(d);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return g.strides[a] < g.strides[b]; });
  int64_t reach = 0;
  for (size_t d : order) {
    if (g.strides[d] <= reach) return true;
    reach += (g.sizes[d] - 1) * g.strides[d];
  }
  return false;
}

bool is_sparse(const at::Tensor& t) {
  return t.layout() != at::kStrided;
}

// `grad`'s values in memory laid out by sizes and strides of `g`.
at::Tensor laid_out(const at::Tensor& grad, const Geometry& g) {
  if (grad.strides().equals(at::IntArrayRef(g.strides.data(), g.strides.size()))) return grad;
  at::Tensor result = at::new_empty_strided(grad, g.sizes, g.strides);
  at::copy_(result, grad);
  return result;
}

// The memory behind a batched gradient is laid out as its batch is: views of it go by places, not by strides.
bool is_batched(const at::Tensor& t) {
  return t.key_set().has(c10::DispatchKey::FuncTorchBatched);
}

// Where the elements of `view` lie among those of `base`, counted row-major.
at::Tensor places_in(const Geometry& base, const Geometry& view, at::Device device) {
  c10::NoGradGuard no_grad;
  int64_t numel = 1;
  for (const int64_t size : base.sizes) numel *= size;
  const at::TensorOptions options = at::TensorOptions().dtype(at::kLong).device(device);
  at::Tensor rows = at::empty_strided(base.sizes, base.strides, options);
  at::copy_(rows, at::reshape(at::arange(numel, options), base.sizes));
  return at::reshape(at::as_strided(rows, view.sizes, view.strides, view.offset - base.offset), {-1});
}

}  // namespace

at::Tensor zeros(at::IntArrayRef sizes, at::ScalarType dtype, at::Device device) {
  return at::zeros(sizes, at::TensorOptions().dtype(dtype).device(device));
}

at::Tensor one(const at::Tensor& t) {
  c10::NoGradGuard no_grad;
  if (C10_UNLIKELY(t.key_set().has(c10::DispatchKey::Wrapper))) return at::ones_like(t.detach());
  if (t.is_cpu() && t.scalar_type() == at::kFloat) {
    at::Tensor result = at::empty_contiguous(t.sizes(), at::kFloat);
    *result.data_ptr<float>() = 1.0f;
    return result;
  }
  return at::ones(t.sizes(), t.options());
}

at::Tensor add(const at::Tensor& a, const at::Tensor& b) {
  // There is a sum of a dense and a sparse tensor, in that order.
  return C10_UNLIKELY(is_sparse(a) && !is_sparse(b)) ? at::add(b, a) : at::add(a, b);
}

void add_into(at::Tensor& into, const at::Tensor& t) {
  c10::NoGradGuard no_grad;
  if (C10_UNLIKELY(hold_more(into, t) || is_sparse(t))) {
    at::add_(into, t);
    return;
  }
  at::add_out(into, into, t);
}

bool can_add_into(const at::Tensor& into, const at::Tensor& t) {
  if (C10_UNLIKELY(is_sparse(into) && !is_sparse(t))) return false;
  return into.key_set().has(c10::DispatchKey::Wrapper) || !t.key_set().has(c10::DispatchKey::Wrapper);
}

at::Tensor add_reusing(at::Tensor&& a, at::Tensor&& b) {
  if (!c10::GradMode::is_enabled() && a.scalar_type() == b.scalar_type() && C10_LIKELY(!hold_more(a, b))) {
    if (is_sole_dense(a)) {
      at::add_out(a, a, b);
      return std::move(a);
    }
    if (is_sole_dense(b)) {
      if (C10_UNLIKELY(is_sparse(a))) return at::add_(b, a);
      at::add_out(b, b, a);
      return std::move(b);
    }
  }
  return grad_ops::add(a, b);
}

at::Tensor clone_like(const at::Tensor& t, const at::Tensor& like) {
  if (C10_UNLIKELY(t.layout() != at::kStrided || t.is_nested())) return at::clone(t);
  if (like.is_non_overlapping_and_dense() && t.sizes() == like.sizes() && !c10::GradMode::is_enabled() && !hold_more(t, like)) {
    at::Tensor copy = at::empty_strided(like.sizes(), like.strides(), t.options());
    at::copy_(copy, t);
    return copy;
  }
  return at::clone(t, at::MemoryFormat::Contiguous);
}

bool fit(at::Tensor& grad, const InputMetadata& metadata) {
  at::Tensor fitted = grad;
  if (!metadata.has_shape_of(fitted)) {
    const at::IntArrayRef want = metadata.shape();
    const at::IntArrayRef have = fitted.sizes();
    if (have.size() < want.size()) return false;
    const size_t lead = have.size() - want.size();
    c10::SmallVector<int64_t, 5> dims;
    for (size_t d = 0; d < have.size(); ++d) {
      if (d < lead) {
        dims.push_back(static_cast<int64_t>(d));
      } else if (have[d] != want[d - lead]) {
        if (want[d - lead] != 1) return false;
        dims.push_back(static_cast<int64_t>(d));
      }
    }
    if (!dims.empty()) fitted = at::sum(fitted, at::IntArrayRef(dims.data(), dims.size()), true);
    if (lead != 0) fitted = at::view(fitted, want);
  }
  if (fitted.is_complex() && !c10::isComplexType(metadata.scalar_type())) fitted = at::real(fitted);
  if (fitted.device() != metadata.device() && fitted.dim() == 0) {
    fitted = at::_to_copy(fitted, at::TensorOptions().device(metadata.device()));
  }
  if (fitted.scalar_type() != metadata.scalar_type()) fitted = at::_to_copy(fitted, metadata.scalar_type());
  grad = std::move(fitted);
  return true;
}

Geometry Geometry::of(const at::TensorBase& t) {
  Geometry g;
  g.sizes.assign(t.sizes().begin(), t.sizes().end());
  g.strides.assign(t.strides().begin(), t.strides().end());
  g.offset = t.storage_offset();
  return g;
}

at::Tensor as_strided_backward(const at::Tensor& grad, const Geometry& input, const Geometry& view) {
  const Span input_span = span_of(input);
  const Span view_span = span_of(view);
  const int64_t start = std::min(input_span.first, view_span.first);
  const int64_t extent = std::max(input_span.end, view_span.end) - start;
  const at::TensorOptions options = grad.options();
  at::Tensor flat = at::new_zeros(grad, {extent});
  if (view_span.end != view_span.first) {
    if (!may_overlap(view) && !is_batched(grad)) {
      if (c10::GradMode::is_enabled()) {
        flat = at::as_strided_scatter(flat, grad, view.sizes, view.strides, view.offset - start);
      } else {
        at::Tensor part = at::as_strided(flat, view.sizes, view.strides, view.offset - start);
        at::copy_(part, grad);
      }
    } else {
      const at::Tensor places = at::reshape(
          at::as_strided(
              at::arange(extent, at::TensorOptions().dtype(at::kLong).device(grad.device())), view.sizes, view.strides,
              view.offset - start),
          {-1});
      flat = at::index_add(flat, 0, places, at::reshape(grad, {-1}));
    }
  }
  if (may_overlap(input)) {
    // Each element of the storage is shared by several of the input's: its gradient is split evenly.
    c10::NoGradGuard no_grad;
    const at::Tensor places = at::reshape(
        at::as_strided(
            at::arange(extent, at::TensorOptions().dtype(at::kLong).device(grad.device())), input.sizes, input.strides,
            input.offset - start),
        {-1});
    const at::Tensor count =
        at::index_add(at::zeros({extent}, options), 0, places, at::ones({places.numel()}, options));
    const at::Tensor divisor = at::clamp_min(at::real(count), 1);
    c10::AutoGradMode record(flat.requires_grad());
    flat = at::div(flat, divisor);
  }
  return at::as_strided(flat, input.sizes, input.strides, input.offset - start);
}

bool has_nan(const at::Tensor& t) {
  c10::NoGradGuard no_grad;
  return at::item(at::any(at::isnan(t))).to<bool>();
}

at::Tensor grad_outside(const at::Tensor& grad, const Geometry& base, const Geometry& view) {
  if (C10_UNLIKELY(is_batched(grad))) {
    const at::Tensor flat = at::reshape(grad, {-1});
    return at::reshape(at::index_fill(flat, 0, places_in(base, view, grad.device()), 0), base.sizes);
  }
  const at::Tensor in_place = laid_out(grad, base);
  const int64_t offset = in_place.storage_offset() + view.offset - base.offset;
  if (c10::GradMode::is_enabled()) {
    return at::as_strided_scatter(
        in_place, at::new_zeros(grad, view.sizes), view.sizes, view.strides, offset);
  }
  at::Tensor result = at::new_empty_strided(grad, base.sizes, base.strides);
  at::copy_(result, in_place);
  at::Tensor part = at::as_strided(result, view.sizes, view.strides, view.offset - base.offset);
  at::zero_(part);
  return result;
}

at::Tensor grad_inside(const at::Tensor& grad, const Geometry& base, const Geometry& view) {
  if (C10_UNLIKELY(is_batched(grad))) {
    const at::Tensor flat = at::reshape(grad, {-1});
    return at::reshape(at::index_select(flat, 0, places_in(base, view, grad.device())), view.sizes);
  }
  const at::Tensor in_place = laid_out(grad, base);
  return at::as_strided(
      in_place, view.sizes, view.strides, in_place.storage_offset() + view.offset - base.offset);
}

namespace {

Geometry in_reals(Geometry g) {
  for (int64_t& stride : g.strides) stride *= 2;
  g.offset *= 2;
  g.sizes.push_back(2);
  g.strides.push_back(1);
  return g;
}

at::Tensor as_reals(const at::Tensor& t, bool is_complex) {
  return is_complex ? at::view_as_real(t) : t;
}

at::Tensor as_complex(const at::Tensor& t, bool is_complex) {
  return is_complex ? at::view_as_complex(at::contiguous(t)) : t;
}

}  // namespace

ViewGeometry ViewGeometry::of(const at::TensorBase& base, const at::TensorBase& view) {
  ViewGeometry g{Geometry::of(base), Geometry::of(view)};
  if (base.is_complex() == view.is_complex()) return g;
  g.base_is_complex = base.is_complex();
  g.view_is_complex = view.is_complex();
  (g.base_is_complex ? g.base : g.view) = in_reals(g.base_is_complex ? g.base : g.view);
  return g;
}

at::Tensor ViewGeometry::of_base(const at::Tensor& grad) const {
  return as_complex(as_strided_backward(as_reals(grad, view_is_complex), base, view), base_is_complex);
}

at::Tensor ViewGeometry::outside(const at::Tensor& grad) const {
  return as_complex(grad_outside(as_reals(grad, base_is_complex), base, view), base_is_complex);
}

at::Tensor ViewGeometry::inside(const at::Tensor& grad) const {
  return as_complex(grad_inside(as_reals(grad, base_is_complex), base, view), view_is_complex);
}

}  // namespace torch::autograd::grad_ops
