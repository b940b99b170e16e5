// Activations and the gradients that have a kernel of their own.
#include <limits>

#include "aten/core/tensor.h"
#include "aten/core/tensor_spec.h"
#include "aten/core/view.h"
#include "aten/cpu/copy.h"
#include "aten/cpu/loops/activation.h"
#include "aten/cpu/loops/loops.h"
#include "aten/cpu/pointwise.h"
#include "aten/ops/activation/kernels.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {

using pointwise::Params;
using pointwise::promoted_type;
using pointwise::result_spec;

namespace {

TensorSpec floating_spec(const char* name, const Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.is_floating_point(), "\"", name, "\" not implemented for '", self.scalar_type(), "'");
  return result_spec({self}, self.scalar_type());
}

void run(const char* name, const cpu::ElementOp& op, const Tensor& self, std::initializer_list<Scalar> numbers, Tensor& out) {
  const Params params(cpu::compute_type(out.scalar_type()), numbers);
  pointwise::run(name, op, out.scalar_type(), params.get(), out, {self});
}

}  // namespace

TensorSpec floating_activation_meta(const Tensor& self) { return floating_spec("activation", self); }
TensorSpec floating_activation_scalar_meta(const Tensor& self, const Scalar&) { return floating_spec("activation", self); }

// --- rectifiers ---

TensorSpec relu_meta(const Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.scalar_type() != ScalarType::Bool, "Boolean inputs not supported for relu");
  TORCH_CHECK_NOT_IMPLEMENTED(!self.is_complex(), "relu is not supported for complex inputs");
  return result_spec({self}, self.scalar_type());
}
void relu_kernel(const Tensor& self, Tensor& out) {
  run("relu", cpu::loops::clamp_min, self, {Scalar(0)}, out);
}
void relu6_kernel(const Tensor& self, Tensor& out) {
  run("relu6", cpu::loops::clamp, self, {Scalar(0), Scalar(6)}, out);
}

TensorSpec hardtanh_meta(const Tensor& self, const Scalar& min_val, const Scalar& max_val) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.scalar_type() != ScalarType::Bool, "Bool inputs not supported for hardtanh");
  TORCH_CHECK(!self.is_complex(), "hardtanh is not supported for complex inputs");
  return result_spec({self}, self.scalar_type());
}
void hardtanh_kernel(const Tensor& self, const Scalar& min_val, const Scalar& max_val, Tensor& out) {
  if (isIntegralType(self.scalar_type(), false)) {
    at::clamp_out(out, self, Scalar(min_val.toLong()), Scalar(max_val.toLong()));
    return;
  }
  run("hardtanh", cpu::loops::clamp, self, {min_val, max_val}, out);
}

void leaky_relu_kernel(const Tensor& self, const Scalar& negative_slope, Tensor& out) {
  run("leaky_relu", cpu::loops::leaky_relu, self, {negative_slope}, out);
}
TensorSpec prelu_meta(const Tensor& self, const Tensor& weight) {
  TORCH_CHECK(self.scalar_type() == weight.scalar_type(), "prelu: Type promoting not supported. Got ", self.scalar_type(),
              " and ", weight.scalar_type());
  if (weight.numel() != 1) {
    TORCH_CHECK(self.dim() > 0, "Not allow zero-dim input tensor.");
    const int64_t channels = self.dim() > 1 ? self.size(1) : 1;
    TORCH_CHECK(channels == weight.numel(),
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = ", weight.numel(),
                " and channel size = ", channels, ".");
  }
  TORCH_CHECK(weight.dim() <= 1, "prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = ", weight.dim());
  return floating_spec("prelu", self);
}
void prelu_by_channel(const Tensor& self, const Tensor& weight, Tensor& out) {
  const int64_t step = weight.dim() == 0 ? 1 : weight.strides()[0];
  Tensor along = weight;
  if (weight.numel() == 1) {
    along = make_view(weight, {}, {}, weight.storage_offset());
  } else {
    DimVector sizes(self.dim(), 1), strides(self.dim(), 1);
    sizes[1] = weight.numel();
    strides[1] = step;
    along = make_view(weight, sizes, strides, weight.storage_offset());
  }
  pointwise::run("prelu", cpu::loops::prelu, out.scalar_type(), nullptr, out, {self, along});
}
TensorSpec threshold_meta(const Tensor& self, const Scalar&, const Scalar&) {
  return isIntegralType(self.scalar_type(), false) ? result_spec({self}, self.scalar_type()) : floating_spec("threshold", self);
}
void threshold_kernel(const Tensor& self, const Scalar& threshold, const Scalar& value, Tensor& out) {
  if (isIntegralType(self.scalar_type(), false)) {
    const Tensor x = at::to(self, ScalarType::Long);
    at::copy_(out, at::where(at::le(x, Scalar(threshold.toLong())), Scalar(value.toLong()), x));
    return;
  }
  run("threshold", cpu::loops::threshold, self, {threshold, value}, out);
}
TensorSpec threshold_backward_meta(const Tensor& grad_output, const Tensor& self, const Scalar&) {
  return result_spec({grad_output, self}, promoted_type({grad_output, self}));
}
void threshold_backward_kernel(const Tensor& grad_output, const Tensor& self, const Scalar& threshold, Tensor& out) {
  const Params params(cpu::compute_type(out.scalar_type()), {threshold});
  pointwise::run("threshold_backward", cpu::loops::threshold_backward, out.scalar_type(), params.get(), out,
                 {grad_output, self});
}

// --- smooth ones ---

namespace {
bool is_tanh(std::string_view approximate) {
  TORCH_CHECK(approximate == "none" || approximate == "tanh", "approximate argument must be either none or tanh.");
  return approximate == "tanh";
}
}  // namespace

TensorSpec gelu_meta(const Tensor& self, std::string_view approximate) {
  is_tanh(approximate);
  return floating_spec("gelu", self);
}
void gelu_kernel(const Tensor& self, std::string_view approximate, Tensor& out) {
  run("gelu", is_tanh(approximate) ? cpu::loops::gelu_tanh : cpu::loops::gelu, self, {}, out);
}
TensorSpec gelu_backward_meta(const Tensor& grad_output, const Tensor& self, std::string_view approximate) {
  is_tanh(approximate);
  return result_spec({grad_output, self}, promoted_type({grad_output, self}));
}
void gelu_backward_kernel(const Tensor& grad_output, const Tensor& self, std::string_view approximate, Tensor& out) {
  pointwise::run("gelu_backward", is_tanh(approximate) ? cpu::loops::gelu_tanh_backward : cpu::loops::gelu_backward,
                 out.scalar_type(), nullptr, out, {grad_output, self});
}

TensorSpec silu_meta(const Tensor& self) {
  TORCH_CHECK_NOT_IMPLEMENTED(self.is_floating_point() || self.is_complex(), "\"silu\" not implemented for '",
                              self.scalar_type(), "'");
  return result_spec({self}, self.scalar_type());
}
void silu_kernel(const Tensor& self, Tensor& out) {
  run("silu", cpu::loops::silu, self, {}, out);
}
TensorSpec silu_backward_meta(const Tensor& grad_output, const Tensor& self) {
  return result_spec({grad_output, self}, promoted_type({grad_output, self}));
}
void silu_backward_kernel(const Tensor& grad_output, const Tensor& self, Tensor& out) {
  pointwise::run("silu_backward", cpu::loops::silu_backward, out.scalar_type(), nullptr, out, {grad_output, self});
}

void mish_kernel(const Tensor& self, Tensor& out) {
  run("mish", cpu::loops::mish, self, {}, out);
}
void hardsigmoid_kernel(const Tensor& self, Tensor& out) {
  run("hardsigmoid", cpu::loops::hardsigmoid, self, {}, out);
}
void hardswish_kernel(const Tensor& self, Tensor& out) {
  run("hardswish", cpu::loops::hardswish, self, {}, out);
}
void log_sigmoid_kernel(const Tensor& self, Tensor& out) {
  run("log_sigmoid", cpu::loops::log_sigmoid, self, {}, out);
}

// The buffer is what another backend keeps for the gradient; here it is empty.
std::array<TensorSpec, 2> log_sigmoid_forward_meta(const Tensor& self) {
  TensorSpec buffer = floating_spec("log_sigmoid", self);
  buffer.sizes = {0};
  buffer.strides = {};
  return {floating_spec("log_sigmoid", self), buffer};
}
void log_sigmoid_forward_kernel(const Tensor& self, Tensor& output, Tensor& buffer) {
  log_sigmoid_kernel(self, output);
}

TensorSpec softplus_meta(const Tensor& self, const Scalar&, const Scalar&) { return floating_spec("softplus", self); }
void softplus_kernel(const Tensor& self, const Scalar& beta, const Scalar& threshold, Tensor& out) {
  run("softplus", cpu::loops::softplus, self, {beta, threshold}, out);
}

TensorSpec elu_meta(const Tensor& self, const Scalar&, const Scalar&, const Scalar&) { return floating_spec("elu", self); }
void elu_kernel(const Tensor& self, const Scalar& alpha, const Scalar& scale, const Scalar& input_scale, Tensor& out) {
  run("elu", cpu::loops::elu, self, {Scalar(alpha.toDouble() * scale.toDouble()), scale, input_scale}, out);
}
// Constants of Klambauer et al. 2017.
void selu_kernel(const Tensor& self, Tensor& out) {
  elu_kernel(self, 1.6732632423543772848170429916717, 1.0507009873554804934193349852946, 1, out);
}
TensorSpec celu_meta(const Tensor& self, const Scalar& alpha) {
  TORCH_CHECK(alpha.toDouble() != 0, "ZeroDivisionError: alpha cannot be 0 for CELU");
  return floating_spec("celu", self);
}
void celu_kernel(const Tensor& self, const Scalar& alpha, Tensor& out) {
  elu_kernel(self, alpha, 1, 1.0 / alpha.toDouble(), out);
}

void hardshrink_kernel(const Tensor& self, const Scalar& lambd, Tensor& out) {
  run("hardshrink", cpu::loops::hardshrink, self, {lambd}, out);
}
TensorSpec softshrink_meta(const Tensor& self, const Scalar& lambd) {
  const TensorSpec spec = floating_spec("softshrink", self);
  const ScalarType type = self.scalar_type();
  const double largest = type == kDouble     ? std::numeric_limits<double>::max()
                         : type == kFloat    ? std::numeric_limits<float>::max()
                         : type == kBFloat16 ? static_cast<double>(std::numeric_limits<c10::BFloat16>::max())
                                             : static_cast<double>(std::numeric_limits<c10::Half>::max());
  TORCH_CHECK(lambd.toDouble() >= 0 && lambd.toDouble() <= largest, "lambda must be in range [0, ", largest,
              "] for input dtype ", type, ", but found ", lambd.toDouble());
  return spec;
}
void softshrink_kernel(const Tensor& self, const Scalar& lambd, Tensor& out) {
  run("softshrink", cpu::loops::softshrink, self, {lambd}, out);
}

// a * sigmoid(b) of the halves a, b along dim.
TensorSpec glu_meta(const Tensor& self, int64_t dim) {
  TORCH_CHECK(self.dim() > 0, "glu does not support 0-dimensional tensors");
  const int64_t d = maybe_wrap_dim(dim, self.dim());
  TORCH_CHECK(self.size(d) % 2 == 0, "Halving dimension must be even, but dimension ", d, " is size ", self.size(d));
  TensorSpec spec = floating_spec("glu", self);
  spec.sizes[d] /= 2;
  spec.strides = {};
  return spec;
}
void glu_kernel(const Tensor& self, int64_t dim, Tensor& out) {
  const int64_t d = maybe_wrap_dim(dim, self.dim());
  const Tensor a = make_view(self, out.sizes(), self.strides(), self.storage_offset());
  const Tensor b =
      make_view(self, out.sizes(), self.strides(), self.storage_offset() + out.sizes()[d] * self.strides()[d]);
  pointwise::run("glu", cpu::loops::sigmoid, out.scalar_type(), nullptr, out, {b});
  pointwise::run("glu", cpu::loops::mul, out.scalar_type(), nullptr, out, {a, out});
}

// --- of others ---

Tensor add_relu_tensor(const Tensor& self, const Tensor& other, const Scalar& alpha) {
  return at::relu(at::add(self, other, alpha));
}
Tensor add_relu_scalar(const Tensor& self, const Scalar& other, const Scalar& alpha) {
  return at::relu(at::add(self, other, alpha));
}

// prelu with a weight that broadcasts to self.
Tensor prelu_kernel(const Tensor& self, const Tensor& weight) {
  TORCH_CHECK(self.scalar_type() == weight.scalar_type(), "prelu: Type promoting not supported. Got ",
              self.scalar_type(), " and ", weight.scalar_type());
  if (self.is_quantized()) return at::prelu(self, at::reshape(weight, {-1}));
  return at::where(at::gt(self, Scalar(0)), self, at::mul(weight, self));
}

}  // namespace at::native
