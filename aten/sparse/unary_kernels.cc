// Sparse tensors of all layouts: functions of one tensor that keep 0, and so go by values. Those that are not linear
// first add the values of one place.
#include "aten/core/tensor.h"
#include "aten/ops/activation/kernels.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/kernels.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/unary/kernels.h"
#include "aten/ops/unary/ops.h"
#include "aten/sparse/sparse_parts.h"

namespace at::native {
namespace {

// `t` with each place named once.
Tensor once(const Tensor& t) {
  return t.layout() == Layout::Sparse ? sparse::coalesced(t) : t;
}

template <class F>
Tensor by_values(const Tensor& self, const F& function) {
  const Tensor elements = once(self);
  return sparse::with_values(elements, function(sparse::values_of(elements)));
}

template <class F>
Tensor& by_values_out(const char* op, const Tensor& self, Tensor& out, const F& function) {
  return sparse::write_out(op, out, by_values(self, function));
}

template <class F>
Tensor& change_values(const char* op, Tensor& self, const F& function) {
  TORCH_CHECK(sparse::is_compressed(self) || sparse::impl_of(op, self).coalesced(), op, " requires coalesced input");
  Tensor values = sparse::plain(sparse::values_of(self));
  function(values);
  sparse::mark_written(self);
  return self;
}

}  // namespace

#define SPARSE_UNARY(op)                                                                       \
  Tensor op##_sparse(const Tensor& self) {                                                     \
    return by_values(self, [](const Tensor& values) { return at::op(values); });               \
  }                                                                                            \
  Tensor& op##_out_sparse(const Tensor& self, Tensor& out) {                                   \
    return by_values_out(#op, self, out, [](const Tensor& values) { return at::op(values); }); \
  }
#define SPARSE_UNARY_IN_PLACE(op)                                                   \
  SPARSE_UNARY(op)                                                                  \
  Tensor& op##_sparse_(Tensor& self) {                                              \
    return change_values(#op "_", self, [](Tensor& values) { at::op##_(values); }); \
  }
SPARSE_UNARY_IN_PLACE(abs)
SPARSE_UNARY_IN_PLACE(asin)
SPARSE_UNARY_IN_PLACE(asinh)
SPARSE_UNARY_IN_PLACE(atan)
SPARSE_UNARY_IN_PLACE(atanh)
SPARSE_UNARY_IN_PLACE(ceil)
SPARSE_UNARY_IN_PLACE(deg2rad)
SPARSE_UNARY_IN_PLACE(erf)
SPARSE_UNARY_IN_PLACE(erfinv)
SPARSE_UNARY_IN_PLACE(expm1)
SPARSE_UNARY_IN_PLACE(floor)
SPARSE_UNARY_IN_PLACE(frac)
SPARSE_UNARY_IN_PLACE(log1p)
SPARSE_UNARY_IN_PLACE(rad2deg)
SPARSE_UNARY_IN_PLACE(relu)
SPARSE_UNARY_IN_PLACE(round)
SPARSE_UNARY_IN_PLACE(sgn)
SPARSE_UNARY_IN_PLACE(sign)
SPARSE_UNARY_IN_PLACE(sin)
SPARSE_UNARY_IN_PLACE(sinh)
SPARSE_UNARY_IN_PLACE(sqrt)
SPARSE_UNARY_IN_PLACE(square)
SPARSE_UNARY_IN_PLACE(tan)
SPARSE_UNARY_IN_PLACE(tanh)
SPARSE_UNARY_IN_PLACE(trunc)
SPARSE_UNARY(angle)
SPARSE_UNARY(conj_physical)
SPARSE_UNARY(isinf)
SPARSE_UNARY(isnan)
SPARSE_UNARY(isneginf)
SPARSE_UNARY(isposinf)
SPARSE_UNARY(signbit)
#undef SPARSE_UNARY_IN_PLACE
#undef SPARSE_UNARY

Tensor& conj_physical_sparse_(Tensor& self) {
  if (!self.is_complex()) return self;
  return change_values("conj_physical_", self, [](Tensor& values) { at::conj_physical_(values); });
}

Tensor nan_to_num_sparse(const Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                         std::optional<double> neginf) {
  return by_values(self, [&](const Tensor& values) { return at::nan_to_num(values, nan, posinf, neginf); });
}
Tensor& nan_to_num_sparse_(Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                           std::optional<double> neginf) {
  return change_values("nan_to_num_", self, [&](Tensor& values) { at::nan_to_num_(values, nan, posinf, neginf); });
}
Tensor& nan_to_num_out_sparse(const Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                              std::optional<double> neginf, Tensor& out) {
  return by_values_out("nan_to_num", self, out,
                       [&](const Tensor& values) { return at::nan_to_num(values, nan, posinf, neginf); });
}

namespace {
void check_power(const Scalar& exponent) {
  TORCH_CHECK(!exponent.equal(0),
              "pow: cannot raise to zeroth power on sparse tensor; it would make the result tensor dense");
}
}  // namespace

Tensor pow_scalar_sparse(const Tensor& self, const Scalar& exponent) {
  check_power(exponent);
  return by_values(self, [&](const Tensor& values) { return at::pow(values, exponent); });
}
Tensor& pow_scalar_out_sparse(const Tensor& self, const Scalar& exponent, Tensor& out) {
  return sparse::write_out("pow", out, pow_scalar_sparse(self, exponent));
}
Tensor& pow_scalar_sparse_(Tensor& self, const Scalar& exponent) {
  check_power(exponent);
  return change_values("pow_", self, [&](Tensor& values) { at::pow_(values, exponent); });
}

// The places whose input is above the threshold; those that only the gradient names have an input of 0.
Tensor threshold_backward_sparse(const Tensor& grad, const Tensor& self, const Scalar& threshold) {
  TORCH_CHECK(grad.layout() == self.layout() && grad.sizes() == self.sizes(),
              "threshold_backward: expected a gradient of the layout and size of self, ", self.layout(), " ",
              self.sizes(), ", but got ", grad.layout(), " ", grad.sizes());
  const Tensor a = once(grad), b = once(self);
  const Tensor &x = sparse::values_of(a), &y = sparse::values_of(b);
  if (self.layout() != Layout::Sparse) {
    TORCH_CHECK(x.sizes() == y.sizes(), "threshold_backward: expected a gradient with the elements of self");
    return sparse::with_values(a, at::threshold_backward(x, y, threshold));
  }
  const int64_t of_grad = sparse::impl_of("threshold_backward", a).sparse_dim(),
                of_self = sparse::impl_of("threshold_backward", b).sparse_dim();
  TORCH_CHECK(of_grad == of_self, "threshold_backward: expected a gradient of as many sparse dimensions as self, ",
              of_self, ", but got ", of_grad);
  const Tensor inputs = sparse::spread(y, sparse::find_places(b, sparse::places_of(a)));
  return sparse::with_values(a, at::threshold_backward(x, inputs, threshold));
}

// --- linear ---
Tensor neg_sparse(const Tensor& self) {
  return sparse::with_values(self, at::neg(sparse::values_of(self)));
}
Tensor& neg_out_sparse(const Tensor& self, Tensor& out) {
  return sparse::write_out("neg", out, neg_sparse(self));
}
Tensor& neg_sparse_(Tensor& self) {
  Tensor values = sparse::plain(sparse::values_of(self));
  at::neg_(values);
  sparse::mark_written(self);
  return self;
}

}  // namespace at::native
