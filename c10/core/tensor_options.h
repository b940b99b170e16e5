// TensorOptions: dtype, device, layout, requires_grad, pinned_memory and memory_format of a tensor to be made, each set
// or unset, in eight bytes. Setters return a changed copy; getters of unset fields give the default.
//
//   auto options = torch::dtype(torch::kFloat64).device(torch::kCUDA, 1).requires_grad(true);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "c10/core/default_dtype.h"
#include "c10/core/device.h"
#include "c10/core/layout.h"
#include "c10/core/memory_format.h"
#include "c10/core/scalar_type.h"
#include "c10/core/type_meta.h"
#include "c10/util/text_stream.h"

namespace c10 {

inline ScalarType dtype_or_default(std::optional<ScalarType> dtype) {
  return dtype ? *dtype : get_default_dtype_as_scalartype();
}
inline TypeMeta dtype_or_default(std::optional<TypeMeta> dtype) {
  return dtype ? *dtype : get_default_dtype();
}
inline Layout layout_or_default(std::optional<Layout> layout) {
  return layout.value_or(kStrided);
}
inline Device device_or_default(std::optional<Device> device) {
  return device ? *device : Device(kCPU);
}
inline bool pinned_memory_or_default(std::optional<bool> pinned) {
  return pinned.value_or(false);
}

class alignas(8) TensorOptions {
 public:
  constexpr TensorOptions() = default;
  TensorOptions(Layout layout) { *this = this->layout(layout); }
  TensorOptions(MemoryFormat format) { *this = memory_format(format); }
  TensorOptions(TypeMeta dtype) { *this = this->dtype(dtype); }
  TensorOptions(ScalarType dtype) { *this = this->dtype(dtype); }
  // Whatever a Device is made from: Device, DeviceType, "cuda:1", {kCUDA, 1}.
  template <typename D>
  requires(std::is_convertible_v<D&&, Device> && !std::is_same_v<std::decay_t<D>, TensorOptions>)
      TensorOptions(D&& device) {
    *this = this->device(Device(std::forward<D>(device)));
  }
  TensorOptions(DeviceType type, DeviceIndex index) { *this = this->device(Device(type, index)); }

  [[nodiscard]] TensorOptions dtype(std::optional<TypeMeta> dtype) const noexcept {
    TensorOptions out = *this;
    out.set(kHasDtype, dtype.has_value());
    if (dtype) out.dtype_ = dtype->toScalarType();
    return out;
  }
  [[nodiscard]] TensorOptions dtype(std::optional<ScalarType> dtype) const noexcept {
    return this->dtype(dtype ? std::optional<TypeMeta>(*dtype) : std::nullopt);
  }
  [[nodiscard]] TensorOptions dtype(ScalarType dtype) const noexcept {
    return this->dtype(std::optional<TypeMeta>(dtype));
  }
  [[nodiscard]] TensorOptions dtype(TypeMeta dtype) const noexcept {
    return this->dtype(std::optional<TypeMeta>(dtype));
  }
  // Changes this object, unlike the other setters.
  template <typename X>
  TensorOptions& dtype() {
    return *this = dtype(CppTypeToScalarType<X>::value);
  }
  [[nodiscard]] TensorOptions device(std::optional<Device> device) const noexcept {
    TensorOptions out = *this;
    out.set(kHasDevice, device.has_value());
    if (device) out.device_ = *device;
    return out;
  }
  template <typename... Args>
  requires(sizeof...(Args) > 0 && std::is_constructible_v<Device, Args...> &&
           !(sizeof...(Args) == 1 && (std::is_same_v<std::decay_t<Args>, std::optional<Device>> && ...)))
      [[nodiscard]] TensorOptions device(Args&&... args) const {
    return device(std::optional<Device>(std::in_place, std::forward<Args>(args)...));
  }
  [[nodiscard]] TensorOptions device_index(DeviceIndex index) const { return device(Device(kCUDA, index)); }
  [[nodiscard]] TensorOptions layout(std::optional<Layout> layout) const noexcept {
    TensorOptions out = *this;
    out.set(kHasLayout, layout.has_value());
    if (layout) out.layout_ = *layout;
    return out;
  }
  [[nodiscard]] TensorOptions requires_grad(std::optional<bool> requires_grad) const noexcept {
    TensorOptions out = *this;
    out.set(kHasRequiresGrad, requires_grad.has_value());
    if (requires_grad) out.requires_grad_ = *requires_grad;
    return out;
  }
  [[nodiscard]] TensorOptions pinned_memory(std::optional<bool> pinned) const noexcept {
    TensorOptions out = *this;
    out.set(kHasPinnedMemory, pinned.has_value());
    if (pinned) out.pinned_memory_ = *pinned;
    return out;
  }
  [[nodiscard]] TensorOptions memory_format(std::optional<MemoryFormat> format) const noexcept {
    TensorOptions out = *this;
    out.set(kHasMemoryFormat, format.has_value());
    if (format) out.memory_format_ = *format;
    return out;
  }

  TypeMeta dtype() const noexcept { return scalar_type(); }
  ScalarType scalar_type() const noexcept { return has_dtype() ? dtype_ : get_default_dtype_as_scalartype(); }
  Device device() const noexcept { return device_; }
  DeviceIndex device_index() const noexcept { return device_.index(); }
  Layout layout() const noexcept { return layout_; }
  bool requires_grad() const noexcept { return requires_grad_; }
  bool pinned_memory() const noexcept { return pinned_memory_; }

  bool has_dtype() const noexcept { return has_ & kHasDtype; }
  bool has_device() const noexcept { return has_ & kHasDevice; }
  bool has_layout() const noexcept { return has_ & kHasLayout; }
  bool has_requires_grad() const noexcept { return has_ & kHasRequiresGrad; }
  bool has_pinned_memory() const noexcept { return has_ & kHasPinnedMemory; }
  bool has_memory_format() const noexcept { return has_ & kHasMemoryFormat; }

  std::optional<TypeMeta> dtype_opt() const noexcept {
    return has_dtype() ? std::optional<TypeMeta>(dtype_) : std::nullopt;
  }
  std::optional<ScalarType> scalar_type_opt() const noexcept {
    return has_dtype() ? std::optional<ScalarType>(dtype_) : std::nullopt;
  }
  std::optional<Device> device_opt() const noexcept {
    return has_device() ? std::optional<Device>(device_) : std::nullopt;
  }
  std::optional<Layout> layout_opt() const noexcept {
    return has_layout() ? std::optional<Layout>(layout_) : std::nullopt;
  }
  std::optional<bool> requires_grad_opt() const noexcept {
    return has_requires_grad() ? std::optional<bool>(requires_grad_) : std::nullopt;
  }
  std::optional<bool> pinned_memory_opt() const noexcept {
    return has_pinned_memory() ? std::optional<bool>(pinned_memory_) : std::nullopt;
  }
  std::optional<MemoryFormat> memory_format_opt() const noexcept {
    return has_memory_format() ? std::optional<MemoryFormat>(memory_format_) : std::nullopt;
  }

  bool is_sparse() const noexcept { return layout_ == kSparse; }
  bool is_sparse_csr() const noexcept { return layout_ == kSparseCsr; }

  // This object's fields, replaced by those that `other` has set.
  TensorOptions merge_in(TensorOptions other) const noexcept;
  // merge_in, for a function that also takes an explicit memory format: it may be given in one place only.
  TensorOptions merge_memory_format(std::optional<MemoryFormat> format) const noexcept {
    return format ? memory_format(format) : *this;
  }
  // Whether dtype, device type and layout agree.
  bool type_equal(const TensorOptions& other) const noexcept {
    return dtype() == other.dtype() && device_.type() == other.device_.type() && layout_ == other.layout_;
  }

 private:
  enum : uint8_t {
    kHasDtype = 1,
    kHasDevice = 2,
    kHasLayout = 4,
    kHasRequiresGrad = 8,
    kHasPinnedMemory = 16,
    kHasMemoryFormat = 32,
  };
  void set(uint8_t bit, bool on) noexcept { has_ = static_cast<uint8_t>(on ? has_ | bit : has_ & ~bit); }

  Device device_ = Device(DeviceType::CPU);
  ScalarType dtype_ = ScalarType::Float;
  Layout layout_ = Layout::Strided;
  MemoryFormat memory_format_ = MemoryFormat::Contiguous;
  bool requires_grad_ : 1 = false;
  bool pinned_memory_ : 1 = false;
  uint8_t has_ = 0;
};
static_assert(sizeof(TensorOptions) == 8);

// "TensorOptions(dtype=float (default), device=cpu (default), ...)"
void to_text(std::string& out, const TensorOptions& options);
template <TextStream Stream, SameType<TensorOptions> X>
Stream& operator<<(Stream& out, const X& options) {
  std::string text;
  to_text(text, options);
  out << text.c_str();
  // As libtorch's leaves its stream.
  if constexpr (requires { out.setf(Stream::boolalpha); }) out.setf(Stream::boolalpha);
  return out;
}

// Options with one field set.
inline TensorOptions dtype(TypeMeta dtype) {
  return TensorOptions().dtype(dtype);
}
inline TensorOptions dtype(ScalarType dtype) {
  return TensorOptions().dtype(dtype);
}
template <typename X>
TensorOptions dtype() {
  return TensorOptions().dtype(CppTypeToScalarType<X>::value);
}
inline TensorOptions layout(Layout layout) {
  return TensorOptions().layout(layout);
}
inline TensorOptions device(Device device) {
  return TensorOptions().device(device);
}
inline TensorOptions device_index(DeviceIndex index) {
  return TensorOptions().device_index(index);
}
inline TensorOptions requires_grad(bool requires_grad = true) {
  return TensorOptions().requires_grad(requires_grad);
}
inline TensorOptions memory_format(MemoryFormat format) {
  return TensorOptions().memory_format(format);
}

}  // namespace c10

namespace at {
using c10::TensorOptions;
}
