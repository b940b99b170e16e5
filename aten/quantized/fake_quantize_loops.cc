// Loops of fake quantization.
#include "aten/quantized/element_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "aten/quantized/fake_quantize_loops.cc"
#include "hwy/foreach_target.h"
// clang-format off
#include "aten/cpu/isa_table.h"
#include "hwy/highway.h"
#include "aten/quantized/element_loops-inl.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace at::quantized {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// One byte a lane: 1 where the mask is set.
template <class D>
HWY_INLINE void store_bools(D d, hn::Mask<D> mask, bool* to) {
  const hn::Rebind<int32_t, D> di;
  const hn::Rebind<uint8_t, D> du;
  const auto ones = hn::IfThenElseZero(mask, hn::Set(d, hn::TFromD<D>(1)));
  if constexpr (sizeof(hn::TFromD<D>) == 8) {
    hn::StoreU(hn::DemoteTo(du, hn::DemoteTo(di, ones)), du, reinterpret_cast<uint8_t*>(to));
  } else {
    hn::StoreU(hn::DemoteTo(du, hn::ConvertTo(di, ones)), du, reinterpret_cast<uint8_t*>(to));
  }
}

// Where a number lies, in integers, and the nearest place that is within the range.
template <class D>
struct Place {
  hn::Vec<D> own, kept;
  hn::Mask<D> inside;
};
template <bool kWhole, class D>
HWY_INLINE Place<D> place_of(D d, hn::Vec<D> x, hn::Vec<D> inverse, hn::Vec<D> zero, hn::TFromD<D> least,
                             hn::TFromD<D> most) {
  const auto from = hn::Set(d, least), to = hn::Set(d, most), steps = hn::Mul(x, inverse);
  const auto own = kWhole ? hn::Add(hn::Round(steps), zero) : hn::Round(hn::Add(steps, zero));
  return {own, hn::Min(hn::IfThenElse(hn::Gt(own, from), own, from), to), hn::And(hn::Ge(own, from), hn::Le(own, to))};
}

template <class N>
HWY_INLINE void fake_quantize(const N* x, N* y, bool* inside, int64_t n, const Steps& steps, bool whole, N least,
                              N most) {
  with_constant(inside != nullptr, [&](auto tells) INLINED {
    with_constant(whole, [&](auto of_whole) INLINED {
      with_steps(steps, [&](const Steps& own) INLINED {
        for_each<N>(n, [&](auto d, int64_t i) INLINED {
          const auto zero = zeros(d, own, i);
          const auto place = place_of<of_whole>(d, hn::LoadU(d, x + i), inverses(d, own, i), zero, least, most);
          hn::StoreU(hn::Mul(hn::Sub(place.kept, zero), scales(d, own, i)), d, y + i);
          if constexpr (tells) store_bools(d, place.inside, inside + i);
        });
      });
    });
  });
}

template <class N>
HWY_INLINE void fake_quantize_backward(const N* x, const N* grad, N* out, int64_t n, float scale, float zero, N least,
                                       N most, double* of_scale, double* of_zero) {
  const Steps steps{&scale, &zero};
  // Adds lanes that begin at i; dd: doubles, d: as many numbers.
  const auto add = [&](auto dd, int64_t i, auto& scale_sum, auto& zero_sum) INLINED {
    const hn::Rebind<N, decltype(dd)> d;
    const auto widened = [&](auto v) INLINED {
      if constexpr (sizeof(N) == 8) {
        return v;
      } else {
        return hn::PromoteTo(dd, v);
      }
    };
    const auto number = hn::LoadU(d, x + i), g = hn::LoadU(d, grad + i), z = zeros(d, steps, 0);
    const auto place = place_of<true>(d, number, inverses(d, steps, 0), z, least, most);
    hn::StoreU(hn::Mul(g, hn::IfThenElseZero(place.inside, hn::Set(d, N(1)))), d, out + i);
    const auto distance = hn::Sub(place.kept, z);
    const auto error = hn::Mul(hn::Sub(hn::Mul(distance, scales(d, steps, 0)), number), inverses(d, steps, 0));
    scale_sum = hn::Add(scale_sum, widened(hn::Mul(g, hn::IfThenElse(place.inside, error, distance))));
    zero_sum = hn::Add(zero_sum, widened(hn::IfThenZeroElse(place.inside, g)));
  };
  const hn::ScalableTag<double> dd;
  const hn::CappedTag<double, 1> one;
  const int64_t lanes = static_cast<int64_t>(hn::Lanes(dd));
  auto scale_sum = hn::Zero(dd), zero_sum = hn::Zero(dd);
  auto scale_rest = hn::Zero(one), zero_rest = hn::Zero(one);
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) add(dd, i, scale_sum, zero_sum);
  for (; i < n; ++i) add(one, i, scale_rest, zero_rest);
  *of_scale += hn::GetLane(hn::SumOfLanes(dd, scale_sum)) + hn::GetLane(scale_rest);
  *of_zero -= (hn::GetLane(hn::SumOfLanes(dd, zero_sum)) + hn::GetLane(zero_rest)) * static_cast<double>(scale);
}

#define OF_NUMBERS(N, name)                                                                                          \
  void fake_quantize_##name(const N* x, N* y, bool* inside, int64_t n, const Steps& steps, bool whole, N least,      \
                            N most) {                                                                                \
    fake_quantize(x, y, inside, n, steps, whole, least, most);                                                       \
  }                                                                                                                  \
  void fake_quantize_backward_##name(const N* x, const N* grad, N* out, int64_t n, float scale, float zero, N least, \
                                     N most, double* of_scale, double* of_zero) {                                    \
    fake_quantize_backward(x, grad, out, n, scale, zero, least, most, of_scale, of_zero);                            \
  }
OF_NUMBERS(float, f32)
OF_NUMBERS(double, f64)
#undef OF_NUMBERS

}  // namespace HWY_NAMESPACE
}  // namespace at::quantized
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace at::quantized {

#define OF_NUMBERS(N, name)                                                                                          \
  template <>                                                                                                        \
  void fake_quantize_run<N>(const N* x, N* y, bool* inside, int64_t n, const Steps& steps, bool whole, N least,      \
                            N most) {                                                                                \
    AT_ISA_FUNCTION(fake_quantize_##name)(x, y, inside, n, steps, whole, least, most);                               \
  }                                                                                                                  \
  template <>                                                                                                        \
  void fake_quantize_backward_run<N>(const N* x, const N* grad, N* out, int64_t n, float scale, float zero, N least, \
                                     N most, double* of_scale, double* of_zero) {                                    \
    AT_ISA_FUNCTION(fake_quantize_backward_##name)(x, grad, out, n, scale, zero, least, most, of_scale, of_zero);    \
  }
OF_NUMBERS(float, f32)
OF_NUMBERS(double, f64)
#undef OF_NUMBERS

}  // namespace at::quantized
#endif  // HWY_ONCE
