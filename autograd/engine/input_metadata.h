#pragma once

#include <cstdint>

#include "aten/core/tensor.h"
#include "c10/core/device.h"
#include "c10/core/scalar_type.h"
#include "c10/core/stream.h"
#include "c10/core/tensor_options.h"
#include "c10/util/array_ref.h"

namespace torch::autograd {

// Shape, dtype and device of one forward result: what a gradient that comes back for it must look like. Up to five numbers lie
// inline: the sizes and, behind them, the stream where there is one.
class InputMetadata {
 public:
  InputMetadata() noexcept = default;
  explicit InputMetadata(const at::Tensor& result) { set(result); }
  InputMetadata(const at::TensorOptions& options, at::IntArrayRef shape);
  InputMetadata(const InputMetadata& other);
  InputMetadata(InputMetadata&& other) noexcept;
  InputMetadata& operator=(InputMetadata other) noexcept;
  void set(const at::Tensor& result);
  ~InputMetadata() {
    if (is_outline()) free_outline();
  }

  bool defined() const { return defined_; }
  at::IntArrayRef shape() const { return at::IntArrayRef(data(), static_cast<size_t>(dim_)); }
  at::ScalarType scalar_type() const { return dtype_; }
  at::Device device() const { return device_; }
  at::TensorOptions options() const { return at::TensorOptions().dtype(dtype_).device(device_); }
  // Whether the device has streams to run on, and the one that the result was made on.
  bool has_stream() const { return has_stream_; }
  c10::Stream stream() const { return c10::Stream(c10::Stream::UNSAFE, device_, data()[dim_]); }
  bool has_shape_of(const at::Tensor& t) const;
  // A gradient of zeros for this result.
  at::Tensor zeros() const;

 private:
  static constexpr int kInline = 5;
  int count() const { return dim_ + has_stream_; }
  bool is_outline() const { return count() > kInline; }
  const int64_t* data() const { return is_outline() ? outline_ : inline_; }
  void set_numbers(const int64_t* sizes, c10::StreamId stream);
  c10::StreamId find_stream();
  void free_outline() noexcept;

  int16_t dim_ = 0;
  at::ScalarType dtype_ = at::ScalarType::Undefined;
  at::Device device_{at::DeviceType::CPU};
  bool defined_ = false;
  bool has_stream_ = false;
  union {
    int64_t inline_[kInline] = {};
    int64_t* outline_;
  };
};

}  // namespace torch::autograd
