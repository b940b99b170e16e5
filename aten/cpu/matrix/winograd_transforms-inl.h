// The transformations of Winograd's algorithm F(4 x 4, 3 x 3), for sources compiled once a target. Include after
// hwy/highway.h.
//
// A correlation of 4 outputs with 3 weights is y = A^T [(G g) * (B^T d)] for 6 inputs d (Lavin and Gray, 2015): the
// product of polynomials, evaluated at 0, 3/4, -3/4, 3/2, -3/2 and infinity. Of all points whose powers are exact in
// float32 these have the smallest rounding errors we found: a fifth of those at 0, 1, -1, 2, -2. In two dimensions rows
// are transformed first, then columns.

#if defined(ATEN_CPU_MATRIX_WINOGRAD_TRANSFORMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATEN_CPU_MATRIX_WINOGRAD_TRANSFORMS_INL_H_
#undef ATEN_CPU_MATRIX_WINOGRAD_TRANSFORMS_INL_H_
#else
#define ATEN_CPU_MATRIX_WINOGRAD_TRANSFORMS_INL_H_
#endif

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace at::matrix::internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The points, their powers, and the coefficients of (x^2 - a^2)(x^2 - b^2).
inline constexpr float kPointA = 0.75f, kPointB = 1.5f;
inline constexpr float kA2 = kPointA * kPointA, kA3 = kA2 * kPointA, kB2 = kPointB * kPointB, kB3 = kB2 * kPointB;
inline constexpr float kProduct = kA2 * kB2, kSum = kA2 + kB2;
// Each point's share of the weights: one over the product of its distances from the others.
inline constexpr float kScale0 = 64.0f / 81, kScaleA = -128.0f / 243, kScaleB = 32.0f / 243;

using FloatTag = hn::ScalableTag<float>;
using FloatVector = hn::Vec<FloatTag>;

HWY_INLINE FloatVector Constant(float x) {
  return hn::Set(FloatTag(), x);
}

HWY_INLINE int64_t FloatLanes() {
  return static_cast<int64_t>(hn::Lanes(FloatTag()));
}
// The values at a point and at the one of the other sign, from the even and the odd terms.
HWY_INLINE void AtBothSigns(FloatVector even, FloatVector odd, FloatVector* to) {
  to[0] = hn::Add(even, odd);
  to[1] = hn::Sub(even, odd);
}

// B^T d, of 6 inputs.
struct OfInput {
  static constexpr int kFrom = 6, kTo = 6;
  static HWY_INLINE void Apply(const FloatVector* d, FloatVector* to) {
    const FloatVector even_a = hn::NegMulAdd(Constant(kB2), d[2], d[4]);
    const FloatVector odd_a = hn::Mul(Constant(kPointA), hn::NegMulAdd(Constant(kB2), d[1], d[3]));
    const FloatVector even_b = hn::NegMulAdd(Constant(kA2), d[2], d[4]);
    const FloatVector odd_b = hn::Mul(Constant(kPointB), hn::NegMulAdd(Constant(kA2), d[1], d[3]));
    to[0] = hn::MulAdd(Constant(kProduct), d[0], hn::NegMulAdd(Constant(kSum), d[2], d[4]));
    AtBothSigns(even_a, odd_a, to + 1);
    AtBothSigns(even_b, odd_b, to + 3);
    to[5] = hn::MulAdd(Constant(kProduct), d[1], hn::NegMulAdd(Constant(kSum), d[3], d[5]));
  }
};

// G g, of 3 weights.
struct OfWeights {
  static constexpr int kFrom = 3, kTo = 6;
  static HWY_INLINE void Apply(const FloatVector* g, FloatVector* to) {
    const FloatVector even_a = hn::MulAdd(Constant(kA2 * kScaleA), g[2], hn::Mul(Constant(kScaleA), g[0]));
    const FloatVector odd_a = hn::Mul(Constant(kPointA * kScaleA), g[1]);
    const FloatVector even_b = hn::MulAdd(Constant(kB2 * kScaleB), g[2], hn::Mul(Constant(kScaleB), g[0]));
    const FloatVector odd_b = hn::Mul(Constant(kPointB * kScaleB), g[1]);
    to[0] = hn::Mul(Constant(kScale0), g[0]);
    AtBothSigns(even_a, odd_a, to + 1);
    AtBothSigns(even_b, odd_b, to + 3);
    to[5] = g[2];
  }
};

// A^T m, the outputs of 6 products.
struct ToOutput {
  static constexpr int kFrom = 6, kTo = 4;
  static HWY_INLINE void Apply(const FloatVector* m, FloatVector* to) {
    const FloatVector sum_a = hn::Add(m[1], m[2]), difference_a = hn::Sub(m[1], m[2]);
    const FloatVector sum_b = hn::Add(m[3], m[4]), difference_b = hn::Sub(m[3], m[4]);
    to[0] = hn::Add(m[0], hn::Add(sum_a, sum_b));
    to[1] = hn::MulAdd(Constant(kPointA), difference_a, hn::Mul(Constant(kPointB), difference_b));
    to[2] = hn::MulAdd(Constant(kA2), sum_a, hn::Mul(Constant(kB2), sum_b));
    to[3] = hn::MulAdd(Constant(kA3), difference_a, hn::MulAdd(Constant(kB3), difference_b, m[5]));
  }
};

// A y, of the gradients of 4 outputs.
struct OfOutputGradient {
  static constexpr int kFrom = 4, kTo = 6;
  static HWY_INLINE void Apply(const FloatVector* y, FloatVector* to) {
    const FloatVector even_a = hn::MulAdd(Constant(kA2), y[2], y[0]);
    const FloatVector odd_a = hn::MulAdd(Constant(kA3), y[3], hn::Mul(Constant(kPointA), y[1]));
    const FloatVector even_b = hn::MulAdd(Constant(kB2), y[2], y[0]);
    const FloatVector odd_b = hn::MulAdd(Constant(kB3), y[3], hn::Mul(Constant(kPointB), y[1]));
    to[0] = y[0];
    AtBothSigns(even_a, odd_a, to + 1);
    AtBothSigns(even_b, odd_b, to + 3);
    to[5] = y[3];
  }
};

// G^T m, the gradients of 3 weights.
struct ToWeightGradient {
  static constexpr int kFrom = 6, kTo = 3;
  static HWY_INLINE void Apply(const FloatVector* m, FloatVector* to) {
    const FloatVector sum_a = hn::Add(m[1], m[2]), difference_a = hn::Sub(m[1], m[2]);
    const FloatVector sum_b = hn::Add(m[3], m[4]), difference_b = hn::Sub(m[3], m[4]);
    to[0] =
        hn::MulAdd(Constant(kScale0), m[0], hn::MulAdd(Constant(kScaleA), sum_a, hn::Mul(Constant(kScaleB), sum_b)));
    to[1] = hn::MulAdd(Constant(kPointA * kScaleA), difference_a, hn::Mul(Constant(kPointB * kScaleB), difference_b));
    to[2] = hn::MulAdd(Constant(kA2 * kScaleA), sum_a, hn::MulAdd(Constant(kB2 * kScaleB), sum_b, m[5]));
  }
};

// One transformation in both dimensions of many tiles, a tile a lane: load(row, values) gives the kFrom vectors of a
// row, store(row, column, vector) takes the results.
template <class Transformation, class Load, class Store>
HWY_INLINE void TransformTiles(const Load& load, const Store& store) {
  constexpr int kFrom = Transformation::kFrom, kTo = Transformation::kTo;
  const FloatTag d;
  const size_t lanes = hn::Lanes(d);
  // Its columns lie in the stack's memory: there are more of them than registers.
  HWY_ALIGN float rows[kFrom * kTo * HWY_MAX_BYTES / sizeof(float)];
#pragma GCC unroll 6
  for (int r = 0; r < kFrom; ++r) {
    FloatVector from[kFrom], to[kTo];
    load(r, from);
    Transformation::Apply(from, to);
#pragma GCC unroll 6
    for (int i = 0; i < kTo; ++i) hn::Store(to[i], d, rows + static_cast<size_t>(i * kFrom + r) * lanes);
  }
#pragma GCC unroll 6
  for (int i = 0; i < kTo; ++i) {
    FloatVector from[kFrom], to[kTo];
#pragma GCC unroll 6
    for (int r = 0; r < kFrom; ++r) from[r] = hn::Load(d, rows + static_cast<size_t>(i * kFrom + r) * lanes);
    Transformation::Apply(from, to);
#pragma GCC unroll 6
    for (int r = 0; r < kTo; ++r) store(r, i, to[r]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace at::matrix::internal
HWY_AFTER_NAMESPACE();

#endif  // the toggle of the target
