// AnyValue: one value of any copyable type, asked for by its exact type. Arguments and results of AnyModule.
#pragma once

#include <memory>
#include <type_traits>
#include <typeinfo>
#include <utility>

#include "aten/core/tensor.h"

namespace torch::nn {

namespace detail {
[[noreturn]] void bad_any_value_cast(const std::type_info& wanted, const std::type_info& actual);
}

class AnyValue {
 public:
  AnyValue(AnyValue&&) = default;
  AnyValue& operator=(AnyValue&&) = default;
  AnyValue(const AnyValue& other) : content_(other.content_->clone()) {}
  AnyValue& operator=(const AnyValue& other) {
    content_ = other.content_->clone();
    return *this;
  }
  template <typename X>
  requires(!std::is_same_v<std::decay_t<X>, AnyValue>) explicit AnyValue(X&& value)
      : content_(new Holder<std::decay_t<X>>(std::forward<X>(value))) {}

  // Null where the value has another type.
  template <typename X>
  X* try_get() {
    static_assert(!std::is_reference_v<X>, "AnyValue stores decayed types: ask for X, not X&");
    return typeid(X) == type_info() ? &static_cast<Holder<X>&>(*content_).value : nullptr;
  }
  // "Attempted to cast AnyValue to int, but its actual type is at::Tensor"
  template <typename X>
  X get() {
    if (X* value = try_get<X>()) return *value;
    detail::bad_any_value_cast(typeid(X), type_info());
  }
  const std::type_info& type_info() const noexcept { return content_->type(); }

 private:
  struct Placeholder {
    virtual ~Placeholder() = default;
    virtual const std::type_info& type() const noexcept = 0;
    virtual std::unique_ptr<Placeholder> clone() const = 0;
  };
  template <typename X>
  struct Holder final : Placeholder {
    template <typename Y>
    explicit Holder(Y&& v) : value(std::forward<Y>(v)) {}
    const std::type_info& type() const noexcept override { return typeid(X); }
    std::unique_ptr<Placeholder> clone() const override { return std::unique_ptr<Placeholder>(new Holder(value)); }
    X value;
  };

  std::unique_ptr<Placeholder> content_;
};

}  // namespace torch::nn
