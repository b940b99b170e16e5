#include "aten/cpu/matrix/gemm.h"

#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "aten/cpu/isa.h"
#include "aten/cpu/matrix/packed.h"
#include "aten/cpu/matrix/primitive_cache.h"
#include "c10/parallel/parallel.h"
#include "c10/util/bfloat16.h"
#include "c10/util/half.h"
#include "gtest/gtest.h"

namespace at::matrix {
namespace {

template <class T>
struct TypeOf;
template <> struct TypeOf<float> { static constexpr Type value = Type::kFloat32; static constexpr double tolerance = 2e-5; };
template <> struct TypeOf<double> { static constexpr Type value = Type::kFloat64; static constexpr double tolerance = 1e-13; };
template <> struct TypeOf<c10::Half> { static constexpr Type value = Type::kFloat16; static constexpr double tolerance = 2e-3; };
template <> struct TypeOf<c10::BFloat16> { static constexpr Type value = Type::kBFloat16; static constexpr double tolerance = 1.6e-2; };
template <> struct TypeOf<int64_t> { static constexpr Type value = Type::kInt64; [[maybe_unused]] static constexpr double tolerance = 0; };
template <> struct TypeOf<int32_t> { static constexpr Type value = Type::kInt32; [[maybe_unused]] static constexpr double tolerance = 0; };
template <> struct TypeOf<int16_t> { static constexpr Type value = Type::kInt16; [[maybe_unused]] static constexpr double tolerance = 0; };
template <> struct TypeOf<int8_t> { static constexpr Type value = Type::kInt8; [[maybe_unused]] static constexpr double tolerance = 0; };
template <> struct TypeOf<uint8_t> { static constexpr Type value = Type::kUint8; [[maybe_unused]] static constexpr double tolerance = 0; };
template <> struct TypeOf<std::complex<float>> { static constexpr Type value = Type::kComplex64; static constexpr double tolerance = 3e-5; };
template <> struct TypeOf<std::complex<double>> { static constexpr Type value = Type::kComplex128; static constexpr double tolerance = 1e-13; };

template <class T>
constexpr bool kIsComplex = std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

using Wide = std::complex<double>;

template <class T>
Wide wide(T x) {
  if constexpr (kIsComplex<T>) return Wide(x.real(), x.imag());
  else return Wide(static_cast<double>(x), 0);
}

template <class T>
T narrow(double re, double im) {
  if constexpr (kIsComplex<T>) return T(static_cast<typename T::value_type>(re), static_cast<typename T::value_type>(im));
  else if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<int>(re * 3));
  else return static_cast<T>(static_cast<float>(re));
}

std::mt19937 random_bits(7);

template <class T>
std::vector<T> random_values(int64_t n) {
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<T> v(static_cast<size_t>(n));
  for (T& x : v) x = narrow<T>(uniform(random_bits), uniform(random_bits));
  if constexpr (std::is_unsigned_v<T>)
    for (T& x : v) x = static_cast<T>(x & 3);
  return v;
}

enum Layout { kRows, kColumns, kPaddedRows, kPaddedColumns, kStrided };

// Strides of an r x c matrix and the elements it spans.
struct Geometry {
  int64_t row, col, span;
  Geometry(Layout layout, int64_t r, int64_t c) {
    switch (layout) {
      case kRows: row = c, col = 1; break;
      case kColumns: row = 1, col = r; break;
      case kPaddedRows: row = c + 5, col = 1; break;
      case kPaddedColumns: row = 1, col = r + 3; break;
      case kStrided: row = 2 * c + 1, col = 2; break;
    }
    if (row == 0) row = 1;
    if (col == 0) col = 1;
    span = r > 0 && c > 0 ? (r - 1) * row + (c - 1) * col + 1 : 0;
  }
};

struct Problem {
  int64_t m, n, k, outer = 1, inner = 1;
  Layout a = kRows, b = kRows, c = kRows;
  double alpha = 1, beta = 0;
  int add = 0;  // 0 none, 1 C itself, 2 a row, 3 a column, 4 another matrix
};

std::string text(const Problem& p) {
  std::string s;
  for (int64_t v : {p.m, p.n, p.k, p.outer, p.inner, int64_t{p.a}, int64_t{p.b}, int64_t{p.c}, int64_t{p.add}}) s += std::to_string(v) + " ";
  return s + "alpha " + std::to_string(p.alpha) + " beta " + std::to_string(p.beta);
}

// Runs one candidate (null: the engine's choice) and compares with the sum over k in double. Returns whether it ran.
template <class T>
bool check(const Problem& p, const char* candidate) {
  const Geometry ga(p.a, p.m, p.k), gb(p.b, p.k, p.n), gc(p.c, p.m, p.n);
  const int64_t batches = p.outer * p.inner;
  std::vector<T> a = random_values<T>(ga.span * batches + 1), b = random_values<T>(gb.span * p.inner + 1);
  std::vector<T> c = random_values<T>(gc.span * batches + 8), other = random_values<T>(p.m * p.n + p.m + p.n + 1);
  const std::vector<T> before = c;
  Gemm g;
  g.type = TypeOf<T>::value;
  g.m = p.m, g.n = p.n, g.k = p.k;
  g.batch[0] = p.outer, g.batch[1] = p.inner;
  g.a = {a.data(), ga.row, ga.col, {ga.span * p.inner, ga.span}};
  g.b = {b.data(), gb.row, gb.col, {0, gb.span}};  // broadcast over the outer batch
  g.c = c.data();
  g.c_row = gc.row, g.c_col = gc.col;
  g.c_batch[0] = gc.span * p.inner, g.c_batch[1] = gc.span;
  g.alpha = Factor(p.alpha), g.beta = Factor(p.beta);
  if (p.add == 1) g.add = {c.data(), gc.row, gc.col, {gc.span * p.inner, gc.span}};
  if (p.add == 2) g.add = {other.data(), 0, 1, {0, 0}};
  if (p.add == 3) g.add = {other.data(), 1, 0, {0, 0}};
  if (p.add == 4) g.add = {other.data(), 1, p.m, {0, 0}};
  if (candidate == nullptr) gemm(g);
  else if (gemm_with(candidate, g) != nullptr) return false;

  std::vector<bool> written(c.size(), false);
  for (int64_t e = 0; e < batches; ++e) {
    const int64_t outer = e / p.inner, inner = e % p.inner;
    for (int64_t i = 0; i < p.m; ++i) {
      for (int64_t j = 0; j < p.n; ++j) {
        Wide sum = 0;
        double size = 0;
        for (int64_t k = 0; k < p.k; ++k) {
          const Wide x = wide(a[e * ga.span + i * ga.row + k * ga.col]), y = wide(b[inner * gb.span + k * gb.row + j * gb.col]);
          sum += x * y;
          size += std::abs(x * y);
        }
        sum *= p.alpha;
        size *= std::abs(p.alpha);
        const int64_t at = outer * gc.span * p.inner + inner * gc.span + i * gc.row + j * gc.col;
        if (p.add != 0 && p.beta != 0) {
          const Wide x = p.add == 1 ? wide(before[at]) : p.add == 2 ? wide(other[j]) : p.add == 3 ? wide(other[i]) : wide(other[i + j * p.m]);
          sum += p.beta * x;
          size += std::abs(p.beta * x);
        }
        written[static_cast<size_t>(at)] = true;
        Wide got = wide(c[at]);
        if constexpr (std::is_integral_v<T>) {
          EXPECT_EQ(c[at], static_cast<T>(static_cast<int64_t>(sum.real()))) << i << "," << j << " of " << text(p);
          if (testing::Test::HasFailure()) return true;
        } else if (!(std::abs(got - sum) <= TypeOf<T>::tolerance * (size + 1e-3))) {
          ADD_FAILURE() << (candidate ? candidate : "chosen") << " at " << i << "," << j << " of " << text(p) << ": got " << got
                        << ", expected " << sum;
          return true;
        }
      }
    }
  }
  for (size_t i = 0; i < c.size(); ++i) {
    if (!written[i] && std::memcmp(&c[i], &before[i], sizeof(T)) != 0) {
      ADD_FAILURE() << (candidate ? candidate : "chosen") << " wrote outside its output: " << i << " of " << text(p);
      return true;
    }
  }
  return true;
}

constexpr const char* kAll[] = {"onednn", "builtin", "converting", "complex", "plain", nullptr};

template <class T>
void check_all(const Problem& p) {
  for (const char* candidate : kAll) check<T>(p, candidate);
}

constexpr int64_t kSizes[][3] = {{1, 1, 1},    {2, 3, 4},      {3, 1, 5},    {1, 7, 9},    {5, 5, 1},    {8, 8, 8},
                                 {13, 17, 19}, {14, 32, 7},    {15, 33, 70}, {31, 65, 33}, {64, 64, 64}, {1, 129, 66},
                                 {130, 1, 67}, {70, 100, 300}, {9, 45, 40},  {50, 211, 12}};

template <class T>
void sizes_and_layouts() {
  const int64_t largest = std::is_same_v<T, float> || std::is_same_v<T, double> ? 100000 : 20000;
  for (const auto& s : kSizes)
    for (Layout a : {kRows, kColumns, kPaddedRows, kPaddedColumns, kStrided})
      for (Layout b : {kRows, kColumns, kPaddedRows, kStrided})
        for (Layout c : {kRows, kPaddedColumns, kStrided})
          if (s[0] * s[1] * s[2] < largest || (a == kRows && b == kColumns && c == kRows))
            check_all<T>({.m = s[0], .n = s[1], .k = s[2], .a = a, .b = b, .c = c});
}

template <class T>
void factors_and_addends() {
  for (const auto& s : {kSizes[1], kSizes[2], kSizes[3], kSizes[8], kSizes[11]})
    for (int add : {0, 1, 2, 3, 4})
      for (double alpha : {1.0, 2.0})
        for (double beta : {0.0, 1.0, 3.0})
          for (Layout c : {kRows, kColumns, kStrided})
            if (s[0] * s[1] * s[2] < 50000 || (c == kRows && alpha == 2)) check_all<T>({.m = s[0], .n = s[1], .k = s[2], .c = c, .alpha = alpha, .beta = beta, .add = add});
}

template <class T>
void batches() {
  for (int64_t outer : {1, 3})
    for (int64_t inner : {1, 2, 5})
      for (Layout b : {kRows, kColumns})
        check_all<T>({.m = 9, .n = 20, .k = 33, .outer = outer, .inner = inner, .b = b, .c = kPaddedRows, .beta = 2, .add = 1});
}

TEST(Gemm, Float32SizesAndLayouts) { sizes_and_layouts<float>(); }
TEST(Gemm, Float64SizesAndLayouts) { sizes_and_layouts<double>(); }
TEST(Gemm, Float16SizesAndLayouts) { sizes_and_layouts<c10::Half>(); }
TEST(Gemm, BFloat16SizesAndLayouts) { sizes_and_layouts<c10::BFloat16>(); }
TEST(Gemm, Int64SizesAndLayouts) { sizes_and_layouts<int64_t>(); }
TEST(Gemm, Int32SizesAndLayouts) { sizes_and_layouts<int32_t>(); }
TEST(Gemm, Int8Wraps) { sizes_and_layouts<int8_t>(); }
TEST(Gemm, Uint8Wraps) { sizes_and_layouts<uint8_t>(); }
TEST(Gemm, Int16SizesAndLayouts) { sizes_and_layouts<int16_t>(); }
TEST(Gemm, Complex64SizesAndLayouts) { sizes_and_layouts<std::complex<float>>(); }
TEST(Gemm, Complex128SizesAndLayouts) { sizes_and_layouts<std::complex<double>>(); }

TEST(Gemm, FactorsAndAddends) {
  factors_and_addends<float>();
  factors_and_addends<double>();
  factors_and_addends<c10::BFloat16>();
  factors_and_addends<c10::Half>();
  factors_and_addends<int32_t>();
  factors_and_addends<std::complex<double>>();
}

TEST(Gemm, Batches) {
  batches<float>();
  batches<double>();
  batches<c10::BFloat16>();
  batches<c10::Half>();
  batches<int64_t>();
  batches<int8_t>();
  batches<std::complex<float>>();
}

TEST(Gemm, LargerThanOneBlock) {
  check_all<float>({.m = 350, .n = 70, .k = 600});
  check_all<float>({.m = 40, .n = 2100, .k = 65, .b = kColumns, .beta = 1, .add = 2});
  check_all<double>({.m = 350, .n = 70, .k = 600, .a = kColumns});
  check_all<std::complex<float>>({.m = 70, .n = 8200, .k = 3, .beta = 1, .add = 2});
  check_all<std::complex<float>>({.m = 700, .n = 1100, .k = 2, .b = kStrided});
}

// Panels of columns that are packed together, and rows that are left over.
template <class T>
void dense_columns() {
  for (int64_t m : {47, 48, 50, 55, 56, 57, 63, 64, 98, 103, 130}) {
    for (Layout a : {kColumns, kPaddedColumns}) check<T>({.m = m, .n = 19, .k = 5, .a = a}, "builtin");
  }
  check<T>({.m = 113, .n = 20, .k = 390, .a = kColumns, .beta = 2, .add = 1}, "builtin");
  // Read in place, in several blocks of the depth.
  for (int64_t k : {129, 136, 300, 700}) {
    for (Layout a : {kColumns, kPaddedColumns}) {
      check<T>({.m = 16, .n = 28, .k = k, .a = a}, "builtin");
      check<T>({.m = 33, .n = 70, .k = k, .a = a, .b = kColumns, .beta = 2, .add = 1}, "builtin");
    }
  }
}
TEST(Gemm, DenseColumns) {
  dense_columns<float>();
  dense_columns<double>();
  dense_columns<int32_t>();
  dense_columns<int64_t>();
}

// Few rows or columns and a long depth, with what is left over of all tiles.
template <class T>
void few_lines() {
  for (int64_t few = 2; few <= 20; ++few) {
    for (const auto& [many, k] : {std::pair{19, 128}, {20, 133}, {21, 515}}) {
      check<T>({.m = few, .n = many, .k = k, .b = kColumns, .beta = 2, .add = 1}, "builtin");
      check<T>({.m = many, .n = few, .k = k, .a = kPaddedRows, .b = kColumns, .alpha = 3}, "builtin");
    }
  }
}
TEST(Gemm, FewLines) {
  few_lines<float>();
  few_lines<double>();
}

// Float32 products that oneDNN computes at half the speed are refused, whatever the processor.
TEST(Gemm, OneDnnLeavesFewLinesAlone) {
  float numbers[1] = {};
  Gemm g{.m = 4, .n = 512, .k = 512, .a = {numbers, 512, 1}, .b = {numbers, 1, 512}, .c = numbers, .c_row = 512};
  const char* refusal = gemm_with("onednn", Gemm());
  if (refusal != nullptr && std::string(refusal) == "there is no such candidate") return;  // small binaries
  EXPECT_STREQ(gemm_with("onednn", g), "it would pack a large matrix for few rows or columns");
}

TEST(Gemm, EverySize) {
  for (int64_t m = 1; m <= 30; ++m)
    for (int64_t n : {1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 65}) {
      check<float>({.m = m, .n = n, .k = 5}, "builtin");
      check<double>({.m = m, .n = n, .k = 5, .beta = 2, .add = 1}, "builtin");
    }
}

// Numbers of all sizes: what `name` computes are the bits that plain loops do.
template <class T>
void wraps(const char* name, Type type) {
  if (gemm_with(name, Gemm{.type = type}) != nullptr) return;  // small binaries
  for (const auto& s : kSizes) {
    const int64_t m = s[0], n = s[1], k = s[2];
    std::vector<T> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(k * n)), c(static_cast<size_t>(m * n)), want = c;
    for (auto* v : {&a, &b}) {
      for (T& x : *v) x = static_cast<T>((uint64_t{random_bits()} << 32) ^ random_bits());
    }
    for (const bool transposed : {false, true}) {
      Gemm g;
      g.type = type, g.m = m, g.n = n, g.k = k;
      g.a = {a.data(), k, 1};
      g.b = transposed ? Operand{b.data(), 1, k} : Operand{b.data(), n, 1};
      g.c_row = n;
      g.alpha = int64_t{-7};
      g.c = c.data();
      ASSERT_EQ(gemm_with(name, g), nullptr);
      g.c = want.data();
      ASSERT_EQ(gemm_with("plain", g), nullptr);
      ASSERT_EQ(c, want) << m << " x " << n << " x " << k;
    }
  }
}

TEST(Gemm, EveryInstructionSet) {
  for (const cpu::Isa isa : {cpu::Isa::kBaseline, cpu::Isa::kSse4, cpu::Isa::kAvx2, cpu::Isa::kAvx512}) {
    cpu::limit_isa(isa);
    for (const auto& s : kSizes) {
      check<float>({.m = s[0], .n = s[1], .k = s[2]}, "builtin");
      check<float>({.m = s[0], .n = s[1], .k = s[2], .a = kColumns, .b = kColumns, .beta = 2, .add = 2}, "builtin");
      check<double>({.m = s[0], .n = s[1], .k = s[2], .a = kStrided}, "builtin");
    }
    wraps<int32_t>("builtin", Type::kInt32);
    wraps<int64_t>("builtin", Type::kInt64);
    wraps<int16_t>("converting", Type::kInt16);
    wraps<int8_t>("converting", Type::kInt8);
  }
}

// A packed matrix gives what a product does, in rows of an output that is wider, and the same bits for a row by itself.
template <class T>
void packed_products(int64_t n, int64_t k, Layout layout) {
  constexpr int64_t kMost = 75, kBeside = 3;
  const Geometry of_b(layout, k, n);
  const std::vector<T> b = random_values<T>(of_b.span), a = random_values<T>(kMost * (k + kBeside));
  const std::vector<T> bias = random_values<T>(n), c0 = random_values<T>(kMost * (n + kBeside));
  const PackedMatrix packed(TypeOf<T>::value, n, k, {b.data(), of_b.row, of_b.col});
  // The same rows of A as columns.
  std::vector<T> turned(a.size());
  for (int64_t i = 0; i < kMost; ++i) {
    for (int64_t l = 0; l < k; ++l)
      turned[static_cast<size_t>(l * kMost + i)] = a[static_cast<size_t>(i * (k + kBeside) + l)];
  }
  EXPECT_EQ(packed.n(), n);
  EXPECT_EQ(packed.k(), k);
  const auto at = [](const std::vector<T>& v, int64_t i) { return static_cast<double>(v[static_cast<size_t>(i)]); };
  std::vector<T> alone(static_cast<size_t>(n));
  for (const int64_t m : {1, 2, 5, 10, 11, 16, 32, 61, 75}) {
    for (const int added : {0, 1, 2}) {  // nothing, a row, the result itself
      std::vector<T> c = c0;
      const T* add = added == 0 ? nullptr : added == 1 ? bias.data() : c.data();
      packed.multiply(m, {a.data(), k + kBeside}, c.data(), n + kBeside, add, added == 1 ? 0 : n + kBeside);
      for (int64_t i = 0; i < kMost; ++i) {
        for (int64_t j = 0; j < n + kBeside; ++j) {
          const int64_t place = i * (n + kBeside) + j;
          if (i >= m || j >= n) {
            ASSERT_EQ(at(c, place), at(c0, place)) << "written beside the result";
            continue;
          }
          double sum = added == 0 ? 0 : added == 1 ? at(bias, j) : at(c0, place), size = std::abs(sum);
          for (int64_t l = 0; l < k; ++l) {
            const double term = at(a, i * (k + kBeside) + l) * at(b, l * of_b.row + j * of_b.col);
            sum += term;
            size += std::abs(term);
          }
          ASSERT_NEAR(at(c, place), sum, TypeOf<T>::tolerance * size) << m << " x " << n << " x " << k;
        }
      }
      if (added == 2) continue;
      std::vector<T> of_columns = c0;
      packed.multiply(m, {turned.data(), 1, kMost}, of_columns.data(), n + kBeside, add, 0);
      ASSERT_EQ(of_columns, c);
      if (added == 0) {
        packed.multiply(m, {a.data(), k + kBeside}, of_columns.data(), n + kBeside, nullptr, 0, 4.0);
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < n; ++j)
            ASSERT_EQ(at(of_columns, i * (n + kBeside) + j), 4 * at(c, i * (n + kBeside) + j));
        }
      }
      packed.multiply(1, {a.data() + (m - 1) * (k + kBeside)}, alone.data(), n, add, 0);
      for (int64_t j = 0; j < n; ++j) ASSERT_EQ(at(alone, j), at(c, (m - 1) * (n + kBeside) + j));
    }
  }
}

TEST(PackedMatrix, IsTheProductForEveryInstructionSet) {
  for (const cpu::Isa isa : {cpu::Isa::kBaseline, cpu::Isa::kSse4, cpu::Isa::kAvx2, cpu::Isa::kAvx512}) {
    cpu::limit_isa(isa);
    for (const Layout layout : {kRows, kColumns, kStrided}) {
      packed_products<float>(33, 7, layout);
      packed_products<float>(64, 260, layout);
      packed_products<float>(143, 150, layout);
      packed_products<double>(5, 600, layout);
      packed_products<double>(1, 1, layout);
    }
  }
}

TEST(Gemm, SeveralThreadsGiveTheSame) {
  for (int threads : {1, 3}) {
    at::set_num_threads(threads);
    check_all<float>({.m = 130, .n = 200, .k = 70, .beta = 1, .add = 1});
    check_all<float>({.m = 1000, .n = 3, .k = 70});
    check_all<float>({.m = 3, .n = 1000, .k = 70});
    check_all<double>({.m = 100, .n = 90, .k = 80, .outer = 2, .inner = 3});
    check_all<c10::BFloat16>({.m = 100, .n = 90, .k = 80, .outer = 2, .inner = 3});
    check_all<int64_t>({.m = 100, .n = 90, .k = 80});
  }
  at::set_num_threads(2);
}

TEST(Gemm, ZeroSizesDoNothingOrGiveTheAddend) {
  check_all<float>({.m = 0, .n = 3, .k = 4});
  check_all<float>({.m = 3, .n = 0, .k = 4});
  check_all<float>({.m = 3, .n = 2, .k = 0});
  check_all<float>({.m = 3, .n = 2, .k = 0, .beta = 2, .add = 1});
  check_all<double>({.m = 3, .n = 2, .k = 0, .beta = 2, .add = 3});
  check_all<int32_t>({.m = 3, .n = 2, .k = 0, .beta = 2, .add = 2});
  check_all<c10::Half>({.m = 3, .n = 2, .k = 4, .outer = 0});
}

// beta == 0 must not let a NaN of C through, nor alpha == 0 one of A or B.
TEST(Gemm, ZeroFactorsDoNotRead) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const char* candidate : kAll) {
    for (int64_t size : {2, 70}) {
      std::vector<float> a(size * size, 1.f), b(size * size, 1.f), c(size * size, nan);
      Gemm g;
      g.m = g.n = g.k = size;
      g.a = {a.data(), size, 1}, g.b = {b.data(), size, 1};
      g.c = c.data(), g.c_row = size;
      g.add = {c.data(), size, 1};
      g.beta = 0;
      if (candidate == nullptr) gemm(g);
      else if (gemm_with(candidate, g) != nullptr) continue;
      for (float x : c) ASSERT_EQ(x, static_cast<float>(size));
      a[0] = nan;
      g.alpha = 0;
      g.beta = 1;
      if (candidate == nullptr) gemm(g);
      else gemm_with(candidate, g);
      for (float x : c) ASSERT_EQ(x, static_cast<float>(size));
      g.alpha = 1;
      if (candidate == nullptr) gemm(g);
      else gemm_with(candidate, g);
      EXPECT_TRUE(std::isnan(c[0]));
      EXPECT_FALSE(std::isnan(c[size + 1]));
    }
  }
}

TEST(Gemm, CandidatesSayWhyTheyRefuse) {
  Gemm g;
  g.type = Type::kComplex64;
  g.m = g.n = g.k = 2;
  EXPECT_STREQ(gemm_with("builtin", g), "not of this type");
  EXPECT_STREQ(gemm_with("complex", g), "small");
  EXPECT_STREQ(gemm_with("nonsense", g), "there is no such candidate");
  EXPECT_EQ(candidate(candidate_count() - 1)->refusal(g), nullptr);
}

TEST(Gemm, VerboseNamesTheCandidate) {
  float a[4] = {1, 2, 3, 4}, c[4];
  Gemm g;
  g.m = g.n = g.k = 2;
  g.a = g.b = {a, 2, 1};
  g.c = c, g.c_row = 2;
  set_verbose(true);
  testing::internal::CaptureStderr();
  gemm(g);
  const std::string line = testing::internal::GetCapturedStderr();
  set_verbose(false);
  EXPECT_NE(line.find("matrix: float32 m=2 n=2 k=2 batch=1: "), std::string::npos) << line;
  EXPECT_EQ(c[0], 7);
}

TEST(PrimitiveCache, IsBoundedAndClearable) {
  // A build without oneDNN caches nothing.
  set_primitive_cache_limit(size_t{256} << 10);
  const char* refusal = gemm_with("onednn", Gemm());
  if (refusal != nullptr && std::string(refusal) == "there is no such candidate") {
    EXPECT_EQ(primitive_cache_stats().limit, 0u);
    return;
  }
  for (int64_t n = 70; n < 90; ++n) check<c10::BFloat16>({.m = 70, .n = n, .k = 70}, "onednn");
  PrimitiveCacheStats stats = primitive_cache_stats();
  EXPECT_LE(stats.bytes, stats.limit);
  EXPECT_EQ(stats.limit, size_t{256} << 10);
  const size_t hits = stats.hits;
  check<c10::BFloat16>({.m = 70, .n = 89, .k = 70}, "onednn");
  if (stats.entries > 0) EXPECT_GT(primitive_cache_stats().hits, hits);
  clear_primitive_cache();
  EXPECT_EQ(primitive_cache_stats().bytes, 0u);
  EXPECT_EQ(primitive_cache_stats().entries, 0u);
  set_primitive_cache_limit(size_t{32} << 20);
}

}  // namespace
}  // namespace at::matrix
