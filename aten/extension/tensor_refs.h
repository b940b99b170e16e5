// Tensors that may be there, lent, and where they lie.
#pragma once

#include <cstdint>
#include <optional>

#include "aten/core/tensor.h"
#include "c10/util/maybe_owned.h"

namespace c10 {
using IntList = IntArrayRef;  // of programs older than 1.0
}  // namespace c10

namespace at {

using c10::IntList;

inline int64_t numel(const Tensor& t) { return t.numel(); }

/// The device for a guard, c10::OptionalDeviceGuard guard(at::device_of(x)): none of an undefined tensor.
inline std::optional<Device> device_of(const Tensor& t) {
  return t.defined() ? std::make_optional(t.device()) : std::nullopt;
}
inline std::optional<Device> device_of(const std::optional<Tensor>& t) {
  return t.has_value() ? device_of(*t) : std::nullopt;
}
/// The first tensor's.
inline std::optional<Device> device_of(TensorList ts) { return ts.empty() ? std::nullopt : device_of(ts.front()); }

/// The tensor of an optional one, lent, or an undefined tensor: what kernels do with optional weights.
inline c10::MaybeOwned<Tensor> borrow_from_optional_tensor(const std::optional<Tensor>& t) {
  return t.has_value() ? c10::MaybeOwned<Tensor>::borrowed(*t) : c10::MaybeOwned<Tensor>::owned(std::in_place);
}

/// A tensor as an argument, made of anything that is one.
class TensorRef {
 public:
  explicit TensorRef(const TensorBase& t) : tensor_(t) {}
  const Tensor& operator*() const& { return tensor_; }

 private:
  Tensor tensor_;
};

/// A tensor or none.
class OptionalTensorRef {
 public:
  OptionalTensorRef() = default;
  OptionalTensorRef(const TensorBase& t) : tensor_(t) {}
  bool has_value() const { return tensor_.defined(); }
  const Tensor& getTensorRef() const& { return tensor_; }
  const Tensor& operator*() const& { return tensor_; }
  const Tensor* operator->() const& { return &tensor_; }
  operator bool() const { return has_value(); }

 private:
  Tensor tensor_;
};

}  // namespace at
