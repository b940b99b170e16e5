// nll_loss, its two-dimensional form, their backward operators, cross_entropy_loss.
#include <array>
#include <vector>

#include "aten/core/reduction.h"
#include "aten/core/tensor.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/loss/kernels.h"
#include "aten/ops/loss/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/thread_state.h"

namespace at::native {
namespace {

// Input as [batch][classes][inner], target as [batch][inner].
struct Shape {
  int64_t batch = 1, classes = 1, inner = 1;
};

void check_reduction(int64_t reduction) {
  TORCH_CHECK(
      reduction >= Reduction::None && reduction <= Reduction::Sum, reduction, " is not a valid value for reduction");
}

void check_common(const char* op, const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t classes) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      isFloatingType(self.scalar_type()), "\"", op, "\" not implemented for '", toString(self.scalar_type()), "'");
  TORCH_CHECK(
      target.scalar_type() == ScalarType::Long || target.scalar_type() == ScalarType::Byte,
      "expected target dtype to be Long or Byte, but got ", toString(target.scalar_type()));
  TORCH_CHECK(
      !weight || !weight->defined() || (weight->dim() == 1 && weight->numel() == classes), "weight tensor should be defined either for all ",
      classes, " classes or no classes but got weight tensor of shape: ", weight ? weight->sizes() : IntArrayRef());
}

Shape check_nll(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction) {
  check_reduction(reduction);
  TORCH_CHECK(self.dim() > 0 && self.dim() <= 2, "input tensor should be 1D or 2D");
  TORCH_CHECK(target.dim() <= 1, "0D or 1D target tensor expected, multi-target not supported");
  const bool batched = self.dim() == 2;
  TORCH_CHECK(
      (!batched && target.dim() == 0) || (batched ? self.sizes()[0] == target.numel() && target.dim() == 1 : target.numel() == 1),
      "size mismatch (got input: ", self.sizes(), ", target: ", target.sizes(), ")");
  check_common("nll_loss", self, target, weight, self.sizes().back());
  return {batched ? self.sizes()[0] : 1, self.sizes().back(), 1};
}

Shape check_nll2d(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction) {
  check_reduction(reduction);
  TORCH_CHECK(
      target.dim() == 3, "only batches of spatial targets supported (3D tensors) but got targets of ", target.dim(),
      " dimensions, of size: : ", target.sizes());
  TORCH_CHECK(
      self.dim() == 4, "only batches of spatial inputs supported (4D tensors), but got input of size: ", self.sizes());
  TORCH_CHECK(
      self.sizes()[0] == target.sizes()[0] && self.sizes()[2] == target.sizes()[1] && self.sizes()[3] == target.sizes()[2],
      "size mismatch (got input: ", self.sizes(), " , target: ", target.sizes());
  check_common("nll_loss2d", self, target, weight, self.sizes()[1]);
  return {self.sizes()[0], self.sizes()[1], self.sizes()[2] * self.sizes()[3]};
}

std::array<TensorSpec, 2> forward_spec(const Tensor& self, const Tensor& target, int64_t reduction, bool batched) {
  TensorSpec loss{{}, {}, self.scalar_type(), self.device()};
  if (reduction == Reduction::None && batched) loss.sizes = DimVector(target.sizes().begin(), target.sizes().end());
  return {std::move(loss), TensorSpec{{}, {}, self.scalar_type(), self.device()}};
}

const int64_t* check_targets(const Tensor& target, int64_t classes, int64_t ignore_index) {
  const auto* t = static_cast<const int64_t*>(target.const_data_ptr());
  for (int64_t i = 0; i < target.numel(); ++i) {
    TORCH_CHECK_INDEX(t[i] == ignore_index || (t[i] >= 0 && t[i] < classes), "Target ", t[i], " is out of bounds.");
  }
  return t;
}

// loss = -w[t] x[t]; the mean divides by the sum of the weights used.
void forward(const Shape& s, const Tensor& self, const Tensor& target_in, const std::optional<Tensor>& weight, int64_t reduction,
             int64_t ignore_index, Tensor& output, Tensor& total_weight) {
  const Tensor x = dense(self), target = dense(target_in, ScalarType::Long);
  const int64_t* t = check_targets(target, s.classes, ignore_index);
  const Tensor w = weight && weight->defined() ? dense(*weight, self.scalar_type()) : Tensor();
  DenseOut out(output), divisor(total_weight);
  cpu::visit_floating(self.scalar_type(), "nll_loss", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* xp = static_cast<const T*>(x.const_data_ptr());
    const T* wp = w.defined() ? static_cast<const T*>(w.const_data_ptr()) : nullptr;
    const bool apart = reduction == Reduction::None;
    T* each = out.data<T>();
    double sum = 0, weights = 0;
    for (int64_t n = 0; n < s.batch; ++n) {
      for (int64_t k = 0; k < s.inner; ++k) {
        const int64_t i = n * s.inner + k, c = t[i];
        if (c == ignore_index) {
          if (apart) each[i] = static_cast<T>(0.0f);
          continue;
        }
        const double wc = wp ? static_cast<double>(wp[c]) : 1.0;
        const double loss = -wc * static_cast<double>(xp[(n * s.classes + c) * s.inner + k]);
        weights += wc;
        sum += loss;
        if (apart) each[i] = static_cast<T>(loss);
      }
    }
    if (!apart) *each = static_cast<T>(reduction == Reduction::Mean ? sum / weights : sum);
    *divisor.data<T>() = static_cast<T>(apart ? 0.0 : weights);
  });
  out.commit();
  divisor.commit();
}

void backward(const Shape& s, const Tensor& grad_output, const Tensor& self, const Tensor& target_in,
              const std::optional<Tensor>& weight, int64_t reduction, int64_t ignore_index, const Tensor& total_weight, Tensor& out) {
  const Tensor target = dense(target_in, ScalarType::Long), g = dense(grad_output, self.scalar_type());
  const int64_t* t = check_targets(target, s.classes, ignore_index);
  const Tensor w = weight && weight->defined() ? dense(*weight, self.scalar_type()) : Tensor();
  const Tensor divisor = dense(total_weight, self.scalar_type());
  DenseOut gx(out);
  gx.clear();
  cpu::visit_floating(self.scalar_type(), "nll_loss_backward", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* gp = static_cast<const T*>(g.const_data_ptr());
    const T* wp = w.defined() ? static_cast<const T*>(w.const_data_ptr()) : nullptr;
    T* to = gx.data<T>();
    const bool each = reduction == Reduction::None && g.dim() > 0;
    double scale = 1;
    if (reduction == Reduction::Mean) scale = 1 / static_cast<double>(*static_cast<const T*>(divisor.const_data_ptr()));
    for (int64_t n = 0; n < s.batch; ++n) {
      for (int64_t k = 0; k < s.inner; ++k) {
        const int64_t i = n * s.inner + k, c = t[i];
        if (c == ignore_index) continue;
        const double wc = wp ? static_cast<double>(wp[c]) : 1.0;
        to[(n * s.classes + c) * s.inner + k] = static_cast<T>(-wc * static_cast<double>(gp[each ? i : 0]) * scale);
      }
    }
  });
  gx.commit();
}

TensorSpec backward_spec(const Shape&, const Tensor& grad_output, const Tensor& self, const Tensor& target, int64_t reduction,
                         const Tensor& total_weight, bool batched) {
  TORCH_CHECK(
      total_weight.numel() == 1, "expected total_weight to be a  single element tensor, got: ", total_weight.sizes(), " (",
      total_weight.numel(), " elements)");
  if (reduction == Reduction::None && batched) {
    TORCH_CHECK(
        grad_output.sizes() == target.sizes(), "Expected a tensor of size ", target.sizes(), " but got ", grad_output.sizes(),
        " for argument #1 'grad_output'");
  } else {
    TORCH_CHECK(
        grad_output.dim() <= 1 && grad_output.numel() == 1, "Expected a single element grad_output tensor, but got: ",
        grad_output.sizes());
  }
  return {DimVector(self.sizes().begin(), self.sizes().end()), {}, self.scalar_type(), self.device()};
}

}  // namespace

std::array<TensorSpec, 2> nll_loss_forward_meta(
    const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction, int64_t) {
  check_nll(self, target, weight, reduction);
  return forward_spec(self, target, reduction, self.dim() == 2);
}
void nll_loss_forward_cpu(
    const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction, int64_t ignore_index,
    Tensor& output, Tensor& total_weight) {
  forward(check_nll(self, target, weight, reduction), self, target, weight, reduction, ignore_index, output, total_weight);
}
TensorSpec nll_loss_backward_meta(
    const Tensor& grad_output, const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction,
    int64_t, const Tensor& total_weight) {
  return backward_spec(
      check_nll(self, target, weight, reduction), grad_output, self, target, reduction, total_weight, self.dim() == 2);
}
void nll_loss_backward_cpu(
    const Tensor& grad_output, const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction,
    int64_t ignore_index, const Tensor& total_weight, Tensor& out) {
  backward(
      check_nll(self, target, weight, reduction), grad_output, self, target, weight, reduction, ignore_index, total_weight, out);
}

std::array<TensorSpec, 2> nll_loss2d_forward_meta(
    const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction, int64_t) {
  check_nll2d(self, target, weight, reduction);
  return forward_spec(self, target, reduction, true);
}
void nll_loss2d_forward_cpu(
    const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction, int64_t ignore_index,
    Tensor& output, Tensor& total_weight) {
  forward(check_nll2d(self, target, weight, reduction), self, target, weight, reduction, ignore_index, output, total_weight);
}
TensorSpec nll_loss2d_backward_meta(
    const Tensor& grad_output, const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction,
    int64_t, const Tensor& total_weight) {
  return backward_spec(check_nll2d(self, target, weight, reduction), grad_output, self, target, reduction, total_weight, true);
}
void nll_loss2d_backward_cpu(
    const Tensor& grad_output, const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction,
    int64_t ignore_index, const Tensor& total_weight, Tensor& out) {
  backward(
      check_nll2d(self, target, weight, reduction), grad_output, self, target, weight, reduction, ignore_index, total_weight, out);
}

Tensor nll_loss(
    const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction, int64_t ignore_index) {
  return std::get<0>(at::nll_loss_forward(self, target, weight, reduction, ignore_index));
}
Tensor nll_loss2d(
    const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction, int64_t ignore_index) {
  return std::get<0>(at::nll_loss2d_forward(self, target, weight, reduction, ignore_index));
}

// Classes in dimension 1 (0 of a vector), any number of spatial dimensions.
Tensor nll_loss_nd(
    const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction, int64_t ignore_index) {
  TORCH_CHECK_VALUE(self.dim() >= 1, "Expected 1 or more dimensions (got ", self.dim(), ")");
  TORCH_CHECK_VALUE(
      self.dim() == 1 || (target.dim() > 0 && self.sizes()[0] == target.sizes()[0]), "Expected input batch_size (", self.sizes()[0],
      ") to match target batch_size (", target.dim() > 0 ? target.sizes()[0] : 0, ").");
  if (self.dim() <= 2) return at::nll_loss(self, target, weight, reduction, ignore_index);
  if (self.dim() == 4) return at::nll_loss2d(self, target, weight, reduction, ignore_index);
  DimVector expected(target.sizes().begin(), target.sizes().end());
  TORCH_CHECK(
      target.dim() == self.dim() - 1 && target.sizes().slice(1) == self.sizes().slice(2), "Expected target size ",
      [&] {
        DimVector want{self.sizes()[0]};
        for (int64_t n : self.sizes().slice(2)) want.push_back(n);
        return want;
      }(),
      ", got ", target.sizes());
  const int64_t n = self.sizes()[0], c = self.sizes()[1];
  const Tensor x = at::reshape(self, {n, c, 1, n * c == 0 ? 0 : self.numel() / (n * c)});
  const Tensor t = at::reshape(target, {n, 1, n == 0 ? 0 : target.numel() / n});
  const Tensor loss = at::nll_loss2d(x, t, weight, reduction, ignore_index);
  return reduction == Reduction::None ? at::reshape(loss, expected) : loss;
}

namespace {

// Targets that are class probabilities, with `smoothing` of them spread evenly.
Tensor probability_loss(const Tensor& self, const Tensor& target_in, const std::optional<Tensor>& weight, int64_t reduction,
                        double smoothing) {
  const int64_t dim = self.dim() == 1 ? 0 : 1, classes = self.size(dim);
  TORCH_CHECK(
      isFloatingType(target_in.scalar_type()), "Expected floating point type for target with class probabilities, got ",
      toString(target_in.scalar_type()));
  TORCH_CHECK(
      !weight || !weight->defined() || (weight->dim() == 1 && weight->numel() == classes), "cross_entropy: weight tensor should be defined ",
      "either for all ", classes, " classes or no classes but got weight tensor of shape: ", weight ? weight->sizes() : IntArrayRef());
  const Tensor logp = at::log_softmax(self, dim);
  const Tensor target = smoothing > 0
      ? at::add(at::mul(target_in, Scalar(1 - smoothing)), Scalar(smoothing / static_cast<double>(classes)))
      : target_in;
  Tensor product = at::mul(logp, target);
  if (weight && weight->defined()) {
    DimVector shape(static_cast<size_t>(self.dim()), 1);
    shape[static_cast<size_t>(dim)] = classes;
    product = at::mul(product, at::reshape(*weight, shape));
  }
  if (reduction == Reduction::None) return at::neg(at::sum(product, IntArrayRef(dim)));
  const Tensor total = at::neg(at::sum(product));
  return reduction == Reduction::Sum ? total : at::div(total, Scalar(self.numel() / std::max<int64_t>(classes, 1)));
}

Tensor smoothed_loss(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction,
                     int64_t ignore_index, double smoothing) {
  const int64_t dim = self.dim() == 1 ? 0 : 1, classes = self.size(dim);
  const Tensor logp = at::log_softmax(self, dim);
  const Tensor hard = at::nll_loss_nd(logp, target, weight, reduction, ignore_index);
  Tensor smooth;
  const bool weighted = weight && weight->defined();
  if (weighted) {
    DimVector shape(static_cast<size_t>(self.dim()), 1);
    shape[static_cast<size_t>(dim)] = classes;
    smooth = at::neg(at::sum(at::mul(logp, at::reshape(*weight, shape)), IntArrayRef(dim)));
  } else {
    smooth = at::neg(at::sum(logp, IntArrayRef(dim)));
  }
  const Tensor ignored = at::eq(target, Scalar(ignore_index));
  smooth = at::masked_fill(smooth, ignored, Scalar(0));
  if (reduction == Reduction::Sum) {
    smooth = at::sum(smooth);
  } else if (reduction == Reduction::Mean) {
    const Tensor used = at::logical_not(ignored);
    if (weighted) {
      // The mean is over the weights of the targets, as that of the other term.
      const Tensor safe = at::masked_fill(target, ignored, Scalar(0));
      const Tensor weights = at::reshape(at::index_select(*weight, 0, at::reshape(safe, IntArrayRef(-1))), target.sizes());
      smooth = at::div(at::sum(smooth), at::sum(at::mul(weights, used)));
    } else {
      smooth = at::div(at::sum(smooth), at::sum(used));
    }
  }
  return at::add(at::mul(hard, Scalar(1 - smoothing)), at::mul(smooth, Scalar(smoothing / static_cast<double>(classes))));
}

}  // namespace

namespace {

// In what dtype a loss is given: autocast computes it in float32.
ScalarType loss_dtype(const Tensor& self) {
  const c10::ThreadState& thread = c10::thread_state();
  const bool casts = thread.included.has(DispatchKey::AutocastCUDA) && !thread.excluded.has(DispatchKey::AutocastCUDA);
  return casts && self.scalar_type() != ScalarType::Double ? ScalarType::Float : self.scalar_type();
}

// Whether a kernel of its own reads the logits, and the classes are theirs; what is wrong is left to the parts to say.
bool fits_fused(const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction) {
  return self.is_cuda() && self.layout() == kStrided && self.dim() == 2 && self.numel() > 0 &&
         isFloatingType(self.scalar_type()) && target.device() == self.device() && target.dim() == 1 &&
         target.size(0) == self.size(0) && target.scalar_type() == ScalarType::Long &&
         !(weight && weight->defined()) && reduction >= Reduction::None && reduction <= Reduction::Sum;
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> fused_cross_entropy(const Tensor& self, const Tensor& target, int64_t reduction,
                                                       int64_t ignore_index, ScalarType dtype) {
  const Tensor x = at::to(self, dtype), logp = at::log_softmax(x, 1);
  const Tensor loss = std::get<0>(at::nll_loss_forward(logp, target, std::nullopt, reduction, ignore_index));
  const ScalarType wide = dtype == ScalarType::Double ? dtype : ScalarType::Float;
  const Tensor count = at::sum(at::ne(target, Scalar(ignore_index)));
  return {loss, at::logsumexp(at::to(x, wide), IntArrayRef(1)), at::to(count, wide)};
}

Tensor fused_cross_entropy_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target,
                                    int64_t reduction, int64_t ignore_index, const Tensor& logsumexp,
                                    const Tensor& total_weight) {
  const ScalarType dtype = logsumexp.scalar_type();
  const Tensor logp = at::sub(at::to(self, dtype), at::unsqueeze(logsumexp, 1));
  const Tensor grad = at::nll_loss_backward(at::to(grad_output, dtype), logp, target, std::nullopt, reduction,
                                            ignore_index, total_weight);
  return at::to(at::_log_softmax_backward_data(grad, logp, 1, dtype), self.scalar_type());
}

Tensor cross_entropy_loss(
    const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, int64_t reduction, int64_t ignore_index,
    double label_smoothing) {
  TORCH_CHECK(
      label_smoothing >= 0 && label_smoothing <= 1, "label_smoothing must be between 0.0 and 1.0. Got: ", label_smoothing);
  TORCH_CHECK(self.dim() >= 1, "cross_entropy_loss(): expected an input of at least one dimension");
  if (self.sizes() == target.sizes() && isFloatingType(target.scalar_type())) {
    TORCH_CHECK(ignore_index < 0, "ignore_index is not supported for floating point target");
    return probability_loss(self, target, weight, reduction, label_smoothing);
  }
  if (label_smoothing > 0) return smoothed_loss(self, target, weight, reduction, ignore_index, label_smoothing);
  if (fits_fused(self, target, weight, reduction))
    return std::get<0>(at::_fused_cross_entropy(self, target, reduction, ignore_index, loss_dtype(self)));
  return at::nll_loss_nd(at::log_softmax(self, self.dim() == 1 ? 0 : 1), target, weight, reduction, ignore_index);
}

}  // namespace at::native
