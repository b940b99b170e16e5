#include "aten/cpu/fft/fft.h"

#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "aten/cpu/isa.h"
#include "c10/parallel/parallel.h"
#include "gtest/gtest.h"

namespace {

using at::cpu::Isa;
using at::cpu::fft::Kind;
using at::cpu::fft::Lines;
using at::cpu::fft::transform;

template <class T>
using Numbers = std::vector<std::complex<T>>;

template <class T>
Numbers<T> random_numbers(size_t n, unsigned seed) {
  std::mt19937 bits(seed);
  std::uniform_real_distribution<double> number(-1, 1);
  Numbers<T> x(n);
  for (auto& v : x) v = {static_cast<T>(number(bits)), static_cast<T>(number(bits))};
  return x;
}

Lines one_line() {
  Lines lines;
  lines.sizes = {1}, lines.in_strides = {1}, lines.out_strides = {1};
  return lines;
}

template <class T, class In, class Out>
void run(Kind kind, bool forward, size_t n, const Lines& lines, const std::vector<In>& in, std::vector<Out>& out,
         double scale = 1) {
  transform<T>({kind, forward, static_cast<int64_t>(n), scale}, lines, reinterpret_cast<const T*>(in.data()),
               reinterpret_cast<T*>(out.data()));
}

template <class T>
double distance(const Numbers<T>& a, const Numbers<T>& b) {
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, static_cast<double>(std::abs(a[i] - b[i])));
  return most;
}

// The error of a transform of n numbers of about 1.
template <class T>
double bound(size_t n) {
  const double unit = sizeof(T) == 4 ? 6e-8 : 1.2e-16, size = static_cast<double>(n);
  return 16 * unit * std::sqrt(size) * (std::log2(size) + 2);
}

// By the definition, in extended precision.
template <class T>
std::complex<T> definition(const Numbers<T>& x, size_t k) {
  const long double turn = 2 * std::acos(-1.0L) / static_cast<long double>(x.size());
  std::complex<long double> sum = 0;
  for (size_t j = 0; j < x.size(); ++j) {
    const long double angle = turn * static_cast<long double>(j * k % x.size());
    sum += std::complex<long double>(x[j]) * std::complex<long double>(std::cos(angle), -std::sin(angle));
  }
  return std::complex<T>(sum);
}

template <class T>
void check_length(size_t n) {
  SCOPED_TRACE(n);
  const Numbers<T> x = random_numbers<T>(n, static_cast<unsigned>(n));
  Numbers<T> y(n), back(n);
  run<T>(Kind::kComplex, true, n, one_line(), x, y);
  const size_t step = n < 64 ? 1 : n / 13;
  for (size_t k = 0; k < n; k += step) EXPECT_LT(std::abs(y[k] - definition(x, k)), bound<T>(n)) << k;
  run<T>(Kind::kComplex, false, n, one_line(), y, back, 1 / static_cast<double>(n));
  EXPECT_LT(distance(x, back), bound<T>(n));

  // Real numbers are complex ones without imaginary parts.
  std::vector<T> real(n), real_back(n);
  Numbers<T> as_complex(n), whole(n), half(n / 2 + 1);
  for (size_t j = 0; j < n; ++j) as_complex[j] = real[j] = x[j].real();
  run<T>(Kind::kComplex, true, n, one_line(), as_complex, whole);
  run<T>(Kind::kRealToHalf, true, n, one_line(), real, half);
  whole.resize(half.size());
  EXPECT_LT(distance(half, whole), bound<T>(n));
  // What must be real is taken as real.
  half[0].imag(T(7));
  if (n % 2 == 0) half[n / 2].imag(T(7));
  run<T>(Kind::kHalfToReal, false, n, one_line(), half, real_back, 1 / static_cast<double>(n));
  for (size_t j = 0; j < n; ++j) EXPECT_LT(std::abs(real[j] - real_back[j]), bound<T>(n)) << j;
}

TEST(FftTest, EveryLengthIsTransformedAsDefined) {
  for (size_t n = 1; n <= 140; ++n) check_length<float>(n), check_length<double>(n);
  for (size_t n : {210, 256, 289, 330, 512, 1000, 1009, 1024, 1155, 2048, 3003, 3125, 4096, 6561, 8192, 10007}) {
    check_length<float>(n), check_length<double>(n);
  }
}

TEST(FftTest, EveryInstructionSetTransformsAsDefined) {
  for (Isa isa : {Isa::kAvx2, Isa::kSse4, Isa::kBaseline}) {
    at::cpu::limit_isa(isa);
    for (size_t n = 1; n <= 70; ++n) check_length<float>(n), check_length<double>(n);
    for (size_t n : {105, 128, 360, 512, 1001, 1024}) check_length<float>(n), check_length<double>(n);
  }
  at::cpu::limit_isa(Isa::kAvx512);
}

// `count` lines, number j of line l at [j * step + l * apart], of which each is also transformed by itself.
template <class T>
void check_lines(Kind kind, size_t n, size_t count, size_t step, size_t apart, size_t out_step, size_t out_apart) {
  SCOPED_TRACE(testing::Message() << "n " << n << ", " << count << " lines " << apart << " apart, step " << step);
  const size_t ins = kind == Kind::kHalfToReal ? n / 2 + 1 : n, outs = kind == Kind::kRealToHalf ? n / 2 + 1 : n;
  const size_t unit = kind == Kind::kRealToHalf ? 1 : 2, out_unit = kind == Kind::kHalfToReal ? 1 : 2;
  const Numbers<T> source = random_numbers<T>(ins * step + count * apart, 5);
  const T* in = reinterpret_cast<const T*>(source.data());
  std::vector<T> out(out_unit * (outs * out_step + count * out_apart), T(0));
  Lines lines;
  // In two dimensions, of which the nearer one comes first.
  const int64_t inner = count % 3 == 0 ? 3 : 1;
  lines.sizes = {inner, static_cast<int64_t>(count) / inner};
  lines.in_strides = {static_cast<int64_t>(apart), inner * static_cast<int64_t>(apart)};
  lines.out_strides = {static_cast<int64_t>(out_apart), inner * static_cast<int64_t>(out_apart)};
  lines.in_step = static_cast<int64_t>(step), lines.out_step = static_cast<int64_t>(out_step);
  transform<T>({kind, true, static_cast<int64_t>(n), 0.5}, lines, in, out.data());
  for (size_t l = 0; l < count; ++l) {
    std::vector<T> line(unit * ins), alone(out_unit * outs);
    for (size_t j = 0; j < ins; ++j) {
      for (size_t part = 0; part < unit; ++part) line[unit * j + part] = in[unit * (j * step + l * apart) + part];
    }
    transform<T>({kind, true, static_cast<int64_t>(n), 0.5}, one_line(), line.data(), alone.data());
    for (size_t k = 0; k < outs; ++k) {
      for (size_t part = 0; part < out_unit; ++part) {
        ASSERT_NEAR(out[out_unit * (k * out_step + l * out_apart) + part], alone[out_unit * k + part], bound<T>(n))
            << "line " << l << ", number " << k;
      }
    }
  }
}

TEST(FftTest, LinesOfAnyStrides) {
  for (Kind kind : {Kind::kComplex, Kind::kRealToHalf, Kind::kHalfToReal}) {
    for (size_t n : {1, 2, 6, 15, 17, 64, 72, 240}) {
      for (size_t count : {1, 3, 16, 21, 40}) {
        check_lines<float>(kind, n, count, 1, n + 1, 1, n + 3);       // each contiguous
        check_lines<float>(kind, n, count, count, 1, count, 1);       // side by side
        check_lines<double>(kind, n, count, 2 * count, 2, 1, n + 1);  // from gaps into contiguous ones
        check_lines<double>(kind, n, count, 1, n + 1, count, 1);      // turned round
        check_lines<float>(kind, n, count, 0, 1, 1, n + 1);           // one number again and again
      }
    }
  }
}

TEST(FftTest, InPlaceAndOnManyThreads) {
  const size_t n = 300, count = 600;
  Numbers<double> x = random_numbers<double>(n * count, 3), y(n * count);
  Lines lines;
  lines.sizes = {static_cast<int64_t>(count)}, lines.in_strides = lines.out_strides = {static_cast<int64_t>(n)};
  const int threads = at::get_num_threads();
  at::set_num_threads(1);
  run<double>(Kind::kComplex, true, n, lines, x, y);
  at::set_num_threads(4);
  run<double>(Kind::kComplex, true, n, lines, x, x);
  at::set_num_threads(threads);
  EXPECT_EQ(x, y);
}

TEST(FftTest, NoLines) {
  Lines lines;
  lines.sizes = {0}, lines.in_strides = lines.out_strides = {4};
  transform<float>({Kind::kComplex, true, 4, 1}, lines, nullptr, nullptr);
}

TEST(FftTest, PlansAreKeptUpToALimitOfBytes) {
  namespace fft = at::cpu::fft;
  const Numbers<float> x = random_numbers<float>(5000, 1);
  Numbers<float> y(5000);
  run<float>(Kind::kComplex, true, 5000, one_line(), x, y);
  const auto before = fft::plan_cache_stats();
  run<float>(Kind::kComplex, true, 5000, one_line(), x, y);
  const auto after = fft::plan_cache_stats();
  EXPECT_EQ(after.hits, before.hits + 1);
  EXPECT_EQ(after.misses, before.misses);
  EXPECT_GT(after.bytes, 5000 * sizeof(float));
  EXPECT_LE(after.bytes, after.limit);
  fft::set_plan_cache_limit(after.bytes / 2);
  EXPECT_LE(fft::plan_cache_stats().bytes, after.bytes / 2);
  fft::set_plan_cache_limit(0);
  EXPECT_EQ(fft::plan_cache_stats().entries, 0u);
  EXPECT_EQ(fft::plan_cache_stats().bytes, 0u);
  Numbers<float> again(5000);
  run<float>(Kind::kComplex, true, 5000, one_line(), x, again);
  EXPECT_EQ(y, again);
  fft::set_plan_cache_limit(after.limit);
}

}  // namespace
