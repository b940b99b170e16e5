// What text that is compiled while a program runs (group_source.h) has in place of the standard headers and of the
// launch's. On the host, where tests run it, the headers themselves are there.
#pragma once

#ifdef __CUDACC_RTC__

using int8_t = signed char;
using uint8_t = unsigned char;
using int16_t = short;
using uint16_t = unsigned short;
using int32_t = int;
using uint32_t = unsigned int;
using int64_t = long long;
using uint64_t = unsigned long long;

#define INFINITY __int_as_float(0x7f800000)

namespace std {

template <class T>
class numeric_limits;
enum float_round_style { round_to_nearest = 1 };

template <class T>
inline constexpr bool is_trivially_copyable_v = __is_trivially_copyable(T);
template <class A, class B>
inline constexpr bool is_same_v = false;
template <class A>
inline constexpr bool is_same_v<A, A> = true;
template <class T>
inline constexpr bool is_floating_point_v = is_same_v<T, float> || is_same_v<T, double>;
// Of the types that elements have.
template <class T>
inline constexpr bool is_unsigned_v = is_same_v<T, bool> || is_same_v<T, uint8_t> || is_same_v<T, uint16_t> ||
                                      is_same_v<T, uint32_t> || is_same_v<T, uint64_t>;
template <class T>
inline constexpr bool is_integral_v =
    is_unsigned_v<T> || is_same_v<T, int8_t> || is_same_v<T, int16_t> || is_same_v<T, int32_t> || is_same_v<T, int64_t>;
template <class T>
inline constexpr bool is_arithmetic_v = is_integral_v<T> || is_floating_point_v<T>;
template <class T>
struct type_identity {
  using type = T;
};
template <bool kFirst, class A, class B>
struct conditional : type_identity<A> {};
template <class A, class B>
struct conditional<false, A, B> : type_identity<B> {};
template <bool kFirst, class A, class B>
using conditional_t = typename conditional<kFirst, A, B>::type;
template <class T>
struct make_unsigned
    : conditional<sizeof(T) == 8, uint64_t,
                  conditional_t<sizeof(T) == 4, uint32_t, conditional_t<sizeof(T) == 2, uint16_t, uint8_t>>> {};

inline __device__ void memcpy(void* to, const void* from, unsigned long bytes) {
  ::memcpy(to, from, bytes);
}

}  // namespace std

#define KD_DEVICE __device__ __forceinline__

namespace c10::cuda {

template <class V>
KD_DEVICE V load_aligned(const void* address) {
  return *static_cast<const V*>(address);
}
template <class V>
KD_DEVICE void store_aligned(void* address, const V& value) {
  *static_cast<V*>(address) = value;
}
template <class T>
KD_DEVICE T* dynamic_shared() {
  extern __shared__ __align__(128) unsigned char kd_dynamic_shared[];
  return reinterpret_cast<T*>(kd_dynamic_shared);
}

}  // namespace c10::cuda

#endif  // __CUDACC_RTC__

namespace c10 {
template <class T>
struct complex;
}
