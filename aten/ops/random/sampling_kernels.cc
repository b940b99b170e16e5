// dropout and multinomial.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/cpu/rows/rows.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/random/kernels.h"
#include "aten/ops/shared/draws.h"
#include "aten/ops/random/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {

using random::Draws;

namespace {

void check_probability(const char* op, double p) {
  TORCH_CHECK(p >= 0 && p <= 1, op, " probability has to be between 0 and 1, but got ", p);
}

// A tensor that repeats one noise value over each feature map: [N, C, 1, 1, ...].
Tensor feature_noise(const Tensor& input) {
  TORCH_CHECK(input.dim() >= 2, "Feature dropout requires at least 2 dimensions in the input");
  DimVector sizes(input.dim(), 1);
  sizes[0] = input.size(0);
  sizes[1] = input.size(1);
  return empty_contiguous(sizes, input.scalar_type(), input.device());
}

// The factor and the shift (undefined where none) of a training dropout.
struct Noise {
  Tensor factor;
  Tensor shift;
};
Noise draw_noise(const Tensor& input, double p, bool feature, bool alpha) {
  Tensor noise = feature ? feature_noise(input) : at::empty_like(input);
  at::bernoulli_(noise, 1 - p);
  if (!alpha) return {at::div_(noise, Scalar(1 - p)), Tensor()};
  // Dropped units take the value -alpha' and mean and variance are restored (Klambauer et al. 2017).
  constexpr double kAlpha = 1.7580993408473766;
  const double a = 1.0 / std::sqrt((kAlpha * kAlpha * p + 1) * (1 - p));
  Tensor shift = at::add(noise, Scalar(-1));
  at::mul_(shift, Scalar(kAlpha * a));
  at::add_(shift, Scalar(kAlpha * a * p));
  return {at::mul_(noise, Scalar(a)), shift};
}

Tensor apply_dropout(const Tensor& input, double p, bool train, bool feature, bool alpha) {
  check_probability("dropout", p);
  if (p == 0 || !train || input.numel() == 0) return input;
  if (p == 1) return at::mul(input, at::zeros({}, input.options()));
  const Noise noise = draw_noise(input, p, feature, alpha);
  const Tensor scaled = at::mul(input, noise.factor);
  return noise.shift.defined() ? at::add(scaled, noise.shift) : scaled;
}
Tensor& apply_dropout_(Tensor& self, double p, bool train, bool feature, bool alpha) {
  check_probability("dropout", p);
  if (p == 0 || !train || self.numel() == 0) return self;
  if (p == 1) return at::mul_(self, at::zeros({}, self.options()));
  const Noise noise = draw_noise(self, p, feature, alpha);
  at::mul_(self, noise.factor);
  return noise.shift.defined() ? at::add_(self, noise.shift) : self;
}

}  // namespace

Tensor dropout(const Tensor& input, double p, bool train) { return apply_dropout(input, p, train, false, false); }
Tensor& dropout_(Tensor& self, double p, bool train) { return apply_dropout_(self, p, train, false, false); }
Tensor feature_dropout(const Tensor& input, double p, bool train) { return apply_dropout(input, p, train, true, false); }
Tensor& feature_dropout_(Tensor& self, double p, bool train) { return apply_dropout_(self, p, train, true, false); }
Tensor alpha_dropout(const Tensor& input, double p, bool train) { return apply_dropout(input, p, train, false, true); }
Tensor& alpha_dropout_(Tensor& self, double p, bool train) { return apply_dropout_(self, p, train, false, true); }
Tensor feature_alpha_dropout(const Tensor& input, double p, bool train) { return apply_dropout(input, p, train, true, true); }
Tensor& feature_alpha_dropout_(Tensor& self, double p, bool train) { return apply_dropout_(self, p, train, true, true); }

std::tuple<Tensor, Tensor> native_dropout(const Tensor& input, double p, std::optional<bool> train) {
  check_probability("dropout", p);
  if (input.numel() == 0) return {input, at::empty_like(input)};
  Tensor mask = at::empty_like(input, input.options().dtype(ScalarType::Bool));
  if (train.has_value() && !*train) {
    at::fill_(mask, 1);
    return {at::clone(input), mask};
  }
  at::bernoulli_(mask, 1 - p);
  Tensor output = at::mul(input, mask);
  at::mul_(output, Scalar(p == 1 ? 0.0 : 1 / (1 - p)));
  return {output, mask};
}
Tensor native_dropout_backward(const Tensor& grad_output, const Tensor& mask, double scale) {
  return at::mul(at::mul(grad_output, mask), Scalar(scale));
}

// --- multinomial ---

namespace {

// Running sums left to right in T, over the total; the last is 1.
template <int kRows, class T>
void cumulative(const T* weights, int64_t n, T* sums) {
  // The additions of one row need not wait for those of another.
  T sum[kRows] = {};
  for (int64_t i = 0; i < n; ++i) {
    for (int r = 0; r < kRows; ++r) sums[r * n + i] = sum[r] += weights[r * n + i];
  }
  for (int r = 0; r < kRows; ++r) {
    for (int64_t i = 0; i < n; ++i) sums[r * n + i] /= sum[r];
    sums[(r + 1) * n - 1] = 1;
  }
}

template <class T>
void with_replacement(Draws& draws, const T* weights, int64_t rows, int64_t n, int64_t samples, int64_t* out) {
  constexpr int64_t kTogether = 4;
  std::vector<T> sums(static_cast<size_t>(kTogether * n));
  for (int64_t r = 0; r < rows;) {
    const int64_t some = rows - r >= kTogether ? kTogether : 1;
    some == kTogether ? cumulative<kTogether>(weights + r * n, n, sums.data())
                      : cumulative<1>(weights + r * n, n, sums.data());
    for (int64_t k = 0; k < some; ++k) {
      const T *first = sums.data() + k * n, *last = first + n;
      for (int64_t s = 0; s < samples; ++s) {
        const double u = draws.uniform();
        const T* found =
            std::lower_bound(first, last, u, [](T sum, double value) { return static_cast<double>(sum) < value; });
        *out++ = found - first;
      }
    }
    r += some;
  }
}

template <class T>
void check_weights(const T* w, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r, w += n) {
    const T greatest = cpu::row_max(w, n);
    TORCH_CHECK(std::isfinite(greatest) && cpu::row_min(w, n) >= 0,
                "probability tensor contains either `inf`, `nan` or element < 0");
    TORCH_CHECK(greatest > 0, "invalid multinomial distribution (sum of probabilities <= 0)");
  }
}

}  // namespace

TensorSpec multinomial_meta(const Tensor& self, int64_t num_samples, bool replacement, std::optional<Generator> generator) {
  TORCH_CHECK(self.is_floating_point(), "multinomial only supports floating-point dtypes for input, got: ", self.scalar_type());
  TORCH_CHECK(self.dim() == 1 || self.dim() == 2, "prob_dist must be 1 or 2 dim");
  TORCH_CHECK(num_samples > 0, "cannot sample n_sample <= 0 samples");
  const int64_t n = self.size(-1);
  TORCH_CHECK(n > 0, "prob_dist must have at least one category");
  TORCH_CHECK(replacement || num_samples <= n, "cannot sample n_sample > prob_dist.size(-1) samples without replacement");
  TORCH_CHECK(n <= (int64_t{1} << 24), "number of categories cannot exceed 2^24");
  DimVector sizes;
  if (self.dim() == 2) sizes.push_back(self.size(0));
  sizes.push_back(num_samples);
  return {sizes, {}, ScalarType::Long, self.device()};
}

void multinomial_cpu(const Tensor& self, int64_t num_samples, bool replacement, std::optional<Generator> generator,
                     Tensor& target) {
  if (target.numel() == 0) return;
  Tensor result = is_dense(target) ? target : empty_contiguous(target.sizes(), ScalarType::Long);
  const int64_t n = self.size(-1);
  const int64_t rows = self.dim() == 2 ? self.size(0) : 1;
  const Tensor weights = dense(self.scalar_type() == ScalarType::Double ? self : at::to(self, ScalarType::Float));
  int64_t* out = result.data_ptr<int64_t>();
  const bool draws_all = replacement && num_samples > 1;
  cpu::visit_float_double(weights.scalar_type(), "multinomial", [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* w = weights.data_ptr<T>();
    check_weights(w, rows, n);
    if (!draws_all) return;
    Draws draws(generator);
    with_replacement(draws, w, rows, n, num_samples, out);
  });
  if (draws_all) {
    if (!result.is_same(target)) at::copy_(target, result);
    return;
  }

  // The largest of w / q with q exponential are a sample without replacement (Efraimidis and Spirakis 2006).
  Tensor q = at::empty_like(self);
  at::exponential_(q, 1, std::move(generator));
  const Tensor keys = dense(at::to(at::div(self, q), ScalarType::Double));
  std::vector<int64_t> order(static_cast<size_t>(n));
  for (int64_t r = 0; r < rows; ++r) {
    const double* key = keys.data_ptr<double>() + r * n;
    std::iota(order.begin(), order.end(), int64_t{0});
    std::partial_sort(order.begin(), order.begin() + num_samples, order.end(), [key](int64_t a, int64_t b) {
      return key[a] > key[b] || (key[a] == key[b] && a < b);
    });
    std::copy_n(order.begin(), num_samples, out + r * num_samples);
  }
  if (!result.is_same(target)) at::copy_(target, result);
}

}  // namespace at::native
