#include <cmath>

#include "aten/ops/norm/ops.h"
#include "aten/testing/testing.h"

namespace at::testing {
namespace {

struct Plain {
  std::vector<double> y, mean, rstd, gx, gw, gb;
};

Plain plain_layer_norm(const Tensor& x, const std::vector<double>& w, const std::vector<double>& b, const Tensor& g, size_t n) {
  const double eps = 1e-5;
  const std::vector<double> v = values(x), gv = values(g);
  Plain p;
  p.gw.assign(n, 0);
  p.gb.assign(n, 0);
  for (size_t start = 0; start < v.size(); start += n) {
    double mean = 0, square = 0, a = 0, c = 0;
    for (size_t i = 0; i < n; ++i) mean += v[start + i] / static_cast<double>(n);
    for (size_t i = 0; i < n; ++i) square += (v[start + i] - mean) * (v[start + i] - mean) / static_cast<double>(n);
    const double rstd = 1 / std::sqrt(square + eps);
    p.mean.push_back(mean);
    p.rstd.push_back(rstd);
    for (size_t i = 0; i < n; ++i) {
      const double xhat = (v[start + i] - mean) * rstd, gw = gv[start + i] * w[i];
      p.y.push_back(xhat * w[i] + b[i]);
      p.gw[i] += gv[start + i] * xhat;
      p.gb[i] += gv[start + i];
      a += gw / static_cast<double>(n);
      c += gw * xhat / static_cast<double>(n);
    }
    for (size_t i = 0; i < n; ++i) {
      p.gx.push_back(rstd * (gv[start + i] * w[i] - a - (v[start + i] - mean) * rstd * c));
    }
  }
  return p;
}

TEST(LayerNorm, ForwardAndBackwardInAllLayoutsAndDtypes) {
  struct Shape {
    std::vector<int64_t> sizes;
    size_t normalized;
  };
  for (ScalarType type : {ScalarType::Float, ScalarType::Double, ScalarType::Half, ScalarType::BFloat16}) {
    for (const Shape& s : {Shape{{1, 1}, 1}, Shape{{4, 7}, 1}, Shape{{2, 3, 33}, 1}, Shape{{5, 4, 6}, 2}, Shape{{300, 257}, 1}, Shape{{6}, 1}}) {
      const std::vector<int64_t> inner(s.sizes.end() - static_cast<int64_t>(s.normalized), s.sizes.end());
      size_t n = 1;
      for (int64_t k : inner) n *= static_cast<size_t>(k);
      const Tensor w = sample(inner, type, 2), b = sample(inner, type, 3), g = sample(s.sizes, type, 4);
      for (const Tensor& x : layouts(sample(s.sizes, type, 5))) {
        const Plain p = plain_layer_norm(x, values(w), values(b), g, n);
        const double tol = 4 * tolerance(type);
        const auto [y, mean, rstd] = at::_fused_layer_norm(x, inner, w, b, 1e-5);
        expect_close(y, p.y, tol, tol * 2);
        expect_close(mean, p.mean, 1e-5);
        expect_close(rstd, p.rstd, 1e-4);
        const auto [gx, gw, gb] = at::native_layer_norm_backward(g, x, inner, mean, rstd, w, b, {true, true, true});
        if (n > 1) expect_close(gx, p.gx, tol * 4, tol * 8);
        expect_close(gw, p.gw, tol * 4, tol * 40);
        expect_close(gb, p.gb, tol * 4, tol * 40);
        expect_close(at::layer_norm(x, inner), std::get<0>(at::native_layer_norm(x, inner, {}, {}, 1e-5)));
        const auto [only_x, no_w, no_b] = at::native_layer_norm_backward(g, x, inner, mean, rstd, w, b, {true, false, false});
        expect_close(only_x, gx);
        EXPECT_FALSE(no_w.defined() || no_b.defined());
      }
    }
  }
}

TEST(LayerNorm, FarFromZero) {
  const Tensor x = tensor_of({10000.1, 10000.2, 10000.3, 10000.4}, {1, 4});
  expect_close(at::layer_norm(x, {4}, {}, {}, 0), {-1.3416, -0.4472, 0.4472, 1.3416}, 2e-2);
}

// As PyTorch's, while layer_norm itself and its gradient keep them in float.
TEST(LayerNorm, StatisticsOf16Bits) {
  for (const ScalarType type : {ScalarType::Half, ScalarType::BFloat16}) {
    const Tensor x = sample({2, 4}, type), w = sample({4}, type), wide = sample({4});
    EXPECT_EQ(std::get<1>(at::native_layer_norm(x, {4}, w, {}, 1e-5)).scalar_type(), type);
    EXPECT_EQ(std::get<2>(at::native_layer_norm(x, {4}, {}, {}, 1e-5)).scalar_type(), type);
    EXPECT_EQ(std::get<2>(at::native_layer_norm(x, {4}, w, wide, 1e-5)).scalar_type(), ScalarType::Float);
    EXPECT_EQ(std::get<1>(at::_fused_layer_norm(x, {4}, w, {}, 1e-5)).scalar_type(), ScalarType::Float);
    const auto [y, mean, rstd] = at::native_layer_norm(x, {4}, w, {}, 1e-5);
    expect_close(mean, values(std::get<1>(at::_fused_layer_norm(x, {4}, w, {}, 1e-5))), tolerance(type),
                 tolerance(type));
  }
}

TEST(LayerNorm, RmsNorm) {
  const Tensor z = tensor_of({3, 4}, {1, 2}, ScalarType::ComplexDouble);
  expect_close(at::rms_norm(z, {2}, {}, 0.0), {3 / std::sqrt(12.5), 4 / std::sqrt(12.5)});
  EXPECT_THROW(at::rms_norm(sample({2, 2}, ScalarType::Long), {2}), NotImplementedError);
  expect_close(at::rms_norm(tensor_of({3, 4}, {1, 2}), {2}, tensor_of({1, 2}, {2}), 0.0), {3 / std::sqrt(12.5), 8 / std::sqrt(12.5)});
}

TEST(LayerNorm, BadArguments) {
  const Tensor x = sample({2, 3});
  expect_error<Error>([&] { at::layer_norm(x, {4}); }, "Given normalized_shape=[4], expected input with shape [*, 4], but got input of size[2, 3]");
  expect_error<Error>([&] { at::layer_norm(x, IntArrayRef()); }, "Expected normalized_shape to be at least 1-dimensional");
  expect_error<Error>([&] { at::layer_norm(x, {3}, sample({2})); }, "Expected weight to be of same shape as normalized_shape");
  expect_error<Error>([&] { at::layer_norm(sample({2, 3}, ScalarType::Long), {3}); }, "not implemented for 'Long'");
}

}  // namespace
}  // namespace at::testing
