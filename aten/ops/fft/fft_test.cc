#include "aten/ops/fft/ops.h"

#include <cmath>
#include <complex>
#include <numbers>

#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/view/ops.h"
#include "aten/testing/testing.h"
#include "c10/parallel/parallel.h"

namespace {

using namespace at;
using namespace at::testing;
using Complex = std::complex<double>;

std::vector<Complex> numbers(const Tensor& t) {
  std::vector<Complex> all;
  for (const c10::complex<double>& v : elements<c10::complex<double>>(at::to(t, kComplexDouble))) {
    all.emplace_back(v.real(), v.imag());
  }
  return all;
}

Tensor complex_sample(IntArrayRef sizes, ScalarType dtype = kDouble) {
  return at::complex(sample(sizes, dtype, 1), sample(sizes, dtype, 2));
}

// The transform along one dimension by its definition.
Tensor defined(const Tensor& self, int64_t dim, bool forward) {
  const int64_t n = self.size(dim);
  std::vector<double> roots_re, roots_im;
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t j = 0; j < n; ++j) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
      roots_re.push_back(std::cos(angle)), roots_im.push_back(forward ? -std::sin(angle) : std::sin(angle));
    }
  }
  const Tensor moved = at::unsqueeze(at::movedim(at::to(self, kComplexDouble), dim, -1), -2);
  const Tensor roots = at::complex(tensor_of(roots_re, {n, n}, kDouble), tensor_of(roots_im, {n, n}, kDouble));
  std::vector<Tensor> columns;
  Tensor sum;
  for (int64_t j = 0; j < n; ++j) {
    const Tensor term = at::mul(at::select(moved, -1, j), at::select(roots, 1, j));
    sum = sum.defined() ? at::add(sum, term) : term;
  }
  return at::movedim(sum, -1, dim);
}

void expect_equal(const Tensor& a, const Tensor& b, double tolerance = 1e-11) {
  ASSERT_EQ(sizes(a), sizes(b));
  const std::vector<Complex> x = numbers(a), y = numbers(b);
  for (size_t i = 0; i < x.size(); ++i) ASSERT_LT(std::abs(x[i] - y[i]), tolerance) << i;
}

TEST(FftOpsTest, TransformsAlongEachDimensionOfAnyLayout) {
  for (const Tensor& x : layouts(complex_sample({3, 8, 5, 7}))) {
    for (int64_t dim = 0; dim < 4; ++dim) {
      expect_equal(at::_fft_c2c(x, {dim}, 0, true), defined(x, dim, true));
      expect_equal(at::_fft_c2c(x, {dim - 4}, 0, false), defined(x, dim, false));
    }
    expect_equal(at::_fft_c2c(x, {3, 1, 0}, 0, true), defined(defined(defined(x, 0, true), 1, true), 3, true));
    expect_equal(at::_fft_c2c(x, {}, 2, true), x);
  }
  for (const Tensor& x : layouts(sample({3, 8, 5, 7}, kDouble))) {
    for (int64_t dim = 0; dim < 4; ++dim) {
      const Tensor whole = defined(x, dim, true);
      expect_equal(at::_fft_r2c(x, {dim}, 0, false), whole);
      expect_equal(at::_fft_r2c(x, {dim}, 0, true), at::narrow(whole, dim, 0, x.size(dim) / 2 + 1));
    }
    const Tensor whole = defined(defined(x, 0, true), 2, true);
    expect_equal(at::_fft_r2c(x, {0, 2}, 0, false), whole);
    expect_equal(at::_fft_r2c(x, {2, 0}, 0, true), at::narrow(whole, 0, 0, 2));
    expect_equal(at::_fft_c2r(at::_fft_r2c(x, {2, 0}, 0, true), {2, 0}, 2, 3), x);
  }
}

// The real one is half computed, and images that the cache holds are transformed one after the other.
TEST(FftOpsTest, RealNumbersTransformAsComplexOnes) {
  for (const Tensor& x : layouts(sample({3, 8, 5, 6}, kDouble))) {
    for (const std::vector<int64_t>& dims : {std::vector<int64_t>{0, 1}, {3, 1}, {2, 3, 1}, {1, 0, 3, 2}, {2}}) {
      const Tensor z = at::to(x, kComplexDouble), real = at::fft_fftn(x, {}, dims), complex = at::fft_fftn(z, {}, dims);
      expect_equal(real, complex);
      EXPECT_EQ(real.strides(), complex.strides());
      expect_equal(at::fft_ifftn(x, {}, dims, "ortho"), at::fft_ifftn(z, {}, dims, "ortho"));
    }
  }
  const int threads = at::get_num_threads();
  for (const int count : {1, 3}) {
    at::set_num_threads(count);
    for (const Tensor& x : {sample({5, 64, 60}, kDouble), at::transpose(sample({64, 60, 5}, kDouble), 0, 2)}) {
      const Tensor z = at::fft_fftn(x, {}, {{1, 2}});
      for (int64_t i = 0; i < 5; ++i) {
        expect_equal(at::select(z, 0, i), at::_fft_c2c(at::to(at::select(x, 0, i), kComplexDouble), {0, 1}, 0, true), 1e-9);
      }
      expect_equal(at::fft_irfft2(at::fft_rfft2(x)), x);
    }
  }
  at::set_num_threads(threads);
}

TEST(FftOpsTest, TransformedDimensionsAreTheInnermost) {
  const auto strides = [](const Tensor& t) { return t.strides().vec(); };
  using Strides = std::vector<int64_t>;
  const Tensor x = sample({3, 4, 5});
  EXPECT_EQ(strides(at::fft_fft(x)), (Strides{20, 5, 1}));
  EXPECT_EQ(strides(at::fft_fft(x, std::nullopt, 0)), (Strides{1, 15, 3}));
  EXPECT_EQ(strides(at::fft_rfft2(x, std::nullopt, {0, 1})), (Strides{3, 1, 9}));
  const Tensor many = sample({2, 3, 4, 5, 6});
  EXPECT_EQ(strides(at::fft_fftn(many, {}, IntArrayRef{0, 1, 2, 3})), (Strides{60, 20, 5, 1, 120}));
  EXPECT_EQ(strides(at::fft_rfftn(many, {}, IntArrayRef{3, 0, 1, 2})), (Strides{45, 15, 1, 3, 90}));
  EXPECT_EQ(strides(at::fft_irfftn(many, {}, IntArrayRef{3, 0, 1, 2})), (Strides{90, 30, 1, 6, 180}));
}

TEST(FftOpsTest, Norms) {
  const Tensor x = complex_sample({6}), y = defined(x, 0, true), z = defined(x, 0, false);
  for (const auto& [norm, forward, inverse] : std::vector<std::tuple<const char*, double, double>>{
           {"backward", 1, 1. / 6}, {"forward", 1. / 6, 1}, {"ortho", 1 / std::sqrt(6), 1 / std::sqrt(6)}}) {
    expect_equal(at::fft_fft(x, {}, -1, norm), at::mul(y, forward));
    expect_equal(at::fft_ifft(x, {}, -1, norm), at::mul(z, inverse));
    const Tensor real = sample({6}, kDouble);
    expect_equal(at::fft_ihfft(real, {}, -1, norm), at::narrow(at::mul(defined(real, 0, false), inverse), 0, 0, 4));
    expect_equal(at::fft_hfft(at::fft_ihfft(real, {}, -1, norm), 6, -1, norm), real);
    expect_equal(at::fft_irfft(at::fft_rfft(real, {}, -1, norm), 6, -1, norm), real);
    const Tensor square = sample({3, 4}, kDouble);
    expect_equal(at::fft_hfftn(at::fft_ihfftn(square, {}, {}, norm), IntArrayRef{3, 4}, {}, norm), square);
    expect_equal(at::fft_ifft2(at::fft_fft2(square, {}, {0, 1}, norm), {}, {0, 1}, norm), square);
  }
}

TEST(FftOpsTest, SizesCutOrPad) {
  const Tensor x = complex_sample({4});
  expect_equal(at::fft_fft(x, 3), defined(at::narrow(x, 0, 0, 3), 0, true));
  EXPECT_EQ(sizes(at::fft_rfft(sample({2, 4}), 9)), (std::vector<int64_t>{2, 5}));
  EXPECT_EQ(sizes(at::fft_irfft(x)), (std::vector<int64_t>{6}));
  EXPECT_EQ(sizes(at::fft_fftn(sample({3, 4, 5}), IntArrayRef{-1, 6})), (std::vector<int64_t>{3, 4, 6}));
  EXPECT_EQ(sizes(at::fft_hfft2(sample({3, 4}), IntArrayRef{2, 7})), (std::vector<int64_t>{2, 7}));
  EXPECT_EQ(sizes(at::fft_fft(sample({0, 4}))), (std::vector<int64_t>{0, 4}));
}

TEST(FftOpsTest, Dtypes) {
  EXPECT_EQ(at::fft_fft(sample({4})).scalar_type(), kComplexFloat);
  EXPECT_EQ(at::fft_rfft(sample({4}, kDouble)).scalar_type(), kComplexDouble);
  EXPECT_EQ(at::fft_irfft(sample({4}, kInt)).scalar_type(), kFloat);
  EXPECT_EQ(at::fft_fftn(sample({}, kBool)).scalar_type(), kComplexFloat);
  if (!device().is_cpu()) return;  // Others take them.
  expect_error<NotImplementedError>([] { at::fft_fft(sample({4}, kHalf)); }, "Unsupported dtype Half");
  expect_error<NotImplementedError>([] { at::fft_irfftn(sample({4}, kBFloat16)); }, "Unsupported dtype BFloat16");
}

TEST(FftOpsTest, OutIsResizedAndMayHaveAnyStrides) {
  const Tensor x = complex_sample({4, 6});
  Tensor out = at::transpose(blank({6, 4}, kComplexDouble), 0, 1);
  at::fft_fft_out(out, x, std::nullopt, 0);
  expect_equal(out, defined(x, 0, true));
  Tensor wide = blank({0}, kComplexDouble);
  at::_fft_c2c_out(wide, at::to(x, kComplexFloat), {1}, 0, true);
  expect_equal(wide, defined(x, 1, true), 1e-4);
  Tensor self = at::clone(x);
  at::_fft_c2c_out(self, self, {1}, 0, true);
  expect_equal(self, defined(x, 1, true));
  expect_error<Error>(
      [&] {
        Tensor real = blank({0});
        at::fft_fft_out(real, x);
      },
      "can't be cast");
}

TEST(FftOpsTest, FrequenciesAndShifts) {
  EXPECT_EQ(values(at::fft_fftfreq(5, 0.2, TensorOptions().dtype(kDouble))), (std::vector<double>{0, 1, 2, -2, -1}));
  EXPECT_EQ(sizes(at::fft_fftfreq(0)), (std::vector<int64_t>{0}));
  EXPECT_EQ(values(at::fft_rfftfreq(1)), (std::vector<double>{0}));
  const Tensor x = sample({3, 4});
  expect_close(at::fft_ifftshift(at::fft_fftshift(x)), x);
  expect_close(at::fft_fftshift(x, IntArrayRef{0}),
               {values(x)[8], values(x)[9], values(x)[10], values(x)[11], values(x)[0], values(x)[1], values(x)[2],
                values(x)[3], values(x)[4], values(x)[5], values(x)[6], values(x)[7]});
}

TEST(FftOpsTest, ShortTimeTransformAndBack) {
  const Tensor window = tensor_of({0.1, 0.5, 0.9, 1, 0.9, 0.5, 0.1, 0.2}, {8}, kDouble);
  const Tensor x = sample({2, 30}, kDouble);
  for (bool center : {true, false}) {
    const Tensor s = at::stft(x, 8, 3, 8, window, center, "reflect", false, true, true);
    EXPECT_EQ(sizes(s), (std::vector<int64_t>{2, 5, center ? 11 : 8}));
    // Frame 4 of the second signal.
    const int64_t start = center ? 12 - 4 : 12;
    const Tensor piece = at::mul(at::narrow(at::select(x, 0, 1), 0, start, 8), window);
    expect_equal(at::select(at::select(s, 0, 1), 1, 4), at::narrow(defined(piece, 0, true), 0, 0, 5));
    const Tensor back =
        at::istft(s, 8, 3, 8, window, center, false, true, center ? std::optional<int64_t>(30) : std::nullopt);
    const int64_t length = center ? 30 : 29;
    expect_close(at::narrow(back, 1, 0, length), at::narrow(x, 1, 0, length), 1e-10, 1e-10);
  }
  const Tensor z = complex_sample({20});
  const Tensor s = at::stft(z, 6, 2, 4, std::nullopt, true, "constant", true, false);
  EXPECT_EQ(sizes(s), (std::vector<int64_t>{6, 11}));
  expect_equal(at::istft(s, 6, 2, 4, std::nullopt, true, true, false, std::nullopt, true), z);
  EXPECT_EQ(sizes(at::stft(x, 8, 2, 8, window, false, std::nullopt, false)), (std::vector<int64_t>{2, 5, 12, 2}));
  // Frames begin with the window: one of 4 numbers needs 2 more on both sides.
  EXPECT_EQ(sizes(at::stft(x, 8, 2, 4, std::nullopt, false, std::nullopt, true, true)),
            (std::vector<int64_t>{2, 5, 14}));
}

TEST(FftOpsTest, BadArguments) {
  const Tensor x = sample({3, 4, 5}), z = complex_sample({3, 4, 5});
  expect_error<Error>([&] { at::fft_fft(x, {}, -1, "bad"); }, "Invalid normalization mode: \"bad\"");
  expect_error<Error>([&] { at::fft_fft(x, 0); }, "Invalid number of data points (0) specified");
  expect_error<Error>([&] { at::fft_fft(blank({4, 0})); }, "Invalid number of data points (0) specified");
  expect_error<Error>([&] { at::fft_irfft(sample({1})); }, "Invalid number of data points (0) specified");
  expect_error<IndexError>([&] { at::fft_fft(x, {}, 7); }, "expected to be in range of [-3, 2], but got 7");
  expect_error<IndexError>([&] { at::fft_fft(sample({})); }, "tensor has no dimensions");
  expect_error<TypeError>([&] { at::fft_rfft(z); }, "rfft expects a real input tensor, but got ComplexDouble");
  expect_error<TypeError>([&] { at::fft_rfftn(z); }, "rfftn expects a real-valued input tensor, but got ComplexDouble");
  expect_error<Error>([&] { at::fft_rfftn(x, {}, IntArrayRef{}); }, "rfftn must transform at least one axis");
  expect_error<Error>([&] { at::fft_fftn(x, {}, IntArrayRef{0, -3}); }, "FFT dims must be unique");
  expect_error<Error>(
      [&] {
        at::fft_fftn(x, IntArrayRef{3}, IntArrayRef{0, 1});
      },
      "When given, dim and shape arguments must have the same length");
  expect_error<Error>(
      [&] {
        at::fft_fftn(x, IntArrayRef{3, 3, 3, 3});
      },
      "Got shape with 4 values but input tensor only has 3 dimensions.");
  expect_error<Error>([&] { at::_fft_c2c(x, {0}, 0, true); }, "Only supports complex dtypes, but found: Float");
  expect_error<TypeError>([&] { at::_fft_r2c(z, {0}, 0, true); }, "Only supports floating-point dtypes");
  expect_error<Error>([&] { at::_fft_c2r(z, {0}, 0, 8); }, "a last_dim_size of 8 needs 5 numbers in dimension 0");
  expect_error<Error>([&] { at::_fft_c2r(z, {}, 0, 4); }, "must transform at least one dimension");
  expect_error<Error>([&] { at::_fft_c2c(z, {0}, 3, true); }, "normalization 3 is not one of");
  expect_error<Error>([&] { at::fft_fftfreq(4, 1, TensorOptions().dtype(kInt)); },
                      "fftfreq requires a floating point or complex dtype");
  expect_error<Error>([&] { at::fft_rfftfreq(-1); }, "negative dimension -1");
  const Tensor signal = sample({20});
  expect_error<Error>([&] { at::stft(signal, 8); }, "requires the return_complex parameter");
  expect_error<Error>([&] { at::stft(signal, 8, 0, {}, {}, false, std::nullopt, true); },
                      "expected hop_length > 0, but got hop_length=0");
  expect_error<Error>([&] { at::stft(signal, 80, {}, {}, {}, false, std::nullopt, true); },
                      "expected 0 < n_fft < 20, but got n_fft=80");
  expect_error<Error>([&] { at::stft(signal, 8, {}, 9, {}, false, std::nullopt, true); },
                      "expected 0 < win_length <= n_fft");
  expect_error<Error>([&] { at::stft(signal, 8, {}, {}, blank({7}), false, std::nullopt, true); },
                      "but got window with size [7]");
  expect_error<NotImplementedError>([&] { at::stft(sample({20}, kLong), 8, {}, {}, {}, false, std::nullopt, true); },
                                    "expected a tensor of floating point or complex values");
  // Centred frames are cut from the padded signal, whose sizes count.
  const auto centered = [&](int64_t n_fft, std::optional<int64_t> hop) {
    return at::stft(signal, n_fft, hop, {}, {}, /*center=*/true, "reflect", false, std::nullopt, true);
  };
  expect_error<Error>([&] { centered(8, 0); }, "Tensor[28], n_fft=8, hop_length=0");
  expect_error<Error>([&] { centered(80, {}); }, "padding (40, 40) at dimension 2 of input [1, 1, 20]");
  expect_error<TypeError>([&] { at::istft(sample({5, 6}), 8); }, "istft requires a complex-valued input tensor");
  expect_error<Error>(
      [&] {
        at::istft(complex_sample({4, 6}), 8);
      },
      "to match n_fft / 2 + 1 when onesided=True, but got 4");
  expect_error<Error>([&] { at::istft(complex_sample({5, 6}), 8, 9); }, "expected 0 < hop_length <= win_length");
  expect_error<Error>(
      [&] {
        at::istft(complex_sample({5, 6}), 8, 2, 8, at::zeros({8}, blank({1}, kDouble).options()));
      },
      "window overlap add min");
}

TEST(FftOpsTest, PlansOfADevice) {
  if (device().is_cpu()) {
    expect_error<Error>([] { at::_cufft_get_plan_cache_size(0); }, "this program has no CUDA backend");
    expect_error<Error>([] { at::_cufft_clear_plan_cache(0); }, "this program has no CUDA backend");
  } else if (device().is_cuda()) {
    at::_cufft_clear_plan_cache(device().index());
    at::fft_fft(sample({4}));
    EXPECT_EQ(at::_cufft_get_plan_cache_size(device().index()), 1);
  }
}

// Windows of so many points that threads share them, with part of a block at the end.
TEST(Windows, LongOnesAgreeWithTheirFormula) {
  const int64_t length = 100003;
  for (const int threads : {1, 3}) {
    at::set_num_threads(threads);
    const std::vector<double> hann = values(at::hann_window(length));
    const std::vector<double> hamming = values(at::hamming_window(length, false));
    at::set_num_threads(1);
    double worst = 0;
    for (int64_t i = 0; i < length; ++i) {
      const double turn = 2 * std::numbers::pi * static_cast<double>(i);
      const auto k = static_cast<size_t>(i);
      worst = std::max(worst, std::fabs(hann[k] - (0.5 - 0.5 * std::cos(turn / length))));
      worst = std::max(worst, std::fabs(hamming[k] - (0.54 - 0.46 * std::cos(turn / (length - 1)))));
    }
    EXPECT_LT(worst, 6e-8) << threads << " threads";
  }
}

}  // namespace
