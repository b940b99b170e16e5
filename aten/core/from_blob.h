#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "aten/core/tensor.h"

namespace at {

// A tensor over memory that the caller owns, from `data` on; nothing is copied. The memory must outlive the tensor and its
// views; with a `deleter` the last of them calls deleter(data). `strides` are in elements (default: row-major).
//
//   std::vector<float> v(6);
//   auto t = torch::from_blob(v.data(), {2, 3});
Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {});
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {});
Tensor from_blob(
    void* data, IntArrayRef sizes, const std::function<void(void*)>& deleter, const TensorOptions& options = {},
    std::optional<Device> target_device = std::nullopt);
Tensor from_blob(
    void* data,
    IntArrayRef sizes,
    IntArrayRef strides,
    const std::function<void(void*)>& deleter,
    const TensorOptions& options = {},
    std::optional<Device> target_device = std::nullopt);
// The tensor's first element is `storage_offset` elements after data.
Tensor from_blob(
    void* data,
    IntArrayRef sizes,
    IntArrayRef strides,
    int64_t storage_offset,
    const std::function<void(void*)>& deleter,
    const TensorOptions& options = {},
    std::optional<Device> target_device = std::nullopt);

// The same step by step; what is not said has from_blob's default.
//
//   auto t = at::for_blob(data, {2, 3}).strides({1, 2}).context(owner, &release).options(at::kInt).make_tensor();
class TensorMaker {
 public:
  TensorMaker& strides(OptionalIntArrayRef value) noexcept {
    strides_ = value;
    return *this;
  }
  TensorMaker& storage_offset(std::optional<int64_t> value) noexcept {
    storage_offset_ = value;
    return *this;
  }
  // Called with the data at the end. Not together with context().
  TensorMaker& deleter(std::function<void(void*)> value) noexcept {
    deleter_ = std::move(value);
    return *this;
  }
  // Who owns the data, and what lets go of it.
  TensorMaker& context(void* value, void (*deleter)(void*) = nullptr) noexcept {
    context_ = std::unique_ptr<void, void (*)(void*)>(value, deleter != nullptr ? deleter : [](void*) {});
    return *this;
  }
  // The device that the memory is on; without it that of the options, or asked of its hooks.
  TensorMaker& target_device(std::optional<Device> value) noexcept {
    device_ = value;
    return *this;
  }
  TensorMaker& options(TensorOptions value) noexcept {
    options_ = value;
    return *this;
  }
  // The storage may grow: then its elements move to memory of the allocator, by default the device's.
  TensorMaker& resizeable_storage() noexcept {
    resizable_ = true;
    return *this;
  }
  TensorMaker& allocator(c10::Allocator* value) noexcept {
    allocator_ = value;
    return *this;
  }
  // Throws c10::Error for sizes that are negative or too large, strides of another number or negative, a negative offset,
  // missing data, and a device that is not the options'.
  Tensor make_tensor();

 private:
  friend TensorMaker for_blob(void* data, IntArrayRef sizes) noexcept;
  TensorMaker(void* data, IntArrayRef sizes) noexcept : data_(data), sizes_(sizes) {}

  void* data_;
  IntArrayRef sizes_;
  OptionalIntArrayRef strides_;
  std::optional<int64_t> storage_offset_;
  std::function<void(void*)> deleter_;
  std::unique_ptr<void, void (*)(void*)> context_{nullptr, [](void*) {}};
  std::optional<Device> device_;
  TensorOptions options_;
  bool resizable_ = false;
  c10::Allocator* allocator_ = nullptr;
};
inline TensorMaker for_blob(void* data, IntArrayRef sizes) noexcept { return TensorMaker(data, sizes); }

}  // namespace at
