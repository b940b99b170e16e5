#pragma once

#include <cstdint>

#include "aten/core/tensor.h"
#include "c10/core/device.h"
#include "c10/core/scalar_type.h"
#include "c10/core/stream.h"
#include "c10/core/tensor_options.h"
#include "c10/util/array_ref.h"

namespace torch::autograd {

// Shape, dtype and device of one forward result: what a gradient that comes back for it must look like. Up to five
// dimensions lie inline.
class InputMetadata {
 public:
  InputMetadata() noexcept = default;
  explicit InputMetadata(const at::Tensor& result);
  InputMetadata(const at::TensorOptions& options, at::IntArrayRef shape);
  InputMetadata(const InputMetadata& other);
  InputMetadata(InputMetadata&& other) noexcept;
  InputMetadata& operator=(InputMetadata other) noexcept;
  ~InputMetadata() {
    if (dim_ > kInlineDims) free_sizes();
  }

  bool defined() const { return defined_; }
  at::IntArrayRef shape() const { return at::IntArrayRef(data(), static_cast<size_t>(dim_)); }
  at::ScalarType scalar_type() const { return dtype_; }
  at::Device device() const { return device_; }
  at::TensorOptions options() const { return at::TensorOptions().dtype(dtype_).device(device_); }
  // Whether the device has streams to run on, and the one that the result was made on.
  bool has_stream() const { return has_stream_; }
  c10::Stream stream() const { return c10::Stream(c10::Stream::UNSAFE, device_, stream_id_); }
  bool has_shape_of(const at::Tensor& t) const;
  // A gradient of zeros for this result.
  at::Tensor zeros() const;

 private:
  static constexpr int16_t kInlineDims = 5;
  const int64_t* data() const { return dim_ > kInlineDims ? outline_ : inline_; }
  void set_sizes(at::IntArrayRef sizes);
  void note_stream();
  void free_sizes() noexcept;

  int16_t dim_ = 0;
  at::ScalarType dtype_ = at::ScalarType::Undefined;
  at::Device device_{at::DeviceType::CPU};
  bool defined_ = false;
  bool has_stream_ = false;
  c10::StreamId stream_id_ = 0;
  union {
    int64_t inline_[kInlineDims] = {};
    int64_t* outline_;
  };
};

}  // namespace torch::autograd
