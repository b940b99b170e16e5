// docs/accuracy.md holds for every pointwise operator: errors in units of the last place against long double, over
// special values, every magnitude and uniform draws; every half and bfloat16 number; all instruction sets.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <string>

#include "aten/aten.h"
#include "aten/cpu/isa.h"
#include "c10/dispatch/registry.h"
#include "tests/accuracy/reference.h"

namespace at::accuracy {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in.good()) << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// One row of the document: the bounds by dtype ("float32" and so on); a missing one is not defined.
using Bounds = std::map<std::string, double>;

std::map<std::string, Bounds> read_document() {
  const char* const columns[] = {"float32", "float64", "complex64", "complex128"};
  std::map<std::string, Bounds> rows;
  std::istringstream lines(read_file("docs/accuracy.md"));
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("| `", 0) != 0) continue;
    std::istringstream cells(line.substr(1));
    std::string cell;
    std::getline(cells, cell, '|');
    Bounds& bounds = rows[cell.substr(2, cell.size() - 4)];
    for (const char* column : columns) {
      std::getline(cells, cell, '|');
      char* end = nullptr;
      const double bound = std::strtod(cell.c_str(), &end);
      if (end != cell.c_str()) bounds[column] = bound;
    }
  }
  return rows;
}

// The names that the document says to be exact or computed by the operators of its table.
std::set<std::string> read_other_names() {
  const std::string text = read_file("docs/accuracy.md");
  std::set<std::string> names;
  const size_t start = text.find("## Others");
  EXPECT_NE(start, std::string::npos);
  for (size_t at = text.find('`', start); at != std::string::npos; at = text.find('`', at + 1)) {
    const size_t end = text.find('`', at + 1);
    names.insert(text.substr(at + 1, end - at - 1));
    at = end;
  }
  return names;
}

Tensor call(const Function& f, const std::vector<Tensor>& tensors) {
  const std::string name = f.op;
  const size_t dot = name.find('.');
  const c10::OperatorHandle op = c10::Dispatcher::singleton().findSchemaOrThrow(
      "aten::" + name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1));
  c10::Stack stack;
  for (const Tensor& t : tensors) stack.emplace_back(t);
  for (const c10::IValue& v : f.rest) stack.push_back(v);
  op.callBoxed(stack);
  return stack.at(0).toTensor();
}

template <class T>
struct Format;
template <>
struct Format<float> {
  static constexpr ScalarType kType = kFloat;
  static constexpr int kDigits = 24, kMinExponent = -126, kMaxExponent = 128;
};
template <>
struct Format<double> {
  static constexpr ScalarType kType = kDouble;
  static constexpr int kDigits = 53, kMinExponent = -1022, kMaxExponent = 1024;
};
template <>
struct Format<c10::Half> {
  static constexpr ScalarType kType = kHalf;
  static constexpr int kDigits = 11, kMinExponent = -14, kMaxExponent = 16;
};
template <>
struct Format<c10::BFloat16> {
  static constexpr ScalarType kType = kBFloat16;
  static constexpr int kDigits = 8, kMinExponent = -126, kMaxExponent = 128;
};

// The distance of the last place of numbers of x's size; that of the smallest normal number below it.
template <class T>
Real unit(Real x) {
  using F = Format<T>;
  int exponent = F::kMinExponent;
  if (x != 0 && std::isfinite(x)) exponent = std::max(std::ilogb(x), F::kMinExponent);
  return std::ldexp(1.0L, std::min(exponent, F::kMaxExponent - 1) - F::kDigits + 1);
}

constexpr double kWrong = 1e9;

// The error in units; infinite results count as the first number that overflows. A wrong NaN, infinity or sign of an
// exact zero is kWrong.
template <class T>
double error_of(Real got, Real exact, Real scale, bool zero_sign) {
  using F = Format<T>;
  if (std::isnan(exact) || std::isnan(got)) return std::isnan(exact) == std::isnan(got) ? 0 : kWrong;
  if (std::isinf(exact)) return got == exact ? 0 : kWrong;
  if (exact == 0 && scale == 0)
    return got == 0 && (!zero_sign || std::signbit(got) == std::signbit(exact)) ? 0 : kWrong;
  const Real limit = std::ldexp(1.0L, F::kMaxExponent);
  const auto bounded = [&](Real x) { return std::fabs(x) > limit ? std::copysign(limit, x) : x; };
  return static_cast<double>(std::fabs(bounded(got) - bounded(exact)) / unit<T>(scale));
}

template <class T>
std::vector<T> specials() {
  using F = Format<T>;
  std::vector<T> x;
  for (Real v : std::initializer_list<Real>{0,
                                            1,
                                            0.5L,
                                            2,
                                            3,
                                            0.1L,
                                            10,
                                            88.7L,
                                            104,
                                            1e-3L,
                                            1e-8L,
                                            1e4L,
                                            12800,
                                            65504,
                                            std::ldexp(1.0L, F::kMinExponent),
                                            std::ldexp(1.0L, F::kMinExponent - F::kDigits + 1),
                                            std::ldexp(1.0L, F::kMinExponent - 2),
                                            1 + std::ldexp(1.0L, 1 - F::kDigits),
                                            1 - std::ldexp(1.0L, -F::kDigits),
                                            std::ldexp(2 - std::ldexp(1.0L, 1 - F::kDigits), F::kMaxExponent - 1),
                                            std::numeric_limits<Real>::infinity(),
                                            std::numeric_limits<Real>::quiet_NaN()}) {
    x.push_back(static_cast<T>(static_cast<double>(v)));
    x.push_back(static_cast<T>(static_cast<double>(-v)));
  }
  return x;
}

template <class T>
T any_bits(std::mt19937_64& random) {
  const uint64_t bits = random();
  T x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

// Operands: all special values with all others, uniform draws, draws of every magnitude.
template <class T>
std::vector<std::vector<T>> operands(const Function& f, int draws) {
  std::vector<std::vector<T>> x(static_cast<size_t>(f.tensors));
  const std::vector<T> s = specials<T>();
  std::mt19937_64 random(17);
  if (sizeof(T) == 2 && f.tensors == 1) {
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      const auto half = static_cast<uint16_t>(bits);
      T v;
      std::memcpy(&v, &half, 2);
      x[0].push_back(v);
    }
    return x;
  }
  for (size_t i = 0; i < s.size() && (f.limits & kUniformOnly) == 0; ++i) {
    if (f.tensors == 1) {
      x[0].push_back(s[i]);
      continue;
    }
    for (size_t j = 0; j < s.size(); ++j) {
      x[0].push_back(s[i]), x[1].push_back(s[j]);
      if (f.tensors == 3) x[2].push_back(s[(i + j) % s.size()]);
    }
  }
  std::uniform_real_distribution<double> uniform(f.low, f.high);
  for (int i = 0; i < draws; ++i) {
    for (auto& list : x) list.push_back(static_cast<T>(uniform(random)));
  }
  for (int i = 0; i < draws && (f.limits & kUniformOnly) == 0; ++i) {
    for (auto& list : x) list.push_back(any_bits<T>(random));
  }
  return x;
}

template <class T>
Tensor tensor_of(const std::vector<T>& values) {
  Tensor t = at::empty({static_cast<int64_t>(values.size())}, TensorOptions().dtype(Format<T>::kType));
  std::memcpy(t.data_ptr(), values.data(), values.size() * sizeof(T));
  return t;
}

struct Worst {
  double error = 0;
  std::string where;
};

template <class T>
Worst worst_error(const Function& f, int draws, bool all_isas) {
  const std::vector<std::vector<T>> x = operands<T>(f, draws);
  std::vector<Tensor> tensors;
  for (const auto& list : x) tensors.push_back(tensor_of(list));
  std::vector<Real> exact(x[0].size()), scale(x[0].size());
  for (size_t i = 0; i < exact.size(); ++i) {
    Real args[3] = {};
    for (size_t k = 0; k < x.size(); ++k) args[k] = static_cast<Real>(static_cast<double>(x[k][i]));
    exact[i] = f.exact(args);
    scale[i] = f.scale == nullptr ? exact[i] : std::fmax(std::fabs(exact[i]), f.scale(args));
  }
  Worst worst;
  const std::vector<cpu::Isa> isas =
      all_isas ? std::vector<cpu::Isa>{cpu::Isa::kBaseline, cpu::Isa::kSse4, cpu::Isa::kAvx2, cpu::Isa::kAvx512}
               : std::vector<cpu::Isa>{cpu::Isa::kAvx512};
  for (cpu::Isa isa : isas) {
    cpu::limit_isa(isa);
    const Tensor y = call(f, tensors);
    EXPECT_EQ(y.scalar_type(), Format<T>::kType) << f.op;
    const T* got = static_cast<const T*>(y.const_data_ptr());
    for (size_t i = 0; i < exact.size(); ++i) {
      const double error = error_of<T>(static_cast<Real>(static_cast<double>(got[i])), exact[i], scale[i],
                                       (f.limits & kNoZeroSign) == 0);
      if (error <= worst.error) continue;
      worst.error = error;
      std::ostringstream text;
      text.precision(20);
      text << f.op << "(";
      for (size_t k = 0; k < x.size(); ++k) text << (k > 0 ? ", " : "") << static_cast<double>(x[k][i]);
      text << ") = " << static_cast<double>(got[i]) << ", exact " << exact[i] << ", instruction set "
           << static_cast<int>(isa);
      worst.where = text.str();
    }
  }
  cpu::limit_isa(cpu::Isa::kAvx512);
  return worst;
}

// The error as a complex number, in units of the modulus.
template <class T>
Worst worst_complex_error(const Function& f, int draws) {
  std::mt19937_64 random(29);
  std::uniform_real_distribution<double> part(-1, 1), magnitude(-8, 3);
  std::vector<std::vector<std::complex<T>>> x(static_cast<size_t>(f.tensors));
  std::vector<Tensor> tensors;
  for (auto& list : x) {
    for (int i = 0; i < draws; ++i) {
      const double m = std::exp2(magnitude(random));
      list.emplace_back(static_cast<T>(m * part(random)), static_cast<T>(m * part(random)));
    }
    tensors.push_back(at::empty({draws}, TensorOptions().dtype(sizeof(T) == 4 ? kComplexFloat : kComplexDouble)));
    std::memcpy(tensors.back().data_ptr(), list.data(), list.size() * sizeof(list[0]));
  }
  const Tensor y = call(f, tensors);
  Worst worst;
  for (int i = 0; i < draws; ++i) {
    Complex args[3];
    for (size_t k = 0; k < x.size(); ++k)
      args[k] = Complex(x[k][static_cast<size_t>(i)].real(), x[k][static_cast<size_t>(i)].imag());
    const Complex exact = f.complex(args);
    Complex got;
    if (y.is_complex()) {
      const auto* p = static_cast<const T*>(y.const_data_ptr()) + 2 * i;
      got = Complex(p[0], p[1]);
    } else {
      got = Complex(static_cast<const T*>(y.const_data_ptr())[i]);
    }
    Real size = std::abs(exact);
    if (f.scale != nullptr) {
      const Real moduli[3] = {std::abs(args[0]), std::abs(args[1]), std::abs(args[2])};
      size = std::fmax(size, f.scale(moduli));
    }
    const auto error = static_cast<double>(std::abs(got - exact) / unit<T>(size));
    if (error > worst.error || std::isnan(error)) {
      worst.error = std::isnan(error) ? kWrong : error;
      std::ostringstream text;
      text << f.op << " of " << args[0] << " " << args[1] << " = " << got << ", exact " << exact;
      worst.where = text.str();
    }
  }
  return worst;
}

constexpr int kDraws = 8000;

TEST(Accuracy, IsWhatTheDocumentSays) {
  const std::map<std::string, Bounds> document = read_document();
  // Prints what is measured over more draws, in the document's form.
  const bool print = std::getenv("ACCURACY_PRINT") != nullptr;
  const int draws = print ? 20 * kDraws : kDraws;
  std::set<std::string> seen;
  for (const Function& f : functions()) {
    seen.insert(f.op);
    const auto row = document.find(f.op);
    if (row == document.end() && !print) {
      ADD_FAILURE() << "docs/accuracy.md has no row of " << f.op;
      continue;
    }
    const Bounds none;
    const Bounds& bounds = row == document.end() ? none : row->second;
    std::map<std::string, Worst> worst;
    worst["float32"] = worst_error<float>(f, draws, true);
    worst["float64"] = worst_error<double>(f, draws, true);
    if (f.complex != nullptr) {
      worst["complex64"] = worst_complex_error<float>(f, draws);
      worst["complex128"] = worst_complex_error<double>(f, draws);
    }
    if (print) {
      std::printf("| `%s` |", f.op);
      for (const char* column : {"float32", "float64", "complex64", "complex128"}) {
        const auto w = worst.find(column);
        if (w == worst.end()) {
          std::printf(" |");
        } else {
          std::printf(" %.3f |", w->second.error);
        }
      }
      std::printf("\n");
      for (const auto& [column, w] : worst) {
        if (w.error > 4) std::printf("    %s %.3g: %s\n", column.c_str(), w.error, w.where.c_str());
      }
      continue;
    }
    for (const auto& [column, w] : worst) {
      const auto bound = bounds.find(column);
      if (bound == bounds.end()) {
        ADD_FAILURE() << "docs/accuracy.md states no bound for " << f.op << " in " << column;
      } else {
        EXPECT_LE(w.error, bound->second) << column << ": " << w.where;
      }
    }
    EXPECT_EQ(bounds.size(), worst.size()) << f.op << ": docs/accuracy.md states a bound that is not tested";
  }
  for (const auto& [name, bounds] : document) {
    if (seen.count(name) == 0) ADD_FAILURE() << "docs/accuracy.md has a row of " << name << ", which is not tested";
  }
}

// Computed in float32 and rounded once.
TEST(Accuracy, SixteenBitTypesAreRoundedOnce) {
  for (const Function& f : functions()) {
    const Worst half = worst_error<c10::Half>(f, kDraws, false), brain = worst_error<c10::BFloat16>(f, kDraws, false);
    EXPECT_LE(half.error, 0.51) << "half: " << half.where;
    EXPECT_LE(brain.error, 0.51) << "bfloat16: " << brain.where;
  }
}

TEST(Accuracy, NoPointwiseOperatorIsLeftOut) {
  std::set<std::string> known = read_other_names();
  for (const Function& f : functions()) known.insert(std::string(f.op).substr(0, std::string(f.op).find('.')));
  size_t checked = 0;
  for (const char* family : {"activation", "binary", "pointwise", "special", "unary"}) {
    std::istringstream lines(read_file(std::string("aten/ops/") + family + "/ops.textproto"));
    std::string name;
    for (std::string line; std::getline(lines, line);) {
      if (line.rfind("  schema: \"", 0) == 0) name = line.substr(11, line.find('(') - 11);
      if (line.rfind("  kernel {", 0) != 0) continue;
      ++checked;
      EXPECT_TRUE(known.count(name.substr(0, name.find('.'))) != 0) << "docs/accuracy.md says nothing of " << name;
    }
  }
  EXPECT_GT(checked, 150u);
}

}  // namespace
}  // namespace at::accuracy
