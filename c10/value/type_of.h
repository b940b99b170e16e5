// The type of a C++ type's values: getTypePtr<std::vector<at::Tensor>>()->str() == "Tensor[]".
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <typeinfo>
#include <unordered_map>
#include <vector>

#include "c10/value/ivalue_class.h"
#include "c10/value/type.h"

namespace c10 {

// The class that torch::class_ registered for a C++ class; throws where there is none.
std::shared_ptr<ClassType> getCustomClassTypeImpl(const std::type_info& cpp_class);

namespace detail {

// As a schema names it.
// clang-format off
#define KD_TYPE_OF_(cpp, type) template <> struct TypeOf<cpp> { static TypePtr get() { return type; } };
KD_TYPE_OF_(IValue, AnyType::get())
KD_TYPE_OF_(at::Tensor, TensorType::get())
KD_TYPE_OF_(at::Generator, GeneratorType::get())
KD_TYPE_OF_(Storage, StorageType::get())
KD_TYPE_OF_(Stream, StreamObjType::get())
KD_TYPE_OF_(Device, DeviceObjType::get())
KD_TYPE_OF_(int64_t, IntType::get())
KD_TYPE_OF_(int, IntType::get())
KD_TYPE_OF_(double, FloatType::get())
KD_TYPE_OF_(float, FloatType::get())
KD_TYPE_OF_(complex<double>, ComplexType::get())
KD_TYPE_OF_(bool, BoolType::get())
KD_TYPE_OF_(Scalar, NumberType::get())
KD_TYPE_OF_(SymInt, SymIntType::get())
KD_TYPE_OF_(SymFloat, SymFloatType::get())
KD_TYPE_OF_(SymBool, SymBoolType::get())
KD_TYPE_OF_(std::string, StringType::get())
KD_TYPE_OF_(std::string_view, StringType::get())
KD_TYPE_OF_(const char*, StringType::get())
KD_TYPE_OF_(std::nullopt_t, NoneType::get())
KD_TYPE_OF_(ScalarType, ScalarTypeType::get())
KD_TYPE_OF_(Layout, LayoutType::get())
KD_TYPE_OF_(MemoryFormat, MemoryFormatType::get())
KD_TYPE_OF_(QScheme, QSchemeType::get())
KD_TYPE_OF_(intrusive_ptr<ivalue::ConstantString>, StringType::get())
KD_TYPE_OF_(intrusive_ptr<ivalue::Tuple>, AnyTupleType::get())
KD_TYPE_OF_(intrusive_ptr<ivalue::Object>, AnyClassType::get())
KD_TYPE_OF_(intrusive_ptr<ivalue::EnumHolder>, AnyEnumType::get())
KD_TYPE_OF_(intrusive_ptr<ivalue::Future>, FutureType::create(AnyType::get()))
KD_TYPE_OF_(intrusive_ptr<ivalue::Await>, AwaitType::create(AnyType::get()))
#undef KD_TYPE_OF_

// The common lists are made once.
template <class T>
TypePtr list_type_of() {
  if constexpr (std::is_same_v<T, int64_t>) return ListType::ofInts();
  else if constexpr (std::is_same_v<T, double>) return ListType::ofFloats();
  else if constexpr (std::is_same_v<T, bool>) return ListType::ofBools();
  else if constexpr (std::is_same_v<T, at::Tensor>) return ListType::ofTensors();
  else return ListType::create(TypeOf<T>::get());
}
template <class T> struct TypeOf<std::vector<T>> { static TypePtr get() { return list_type_of<T>(); } };
template <class T> struct TypeOf<ArrayRef<T>> { static TypePtr get() { return list_type_of<T>(); } };
template <class T> struct TypeOf<List<T>> { static TypePtr get() { return list_type_of<T>(); } };
template <class T, size_t N> struct TypeOf<std::array<T, N>> { static TypePtr get() { return list_type_of<T>(); } };
template <class T> struct TypeOf<std::optional<T>> { static TypePtr get() { return OptionalType::create(TypeOf<T>::get()); } };
template <> struct TypeOf<std::optional<at::Tensor>> { static TypePtr get() { return OptionalType::ofTensor(); } };
template <class T> struct TypeOf<OptionalArrayRef<T>> { static TypePtr get() { return OptionalType::create(list_type_of<T>()); } };
template <class K, class V> struct TypeOf<Dict<K, V>> { static TypePtr get() { return DictType::create(TypeOf<K>::get(), TypeOf<V>::get()); } };
template <class K, class V, class... R> struct TypeOf<std::unordered_map<K, V, R...>> : TypeOf<Dict<K, V>> {};
template <class K, class V, class... R> struct TypeOf<std::map<K, V, R...>> : TypeOf<Dict<K, V>> {};
template <class... T> struct TypeOf<std::tuple<T...>> { static TypePtr get() { return TupleType::create({TypeOf<std::decay_t<T>>::get()...}); } };
// clang-format on
template <class T>
  requires std::is_base_of_v<CustomClassHolder, T>
struct TypeOf<intrusive_ptr<T>> {
  static TypePtr get();
};

}  // namespace detail

// With ScalarType, Layout, SymInt ... as the int that holds them.
template <class T>
TypePtr getTypePtr() {
  return detail::without_schema_names(detail::TypeOf<std::decay_t<T>>::get());
}
// As a schema names them.
template <class T>
TypePtr getRealTypePtr() {
  return detail::TypeOf<std::decay_t<T>>::get();
}
template <class T>
TypePtr getFakeTypePtr() {
  return getTypePtr<T>();
}

}  // namespace c10
