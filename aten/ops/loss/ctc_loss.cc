// Connectionist temporal classification (Graves et al. 2006), in logarithms, each sequence of the batch by itself.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "aten/core/reduction.h"
#include "aten/core/tensor.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/loss/ctc_shape.h"
#include "aten/ops/loss/kernels.h"
#include "aten/ops/loss/ops.h"
#include "aten/ops/pointwise/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/unary/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

// What a path goes through: the labels with blanks between and around them.
struct States {
  std::vector<int64_t> labels;
  int64_t steps;
  int64_t count() const { return static_cast<int64_t>(labels.size()); }
  int64_t label(int64_t s) const { return labels[static_cast<size_t>(s)]; }
  // Whether a path may go from state s - 2 to s, past the blank: not between equal labels, which the blank keeps apart.
  bool may_skip_to(int64_t s) const { return s >= 2 && s % 2 == 1 && label(s) != label(s - 2); }
  // The states at a step that can be reached from the start and from which the end can be.
  int64_t first(int64_t step) const { return std::max<int64_t>(0, count() - 2 * (steps - step)); }
  int64_t end(int64_t step) const { return std::min<int64_t>(count(), 2 * step + 2); }
};

std::vector<States> states_of(const CtcShape& shape, const Tensor& targets, IntArrayRef input_lengths,
                              IntArrayRef target_lengths, int64_t blank) {
  const Tensor flat = dense(targets, kLong);
  const auto* row = static_cast<const int64_t*>(flat.const_data_ptr());
  std::vector<States> all;
  for (size_t b = 0; b < target_lengths.size(); ++b) {
    const int64_t length = target_lengths[b];
    States s{std::vector<int64_t>(static_cast<size_t>(2 * length + 1), blank), input_lengths[b]};
    for (int64_t i = 0; i < length; ++i) {
      TORCH_CHECK(row[i] >= 0 && row[i] < shape.classes, "ctc_loss: expected targets in [0, ", shape.classes,
                  "), but got ", row[i]);
      s.labels[static_cast<size_t>(2 * i + 1)] = row[i];
    }
    row += targets.dim() == 2 ? targets.size(1) : length;
    all.push_back(std::move(s));
  }
  return all;
}

template <class T>
constexpr T kNever = -std::numeric_limits<T>::infinity();

// log(exp(a) + exp(b) + exp(c)).
template <class T>
T log_sum(T a, T b, T c = kNever<T>) {
  const T m = std::max(a, std::max(b, c));
  return m == kNever<T> ? m : m + std::log(std::exp(a - m) + std::exp(b - m) + std::exp(c - m));
}

// Fills alpha [steps][width] of one sequence: the logarithm of the probability of being in a state at a step, over all
// ways to there. Returns minus the logarithm of the probability of all ways to the end.
template <class T>
T forward(const States& s, const T* log_probs, int64_t stride, int64_t width, T* alpha) {
  const int64_t n = s.count();
  if (s.steps == 0) return n == 1 ? T(0) : -kNever<T>;
  for (int64_t i = s.first(0); i < s.end(0); ++i) alpha[i] = log_probs[s.label(i)];
  for (int64_t t = 1; t < s.steps; ++t) {
    const T* before = alpha;
    alpha += width, log_probs += stride;
    for (int64_t i = s.first(t); i < s.end(t); ++i) {
      const T one = i >= 1 ? before[i - 1] : kNever<T>, two = s.may_skip_to(i) ? before[i - 2] : kNever<T>;
      alpha[i] = log_sum(before[i], one, two) + log_probs[s.label(i)];
    }
  }
  // The path ends with the last label or the blank after it.
  return -log_sum(alpha[n - 1], n >= 2 ? alpha[n - 2] : kNever<T>);
}

// The gradient of one sequence for what a log_softmax has made log_probs of: at each step the probabilities of the
// classes less those of the states that spell them, given that the path gets to the end.
template <class T>
void backward(const States& s, const T* log_probs, int64_t stride, int64_t classes, int64_t width, const T* alpha,
              T loss, T grad, T* result) {
  const int64_t n = s.count();
  std::vector<T> beta(static_cast<size_t>(n) + 2, kNever<T>), after(beta);  // two more that no path gets to
  for (int64_t t = s.steps - 1; t >= 0; --t) {
    const T *p = log_probs + t * stride, *a = alpha + t * width;
    T* g = result + t * stride;
    for (int64_t c = 0; c < classes; ++c) g[c] = std::exp(p[c]) * grad;
    std::swap(beta, after);
    std::fill(beta.begin(), beta.end(), kNever<T>);
    for (int64_t i = s.first(t); i < s.end(t); ++i) {
      const auto at = static_cast<size_t>(i);
      const T two = i + 2 < n && s.may_skip_to(i + 2) ? after[at + 2] : kNever<T>;
      const T rest = t == s.steps - 1 ? T(0) : log_sum(after[at], after[at + 1], two);
      if (a[i] == kNever<T> || rest == kNever<T>) continue;
      beta[at] = rest + p[s.label(i)];
      g[s.label(i)] -= std::exp(a[i] + rest + loss) * grad;
    }
  }
}

// Calls f(sequence, T()) for each sequence of the batch, some at once.
template <class F>
void each_sequence(const CtcShape& shape, ScalarType type, const F& f) {
  const int64_t grain = std::max<int64_t>(1, 2048 / (shape.steps * shape.states));
  at::parallel_for(0, shape.batch, grain, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) type == kFloat ? f(b, float()) : f(b, double());
  });
}

std::vector<int64_t> lengths_of(const char* name, const Tensor& t) {
  TORCH_CHECK(isIntegralType(t.scalar_type(), false), name, " must be integral");
  const Tensor c = dense(at::to(at::to(t, Device(DeviceType::CPU), kLong), kLong));
  return std::vector<int64_t>(c.data_ptr<int64_t>(), c.data_ptr<int64_t>() + c.numel());
}

Tensor of_lengths(IntArrayRef lengths, Device device) {
  Tensor t = at::empty({static_cast<int64_t>(lengths.size())}, TensorOptions().dtype(kLong));
  std::copy(lengths.begin(), lengths.end(), t.data_ptr<int64_t>());
  return at::to(t, device, kLong);
}

}  // namespace

std::array<TensorSpec, 2> _ctc_loss_meta(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths,
                                         IntArrayRef target_lengths, int64_t blank, bool) {
  const CtcShape s = ctc_shape(log_probs, targets, input_lengths, target_lengths, blank);
  return {TensorSpec{{s.batch}, {}, log_probs.scalar_type(), log_probs.device()},
          TensorSpec{{s.batch, s.steps, s.states}, {}, log_probs.scalar_type(), log_probs.device()}};
}

void _ctc_loss_cpu(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths,
                   IntArrayRef target_lengths, int64_t blank, bool, Tensor& losses, Tensor& log_alpha) {
  const CtcShape shape = ctc_shape(log_probs, targets, input_lengths, target_lengths, blank);
  const std::vector<States> states = states_of(shape, targets, input_lengths, target_lengths, blank);
  const Tensor p = dense(log_probs);
  DenseOut loss(losses), alpha(log_alpha);
  each_sequence(shape, log_probs.scalar_type(), [&]<class T>(int64_t b, T) {
    const int64_t size = shape.steps * shape.states;
    T* a = alpha.data<T>() + b * size;
    std::fill(a, a + size, kNever<T>);
    loss.data<T>()[b] =
        forward(states[static_cast<size_t>(b)], static_cast<const T*>(p.const_data_ptr()) + b * shape.classes,
                shape.batch * shape.classes, shape.states, a);
  });
  loss.commit();
  alpha.commit();
}

TensorSpec _ctc_loss_backward_meta(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                                   IntArrayRef input_lengths, IntArrayRef target_lengths, const Tensor& losses,
                                   const Tensor& log_alpha, int64_t blank, bool) {
  const CtcShape s = ctc_shape(log_probs, targets, input_lengths, target_lengths, blank);
  for (const auto& [name, t] : {std::pair("grad", &grad), std::pair("neg_log_likelihood", &losses)})
    TORCH_CHECK(t->sizes() == IntArrayRef{s.batch}, "_ctc_loss_backward: expected ", name, " of size [", s.batch,
                "], but got ", t->sizes());
  TORCH_CHECK((log_alpha.sizes() == IntArrayRef{s.batch, s.steps, s.states}),
              "_ctc_loss_backward: expected log_alpha of size [", s.batch, ", ", s.steps, ", ", s.states, "], but got ",
              log_alpha.sizes());
  return {
      DimVector(log_probs.sizes().begin(), log_probs.sizes().end()), {}, log_probs.scalar_type(), log_probs.device()};
}

void _ctc_loss_backward_cpu(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                            IntArrayRef input_lengths, IntArrayRef target_lengths, const Tensor& losses,
                            const Tensor& log_alpha, int64_t blank, bool zero_infinity, Tensor& out) {
  const CtcShape shape = ctc_shape(log_probs, targets, input_lengths, target_lengths, blank);
  const std::vector<States> states = states_of(shape, targets, input_lengths, target_lengths, blank);
  const ScalarType type = log_probs.scalar_type();
  const Tensor p = dense(log_probs), g = dense(grad, type), loss = dense(losses, type), alpha = dense(log_alpha, type);
  DenseOut result(out);
  result.clear();
  each_sequence(shape, type, [&]<class T>(int64_t b, T) {
    const States& s = states[static_cast<size_t>(b)];
    const int64_t stride = shape.batch * shape.classes, start = b * shape.classes;
    const auto of = [](const Tensor& t) { return static_cast<const T*>(t.const_data_ptr()); };
    T* to = result.data<T>() + start;
    if (of(loss)[b] != -kNever<T>) {
      backward(s, of(p) + start, stride, shape.classes, shape.states, of(alpha) + b * shape.steps * shape.states,
               of(loss)[b], of(g)[b], to);
    } else if (!zero_infinity) {
      for (int64_t t = 0; t < s.steps; ++t)
        std::fill_n(to + t * stride, shape.classes, std::numeric_limits<T>::quiet_NaN());
    }
  });
  result.commit();
}

std::tuple<Tensor, Tensor> _ctc_loss_tensor(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                                            const Tensor& target_lengths, int64_t blank, bool zero_infinity) {
  return at::_ctc_loss(log_probs, targets, lengths_of("input_lengths", input_lengths),
                       lengths_of("target_lengths", target_lengths), blank, zero_infinity);
}

Tensor _ctc_loss_backward_tensor(const Tensor& grad, const Tensor& log_probs, const Tensor& targets,
                                 const Tensor& input_lengths, const Tensor& target_lengths, const Tensor& losses,
                                 const Tensor& log_alpha, int64_t blank, bool zero_infinity) {
  return at::_ctc_loss_backward(grad, log_probs, targets, lengths_of("input_lengths", input_lengths),
                                lengths_of("target_lengths", target_lengths), losses, log_alpha, blank, zero_infinity);
}

Tensor ctc_loss(const Tensor& log_probs, const Tensor& targets, IntArrayRef input_lengths, IntArrayRef target_lengths,
                int64_t blank, int64_t reduction, bool zero_infinity) {
  TORCH_CHECK(reduction >= Reduction::None && reduction <= Reduction::Sum, reduction,
              " is not a valid value for reduction");
  const bool batched = log_probs.dim() != 2;
  // One sequence of targets is the same as a row of them, but as long as it says.
  Tensor loss = std::get<0>(at::_ctc_loss(batched ? log_probs : at::unsqueeze(log_probs, 1), targets, input_lengths,
                                          target_lengths, blank, zero_infinity));
  if (zero_infinity) loss = at::where(at::isinf(loss), at::zeros({}, loss.options()), loss);
  if (reduction == Reduction::Mean)
    return at::mean(at::div(loss, at::clamp_min(of_lengths(target_lengths, loss.device()), Scalar(1))));
  if (reduction == Reduction::Sum) return at::sum(loss);
  return batched ? loss : at::squeeze(loss, 0);
}

Tensor ctc_loss_tensor(const Tensor& log_probs, const Tensor& targets, const Tensor& input_lengths,
                       const Tensor& target_lengths, int64_t blank, int64_t reduction, bool zero_infinity) {
  return at::ctc_loss(log_probs, at::to(targets, kLong), lengths_of("input_lengths", input_lengths),
                      lengths_of("target_lengths", target_lengths), blank, reduction, zero_infinity);
}

}  // namespace at::native
