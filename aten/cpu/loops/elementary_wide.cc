// Elementary functions whose steps lose too much in float: float by way of double, double by the C library.
#include "aten/cpu/loops/loops.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/cpu/loops/elementary_wide.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "aten/cpu/special/wide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace at::cpu::special {
namespace HWY_NAMESPACE {
namespace {

constexpr double kPi = 3.14159265358979323846, kInfinity = __builtin_inf();

struct Tan : Plain<1> {
  double one(double x) const { return std::tan(x); }
  HWY_INLINE WideMask usual(Wide x) const { return abs(x) < kMostReduced; }
  HWY_INLINE Wide run(Wide x) const {
    Wide n;
    const Wide r = reduce_quarters(x, 0, n);
    return pick(x == 0.0, x, cosine(r, n, uint64_t{0} - 1) / cosine(r, n, 0));
  }
};

// sin(pi x) / (pi x): the argument is reduced before it is multiplied.
struct Sinc : Plain<1> {
  double one(double x) const {
    if (x == 0) return 1;
    const double r = std::remainder(x, 2.0);
    return std::sin(kPi * (std::fabs(r) <= 0.5 ? r : std::copysign(1.0, r) - r)) / (kPi * x);
  }
  HWY_INLINE WideMask usual(Wide x) const { return abs(x) < kInfinity; }
  HWY_INLINE Wide run(Wide x) const {
    const Wide n = round(x), half = n * 0.5, y = sin_pi(x - n) / (x * kPi);
    return pick(x == 0.0, 1.0, pick(half == floor(half), y, -y));
  }
};

// Below this odd functions are two terms of their series.
constexpr double kSmall = 0x1p-10;

struct Sinh : Plain<1> {
  double one(double x) const { return std::sinh(x); }
  HWY_INLINE WideMask usual(Wide x) const { return x == x; }
  HWY_INLINE Wide run(Wide x) const {
    const Wide a = abs(x), e = exp(a), y = 0.5 * (e - 1.0 / e);
    return copy_sign(pick(a < kSmall, multiply_add(a * a, a * (1.0 / 6), a), y), x);
  }
};
struct Cosh : Plain<1> {
  double one(double x) const { return std::cosh(x); }
  HWY_INLINE WideMask usual(Wide x) const { return x == x; }
  HWY_INLINE Wide run(Wide x) const {
    const Wide e = exp(abs(x));
    return 0.5 * (e + 1.0 / e);
  }
};
struct Asinh : Plain<1> {
  double one(double x) const { return std::asinh(x); }
  HWY_INLINE WideMask usual(Wide x) const { return abs(x) < kInfinity; }
  HWY_INLINE Wide run(Wide x) const {
    const Wide a = abs(x), square = a * a, y = log(a + sqrt(square + 1.0));
    return copy_sign(pick(a < kSmall, multiply_add(square, a * (-1.0 / 6), a), y), x);
  }
};
struct Acosh : Plain<1> {
  double one(double x) const { return std::acosh(x); }
  HWY_INLINE WideMask usual(Wide x) const { return (x >= 1.0) & (x < kInfinity); }
  HWY_INLINE Wide run(Wide x) const { return log(x + sqrt((x - 1.0) * (x + 1.0))); }
};
struct Atanh : Plain<1> {
  double one(double x) const { return std::atanh(x); }
  HWY_INLINE WideMask usual(Wide x) const { return abs(x) < 1.0; }
  HWY_INLINE Wide run(Wide x) const {
    const Wide a = abs(x), y = 0.5 * log((1.0 + a) / (1.0 - a));
    return copy_sign(pick(a < kSmall, multiply_add(a * a, a * (1.0 / 3), a), y), x);
  }
};

struct Erfc : Plain<1> {
  double one(double x) const { return std::erfc(x); }
  HWY_INLINE WideMask usual(Wide x) const { return x == x; }
  HWY_INLINE Wide run(Wide x) const {
    const Wide tail = exp(-(x * x)) * erfcx_of(abs(x));
    return pick(x < 0.0, 2.0 - tail, tail);
  }
};

struct Hypot : Plain<2> {
  double one(double a, double b) const { return std::hypot(a, b); }
  HWY_INLINE WideMask usual(Wide a, Wide b) const { return (abs(a) < kInfinity) & (abs(b) < kInfinity); }
  HWY_INLINE Wide run(Wide a, Wide b) const { return sqrt(multiply_add(a, a, b * b)); }
};

// The angle of the point (x, y), as in C's library at zeros and infinities.
struct Angle : Plain<2> {
  double one(double y, double x) const { return std::atan2(y, x); }
  HWY_INLINE WideMask usual(Wide y, Wide x) const { return (x == x) & (y == y); }
  HWY_INLINE Wide run(Wide y, Wide x) const {
    const Wide ay = abs(y), ax = abs(x), large = max(ax, ay), small = min(ax, ay);
    const Wide t = pick(large == 0.0, 0.0, pick(small == large, 1.0, small / large));
    const Wide r = t * polynomial(fit::kAtan, t * t), acute = pick(ay > ax, kPi / 2 - r, r);
    return copy_sign(pick(copy_sign(1.0, x) < 0.0, kPi - acute, acute), y);
  }
};
void angles(float* out, const float* in, int64_t n) {
  const Angle f;
  int64_t i = 0;
  if constexpr (kHasVectors) {
    const NarrowTag d;
    const int64_t lanes = static_cast<int64_t>(hn::Lanes(d));
    for (; i + lanes <= n; i += lanes) {
      hn::Vec<NarrowTag> x, y;
      hn::LoadInterleaved2(d, in + 2 * i, x, y);
      hn::StoreU(narrow(value(f, widen(y), widen(x))), d, out + i);
    }
  }
  for (; i < n; ++i) out[i] = static_cast<float>(f.one(in[2 * i + 1], in[2 * i]));
}

// Of floats: quotients below 2^28 are cut, and their products with the divisor, exact.
struct Fmod : Plain<2> {
  double one(double a, double b) const { return std::fmod(a, b); }
  HWY_INLINE WideMask usual(Wide a, Wide b) const { return (abs(a) < abs(b) * 0x1p28) & (abs(b) < kInfinity); }
  HWY_INLINE Wide run(Wide a, Wide b) const { return copy_sign(a - trunc(a / b) * b, a); }
};
// Whether the signs of a remainder and of its divisor differ.
HWY_INLINE WideMask falls_short(Wide r, Wide b) {
  return (r != 0.0) & (copy_sign(1.0, r) != copy_sign(1.0, b));
}
struct Remainder : Fmod {
  double one(double a, double b) const {
    const double r = std::fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
  }
  HWY_INLINE Wide run(Wide a, Wide b) const {
    const Wide r = Fmod::run(a, b);
    return pick(falls_short(r, b), r + b, r);
  }
};
struct FloorDivide : Fmod {
  double one(double a, double b) const {
    if (b == 0) return a / b;
    const double r = std::fmod(a, b);
    double q = (a - r) / b;
    if (r != 0 && (b < 0) != (r < 0)) q -= 1;
    if (q == 0) return std::copysign(0.0, a / b);
    const double f = std::floor(q);
    return q - f > 0.5 ? f + 1 : f;
  }
  HWY_INLINE Wide run(Wide a, Wide b) const {
    const Wide r = Fmod::run(a, b), cut = (a - r) / b, q = pick(falls_short(r, b), cut - 1.0, cut), f = floor(q);
    const Wide whole = pick(q - f > 0.5, f + 1.0, f);
    return pick(q == 0.0, copy_sign(0.0, copy_sign(1.0, a) * copy_sign(1.0, b)), whole);
  }
};

using TanLoops = Loops<Tan>;
using SincLoops = Loops<Sinc>;
using SinhLoops = Loops<Sinh>;
using CoshLoops = Loops<Cosh>;
using AsinhLoops = Loops<Asinh>;
using AcoshLoops = Loops<Acosh>;
using AtanhLoops = Loops<Atanh>;
using ErfcLoops = Loops<Erfc>;
using HypotLoops = Loops<Hypot>;
using FmodLoops = Loops<Fmod>;
using RemainderLoops = Loops<Remainder>;
using FloorDivideLoops = Loops<FloorDivide>;

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace at::cpu::special
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "aten/cpu/isa_table.h"
#include "aten/cpu/loops/complex.h"

namespace at::cpu::special {
namespace {

// With the complex loops of the tag.
template <class Tag>
constexpr ElementOp with_complex(ElementOp op) {
  op.complex64 = complex_table<Tag, float>();
  op.complex128 = complex_table<Tag, double>();
  return op;
}

void angles_of(float* out, const float* in, int64_t n) { AT_ISA_FUNCTION(angles)(out, in, n); }

constexpr ElementOp kTan = AT_WIDE_OP(TanLoops), kSinc = AT_WIDE_OP(SincLoops), kSinh = AT_WIDE_OP(SinhLoops),
                    kCosh = AT_WIDE_OP(CoshLoops), kAsinh = AT_WIDE_OP(AsinhLoops), kAcosh = AT_WIDE_OP(AcoshLoops),
                    kAtanh = AT_WIDE_OP(AtanhLoops), kErfc = AT_WIDE_OP(ErfcLoops), kHypot = AT_WIDE_OP(HypotLoops),
                    kFmod = AT_WIDE_OP(FmodLoops), kRemainder = AT_WIDE_OP(RemainderLoops),
                    kFloorDivide = AT_WIDE_OP(FloorDivideLoops);

}  // namespace
}  // namespace at::cpu::special

namespace at::cpu {

void complex_angle_float(char* const* data, int64_t n, const void*) {
  special::angles_of(reinterpret_cast<float*>(data[0]), reinterpret_cast<const float*>(data[1]), n);
}

}  // namespace at::cpu

namespace at::cpu::loops {

AT_ELEMENT_OP(tan, special::with_complex<op::Tan>(special::kTan));
AT_ELEMENT_OP(sinc, special::with_complex<op::Sinc>(special::kSinc));
AT_ELEMENT_OP(sinh, special::with_complex<op::Sinh>(special::kSinh));
AT_ELEMENT_OP(cosh, special::with_complex<op::Cosh>(special::kCosh));
AT_ELEMENT_OP(asinh, special::with_complex<op::Asinh>(special::kAsinh));
AT_ELEMENT_OP(acosh, special::with_complex<op::Acosh>(special::kAcosh));
AT_ELEMENT_OP(atanh, special::with_complex<op::Atanh>(special::kAtanh));
AT_ELEMENT_OP(erfc, special::kErfc);
AT_ELEMENT_OP(hypot, special::kHypot);
AT_ELEMENT_OP(fmod, special::kFmod);
AT_ELEMENT_OP(remainder, special::kRemainder);
AT_ELEMENT_OP(floor_divide, special::kFloorDivide);

}  // namespace at::cpu::loops

#endif  // HWY_ONCE
