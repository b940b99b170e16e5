// Connectionist temporal classification (Graves et al. 2006) by composition: the forward variables of all sequences of
// the batch step together, in logarithms.
#include <vector>

#include "aten/core/reduction.h"
#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/loss/kernels.h"
#include "aten/ops/loss/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"

namespace at::native {
namespace {

// The logarithm of an impossible path: finite, so that gradients through it are zero and not NaN.
constexpr double kNever = -1e30;

Tensor of_lengths(IntArrayRef lengths, Device device) {
  Tensor t = at::empty({static_cast<int64_t>(lengths.size())}, TensorOptions().dtype(kLong));
  std::copy(lengths.begin(), lengths.end(), t.data_ptr<int64_t>());
  return at::to(t, device, kLong);
}

// -log p(target) of each sequence; inf where there is no path.
Tensor losses(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths, IntArrayRef target_lengths,
              int64_t blank) {
  const int64_t steps = log_probs.size(0), batch = log_probs.size(1), classes = log_probs.size(2);
  TORCH_CHECK(isFloatingType(log_probs.scalar_type()), "ctc_loss: expected log_probs of a floating-point dtype, got ",
              log_probs.scalar_type());
  TORCH_CHECK(isIntegralType(targets.scalar_type(), false), "targets must be integral");
  TORCH_CHECK(blank >= 0 && blank < classes, "blank must be in label range");
  TORCH_CHECK(static_cast<int64_t>(input_lengths.size()) == batch, "input_lengths must be of size batch_size");
  TORCH_CHECK(static_cast<int64_t>(target_lengths.size()) == batch, "target_lengths must be of size batch_size");
  TORCH_CHECK(targets.dim() == 1 || targets.dim() == 2, "targets must be 1D or 2D, got ", targets.dim(), "D");
  int64_t longest = 0, total = 0;
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t in = input_lengths[static_cast<size_t>(b)], out = target_lengths[static_cast<size_t>(b)];
    TORCH_CHECK(in >= 0 && in <= steps, "Expected input_lengths to have value at most ", steps, ", but got value ", in);
    TORCH_CHECK(out >= 0 && out <= targets.numel(), "Expected target_lengths to have value at least 0 and at most ",
                targets.numel(), ", but got value ", out);
    longest = out > longest ? out : longest;
    total += out;
  }
  const int64_t rows = targets.dim() == 2 ? batch : total;
  TORCH_CHECK(targets.size(0) == rows, "Expected tensor to have size ", rows, " at dimension 0, but got size ",
              targets.size(0), " for argument 'targets'");
  TORCH_CHECK(targets.dim() != 2 || targets.size(1) >= longest, "Expected tensor to have size at least ", longest,
              " at dimension 1, but got size ", targets.size(1), " for argument 'targets'");
  // Labels with blanks between and around them, [batch, 2 longest + 1]; and whether the path may skip the blank before
  // one.
  const int64_t width = 2 * longest + 1;
  const Tensor flat = dense(at::to(at::to(targets, Device(DeviceType::CPU), kLong), kLong));
  Tensor labels = at::full({batch, width}, Scalar(blank), TensorOptions().dtype(kLong));
  Tensor may_skip = at::zeros({batch, width}, TensorOptions().dtype(kBool));
  int64_t start = 0;
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t* from = flat.data_ptr<int64_t>() + (targets.dim() == 2 ? b * targets.size(1) : start);
    const int64_t length = target_lengths[static_cast<size_t>(b)];
    for (int64_t i = 0; i < length; ++i) {
      TORCH_CHECK(from[i] >= 0 && from[i] < classes, "ctc_loss: expected targets in [0, ", classes, "), but got ",
                  from[i]);
      labels.data_ptr<int64_t>()[b * width + 2 * i + 1] = from[i];
      may_skip.data_ptr<bool>()[b * width + 2 * i + 1] = i > 0 && from[i] != from[i - 1];
    }
    start += length;
  }
  const Device device = log_probs.device();
  labels = at::to(labels, device, kLong);
  may_skip = at::to(may_skip, device, kBool);
  const Tensor never = at::scalar_tensor(Scalar(kNever), log_probs.options());
  // log_probs of the labels, [steps, batch, width].
  const Tensor emitted = at::gather(log_probs, 2, at::expand(at::unsqueeze(labels, 0), {steps, batch, width}));
  const Tensor places = at::arange(Scalar(width), TensorOptions().dtype(kLong).device(device));
  const Tensor ends = at::unsqueeze(of_lengths(input_lengths, device), 1);
  const Tensor start_at = at::expand(at::lt(places, Scalar(2)), {batch, width});
  // Before the first step, so that an input of length 0 has the empty path only.
  Tensor alpha =
      at::where(at::expand(at::eq(places, Scalar(0)), {batch, width}), at::zeros({}, log_probs.options()), never);
  const auto shifted = [&](const Tensor& t, int64_t by) {
    if (width <= by) return at::expand(never, {batch, width});
    return at::cat({at::expand(never, {batch, by}), at::narrow(t, 1, 0, width - by)}, 1);
  };
  for (int64_t step = 0; step < steps; ++step) {
    const Tensor now = at::select(emitted, 0, step);
    Tensor next;
    if (step == 0) {
      next = at::where(start_at, now, never);
    } else {
      const Tensor skipped = at::where(may_skip, shifted(alpha, 2), never);
      next = at::add(at::logsumexp(at::stack({alpha, shifted(alpha, 1), skipped}), IntArrayRef{0}), now);
    }
    alpha = at::where(at::gt(ends, Scalar(step)), next, alpha);
  }
  // The path ends with the last label or the blank after it.
  const Tensor last = at::unsqueeze(at::mul(of_lengths(target_lengths, device), Scalar(2)), 1);
  const Tensor final_blank = at::gather(alpha, 1, last);
  const Tensor before = at::gather(alpha, 1, at::clamp_min(at::sub(last, Scalar(1)), Scalar(0)));
  const Tensor final_label = at::where(at::gt(last, Scalar(0)), before, never);
  const Tensor loss = at::neg(at::logsumexp(at::cat({final_blank, final_label}, 1), IntArrayRef{1}));
  return at::masked_fill(loss, at::gt(loss, Scalar(-kNever / 2)), Scalar(std::numeric_limits<double>::infinity()));
}

// A number that is 0 for each sequence and has the gradient exp(log_probs) at the steps that count. Added to a loss it
// takes the gradient of the probabilities' sum out: PyTorch's is that of what a log_softmax has made log_probs of.
Tensor normalizer(const Tensor& log_probs, IntArrayRef input_lengths) {
  const ScalarType type = log_probs.scalar_type();
  const Tensor wide = type == kDouble ? log_probs : at::to(log_probs, kFloat);
  const Tensor sums = at::sum(at::exp(at::clamp_max(wide, Scalar(80))), IntArrayRef{2});
  const Tensor steps =
      at::unsqueeze(at::arange(Scalar(log_probs.size(0)), TensorOptions().dtype(kLong).device(log_probs.device())), 1);
  const Tensor beyond = at::ge(steps, of_lengths(input_lengths, log_probs.device()));
  const Tensor mass = at::sum(at::masked_fill(sums, beyond, Scalar(0)), IntArrayRef{0});
  return at::to(at::sub(mass, at::detach(mass)), type);
}

std::vector<int64_t> lengths_of(const char* name, const Tensor& t) {
  TORCH_CHECK(isIntegralType(t.scalar_type(), false), name, " must be integral");
  const Tensor c = dense(at::to(at::to(t, Device(DeviceType::CPU), kLong), kLong));
  return std::vector<int64_t>(c.data_ptr<int64_t>(), c.data_ptr<int64_t>() + c.numel());
}

}  // namespace

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths, IntArrayRef target_lengths,
                int64_t blank, int64_t reduction, bool zero_infinity) {
  TORCH_CHECK(reduction >= Reduction::None && reduction <= Reduction::Sum, reduction,
              " is not a valid value for reduction");
  TORCH_CHECK(log_probs.dim() == 2 || log_probs.dim() == 3, "ctc_loss: expected log_probs of 2 or 3 dimensions, got ",
              log_probs.dim());
  const bool batched = log_probs.dim() == 3;
  const Tensor batch = batched ? log_probs : at::unsqueeze(log_probs, 1);
  Tensor loss = losses(batch, batched || targets.dim() == 2 ? targets : at::unsqueeze(targets, 0), input_lengths,
                       target_lengths, blank);
  const Tensor impossible = at::isinf(loss);
  if (GradMode::is_enabled() && log_probs.requires_grad()) {
    const Tensor sums = normalizer(batch, input_lengths);
    // Where no path exists PyTorch's gradient is not a number: 0 sqrt(0) is 0 and has such a gradient.
    const Tensor root = at::sqrt(at::masked_fill(sums, at::eq(impossible, Scalar(false)), Scalar(1)));
    const Tensor undefined = at::mul(root, Scalar(0));
    loss = at::add(loss, at::where(impossible, zero_infinity ? at::detach(undefined) : undefined, sums));
  }
  if (zero_infinity) loss = at::masked_fill(loss, impossible, Scalar(0));
  if (reduction == Reduction::Mean) {
    const Tensor lengths = at::to(at::clamp_min(of_lengths(target_lengths, loss.device()), Scalar(1)), loss.scalar_type());
    return at::mean(at::div(loss, lengths));
  }
  if (reduction == Reduction::Sum) return at::sum(loss);
  return batched ? loss : at::squeeze(loss, 0);
}
Tensor ctc_loss_tensor(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                       const Tensor& target_lengths, int64_t blank, int64_t reduction, bool zero_infinity) {
  return at::ctc_loss(log_probs, targets, lengths_of("input_lengths", input_lengths),
                      lengths_of("target_lengths", target_lengths), blank, reduction, zero_infinity);
}

}  // namespace at::native
