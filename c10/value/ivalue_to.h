// IValue::to<T>: how each C++ type is read from a value.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "c10/value/dict.h"
#include "c10/value/ivalue_class.h"
#include "c10/value/list.h"
#include "c10/value/type_of.h"

namespace c10::detail {

// clang-format off
#define KD_TO_(cpp, expression) template <> struct IValueTo<cpp> { static cpp get(const auto& v) { return expression; } };
KD_TO_(IValue, v)
KD_TO_(bool, v.toBool())
KD_TO_(int64_t, v.toInt())
KD_TO_(int32_t, static_cast<int32_t>(v.toInt()))
KD_TO_(int16_t, static_cast<int16_t>(v.toInt()))
KD_TO_(int8_t, static_cast<int8_t>(v.toInt()))
KD_TO_(uint64_t, v.toUInt())
KD_TO_(uint32_t, static_cast<uint32_t>(v.toInt()))
KD_TO_(uint16_t, static_cast<uint16_t>(v.toInt()))
KD_TO_(uint8_t, static_cast<uint8_t>(v.toInt()))
KD_TO_(double, v.toDouble())
KD_TO_(float, static_cast<float>(v.toDouble()))
KD_TO_(complex<double>, v.toComplexDouble())
KD_TO_(Scalar, v.toScalar())
KD_TO_(SymInt, v.toSymInt())
KD_TO_(SymFloat, v.toSymFloat())
KD_TO_(SymBool, v.toSymBool())
KD_TO_(std::string, v.toStringRef())
KD_TO_(std::string_view, v.toStringView())
KD_TO_(ScalarType, v.toScalarType())
KD_TO_(Layout, v.toLayout())
KD_TO_(MemoryFormat, v.toMemoryFormat())
KD_TO_(QScheme, v.toQScheme())
KD_TO_(Device, v.toDevice())
KD_TO_(Stream, v.toStream())
KD_TO_(intrusive_ptr<ivalue::ConstantString>, v.toString())
KD_TO_(intrusive_ptr<ivalue::Tuple>, v.toTuple())
KD_TO_(intrusive_ptr<ivalue::Object>, v.toObject())
KD_TO_(intrusive_ptr<ivalue::Future>, v.toFuture())
KD_TO_(intrusive_ptr<ivalue::Await>, v.toAwait())
KD_TO_(intrusive_ptr<ivalue::EnumHolder>, v.toEnumHolder())
#undef KD_TO_
// clang-format on

// Types that are complete where they are read only.
template <class T>
  requires std::is_same_v<T, at::Tensor>
struct IValueTo<T> {
  static T get(const auto& v) { return v.toTensor(); }
};
template <class T>
  requires std::is_same_v<T, Storage>
struct IValueTo<T> {
  static T get(const auto& v) { return v.toStorage(); }
};
template <class T>
  requires std::is_same_v<T, at::Generator>
struct IValueTo<T> {
  static T get(const auto& v) { return v.toGenerator(); }
};
template <class T>
  requires std::is_convertible_v<T*, CustomClassHolder*>
struct IValueTo<intrusive_ptr<T>> {
  static intrusive_ptr<T> get(const IValue& v) { return v.toCustomClass<T>(); }
};

template <class T>
struct IValueTo<std::optional<T>> {
  static std::optional<T> get(const IValue& v) { return v.toOptional<T>(); }
};
template <class T>
struct IValueTo<List<T>> {
  static List<T> get(const IValue& v) { return to_typed_list<T>(v.toList()); }
};
template <class T>
struct IValueTo<std::vector<T>> {
  static std::vector<T> get(const IValue& v) {
    const ArrayRef<IValue> values = v.toListRef();
    std::vector<T> result;
    result.reserve(values.size());
    for (const IValue& value : values) result.push_back(value.to<T>());
    return result;
  }
};
template <class T, size_t N>
struct IValueTo<std::array<T, N>> {
  static std::array<T, N> get(const IValue& v) {
    const ArrayRef<IValue> values = v.toListRef();
    TORCH_CHECK_TYPE(values.size() == N, "expected a list of ", N, " elements, got ", values.size());
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return std::array<T, N>{values[I].template to<T>()...};
    }(std::make_index_sequence<N>());
  }
};
template <class... T>
struct IValueTo<std::tuple<T...>> {
  static std::tuple<T...> get(const IValue& v) {
    const ArrayRef<IValue> values = v.toTupleRef().elementsArrayRef();
    TORCH_CHECK_TYPE(values.size() == sizeof...(T), "expected a tuple of ", sizeof...(T), " elements, got ", values.size());
    return [&]<size_t... I>(std::index_sequence<I...>) {
      return std::tuple<T...>(values[I].template to<T>()...);
    }(std::index_sequence_for<T...>());
  }
};
template <class K, class V>
struct IValueTo<Dict<K, V>> {
  static Dict<K, V> get(const IValue& v) { return to_typed_dict<K, V>(v.toGenericDict()); }
};
template <class M>
M map_from(const IValue& v) {
  M map;
  for (const auto& entry : v.toGenericDict()) {
    map.emplace(entry.key().template to<typename M::key_type>(), entry.value().template to<typename M::mapped_type>());
  }
  return map;
}
template <class K, class V, class... R>
struct IValueTo<std::unordered_map<K, V, R...>> {
  static std::unordered_map<K, V, R...> get(const IValue& v) { return map_from<std::unordered_map<K, V, R...>>(v); }
};
template <class K, class V, class... R>
struct IValueTo<std::map<K, V, R...>> {
  static std::map<K, V, R...> get(const IValue& v) { return map_from<std::map<K, V, R...>>(v); }
};

}  // namespace c10::detail
