#pragma once

// C++ values as values of the stable interface, and back: what a boxed function reads its arguments with.
//
//   void boxed_scale(StableIValue* stack, uint64_t num_args, uint64_t num_outputs) {
//     stack[0] = torch::stable::detail::from(scale(torch::stable::detail::to<torch::stable::Tensor>(stack[0]),
//                                                  torch::stable::detail::to<double>(stack[1])));
//   }

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "stable/device.h"
#include "stable/generator.h"
#include "stable/shim.h"
#include "stable/tensor.h"

namespace torch::stable::detail {

/// How values of type T become StableIValues and come back. `from` makes what the receiver owns, `to` consumes it.
template <class T>
struct Conversion {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(StableIValue),
                "the stable interface has no values of this type");
  static StableIValue from(T value) {
    if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
      return static_cast<StableIValue>(value);
    } else {
      StableIValue bits = 0;
      std::memcpy(&bits, &value, sizeof value);
      return bits;
    }
  }
  static T to(StableIValue bits) {
    if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
      return static_cast<T>(bits);
    } else {
      T value;
      std::memcpy(&value, &bits, sizeof value);
      return value;
    }
  }
};

template <>
struct Conversion<std::nullopt_t> {
  static StableIValue from(std::nullopt_t) { return 0; }
};
template <>
struct Conversion<std::nullptr_t> {
  static StableIValue from(std::nullptr_t) { return 0; }
};
template <class T>
struct Conversion<std::optional<T>> {
  static StableIValue from(const std::optional<T>& value) {
    return value.has_value() ? reinterpret_cast<StableIValue>(new StableIValue(Conversion<T>::from(*value))) : 0;
  }
  static std::optional<T> to(StableIValue value) {
    if (value == 0) return std::nullopt;
    const std::unique_ptr<StableIValue> inner(reinterpret_cast<StableIValue*>(value));
    return Conversion<T>::to(*inner);
  }
};

template <>
struct Conversion<Tensor> {
  static StableIValue from(const Tensor& value) { return reinterpret_cast<StableIValue>(new at::Tensor(unwrap(value))); }
  static Tensor to(StableIValue value) { return Tensor(reinterpret_cast<AtenTensorHandle>(value)); }
};
template <>
struct Conversion<Generator> {
  static StableIValue from(const Generator& value) {
    return reinterpret_cast<StableIValue>(new at::Generator(*reinterpret_cast<at::Generator*>(value.get())));
  }
  static Generator to(StableIValue value) { return Generator(reinterpret_cast<AtenGeneratorHandle>(value)); }
};
template <>
struct Conversion<Device> {
  static StableIValue from(const Device& value) {
    return static_cast<StableIValue>(static_cast<uint32_t>(value.type())) << 32 | static_cast<uint32_t>(value.index());
  }
  static Device to(StableIValue value) {
    return Device(static_cast<DeviceType>(value >> 32), static_cast<int32_t>(value & 0xffffffff));
  }
};

template <>
struct Conversion<std::string> {
  static StableIValue from(std::string_view value) { return reinterpret_cast<StableIValue>(new std::string(value)); }
  static std::string to(StableIValue value) {
    const std::unique_ptr<std::string> owner(reinterpret_cast<std::string*>(value));
    return std::move(*owner);
  }
};
template <>
struct Conversion<std::string_view> {
  static StableIValue from(std::string_view value) { return Conversion<std::string>::from(value); }
};
template <>
struct Conversion<const char*> {
  static StableIValue from(const char* value) { return Conversion<std::string>::from(value); }
};

template <class T>
struct Conversion<std::vector<T>> {
  template <class Values>
  static StableIValue from(const Values& values) {
    auto elements = std::make_unique<std::vector<StableIValue>>();
    elements->reserve(values.size());
    for (const auto& value : values) elements->push_back(Conversion<T>::from(value));
    return reinterpret_cast<StableIValue>(elements.release());
  }
  static std::vector<T> to(StableIValue value) {
    const std::unique_ptr<std::vector<StableIValue>> elements(reinterpret_cast<std::vector<StableIValue>*>(value));
    std::vector<T> values;
    values.reserve(elements->size());
    for (const StableIValue element : *elements) values.push_back(Conversion<T>::to(element));
    return values;
  }
};
template <class T>
struct Conversion<c10::ArrayRef<T>> {
  static StableIValue from(c10::ArrayRef<T> values) { return Conversion<std::vector<T>>::from(values); }
};

template <class T>
StableIValue from(const T& value) {
  return Conversion<std::decay_t<T>>::from(value);
}
template <class T>
T to(StableIValue value) {
  return Conversion<T>::to(value);
}

}  // namespace torch::stable::detail

/// The names of before 2.9.
template <class T>
StableIValue from(const T& value) {
  return torch::stable::detail::from(value);
}
template <class T>
T to(StableIValue value) {
  return torch::stable::detail::to<T>(value);
}
