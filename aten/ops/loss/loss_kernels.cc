// Losses that are compositions of pointwise operators and a reduction.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <optional>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/reduction.h"
#include "aten/core/tensor.h"
#include "aten/core/view.h"
#include "aten/cpu/loops/activation.h"
#include "aten/cpu/loops/loss.h"
#include "aten/cpu/pointwise.h"
#include "aten/cpu/rows/distance.h"
#include "aten/cpu/rows/rows.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/activation/ops.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/loss/kernels.h"
#include "aten/ops/loss/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/shared/arguments.h"
#include "aten/ops/shared/one_pass.h"
#include "aten/ops/shared/value_checks.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

Tensor reduced(const Tensor& loss, int64_t reduction) {
  TORCH_CHECK(
      reduction >= Reduction::None && reduction <= Reduction::Sum, reduction, " is not a valid value for reduction");
  return reduction == Reduction::Mean ? at::mean(loss) : reduction == Reduction::Sum ? at::sum(loss) : loss;
}

Tensor reduced(double sum, const Tensor& self, int64_t reduction) {
  const Tensor out = empty_contiguous({}, self.scalar_type());
  cpu::visit_float_double(self.scalar_type(), "loss", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const double result = reduction == Reduction::Mean ? sum / static_cast<double>(self.numel()) : sum;
    *static_cast<T*>(out.mutable_data_ptr()) = static_cast<T>(result);
  });
  return fresh(out);
}

template <class T>
double sum_of(cpu::ElementLoop loop, const void* params, const Tensor& self, const Tensor& target) {
  constexpr int64_t kSlice = 2048, kPart = 32 * kSlice;
  T *const x = static_cast<T*>(self.data_ptr()), *const t = static_cast<T*>(target.data_ptr());
  const int64_t n = self.numel();
  std::vector<double> sums(static_cast<size_t>((n + kPart - 1) / kPart));
  at::parallel_for(0, static_cast<int64_t>(sums.size()), 1, [&](int64_t begin, int64_t end) {
    alignas(64) T losses[kSlice];
    for (int64_t part = begin; part < end; ++part) {
      for (int64_t i = part * kPart, last = std::min(n, i + kPart); i < last; i += kSlice) {
        const int64_t count = std::min(kSlice, last - i);
        char* const data[] = {reinterpret_cast<char*>(losses), reinterpret_cast<char*>(x + i),
                              reinterpret_cast<char*>(t + i)};
        loop(data, count, params);
        sums[static_cast<size_t>(part)] += cpu::row_sum(losses, count);
      }
    }
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0);
}

// The sum of `op` over the elements, of which a slice at a time stands in the first-level cache; nothing where the losses
// themselves are wanted, or the tensors differ in shape or dtype or are not plain memory. Parts of fixed length are
// added in order: no result depends on the number of threads.
std::optional<double> sum_of_losses(const cpu::ElementOp& op, const Tensor& self, const Tensor& target,
                                    int64_t reduction, const void* params = nullptr) {
  const ScalarType dtype = self.scalar_type();
  if ((reduction != Reduction::Mean && reduction != Reduction::Sum) || target.scalar_type() != dtype ||
      self.sizes() != target.sizes() || !self.is_cpu() || !target.is_cpu() || !is_dense(self) || !is_dense(target)) {
    return std::nullopt;
  }
  if (dtype == ScalarType::Float) return sum_of<float>(cpu::find_loop(op, dtype), params, self, target);
  if (dtype == ScalarType::Double) return sum_of<double>(cpu::find_loop(op, dtype), params, self, target);
  return std::nullopt;
}

// The losses by `op`, reduced, in one pass; an undefined tensor where they are more than that.
Tensor losses(const cpu::ElementOp& op, const Tensor& self, const Tensor& target, int64_t reduction,
              std::initializer_list<Scalar> numbers = {}) {
  if (!are_alike(self, target) || self.sizes() != target.sizes()) return {};
  if (reduction == Reduction::None || !self.is_cpu()) {
    const Tensor loss = one_pass("loss", op, self, {self, target}, numbers);
    return loss.defined() ? reduced(loss, reduction) : loss;
  }
  const pointwise::Params params(cpu::compute_type(self.scalar_type()), numbers);
  const std::optional<double> sum = sum_of_losses(op, self, target, reduction, params.get());
  return sum ? reduced(*sum, self, reduction) : Tensor();
}

void check_real(const char* name, const Tensor& self, const Tensor& target) {
  TORCH_CHECK_NOT_IMPLEMENTED(!self.is_complex() && !target.is_complex(), "\"", name, "\" not implemented for '",
                              at::result_type(self, target), "'");
}

Tensor weighted(const Tensor& loss, const std::optional<Tensor>& weight) {
  return given(weight) ? at::mul(loss, *weight) : loss;
}

// Whether they differ in dimensions of size 1 at most.
bool same_but_for_ones(IntArrayRef a, IntArrayRef b) {
  size_t j = 0;
  for (const int64_t size : a) {
    if (size == 1) continue;
    while (j < b.size() && b[j] == 1) ++j;
    if (j == b.size() || b[j++] != size) return false;
  }
  while (j < b.size() && b[j] == 1) ++j;
  return j == b.size();
}

}  // namespace

Tensor mse_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  check_real("mse_cpu", self, target);
  const Tensor difference = at::sub(self, target);
  return reduced(at::mul(difference, difference), reduction);
}

Tensor mse_loss_kernel(const Tensor& self, const Tensor& target, int64_t reduction) {
  const Tensor loss = losses(cpu::loops::squared_difference, self, target, reduction);
  return loss.defined() ? loss : native::mse_loss(self, target, reduction);
}

Tensor mse_loss_backward(
    const Tensor& grad_output, const Tensor& self, const Tensor& target, int64_t reduction, bool as_kernel) {
  if (as_kernel) {
    const double slope = reduction == Reduction::Mean ? 2.0 / static_cast<double>(self.numel()) : 2.0;
    const Tensor fused = one_pass("mse_loss_backward", cpu::loops::clamped_difference, self,
                                  {grad_output, self, target}, {std::numeric_limits<double>::infinity(), 0.0, slope});
    if (fused.defined()) return fused;
  }
  const Tensor difference = at::sub(self, target);
  const double scale = reduction == Reduction::Mean ? 2.0 / static_cast<double>(difference.numel()) : 2.0;
  return at::mul(difference, at::mul(grad_output, Scalar(scale)));
}

Tensor l1_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return reduced(at::abs(at::sub(self, target)), reduction);
}

Tensor l1_loss_kernel(const Tensor& self, const Tensor& target, int64_t reduction) {
  const Tensor loss = losses(cpu::loops::absolute_difference, self, target, reduction);
  return loss.defined() ? loss : native::l1_loss(self, target, reduction);
}

// |d| < beta: d^2 / (2 beta), else |d| - beta / 2
Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, int64_t reduction, double beta) {
  TORCH_CHECK(beta >= 0, "smooth_l1_loss does not support negative values for beta.");
  check_real("smooth_l1_cpu", self, target);
  if (beta == 0) return at::l1_loss(self, target, reduction);
  const Tensor d = at::sub(self, target), a = at::abs(d);
  const Tensor loss =
      at::where(at::lt(a, Scalar(beta)), at::mul(at::mul(d, d), Scalar(0.5 / beta)), at::sub(a, Scalar(0.5 * beta)));
  return reduced(loss, reduction);
}

Tensor smooth_l1_loss_kernel(const Tensor& self, const Tensor& target, int64_t reduction, double beta) {
  if (!(beta > 0)) return native::smooth_l1_loss(self, target, reduction, beta);
  const Tensor loss = losses(cpu::loops::smooth_l1, self, target, reduction, {beta, 0.5 / beta, 0.5 * beta});
  return loss.defined() ? loss : native::smooth_l1_loss(self, target, reduction, beta);
}

namespace {

// grad_output times the slope of a loss of d = self - target: inner d, but no more than `outer` beyond `bound`.
Tensor clamped_slope(const Tensor& grad_output, const Tensor& self, const Tensor& target, double bound, double outer,
                     double inner) {
  const Tensor d = at::sub(self, target);
  const Tensor slope = at::where(at::gt(d, Scalar(bound)), Scalar(outer),
                                 at::where(at::lt(d, Scalar(-bound)), Scalar(-outer), at::mul(d, Scalar(inner))));
  return at::mul(grad_output, at::to(slope, d.scalar_type()));
}
Tensor fused_slope(const Tensor& grad_output, const Tensor& self, const Tensor& target, double bound, double outer,
                   double inner) {
  const Tensor fused = one_pass("loss_backward", cpu::loops::clamped_difference, self, {grad_output, self, target},
                                {bound, outer, inner});
  return fused.defined() ? fused : clamped_slope(grad_output, self, target, bound, outer, inner);
}
double share(const Tensor& self, const Tensor& target, int64_t reduction) {
  if (reduction != Reduction::Mean) return 1;
  if (self.sizes() == target.sizes()) return 1.0 / static_cast<double>(self.numel());
  int64_t count = 1;
  for (const int64_t size : broadcast_shapes(self.sizes(), target.sizes())) count *= size;
  return 1.0 / static_cast<double>(count);
}

}  // namespace

Tensor smooth_l1_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target, int64_t reduction,
                               double beta, bool as_kernel) {
  check_real("smooth_l1_backward_cpu_out", self, target);
  const double outer = share(self, target, reduction);
  return (as_kernel ? fused_slope : clamped_slope)(grad_output, self, target, beta, outer,
                                                   beta > 0 ? outer / beta : 0.0);
}
Tensor huber_loss_backward(const Tensor& grad_output, const Tensor& self, const Tensor& target, int64_t reduction,
                           double delta, bool as_kernel) {
  check_real("huber_backward_cpu_out", self, target);
  const double inner = share(self, target, reduction);
  return (as_kernel ? fused_slope : clamped_slope)(grad_output, self, target, delta, inner * delta, inner);
}

// |d| <= delta: d^2 / 2, else delta (|d| - delta / 2)
Tensor huber_loss(const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
  TORCH_CHECK(delta > 0, "huber_loss does not support non-positive values for delta.");
  check_real("huber_cpu", self, target);
  const Tensor d = at::sub(self, target), a = at::abs(d);
  const Tensor loss = at::where(
      at::le(a, Scalar(delta)), at::mul(at::mul(d, d), Scalar(0.5)), at::mul(at::sub(a, Scalar(0.5 * delta)), Scalar(delta)));
  return reduced(loss, reduction);
}

Tensor huber_loss_kernel(const Tensor& self, const Tensor& target, int64_t reduction, double delta) {
  if (!(delta > 0)) return native::huber_loss(self, target, reduction, delta);
  const Tensor loss = losses(cpu::loops::huber, self, target, reduction, {delta, 0.5 * delta});
  return loss.defined() ? loss : native::huber_loss(self, target, reduction, delta);
}

// -w (t log x + (1 - t) log(1 - x)), logarithms no lower than -100.
Tensor binary_cross_entropy(
    const Tensor& self, const Tensor& given_target, const std::optional<Tensor>& weight, int64_t reduction) {
  TORCH_CHECK_VALUE(
      same_but_for_ones(self.sizes(), given_target.sizes()), "Using a target size (", given_target.sizes(), ") that is different to the input size (",
      self.sizes(), ") is deprecated. Please ensure they have the same size.");
  TORCH_CHECK(given_target.scalar_type() == self.scalar_type(), "Found dtype ", given_target.scalar_type(), " but expected ",
              self.scalar_type());
  const Tensor target =
      self.sizes() == given_target.sizes() ? given_target : at::reshape(given_target, self.sizes());
  TORCH_CHECK(self.numel() == 0 || holds(at::logical_and(at::ge(self, Scalar(0)), at::le(self, Scalar(1)))),
              "all elements of input should be between 0 and 1");
  const Tensor log_x = at::clamp_min(at::log(self), Scalar(-100));
  const Tensor log_rest = at::clamp_min(at::log1p(at::neg(self)), Scalar(-100));
  const Tensor loss = at::sub(at::mul(at::sub(target, Scalar(1)), log_rest), at::mul(target, log_x));
  return reduced(weighted(loss, weight), reduction);
}

// (1 - t) x + (1 + (p - 1) t) log(1 + exp(-x))
Tensor binary_cross_entropy_with_logits(
    const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight, const std::optional<Tensor>& pos_weight,
    int64_t reduction) {
  TORCH_CHECK_VALUE(
      self.sizes() == target.sizes(), "Target size (", target.sizes(), ") must be the same as input size (", self.sizes(), ")");
  Tensor soft = at::neg(at::log_sigmoid(self));
  if (given(pos_weight)) {
    soft = at::mul(soft, at::add(at::mul(at::sub(*pos_weight, Scalar(1)), target), Scalar(1)));
  }
  const Tensor loss = at::add(at::mul(at::rsub(target, Scalar(1)), self), soft);
  return reduced(weighted(loss, weight), reduction);
}

Tensor binary_cross_entropy_with_logits_cpu(
    const Tensor& self, const Tensor& target, const std::optional<Tensor>& weight,
    const std::optional<Tensor>& pos_weight, int64_t reduction) {
  if (!given(weight) && !given(pos_weight)) {
    const std::optional<double> sum = sum_of_losses(cpu::loops::logit_cross_entropy, self, target, reduction);
    if (sum) return reduced(*sum, self, reduction);
  }
  return native::binary_cross_entropy_with_logits(self, target, weight, pos_weight, reduction);
}

Tensor kl_div(const Tensor& self, const Tensor& target, int64_t reduction, bool log_target) {
  const Tensor loss = log_target ? at::mul(at::exp(target), at::sub(target, self))
                                 : at::sub(at::xlogy(target, target), at::mul(target, self));
  return reduced(loss, reduction);
}

Tensor kl_div_kernel(const Tensor& self, const Tensor& target, int64_t reduction, bool log_target) {
  const Tensor loss =
      losses(log_target ? cpu::loops::divergence_of_logs : cpu::loops::divergence, self, target, reduction);
  return loss.defined() ? loss : native::kl_div(self, target, reduction, log_target);
}

Tensor margin_ranking_loss(
    const Tensor& input1, const Tensor& input2, const Tensor& target, double margin, int64_t reduction) {
  const Tensor gap = at::mul(at::neg(target), at::sub(input1, input2));
  return reduced(at::clamp_min(at::add(gap, Scalar(margin)), Scalar(0)), reduction);
}

Tensor hinge_embedding_loss(const Tensor& self, const Tensor& target, double margin, int64_t reduction) {
  const Tensor zero = at::mul(self, Scalar(0));
  const Tensor apart = at::where(at::ne(target, Scalar(1)), at::clamp_min(at::rsub(self, Scalar(margin)), Scalar(0)), zero);
  const Tensor near = at::where(at::ne(target, Scalar(-1)), self, zero);
  return reduced(at::add(apart, near), reduction);
}

Tensor soft_margin_loss(const Tensor& self, const Tensor& target, int64_t reduction) {
  return reduced(at::neg(at::log_sigmoid(at::mul(self, target))), reduction);
}

Tensor soft_margin_loss_kernel(const Tensor& self, const Tensor& target, int64_t reduction) {
  const Tensor loss = losses(cpu::loops::soft_margin, self, target, reduction);
  return loss.defined() ? loss : native::soft_margin_loss(self, target, reduction);
}

Tensor poisson_nll_loss(
    const Tensor& input, const Tensor& target, bool log_input, bool full, double eps, int64_t reduction) {
  Tensor loss = log_input ? at::sub(at::exp(input), at::mul(target, input))
                          : at::sub(input, at::mul(target, at::log(at::add(input, Scalar(eps)))));
  if (full) {
    // Stirling's approximation of log(target!).
    const Tensor stirling = at::add(
        at::sub(at::mul(target, at::log(target)), target), at::mul(at::log(at::mul(target, Scalar(6.283185307179586))), Scalar(0.5)));
    loss = at::add(loss, at::where(at::le(target, Scalar(1)), at::mul(target, Scalar(0)), stirling));
  }
  return reduced(loss, reduction);
}

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
  return at::norm(at::add(at::sub(x1, x2), Scalar(eps)), std::optional<Scalar>(p), IntArrayRef(-1), keepdim);
}

Tensor triplet_margin_loss(
    const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin, double p, double eps, bool swap,
    int64_t reduction) {
  TORCH_CHECK(
      anchor.dim() == positive.dim() && positive.dim() == negative.dim(),
      "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor ",
      anchor.dim(), "D, positive ", positive.dim(), "D, and negative ", negative.dim(), "D inputs");
  const Tensor near = at::pairwise_distance(anchor, positive, p, eps);
  Tensor far = at::pairwise_distance(anchor, negative, p, eps);
  if (swap) far = at::minimum(far, at::pairwise_distance(positive, negative, p, eps));
  return reduced(at::clamp_min(at::add(at::sub(near, far), Scalar(margin)), Scalar(0)), reduction);
}

// x1 . x2 / (max(|x1|, eps) max(|x2|, eps))
Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
  const std::optional<Scalar> two(2);
  const DimVector shape = broadcast_shapes(x1.sizes(), x2.sizes());
  const auto direction = [&](const Tensor& x) {
    const Tensor wide = x.sizes() == IntArrayRef(shape) ? x : at::expand(x, shape);
    const Tensor norm = at::norm(wide, two, IntArrayRef(dim), true);
    // What lifts a small norm to eps counts as a constant, as in PyTorch.
    const Tensor lift = at::detach(at::clamp_min(at::rsub(norm, Scalar(eps)), Scalar(0)));
    return at::div(wide, at::add(norm, lift));
  };
  return at::sum(at::mul(direction(x1), direction(x2)), IntArrayRef(dim));
}

namespace {

// For rows whose squares are beyond the type's numbers or below its normal ones: the product of their directions, in
// double.
template <class T>
T wide_cosine(const T* x, const T* y, int64_t n, double eps) {
  const auto length = [&](const T* v) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(v[i]) * static_cast<double>(v[i]);
    return std::max(static_cast<double>(static_cast<T>(std::sqrt(sum))), eps);
  };
  const double x_length = length(x), y_length = length(y);
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += static_cast<double>(x[i]) / x_length * (static_cast<double>(y[i]) / y_length);
  return static_cast<T>(sum);
}

}  // namespace

// One pass over rows of memory.
Tensor cosine_similarity_cpu(const Tensor& x1, const Tensor& x2, int64_t dim, double eps) {
  const ScalarType dtype = x1.scalar_type();
  if (x1.dim() == 0 || (dim != -1 && dim != x1.dim() - 1) || x2.scalar_type() != dtype || x1.sizes() != x2.sizes() ||
      (dtype != ScalarType::Float && dtype != ScalarType::Double) || !is_dense(x1) || !is_dense(x2) ||
      x1.size(-1) == 0) {
    return native::cosine_similarity(x1, x2, dim, eps);
  }
  const int64_t n = x1.size(-1), rows = x1.numel() / n;
  const Tensor out = empty_contiguous(x1.sizes().slice(0, static_cast<size_t>(x1.dim() - 1)), dtype);
  cpu::visit_float_double(dtype, "cosine_similarity", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T *x = static_cast<const T*>(x1.const_data_ptr()), *y = static_cast<const T*>(x2.const_data_ptr());
    T* to = static_cast<T*>(out.mutable_data_ptr());
    at::parallel_for(0, rows, std::max<int64_t>(1, 32768 / n), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        double sums[3];
        cpu::row_products(x + r * n, y + r * n, n, sums);
        constexpr double kLeast = static_cast<double>(std::numeric_limits<T>::min()) * 1e8;
        if (!(std::isfinite(sums[0]) && std::isfinite(sums[1]) && std::isfinite(sums[2]) && sums[1] > kLeast &&
              sums[2] > kLeast)) {
          to[r] = wide_cosine(x + r * n, y + r * n, n, eps);
          continue;
        }
        to[r] = static_cast<T>(sums[0] / (std::max(std::sqrt(sums[1]), eps) * std::max(std::sqrt(sums[2]), eps)));
      }
    });
  });
  return fresh(out);
}

Tensor cosine_embedding_loss(
    const Tensor& input1, const Tensor& input2, const Tensor& target, double margin, int64_t reduction) {
  TORCH_CHECK(target.dim() <= 1, "0D or 1D target tensor expected, multi-target not supported");
  const auto floating = [](const Tensor& x) {
    return c10::isIntegralType(x.scalar_type(), true) ? at::to(x, get_default_dtype_as_scalartype()) : x;
  };
  const Tensor cosine = at::cosine_similarity(floating(input1), floating(input2), target.dim() == 0 ? 0 : 1);
  const Tensor zero = at::mul(cosine, Scalar(0));
  const Tensor near = at::where(at::eq(target, Scalar(1)), at::rsub(cosine, Scalar(1)), zero);
  const Tensor apart =
      at::where(at::eq(target, Scalar(-1)), at::clamp_min(at::sub(cosine, Scalar(margin)), Scalar(0)), zero);
  return reduced(at::add(near, apart), reduction);
}

}  // namespace at::native
