// Nested tensors: what is computed element by element. The forms that make a tensor stand above autograd, those in
// place below.
#include "aten/nested/nested_parts.h"
#include "aten/ops/activation/kernels.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/kernels.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/index/kernels.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/random/kernels.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/unary/kernels.h"
#include "aten/ops/unary/ops.h"

namespace at::native {

// --- of one tensor ---
#define NESTED_UNARY(op)                                                               \
  Tensor op##_nested(const Tensor& self) {                                             \
    return nested::each_element(#op, self, [](const Tensor& t) { return at::op(t); }); \
  }
#define NESTED_UNARY_IN_PLACE(op)                                                   \
  NESTED_UNARY(op)                                                                  \
  Tensor& op##_nested_(Tensor& self) {                                              \
    return nested::change_elements(#op "_", self, [](Tensor& t) { at::op##_(t); }); \
  }
NESTED_UNARY_IN_PLACE(abs)
NESTED_UNARY_IN_PLACE(ceil)
NESTED_UNARY_IN_PLACE(cos)
NESTED_UNARY_IN_PLACE(erf)
NESTED_UNARY_IN_PLACE(exp)
NESTED_UNARY_IN_PLACE(floor)
NESTED_UNARY_IN_PLACE(log)
NESTED_UNARY_IN_PLACE(logical_not)
NESTED_UNARY_IN_PLACE(neg)
NESTED_UNARY_IN_PLACE(reciprocal)
NESTED_UNARY_IN_PLACE(relu)
NESTED_UNARY_IN_PLACE(round)
NESTED_UNARY_IN_PLACE(rsqrt)
NESTED_UNARY_IN_PLACE(sgn)
NESTED_UNARY_IN_PLACE(sigmoid)
NESTED_UNARY_IN_PLACE(sign)
NESTED_UNARY_IN_PLACE(silu)
NESTED_UNARY_IN_PLACE(sin)
NESTED_UNARY_IN_PLACE(sqrt)
NESTED_UNARY_IN_PLACE(square)
NESTED_UNARY_IN_PLACE(tan)
NESTED_UNARY_IN_PLACE(tanh)
NESTED_UNARY(isinf)
NESTED_UNARY(isnan)
NESTED_UNARY(isneginf)
NESTED_UNARY(isposinf)
#undef NESTED_UNARY
#undef NESTED_UNARY_IN_PLACE

Tensor gelu_nested(const Tensor& self, std::string_view approximate) {
  return nested::each_element("gelu", self, [&](const Tensor& t) { return at::gelu(t, approximate); });
}
Tensor& gelu_nested_(Tensor& self, std::string_view approximate) {
  return nested::change_elements("gelu_", self, [&](Tensor& t) { at::gelu_(t, approximate); });
}
Tensor leaky_relu_nested(const Tensor& self, const Scalar& negative_slope) {
  return nested::each_element("leaky_relu", self, [&](const Tensor& t) { return at::leaky_relu(t, negative_slope); });
}

Tensor dropout_nested(const Tensor& input, double p, bool train) {
  return nested::each_element("dropout", input, [&](const Tensor& t) { return at::dropout(t, p, train); });
}

// --- of two tensors ---
#define NESTED_SUM(op)                                                                                                 \
  Tensor op##_nested(const Tensor& self, const Tensor& other, const Scalar& alpha) {                                   \
    return nested::elements_of_both(#op, self, other,                                                                  \
                                    [&](const Tensor& a, const Tensor& b) { return at::op(a, b, alpha); });            \
  }                                                                                                                    \
  Tensor op##_scalar_nested(const Tensor& self, const Scalar& other, const Scalar& alpha) {                            \
    return nested::each_element(#op, self, [&](const Tensor& t) { return at::op(t, other, alpha); });                  \
  }                                                                                                                    \
  Tensor& op##_nested_(Tensor& self, const Tensor& other, const Scalar& alpha) {                                       \
    return nested::change_by_other(#op "_", self, other, [&](Tensor& a, const Tensor& b) { at::op##_(a, b, alpha); }); \
  }                                                                                                                    \
  Tensor& op##_scalar_nested_(Tensor& self, const Scalar& other, const Scalar& alpha) {                                \
    return nested::change_elements(#op "_", self, [&](Tensor& t) { at::op##_(t, other, alpha); });                     \
  }
NESTED_SUM(add)
NESTED_SUM(sub)
#undef NESTED_SUM

#define NESTED_BINARY(op)                                                                                             \
  Tensor op##_nested(const Tensor& self, const Tensor& other) {                                                       \
    return nested::elements_of_both(#op, self, other, [](const Tensor& a, const Tensor& b) { return at::op(a, b); }); \
  }
#define NESTED_BINARY_SCALAR(op)                                                               \
  NESTED_BINARY(op)                                                                            \
  Tensor op##_scalar_nested(const Tensor& self, const Scalar& other) {                         \
    return nested::each_element(#op, self, [&](const Tensor& t) { return at::op(t, other); }); \
  }
#define NESTED_PRODUCT(op)                                                                                     \
  NESTED_BINARY_SCALAR(op)                                                                                     \
  Tensor& op##_nested_(Tensor& self, const Tensor& other) {                                                    \
    return nested::change_by_other(#op "_", self, other, [](Tensor& a, const Tensor& b) { at::op##_(a, b); }); \
  }                                                                                                            \
  Tensor& op##_scalar_nested_(Tensor& self, const Scalar& other) {                                             \
    return nested::change_elements(#op "_", self, [&](Tensor& t) { at::op##_(t, other); });                    \
  }
NESTED_PRODUCT(mul)
NESTED_PRODUCT(div)
NESTED_BINARY_SCALAR(eq)
NESTED_BINARY_SCALAR(ge)
NESTED_BINARY_SCALAR(gt)
NESTED_BINARY_SCALAR(le)
NESTED_BINARY_SCALAR(lt)
NESTED_BINARY_SCALAR(ne)
NESTED_BINARY(maximum)
NESTED_BINARY(minimum)
NESTED_BINARY(tanh_backward)
NESTED_BINARY(sigmoid_backward)
NESTED_BINARY(silu_backward)
#undef NESTED_BINARY
#undef NESTED_BINARY_SCALAR
#undef NESTED_PRODUCT

Tensor rsub_nested(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return nested::elements_of_both("rsub", self, other,
                                  [&](const Tensor& a, const Tensor& b) { return at::rsub(a, b, alpha); });
}
Tensor rsub_scalar_nested(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  return nested::each_element("rsub", self, [&](const Tensor& t) { return at::rsub(t, other, alpha); });
}
Tensor pow_scalar_nested(const Tensor& self, const Scalar& exponent) {
  return nested::each_element("pow", self, [&](const Tensor& t) { return at::pow(t, exponent); });
}
Tensor threshold_backward_nested(const Tensor& grad_output, const Tensor& self, const Scalar& threshold) {
  return nested::elements_of_both("threshold_backward", grad_output, self, [&](const Tensor& g, const Tensor& t) {
    return at::threshold_backward(g, t, threshold);
  });
}
Tensor gelu_backward_nested(const Tensor& grad_output, const Tensor& self, std::string_view approximate) {
  return nested::elements_of_both("gelu_backward", grad_output, self, [&](const Tensor& g, const Tensor& t) {
    return at::gelu_backward(g, t, approximate);
  });
}
Tensor masked_fill_scalar_nested(const Tensor& self, const Tensor& mask, const Scalar& value) {
  TORCH_CHECK(self.is_nested(), "masked_fill: a dense tensor has no mask that is nested");
  return nested::elements_of_both("masked_fill", self, mask,
                                  [&](const Tensor& t, const Tensor& m) { return at::masked_fill(t, m, value); });
}

}  // namespace at::native
