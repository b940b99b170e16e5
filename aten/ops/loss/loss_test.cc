#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/reduction.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/loss/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/softmax/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"

namespace at::testing {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Loss, NllForwardAndBackward) {
  for (ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::BFloat16}) {
    for (bool spatial : {false, true}) {
      const std::vector<int64_t> shape = spatial ? std::vector<int64_t>{2, 3, 2, 2} : std::vector<int64_t>{8, 3};
      const std::vector<int64_t> target_shape = spatial ? std::vector<int64_t>{2, 2, 2} : std::vector<int64_t>{8};
      const std::vector<int64_t> t = {0, 2, 1, -100, 2, 2, 0, 1};
      const Tensor target = indices_of(t, target_shape), w = tensor_of({1, 2, 0.5}, {3}, type);
      const auto wv = values(w);
      for (const Tensor& x : layouts(sample(shape, type, 21))) {
        const auto v = values(x);
        std::vector<double> each;
        double sum = 0, weights = 0;
        const auto place = [&](size_t i) {
          const auto c = static_cast<size_t>(t[i]);
          return spatial ? (i / 4 * 3 + c) * 4 + i % 4 : i * 3 + c;
        };
        for (size_t i = 0; i < 8; ++i) {
          each.push_back(t[i] < 0 ? 0 : -wv[static_cast<size_t>(t[i])] * v[place(i)]);
          sum += each.back();
          weights += t[i] < 0 ? 0 : wv[static_cast<size_t>(t[i])];
        }
        const double tol = 4 * tolerance(type);
        const auto loss = [&](int64_t reduction) { return at::nll_loss_nd(x, target, w, reduction); };
        expect_close(loss(Reduction::None), each, tol, tol);
        expect_close(loss(Reduction::Sum), {sum}, tol, tol);
        expect_close(loss(Reduction::Mean), {sum / weights}, tol, tol);
        std::vector<double> grad(v.size());
        for (size_t i = 0; i < 8; ++i) {
          if (t[i] >= 0) grad[place(i)] = -wv[static_cast<size_t>(t[i])] / weights * 3;
        }
        const Tensor g = tensor_of({3}, {}, type), total = tensor_of({weights}, {}, type);
        expect_close(
            spatial ? at::nll_loss2d_backward(g, x, target, w, Reduction::Mean, -100, total)
                    : at::nll_loss_backward(g, x, target, w, Reduction::Mean, -100, total),
            grad, tol, tol);
      }
    }
  }
}

TEST(Loss, CrossEntropy) {
  const Tensor x = sample({4, 3}, ScalarType::Double, 22), t = indices_of({0, 2, 1, -100}, {4});
  const auto logp = values(at::log_softmax(x, 1));
  const double a = logp[0], b = logp[5], c = logp[7];
  expect_close(at::cross_entropy_loss(x, t), {-(a + b + c) / 3}, 1e-12);
  double all = 0;
  for (size_t i = 0; i < 9; ++i) all += logp[i];
  expect_close(at::cross_entropy_loss(x, t, {}, Reduction::Mean, -100, 0.3), {-(a + b + c) / 3 * 0.7 - all / 9 * 0.3}, 1e-12);
  const Tensor p = tensor_of({1, 0, 0, 0, 0, 1, 0, 1, 0, 0.5, 0.5, 0}, {4, 3}, ScalarType::Double);
  expect_close(
      at::cross_entropy_loss(x, p, {}, Reduction::Sum), {-(a + b + c + 0.5 * logp[9] + 0.5 * logp[10])}, 1e-12);
  expect_close(at::cross_entropy_loss(tensor_of({0, 0}, {2}), indices_of({1}, {})), {std::log(2.0)});
  const Tensor sequences = sample({2, 3, 5}, ScalarType::Float, 23);
  EXPECT_EQ(sizes(at::cross_entropy_loss(sequences, indices_of(std::vector<int64_t>(10, 1), {2, 5}), {}, Reduction::None)),
            (std::vector<int64_t>{2, 5}));
}

TEST(Loss, Pointwise) {
  const Tensor x = tensor_of({1, 2, 4}, {3}), y = tensor_of({1.5, 2, 1}, {3});
  expect_close(at::mse_loss(x, y), {(0.25 + 9) / 3});
  expect_close(at::mse_loss(x, y, Reduction::None), {0.25, 0, 9});
  expect_close(at::l1_loss(x, y, Reduction::Sum), {3.5});
  expect_close(at::smooth_l1_loss(x, y, Reduction::None), {0.125, 0, 2.5});
  expect_close(at::huber_loss(x, y, Reduction::None, 2), {0.125, 0, 4});
  const Tensor p = tensor_of({0.25, 0.5, 1}, {3}), t = tensor_of({0, 1, 1}, {3});
  expect_close(at::binary_cross_entropy(p, t, {}, Reduction::None), {-std::log(0.75), -std::log(0.5), 0});
  // As libtorch's operator, which squeezes them: element by element, not each with each.
  const Tensor column = at::binary_cross_entropy(tensor_of({0.25, 0.5, 1}, {3, 1}), t, {}, Reduction::None);
  EXPECT_EQ(column.sizes(), IntArrayRef({3, 1}));
  expect_close(column, {-std::log(0.75), -std::log(0.5), 0});
  EXPECT_THROW(at::binary_cross_entropy(p, tensor_of({0, 1, 1, 0, 1, 1}, {2, 3})), c10::Error);
  expect_close(at::binary_cross_entropy_with_logits(x, t, {}, {}, Reduction::None),
               {std::log1p(std::exp(1.0)), std::log1p(std::exp(-2.0)), std::log1p(std::exp(-4.0))});
  expect_close(at::kl_div(x, p, Reduction::None), {0.25 * (std::log(0.25) - 1), 0.5 * (std::log(0.5) - 2), -4});
  for (const ScalarType type : {ScalarType::Long, ScalarType::Byte}) {
    const Tensor a = tensor_of({3, 4}, {1, 2}, type), b = tensor_of({4, 3}, {1, 2}, type);
    expect_close(at::cosine_embedding_loss(a, b, tensor_of({1}, {1}, type)), {1.0 / 25});
  }
  expect_close(at::cosine_similarity(tensor_of({3, 4}, {1, 2}), tensor_of({4, 3}, {1, 2})), {24.0 / 25});
  // Broadcast along `dim` itself, and by a missing dimension.
  const Tensor ones = tensor_of(std::vector<double>(15, 1), {5, 3}), row = tensor_of({1, 1, 1}, {1, 3});
  expect_close(at::cosine_similarity(ones, row, 0), {1, 1, 1});
  expect_close(at::cosine_similarity(row, ones, 0), {1, 1, 1});
  expect_close(at::cosine_similarity(ones, tensor_of({2}, {}), -1), {1, 1, 1, 1, 1});
  expect_close(at::cosine_similarity(tensor_of({1, 2}, {2}), tensor_of({3}, {1, 1, 1}), 2), {3 / std::sqrt(10.0)});
}

TEST(Loss, SlopesOfClampedLosses) {
  for (const ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::Half}) {
    const Tensor x = tensor_of({1, 2, 4, -4, kNan}, {5}, type), y = tensor_of({1.5, 2, 1, 1, 0}, {5}, type);
    const Tensor one = tensor_of({1}, {}, type), each = tensor_of({1, 2, 3, 4, 5}, {5}, type);
    expect_close(at::smooth_l1_loss_backward(one, x, y, Reduction::Sum, 2), {-0.25, 0, 1, -1, kNan});
    expect_close(at::smooth_l1_loss_backward(each, x, y, Reduction::None, 2), {-0.25, 0, 3, -4, kNan});
    expect_close(at::smooth_l1_loss_backward(one, x, y, Reduction::Sum, 0), {-1, 0, 1, -1, kNan});
    expect_close(at::huber_loss_backward(one, x, y, Reduction::Mean, 2), {-0.1, 0, 0.4, -0.4, kNan}, 1e-3);
    expect_close(at::huber_loss_backward(one, x, tensor_of({1}, {}, type), Reduction::Sum, 2), {0, 1, 2, -2, kNan});
    expect_close(at::mse_loss_backward(one, x, y, Reduction::Sum), {-1, 0, 6, -10, kNan});
    expect_close(at::mse_loss_backward(one, x, y, Reduction::Mean), {-0.2, 0, 1.2, -2, kNan}, 1e-3);
    expect_close(at::mse_loss_backward(each, x, y, Reduction::None), {-1, 0, 18, -40, kNan});
    const Tensor two = tensor_of({2}, {}, type);
    expect_close(at::mse_loss_backward(one, two, y, Reduction::Mean), {0.2, 0, 0.4, 0.4, 0.8}, 1e-3);
  }
}

// Bounds that no integer has.
TEST(Loss, ClampedLossesOfIntegers) {
  const Tensor x = tensor_of({1, 2, 4}, {3}, ScalarType::Long), y = tensor_of({1, 4, 1}, {3}, ScalarType::Long);
  for (const int64_t reduction : {Reduction::None, Reduction::Sum}) {
    const bool each = reduction == Reduction::None;
    for (const double bound : {double{INFINITY}, 1e30}) {
      expect_close(at::huber_loss(x, y, reduction, bound), each ? std::vector<double>{0, 2, 4.5} : std::vector{6.5});
      expect_close(at::smooth_l1_loss(x, y, reduction, bound), each ? std::vector<double>{0, 0, 0} : std::vector{0.0});
    }
    expect_close(at::smooth_l1_loss(x, y, reduction, 1e-30), each ? std::vector<double>{0, 2, 3} : std::vector{5.0});
  }
  const Tensor one = tensor_of({1}, {}, ScalarType::Long);
  expect_close(at::huber_loss_backward(one, x, y, Reduction::Sum, INFINITY), {0, -2, 3});
  expect_close(at::smooth_l1_loss_backward(one, x, y, Reduction::Sum, INFINITY), {0, 0, 0});
}

// Against differences of doubles, whatever the distances are made of.
TEST(Loss, DistancesOfEveryNorm) {
  for (const ScalarType type : {ScalarType::Float, ScalarType::Double}) {
    // Those of more than a vector are the CPU's own way.
    for (const int64_t width : device().is_cuda() ? std::vector<int64_t>{5} : std::vector<int64_t>{1, 5, 40, 300}) {
      const Tensor x = sample({2, 30, width}, type, 31), y = sample({1, 67, width}, type, 32);
      const auto xv = values(x), yv = values(y);
      for (const double p : {0.0, 1.0, 2.0, 3.0, 2.5, std::numeric_limits<double>::infinity()}) {
        const auto distance = [&](const double* a, const double* b) {
          double sum = 0;
          for (int64_t k = 0; k < width; ++k) {
            const double d = std::fabs(a[k] - b[k]);
            sum = p == 0 ? sum + (d != 0) : std::isinf(p) ? std::max(sum, d) : sum + std::pow(d, p);
          }
          return p == 0 || std::isinf(p) ? sum : std::pow(sum, 1 / p);
        };
        std::vector<double> pairs, own;
        for (int64_t i = 0; i < 60; ++i) {
          for (int64_t j = 0; j < 67; ++j)
            pairs.push_back(distance(&xv[static_cast<size_t>(i * width)], &yv[static_cast<size_t>(j * width)]));
        }
        for (int64_t i = 0; i < 67; ++i) {
          for (int64_t j = i + 1; j < 67; ++j)
            own.push_back(distance(&yv[static_cast<size_t>(i * width)], &yv[static_cast<size_t>(j * width)]));
        }
        const double tol = type == ScalarType::Float ? 3e-6 : 1e-13;
        for (const auto& mode : {std::optional<int64_t>(), std::optional<int64_t>(1), std::optional<int64_t>(2)}) {
          expect_close(at::cdist(x, y, p, mode), pairs, tol, tol);
        }
        expect_close(at::pdist(at::select(y, 0, 0), p), own, tol, tol);
      }
    }
  }
  // Near neighbours far from zero, and numbers that are none.
  std::vector<double> far(40 * 32, 100), near = far;
  for (size_t i = 0; i < 40; ++i) near[i * 32] = 100.5, far[i * 32 + 1] = 100 + static_cast<double>(i);
  const auto distances = values(at::cdist(tensor_of(far, {40, 32}), tensor_of(near, {40, 32})));
  for (size_t i = 0; i < 40; ++i) EXPECT_NEAR(distances[i * 40], std::hypot(0.5, static_cast<double>(i)), 1e-4);
  far[0] = kNan, near[0] = std::numeric_limits<double>::infinity();
  const auto special = values(at::cdist(tensor_of(far, {40, 32}), tensor_of(near, {40, 32})));
  EXPECT_TRUE(std::isnan(special[0]) && std::isnan(special[1]) && std::isinf(special[40]) &&
              std::isfinite(special[41]));
}

// Against the norm of the differences in double.
TEST(Loss, PairwiseDistances) {
  for (const int64_t width : {1, 7, 256, 1025, 3000}) {
    const Tensor a = sample({2, 5, width}, kFloat, 41), b = sample({2, 5, width}, kFloat, 42);
    for (const double eps : {0.0, 1e-6}) {
      const auto exact = [&](const Tensor& x, const Tensor& y) {
        const auto wide = [](const Tensor& t) { return tensor_of(values(t), t.sizes().vec(), kDouble); };
        const Tensor d = at::add(at::sub(wide(x), wide(y)), Scalar(eps));
        return values(at::norm(d, std::optional<Scalar>(2), IntArrayRef(-1)));
      };
      for (const Tensor& x : layouts(a)) expect_close(at::pairwise_distance(x, b, 2, eps), exact(x, b), 1e-5, 0);
      EXPECT_TRUE(values(at::pairwise_distance(a, a, 2, 0)) == std::vector<double>(10, 0));
      EXPECT_EQ(at::pairwise_distance(a, b, 2, eps, true).sizes(), IntArrayRef({2, 5, 1}));
      expect_close(at::pairwise_distance(a, at::select(b, 0, 1), 2, eps), exact(a, at::select(b, 0, 1)), 1e-5, 0);
    }
  }
  const Tensor ones = tensor_of({1, 1, 1, 1}, {2, 2});
  const Tensor special = at::pairwise_distance(tensor_of({1, kNan, 1, INFINITY}, {2, 2}), ones);
  EXPECT_TRUE(std::isnan(values(special)[0]) && std::isinf(values(special)[1]));
}

// Of numbers whose powers the dtype does not hold, against double, and against the composition.
TEST(Loss, DistancesAndAnglesOfExtremeRows) {
  for (const int64_t width : {3, 40}) {
    for (const double scale : {1e20, 1e-25, 300.0, 1e-3}) {
      std::vector<double> xs, ys;
      for (int64_t i = 0; i < 30 * width; ++i) {
        xs.push_back(scale * static_cast<double>(i % 7 - i / 40));
        ys.push_back(scale * static_cast<double>(i % 5 + i / 30));
      }
      std::copy(xs.begin(), xs.begin() + width, ys.begin());  // of which the distance is 0
      const Tensor x = tensor_of(xs, {30, width}), y = tensor_of(ys, {30, width});
      const Tensor wide_x = tensor_of(values(x), {30, width}, kDouble);
      const Tensor wide_y = tensor_of(values(y), {30, width}, kDouble);
      for (const double p : {2.0, 3.0, 2.5, 16.0}) {
        for (const int64_t mode : {0, 1, 2}) {
          SCOPED_TRACE(std::to_string(scale) + " " + std::to_string(p) + " " + std::to_string(mode));
          const Tensor got = at::cdist(x, y, p, mode);
          EXPECT_EQ(values(got)[0], 0);
          expect_close(got, at::cdist(wide_x, wide_y, p), 3e-6, 0);
        }
        const Tensor differences = at::sub(at::unsqueeze(x, 1), at::unsqueeze(y, 0));
        expect_close(at::cdist(x, y, p), at::norm(differences, std::optional<Scalar>(p), IntArrayRef(2)), 3e-6, 0);
        expect_close(at::pdist(x, p), at::pdist(wide_x, p), 3e-6, 0);
      }
      expect_close(at::cosine_similarity(x, y, 1, 0), values(at::cosine_similarity(wide_x, wide_y, 1, 0)), 1e-6);
      const Tensor columns_x = at::transpose(x, 0, 1), columns_y = at::transpose(y, 0, 1);
      expect_close(at::cosine_similarity(x, y, 1, 0), at::cosine_similarity(columns_x, columns_y, 0, 0), 1e-6);
    }
  }
  for (const double scale : {1e200, 1e-200}) {
    const Tensor x = tensor_of({3 * scale, 4 * scale}, {1, 2}, kDouble), column = at::transpose(x, 0, 1);
    for (const double eps : {0.0, 1e-8}) {
      expect_close(at::cosine_similarity(x, x, 1, eps), values(at::cosine_similarity(column, column, 0, eps)));
    }
  }
}

TEST(Loss, MultilabelMarginByHand) {
  // Targets 2 and 0 of four classes; what follows the -1 does not count.
  const Tensor x = tensor_of({0, 0.5, 1, -1}, {1, 4}), t = indices_of({2, 0, -1, 1}, {1, 4});
  const auto [loss, is_target] = at::multilabel_margin_loss_forward(x, t, Reduction::Sum);
  expect_close(loss, {(0.5 + 0 + 1.5 + 0) / 4});
  expect_close(is_target, {1, 0, 1, 0});
}

// Sums are taken slice by slice where memory allows it: over several parts, the rest of one, and none at all.
TEST(Loss, SumsOfManyAreThoseOfTheElements) {
  for (const ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::BFloat16}) {
    // The last is for several threads of the CPU.
    for (const int64_t n : {0, 1, 2049, device().is_cuda() ? 2050 : 200001}) {
      const Tensor x = sample({n}, type, 24), t = sample({n}, type, 25);
      for (const auto& loss : std::initializer_list<std::function<Tensor(int64_t)>>{
               [&](int64_t reduction) { return at::mse_loss(x, t, reduction); },
               [&](int64_t reduction) { return at::l1_loss(x, t, reduction); },
               [&](int64_t reduction) { return at::smooth_l1_loss(x, t, reduction, 0.5); },
               [&](int64_t reduction) { return at::huber_loss(x, t, reduction, 0.5); },
               [&](int64_t reduction) { return at::soft_margin_loss(x, t, reduction); },
               [&](int64_t reduction) { return at::kl_div(x, t, reduction, true); },
               [&](int64_t reduction) { return at::binary_cross_entropy_with_logits(x, t, {}, {}, reduction); }}) {
        const auto each = values(loss(Reduction::None));
        const double sum = std::accumulate(each.begin(), each.end(), 0.0), tol = 4 * tolerance(type);
        expect_close(loss(Reduction::Sum), {sum}, tol, tol);
        const double mean = values(loss(Reduction::Mean))[0];
        if (n == 0) {
          EXPECT_TRUE(std::isnan(mean));
        } else {
          EXPECT_NEAR(mean, sum / static_cast<double>(n), tol);
        }
        EXPECT_EQ(loss(Reduction::Mean).scalar_type(), type);
        EXPECT_EQ(loss(Reduction::Mean).dim(), 0);
      }
    }
  }
}

// Over all paths of 4 steps through 3 classes, one after the other: minus the logarithm of the probability of those
// that spell `target`, and its gradient for what a log_softmax has made log_probs of.
std::vector<double> ctc_by_paths(const std::vector<double>& log_probs, const std::vector<int64_t>& target,
                                 int64_t blank, int64_t steps, std::vector<double>& gradient) {
  double all = 0;
  std::vector<double> through(12);
  for (int path = 0; path < std::pow(3, steps); ++path) {
    std::vector<int64_t> at_step, spelled;
    double p = 1;
    for (int64_t t = 0, rest = path; t < steps; ++t, rest /= 3) {
      const int64_t c = rest % 3;
      if (c != blank && (t == 0 || at_step.back() != c)) spelled.push_back(c);
      at_step.push_back(c);
      p *= std::exp(log_probs[static_cast<size_t>(t * 3 + c)]);
    }
    if (spelled != target) continue;
    all += p;
    for (int64_t t = 0; t < steps; ++t) through[static_cast<size_t>(t * 3 + at_step[static_cast<size_t>(t)])] += p;
  }
  gradient.assign(12, 0);
  for (size_t i = 0; i < static_cast<size_t>(steps) * 3; ++i) gradient[i] = std::exp(log_probs[i]) - through[i] / all;
  return {-std::log(all)};
}

TEST(Loss, CtcIsTheSumOverAllPaths) {
  struct Case {
    std::vector<int64_t> target;
    int64_t blank, steps;
  };
  const std::vector<Case> cases = {{{1, 2}, 0, 4},    {{1, 1}, 0, 4}, {{2}, 0, 2},   {{}, 0, 3},
                                   {{0, 1, 0}, 2, 4}, {{0, 0}, 1, 3}, {{2, 1}, 0, 2}};
  for (const ScalarType type : {kFloat, kDouble}) {
    for (const Tensor& x : layouts(at::log_softmax(sample({4, 1, 3}, type, 31), 2))) {
      for (const Case& c : cases) {
        const auto length = static_cast<int64_t>(c.target.size());
        const Tensor targets =
            indices_of(c.target.empty() ? std::vector<int64_t>{1} : c.target, {1, std::max<int64_t>(1, length)});
        std::vector<double> gradient;
        const auto want = ctc_by_paths(values(x), c.target, c.blank, c.steps, gradient);
        const auto [loss, alpha] = at::_ctc_loss(x, targets, {c.steps}, IntArrayRef{length}, c.blank);
        expect_close(loss, want, 1e-5);
        EXPECT_EQ(alpha.sizes(), IntArrayRef({1, 4, 2 * length + 1}));
        for (double& g : gradient) g *= 3;
        expect_close(at::_ctc_loss_backward(tensor_of({3}, {1}, type), x, targets, {c.steps}, IntArrayRef{length}, loss,
                                            alpha, c.blank),
                     gradient, 1e-4, 1e-5);
      }
    }
  }
}

TEST(Loss, CtcOfABatch) {
  const Tensor x = at::log_softmax(sample({5, 3, 4}, kDouble, 32), 2), in = indices_of({5, 3, 2}, {3}),
               out = indices_of({2, 1, 2}, {3});
  const Tensor rows = indices_of({1, 2, 3, 0, 2, 2}, {3, 2}), row = indices_of({1, 2, 3, 2, 2}, {5});
  // The last needs three steps: 2, blank, 2.
  const auto each = values(at::ctc_loss(x, rows, in, out, 0, Reduction::None));
  EXPECT_EQ(each[2], INFINITY);
  expect_close(at::ctc_loss(x, row, {5, 3, 2}, {2, 1, 2}, 0, Reduction::None), each, 1e-12);
  expect_close(at::ctc_loss(x, rows, in, out, 0, Reduction::None, true), {each[0], each[1], 0}, 1e-12);
  expect_close(at::ctc_loss(x, rows, in, out, 0, Reduction::Sum, true), {each[0] + each[1]}, 1e-12);
  expect_close(at::ctc_loss(x, rows, in, out, 0, Reduction::Mean, true), {(each[0] / 2 + each[1]) / 3}, 1e-12);
  for (const bool zero_infinity : {false, true}) {
    const auto [loss, alpha] = at::_ctc_loss(x, rows, in, out, 0, zero_infinity);
    const auto g =
        values(at::_ctc_loss_backward(tensor_of({1}, {3}, kDouble), x, rows, in, out, loss, alpha, 0, zero_infinity));
    for (size_t i = 0; i < g.size(); ++i) {
      const size_t step = i / 12, sequence = i / 4 % 3;
      EXPECT_EQ(std::isnan(g[i]), sequence == 2 && step < 2 && !zero_infinity) << i;
      if (sequence == 1 && step >= 3) EXPECT_EQ(g[i], 0) << i;
    }
  }
  // An impossible label is not a number nowhere.
  const Tensor sure = tensor_of({-INFINITY, 0, -INFINITY, 0}, {2, 1, 2});
  const auto [loss, alpha] = at::_ctc_loss(sure, indices_of({1}, {1, 1}), {2}, {1});
  expect_close(loss, {0});
  expect_close(at::_ctc_loss_backward(tensor_of({1}, {1}), sure, indices_of({1}, {1, 1}), {2}, {1}, loss, alpha, 0),
               {0, 0, 0, 0});
  EXPECT_EQ(at::ctc_loss(at::select(x, 1, 0), indices_of({1, 2}, {2}), indices_of({5}, {}), indices_of({2}, {}), 0,
                         Reduction::None)
                .dim(),
            0);
}

TEST(Loss, CtcBadArguments) {
  const Tensor x = at::log_softmax(sample({4, 2, 3}), 2), rows = indices_of({1, 1, 1, 1}, {2, 2});
  const auto loss = [&](const Tensor& log_probs, const Tensor& targets, std::vector<int64_t> in,
                        std::vector<int64_t> out,
                        int64_t blank = 0) { return [=] { at::ctc_loss(log_probs, targets, in, out, blank); }; };
  const std::string where = " (while checking arguments for ctc_loss_allocate_outputs)";
  expect_error<Error>(loss(x, rows, {4, 4}, {2, 2}, 3), "blank must be in label range");
  expect_error<Error>(loss(x, rows, {5, 4}, {2, 2}),
                      "Expected input_lengths to have value at most 4, but got value 5" + where);
  expect_error<Error>(loss(x, rows, {-1, 4}, {2, 2}),
                      "Expected input_lengths to have value at least 0, but got value -1" + where);
  expect_error<Error>(loss(x, rows, {4, 4}, {2, -1}),
                      "Expected target_lengths to have value at least 0, but got value -1" + where);
  expect_error<Error>(loss(x, rows, {4}, {2, 2}), "input_lengths must be of size batch_size");
  expect_error<Error>(loss(x, rows, {4, 4}, {2}), "target_lengths must be of size batch_size");
  expect_error<Error>(loss(x, rows, {4, 4}, {2, 3}),
                      "size at least 3 at dimension 1, but got size 2 for argument #2 'targets'" + where);
  expect_error<Error>(loss(x, indices_of({1, 1, 1}, {3}), {4, 4}, {2, 2}),
                      "size 4 at dimension 0, but got size 3 for argument #2 'targets'" + where);
  expect_error<Error>(loss(x, indices_of({1, 1, 1, 1}, {2, 2, 1}), {4, 4}, {2, 2}),
                      "Expected 1 to 2 dimensions, but got 3-dimensional tensor");
  // A device says so later, and is lost.
  if (!device().is_cuda()) {
    expect_error<Error>(loss(x, indices_of({3, 3, 3, 3}, {2, 2}), {4, 4}, {2, 2}),
                        "expected targets in [0, 3), but got 3");
  }
  expect_error<Error>(loss(x, sample({2, 2}), {4, 4}, {2, 2}), "scalar types: Long, Int; but got Float");
  expect_error<Error>(loss(sample({0, 2, 3}), rows, {0, 0}, {2, 2}), "log_probs tensor must not be empty");
  expect_error<Error>(loss(sample({3}), rows, {0, 0}, {2, 2}),
                      "Expected 3-dimensional tensor, but got 1-dimensional tensor");
  expect_error<NotImplementedError>(loss(sample({4, 2, 3}, kHalf), rows, {4, 4}, {2, 2}),
                                    "\"ctc_loss_cpu\" not implemented for 'Half'");
  expect_error<Error>([&] { at::ctc_loss(x, rows, sample({2}), indices_of({2, 2}, {2})); },
                      "input_lengths must be integral");
  const auto [losses, alpha] = at::_ctc_loss(x, rows, {4, 4}, {2, 2});
  expect_error<Error>(
      [&] {
        at::_ctc_loss_backward(losses, x, rows, {4, 4}, {2, 1}, losses, at::select(alpha, 0, 0), 0);
      },
      "expected log_alpha of size [2, 4, 5]");
}

TEST(Loss, BadArguments) {
  const Tensor x = sample({4, 3});
  // A device says so later, and is lost.
  if (device().is_cpu()) {
    expect_error<IndexError>([&] { at::nll_loss(x, indices_of({0, 1, 3, 0}, {4})); }, "Target 3 is out of bounds.");
  }
  expect_error<Error>([&] { at::nll_loss(x, indices_of({0, 1}, {2})); }, "size mismatch (got input: [4, 3], target: [2])");
  expect_error<Error>([&] { at::nll_loss(x, sample({4})); }, "expected target dtype to be Long or Byte, but got Float");
  expect_error<Error>([&] { at::nll_loss(x, indices_of({0, 1, 2, 0}, {4}), sample({2})); }, "weight tensor should be defined either for all 3 classes");
  expect_error<Error>([&] { at::cross_entropy_loss(x, indices_of({0, 1, 2, 0}, {4}), {}, Reduction::Mean, -100, 1.5); }, "label_smoothing must be between 0.0 and 1.0. Got: 1.5");
  const Tensor z = tensor_of({1, 2, 3}, {3}, ScalarType::ComplexFloat), r = tensor_of({1, 2, 3}, {3});
  const auto refused = [](const char* name) {
    return "\"" + std::string(name) + "\" not implemented for 'ComplexFloat'";
  };
  expect_error<NotImplementedError>([&] { at::mse_loss(r, z); }, refused("mse_cpu"));
  expect_error<NotImplementedError>([&] { at::huber_loss(z, r); }, refused("huber_cpu"));
  for (const double beta : {0.0, 1.0}) {
    expect_error<NotImplementedError>([&] { at::smooth_l1_loss(z, r, 0, beta); }, refused("smooth_l1_cpu"));
    expect_error<NotImplementedError>([&] { at::smooth_l1_loss_backward(z, z, r, 0, beta); },
                                      refused("smooth_l1_backward_cpu_out"));
  }
  expect_error<NotImplementedError>([&] { at::huber_loss_backward(z, r, z, 0, 1); }, refused("huber_backward_cpu_out"));
  expect_error<Error>([&] { at::mse_loss(x, x, 7); }, "7 is not a valid value for reduction");
}

// Values and gradients are those of recorded calls, in //tests/conformance.
TEST(LossGradients, BadArguments) {
  const Tensor one = tensor_of({1}, {}), x = sample({4, 3});
  expect_error<Error>([&] { at::binary_cross_entropy_backward(one, x, sample({2})); },
                      "expected a target of size [4, 3]");
  expect_error<Error>([&] { at::binary_cross_entropy_backward(one, x, x, {}, 7); },
                      "7 is not a valid value for reduction");
  expect_error<Error>([&] { at::soft_margin_loss_backward(one, x, x, -1); }, "-1 is not a valid value for reduction");
  const Tensor y = indices_of({0, 1, 2, 0}, {4});
  expect_error<Error>([&] { at::multi_margin_loss_backward(one, x, y, 3, 1); }, "only p == 1 and p == 2 supported");
  expect_error<Error>(
      [&] {
        at::multi_margin_loss_backward(one, x, indices_of({0, 1, 3, 0}, {4}), 1, 1);
      },
      "target out of range");
  expect_error<Error>([&] { at::multi_margin_loss_backward(sample({2}), x, y, 1, 1, {}, Reduction::None); },
                      "expected grad_output with 4 elements");
  const Tensor labels = indices_of({0, 1, -1, -1, 0, 0, 2, 1, 0, 1, -1, 0}, {4, 3});
  expect_error<Error>([&] { at::multilabel_margin_loss_backward(one, x, labels, Reduction::Sum, sample({3})); },
                      "expected is_target of size [4, 3]");
  expect_error<Error>(
      [&] {
        at::_cdist_backward(sample({4, 2}), x, sample({2, 3}), -1, sample({4, 2}));
      },
      "expected p that is not negative, but got -1");
  expect_error<Error>(
      [&] {
        at::_cdist_backward(sample({4, 3}), x, sample({2, 3}), 2, sample({4, 2}));
      },
      "expected grad_output and cdist of size [4, 2]");
  expect_error<Error>(
      [&] {
        at::_cdist_backward(sample({4, 2}), x, sample({2, 2}), 2, sample({4, 2}));
      },
      "the same number of columns");
  expect_error<Error>([&] { at::_pdist_backward(sample({5}), x, 2, sample({5})); },
                      "of 6 elements, but got [5] and [5]");
  // Rows without elements, more of them than pairs can be counted.
  const Tensor rows = at::empty_contiguous({int64_t{1} << 55, 0}, at::kFloat);
  expect_error<Error>([&] { at::_pdist_backward(sample({5}), rows, 2, sample({5})); }, "overflow");
}

}  // namespace
}  // namespace at::testing
