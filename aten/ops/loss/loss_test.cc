#include <cmath>

#include "aten/core/reduction.h"
#include "aten/ops/loss/ops.h"
#include "aten/ops/softmax/ops.h"
#include "aten/testing/testing.h"

namespace at::testing {
namespace {

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

TEST(Loss, BadArguments) {
  const Tensor x = sample({4, 3});
  expect_error<IndexError>([&] { at::nll_loss(x, indices_of({0, 1, 3, 0}, {4})); }, "Target 3 is out of bounds.");
  expect_error<Error>([&] { at::nll_loss(x, indices_of({0, 1}, {2})); }, "size mismatch (got input: [4, 3], target: [2])");
  expect_error<Error>([&] { at::nll_loss(x, sample({4})); }, "expected scalar type Long but found Float");
  expect_error<Error>([&] { at::nll_loss(x, indices_of({0, 1, 2, 0}, {4}), sample({2})); }, "weight tensor should be defined either for all 3 classes");
  expect_error<Error>([&] { at::cross_entropy_loss(x, indices_of({0, 1, 2, 0}, {4}), {}, Reduction::Mean, -100, 1.5); }, "label_smoothing must be between 0.0 and 1.0. Got: 1.5");
  expect_error<Error>([&] { at::mse_loss(x, x, 7); }, "7 is not a valid value for reduction");
}

}  // namespace
}  // namespace at::testing
