// Two vectors that formulas take for a number: the chains of instructions of one leave a processor idle. Include after
// hwy/highway.h.

#if defined(ATEN_CPU_TWO_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef ATEN_CPU_TWO_VECTORS_INL_H_
#undef ATEN_CPU_TWO_VECTORS_INL_H_
#else
#define ATEN_CPU_TWO_VECTORS_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace at::cpu {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct TwoVectors {
  using Tag = hn::ScalableTag<T>;
  using Vec = hn::Vec<Tag>;
  struct Mask {
    hn::Mask<Tag> v, w;
    friend HWY_INLINE Mask operator&(Mask a, Mask b) { return {hn::And(a.v, b.v), hn::And(a.w, b.w)}; }
    friend HWY_INLINE Mask operator|(Mask a, Mask b) { return {hn::Or(a.v, b.v), hn::Or(a.w, b.w)}; }
    friend HWY_INLINE Mask operator!(Mask a) { return {hn::Not(a.v), hn::Not(a.w)}; }
    friend HWY_INLINE bool all(Mask m) { return hn::AllTrue(Tag(), m.v) && hn::AllTrue(Tag(), m.w); }
    friend HWY_INLINE bool any(Mask m) { return !hn::AllFalse(Tag(), m.v) || !hn::AllFalse(Tag(), m.w); }
    friend HWY_INLINE TwoVectors pick(Mask m, TwoVectors yes, TwoVectors no) {
      return {hn::IfThenElse(m.v, yes.v, no.v), hn::IfThenElse(m.w, yes.w, no.w)};
    }
  };

  Vec v, w;
  TwoVectors() = default;
  HWY_INLINE TwoVectors(Vec x, Vec y) : v(x), w(y) {}
  HWY_INLINE TwoVectors(double x) : v(hn::Set(Tag(), static_cast<T>(x))), w(v) {}  // NOLINT: constants in formulas

  friend HWY_INLINE TwoVectors operator+(TwoVectors a, TwoVectors b) { return {hn::Add(a.v, b.v), hn::Add(a.w, b.w)}; }
  friend HWY_INLINE TwoVectors operator-(TwoVectors a, TwoVectors b) { return {hn::Sub(a.v, b.v), hn::Sub(a.w, b.w)}; }
  friend HWY_INLINE TwoVectors operator*(TwoVectors a, TwoVectors b) { return {hn::Mul(a.v, b.v), hn::Mul(a.w, b.w)}; }
  friend HWY_INLINE TwoVectors operator/(TwoVectors a, TwoVectors b) { return {hn::Div(a.v, b.v), hn::Div(a.w, b.w)}; }
  friend HWY_INLINE TwoVectors operator-(TwoVectors a) { return {hn::Neg(a.v), hn::Neg(a.w)}; }
  friend HWY_INLINE Mask operator<(TwoVectors a, TwoVectors b) { return {hn::Lt(a.v, b.v), hn::Lt(a.w, b.w)}; }
  friend HWY_INLINE Mask operator>(TwoVectors a, TwoVectors b) { return {hn::Gt(a.v, b.v), hn::Gt(a.w, b.w)}; }
  friend HWY_INLINE Mask operator<=(TwoVectors a, TwoVectors b) { return {hn::Le(a.v, b.v), hn::Le(a.w, b.w)}; }
  friend HWY_INLINE Mask operator>=(TwoVectors a, TwoVectors b) { return {hn::Ge(a.v, b.v), hn::Ge(a.w, b.w)}; }
  friend HWY_INLINE Mask operator==(TwoVectors a, TwoVectors b) { return {hn::Eq(a.v, b.v), hn::Eq(a.w, b.w)}; }
  // Not hn::Ne, which for some targets does not hold of NaN.
  friend HWY_INLINE Mask operator!=(TwoVectors a, TwoVectors b) { return !(a == b); }
};

}  // namespace HWY_NAMESPACE
}  // namespace at::cpu
HWY_AFTER_NAMESPACE();

#endif  // include guard
