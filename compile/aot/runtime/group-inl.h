// What printed groups are written in: steps of kStep elements, values of which lie in registers. Include after
// hwy/highway.h, once a target.
//
//   Numbers    float: two vectors, what the formulas of aten/cpu/loops take
//   Truths     their masks
//   Array<T>   double, int32_t, int64_t
//
// Elements of narrower types are held as the number that they are (compile/group/group.h); Storage says what lies in
// memory: float, double, integers, Boolean, BF16, F16.

#if defined(COMPILE_AOT_RUNTIME_GROUP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef COMPILE_AOT_RUNTIME_GROUP_INL_H_
#undef COMPILE_AOT_RUNTIME_GROUP_INL_H_
#else
#define COMPILE_AOT_RUNTIME_GROUP_INL_H_
#endif

#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

// clang-format off
#include "aten/cpu/cast-inl.h"
#include "aten/cpu/loops/activation-inl.h"
#include "aten/cpu/loops/activation_backward-inl.h"
#include "aten/cpu/loops/arithmetic-inl.h"
#include "aten/cpu/loops/math-inl.h"
#include "aten/cpu/loops/unary-inl.h"
#include "aten/cpu/support/narrow-inl.h"
#include "compile/aot/runtime/groups.h"
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace torch::aot {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace cpu = ::at::cpu::HWY_NAMESPACE;
namespace op = ::at::cpu::op;
namespace loops = ::at::cpu::loops;

using ::at::cpu::Boolean;
using cpu::BF16;
using cpu::F16;
using ::torch::aot::gather;
using ::torch::aot::scatter;

using D = hn::ScalableTag<float>;
using Words = hn::RebindToSigned<D>;
using Bits = hn::RebindToUnsigned<D>;
using Bytes = hn::Rebind<uint8_t, D>;
using Vector = hn::Vec<D>;
using Numbers = cpu::VecFloat;
using Truths = Numbers::Mask;

constexpr int64_t kLanes = hn::MaxLanes(D());
constexpr int64_t kStep = 2 * kLanes;

template <class T>
struct Array {
  alignas(64) T v[kStep];
};

// The type in which elements of a storage type are held.
template <class Storage>
struct Held {
  using type = std::conditional_t<std::is_integral_v<Storage> && sizeof(Storage) < 4, int32_t, Storage>;
};
template <>
struct Held<F16> {
  using type = float;
};
template <>
struct Held<BF16> {
  using type = float;
};
template <class Storage>
using HeldType = typename Held<Storage>::type;

// --- memory ---

HWY_INLINE Numbers load_floats(const float* from) {
  return {hn::LoadU(D(), from), hn::LoadU(D(), from + kLanes)};
}
HWY_INLINE void store_floats(Numbers x, float* to) {
  hn::StoreU(x.v, D(), to);
  hn::StoreU(x.w, D(), to + kLanes);
}

HWY_INLINE hn::Mask<D> load_mask(const uint8_t* from) {
  const Words d;
  const auto words = hn::BitCast(d, hn::PromoteTo(Bits(), hn::LoadU(Bytes(), from)));
  return hn::RebindMask(D(), hn::Not(hn::Eq(words, hn::Zero(d))));
}
HWY_INLINE Truths load_truths(const uint8_t* from) {
  return {load_mask(from), load_mask(from + kLanes)};
}
HWY_INLINE void store_mask(hn::Mask<D> m, uint8_t* to) {
  const Words d;
  const auto ones = hn::IfThenElseZero(hn::RebindMask(d, m), hn::Set(d, 1));
  hn::StoreU(hn::DemoteTo(Bytes(), ones), Bytes(), to);
}
HWY_INLINE void store_truths(Truths x, uint8_t* to) {
  store_mask(x.v, to);
  store_mask(x.w, to + kLanes);
}

template <class Storage>
HWY_INLINE auto load(const char* from) {
  if constexpr (std::is_same_v<Storage, float>) {
    return load_floats(reinterpret_cast<const float*>(from));
  } else if constexpr (std::is_same_v<Storage, BF16>) {
    const auto* numbers = reinterpret_cast<const c10::BFloat16*>(from);
    return Numbers(cpu::LoadFloats(D(), numbers), cpu::LoadFloats(D(), numbers + kLanes));
  } else if constexpr (std::is_same_v<Storage, F16>) {
    Array<float> x;
    const uint16_t* bits = reinterpret_cast<const uint16_t*>(from);
    for (int64_t i = 0; i < kStep; ++i) x.v[i] = cpu::f16_to_float(bits[i]);
    return load_floats(x.v);
  } else if constexpr (std::is_same_v<Storage, Boolean>) {
    return load_truths(reinterpret_cast<const uint8_t*>(from));
  } else {
    Array<HeldType<Storage>> x;
    const Storage* elements = reinterpret_cast<const Storage*>(from);
    for (int64_t i = 0; i < kStep; ++i) x.v[i] = elements[i];
    return x;
  }
}

// Of values that the storage type holds.
template <class Storage>
HWY_INLINE void store(Numbers x, char* to) {
  if constexpr (std::is_same_v<Storage, float>) {
    store_floats(x, reinterpret_cast<float*>(to));
  } else if constexpr (std::is_same_v<Storage, BF16>) {
    uint16_t* bits = reinterpret_cast<uint16_t*>(to);
    cpu::StoreBFloat16(D(), hn::BitCast(Bits(), x.v), bits);
    cpu::StoreBFloat16(D(), hn::BitCast(Bits(), x.w), bits + kLanes);
  } else {
    static_assert(std::is_same_v<Storage, F16>);
    Array<float> values;
    store_floats(x, values.v);
    uint16_t* bits = reinterpret_cast<uint16_t*>(to);
    for (int64_t i = 0; i < kStep; ++i) bits[i] = cpu::float_to_f16(values.v[i]);
  }
}
template <class Storage>
HWY_INLINE void store(Truths x, char* to) {
  store_truths(x, reinterpret_cast<uint8_t*>(to));
}
template <class Storage, class T>
HWY_INLINE void store(const Array<T>& x, char* to) {
  Storage* elements = reinterpret_cast<Storage*>(to);
  for (int64_t i = 0; i < kStep; ++i) elements[i] = static_cast<Storage>(x.v[i]);
}

template <class T>
HWY_INLINE auto all(T value) {
  if constexpr (std::is_same_v<T, float>) {
    return Numbers(hn::Set(D(), value), hn::Set(D(), value));
  } else if constexpr (std::is_same_v<T, Boolean>) {
    const Vector zero = hn::Zero(D());
    const auto mask = hn::Eq(hn::Set(D(), value ? 0.0f : 1.0f), zero);
    return Truths{mask, mask};
  } else {
    Array<T> x;
    for (int64_t i = 0; i < kStep; ++i) x.v[i] = value;
    return x;
  }
}
/// The one element that there is for all.
template <class Storage>
HWY_INLINE auto same(const char* from) {
  Storage value;
  std::memcpy(&value, from, sizeof(value));
  if constexpr (std::is_same_v<Storage, Boolean>) {
    return all<Boolean>(value);
  } else {
    return all<HeldType<Storage>>(static_cast<HeldType<Storage>>(cpu::widen(value)));
  }
}

template <class Storage>
constexpr int64_t kSize = sizeof(Storage);

// Steps of operands whose elements lie `step` bytes after each other, by way of a buffer.
template <class Storage>
HWY_INLINE auto load_strided(char* buffer, const char* from, int64_t step) {
  gather(buffer, from, step, kStep, kStep, kSize<Storage>);
  return load<Storage>(buffer);
}
template <class Storage, class X>
HWY_INLINE void store_strided(const X& x, char* buffer, char* to, int64_t step) {
  store<Storage>(x, buffer);
  scatter(to, step, buffer, kStep, kSize<Storage>);
}
/// The last n elements, which are no whole step, as one.
template <class Storage>
HWY_INLINE const char* part(char* buffer, const char* from, int64_t step, int64_t n) {
  gather(buffer, from, step, n, kStep, kSize<Storage>);
  return buffer;
}

// --- conversions ---

HWY_INLINE Array<float> elements(Numbers x) {
  Array<float> values;
  store_floats(x, values.v);
  return values;
}
HWY_INLINE Array<Boolean> elements(Truths x) {
  Array<Boolean> values;
  store_truths(x, reinterpret_cast<uint8_t*>(values.v));
  return values;
}
template <class T>
HWY_INLINE const Array<T>& elements(const Array<T>& x) {
  return x;
}
template <class T>
HWY_INLINE auto value_of(const Array<T>& x) {
  if constexpr (std::is_same_v<T, float>) {
    return load_floats(x.v);
  } else if constexpr (std::is_same_v<T, Boolean>) {
    return load_truths(reinterpret_cast<const uint8_t*>(x.v));
  } else {
    return x;
  }
}

template <class To, class X>
HWY_INLINE auto convert_elements(const X& x) {
  const auto& from = elements(x);
  using From = std::remove_cvref_t<decltype(from.v[0])>;
  Array<HeldType<To>> values;
  for (int64_t i = 0; i < kStep; ++i) {
    const To element = cpu::convert_element<To, From>(from.v[i]);
    if constexpr (std::is_same_v<To, Boolean>) {
      values.v[i] = element;
    } else {
      values.v[i] = static_cast<HeldType<To>>(cpu::widen(element));
    }
  }
  return value_of(values);
}

/// The number as one of another type (at::cpu::convert), in the type that that is held in.
template <class To>
HWY_INLINE auto convert(Numbers x) {
  if constexpr (std::is_same_v<To, float>) {
    return x;
  } else if constexpr (std::is_same_v<To, BF16>) {
    return Numbers(hn::BitCast(D(), cpu::RoundedToBFloat16(D(), x.v)),
                   hn::BitCast(D(), cpu::RoundedToBFloat16(D(), x.w)));
  } else if constexpr (std::is_same_v<To, Boolean>) {
    return x != Numbers(0.0);
  } else {
    return convert_elements<To>(x);
  }
}
template <class To>
HWY_INLINE auto convert(Truths x) {
  if constexpr (std::is_same_v<To, Boolean>) {
    return x;
  } else if constexpr (std::is_same_v<HeldType<To>, float>) {
    return pick(x, Numbers(1.0), Numbers(0.0));
  } else {
    return convert_elements<To>(x);
  }
}
template <class To, class T>
HWY_INLINE auto convert(const Array<T>& x) {
  return convert_elements<To>(x);
}

// --- operations ---

template <class T, size_t N>
struct Parameters {
  T p[N];
};
template <class T>
struct Parameters<T, 0> {
  static constexpr const T* p = nullptr;
};

/// An operator by its loop, on copies.
template <class R, class P, class... X>
HWY_INLINE auto call(const ::at::cpu::ElementTable& loop, const P& parameters, const X&... x) {
  Array<R> result;
  const auto run = [&](const auto&... values) HWY_ATTR {
    char* const data[] = {reinterpret_cast<char*>(result.v),
                          const_cast<char*>(reinterpret_cast<const char*>(values.v))...};
    loop.get()(data, kStep, parameters.p);
  };
  run(elements(x)...);
  return value_of(result);
}

/// The operator of a tag, which has `loop`, too, where it has no code here.
template <class Tag, size_t N, class... X>
HWY_INLINE Numbers apply(const ::at::cpu::ElementOp& loop, const Parameters<float, N>& parameters, Numbers a, X... x) {
  if constexpr (requires { cpu::VecFn<Tag>::kInputs; }) {
    using F = cpu::VecFn<Tag>;
    const D d;
    const float* const p = parameters.p;
    return {F::run(d, a.v, x.v..., p), F::run(d, a.w, x.w..., p)};
  } else if constexpr (requires { cpu::Fn<Tag>::kInputs; }) {
    Numbers p[N + 1];
    for (size_t k = 0; k < N; ++k) p[k] = Numbers(static_cast<double>(parameters.p[k]));
    return cpu::Fn<Tag>::run(a, x..., p);
  } else {
    return call<float>(loop.float32, parameters, a, x...);
  }
}
template <class Tag, size_t N, class... X>
HWY_INLINE Array<double> apply(const ::at::cpu::ElementOp& loop, const Parameters<double, N>& parameters,
                               const Array<double>& a, const X&... x) {
  if constexpr (requires { cpu::VecFn<Tag>::kInputs; }) {
    using F = cpu::VecFn<Tag>;
    const hn::ScalableTag<double> d;
    constexpr auto lanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<double>()));
    Array<double> result;
    const double* const p = parameters.p;
    for (int64_t i = 0; i < kStep; i += lanes) {
      hn::Store(F::run(d, hn::Load(d, a.v + i), hn::Load(d, x.v + i)..., p), d, result.v + i);
    }
    return result;
  } else {
    return call<double>(loop.float64, parameters, a, x...);
  }
}
template <class Tag, class T, size_t N, class... X>
HWY_INLINE Array<T> apply(const ::at::cpu::ElementOp& loop, const Parameters<T, N>& parameters, const Array<T>& a,
                          const X&... x) {
  if constexpr (requires { cpu::ScalarFn<Tag>::kInputs; }) {
    Array<T> result;
    const T* const p = parameters.p;
    for (int64_t i = 0; i < kStep; ++i) {
      result.v[i] = static_cast<T>(cpu::ScalarFn<Tag>::run(a.v[i], x.v[i]..., p));
    }
    return result;
  } else {
    return call<T>(sizeof(T) == 4 ? loop.int32 : loop.int64, parameters, a, x...);
  }
}
/// One that is there as a loop only.
template <class T, class P, class... X>
HWY_INLINE auto by_loop(const ::at::cpu::ElementOp& loop, const P& parameters, const X&... x) {
  if constexpr (std::is_same_v<T, float>) {
    return call<T>(loop.float32, parameters, x...);
  } else if constexpr (std::is_same_v<T, double>) {
    return call<T>(loop.float64, parameters, x...);
  } else {
    return call<T>(sizeof(T) == 4 ? loop.int32 : loop.int64, parameters, x...);
  }
}

// Predicates, of Numbers and of single numbers.
HWY_INLINE Truths signs(Numbers x) {
  const auto negative = [](Vector v) HWY_ATTR {
    return hn::RebindMask(D(), hn::Lt(hn::BitCast(Words(), v), hn::Zero(Words())));
  };
  return {negative(x.v), negative(x.w)};
}
HWY_INLINE bool signs(double x) {
  return __builtin_signbit(x) != 0;
}
HWY_INLINE bool signs(int32_t x) {
  return x < 0;
}
HWY_INLINE bool signs(int64_t x) {
  return x < 0;
}
template <class Tag>
struct Predicate;
#define KD_PREDICATE(Tag, arguments, expression) \
  template <>                                    \
  struct Predicate<op::Tag> {                    \
    template <class X>                           \
    static HWY_INLINE auto run arguments {       \
      return expression;                         \
    }                                            \
  };
KD_PREDICATE(Eq, (X a, X b), a == b)
KD_PREDICATE(Ne, (X a, X b), !(a == b))
KD_PREDICATE(Lt, (X a, X b), a < b)
KD_PREDICATE(Le, (X a, X b), a <= b)
KD_PREDICATE(Gt, (X a, X b), a > b)
KD_PREDICATE(Ge, (X a, X b), a >= b)
KD_PREDICATE(LogicalAnd, (X a, X b), !(a == X(0)) & !(b == X(0)))
KD_PREDICATE(LogicalOr, (X a, X b), !(a == X(0)) | !(b == X(0)))
KD_PREDICATE(LogicalXor, (X a, X b), (!(a == X(0)) & (b == X(0))) | ((a == X(0)) & !(b == X(0))))
KD_PREDICATE(LogicalNot, (X a), a == X(0))
KD_PREDICATE(IsNan, (X a), !(a == a))
KD_PREDICATE(IsInf, (X a), (a == X(__builtin_inf())) | (a == X(-__builtin_inf())))
KD_PREDICATE(IsFinite, (X a), a - a == X(0))
KD_PREDICATE(IsPosInf, (X a), a == X(__builtin_inf()))
KD_PREDICATE(IsNegInf, (X a), a == X(-__builtin_inf()))
KD_PREDICATE(SignBit, (X a), signs(a))
#undef KD_PREDICATE

template <class Tag, class... X>
HWY_INLINE Truths predicate(Numbers a, X... x) {
  return Predicate<Tag>::run(a, x...);
}
template <class Tag, class T, class... X>
HWY_INLINE Truths predicate(const Array<T>& a, const X&... x) {
  Array<Boolean> result;
  for (int64_t i = 0; i < kStep; ++i) result.v[i] = Predicate<Tag>::run(a.v[i], x.v[i]...);
  return value_of(result);
}

HWY_INLINE Truths exclusive(Truths a, Truths b) {
  return (a & !b) | (!a & b);
}

/// a where the condition holds, else b.
HWY_INLINE Numbers where(Truths condition, Numbers a, Numbers b) {
  return pick(condition, a, b);
}
HWY_INLINE Truths where(Truths condition, Truths a, Truths b) {
  return (condition & a) | (!condition & b);
}
template <class T>
HWY_INLINE Array<T> where(Truths condition, const Array<T>& a, const Array<T>& b) {
  const Array<Boolean> holds = elements(condition);
  Array<T> result;
  for (int64_t i = 0; i < kStep; ++i) result.v[i] = holds.v[i] ? a.v[i] : b.v[i];
  return result;
}

}  // namespace HWY_NAMESPACE
}  // namespace torch::aot
HWY_AFTER_NAMESPACE();

#endif  // include guard
