// Recurrent networks as cuDNN's functions take them: descriptors, the order of weights, calls.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "aten/cuda/cudnn/descriptor.h"
#include "c10/core/scalar_type.h"
#include "c10/util/array_ref.h"

namespace at::cuda::cudnn {

/// A descriptor that is not of the graph interface. Movable only.
template <class T, cudnnStatus_t (*kCreate)(T*), cudnnStatus_t (*kDestroy)(T)>
class Owned {
 public:
  explicit Owned(const char* call) { check(kCreate(&value_), call); }
  ~Owned() {
    if (value_ != nullptr) kDestroy(value_);
  }
  Owned(Owned&& other) noexcept : value_(std::exchange(other.value_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }
  T get() const { return value_; }

 private:
  T value_ = nullptr;
};
using TensorDescriptor = Owned<cudnnTensorDescriptor_t, &cudnnCreateTensorDescriptor, &cudnnDestroyTensorDescriptor>;
using DropoutDescriptor =
    Owned<cudnnDropoutDescriptor_t, &cudnnCreateDropoutDescriptor, &cudnnDestroyDropoutDescriptor>;
using RnnDescriptor = Owned<cudnnRNNDescriptor_t, &cudnnCreateRNNDescriptor, &cudnnDestroyRNNDescriptor>;
using RnnDataDescriptor =
    Owned<cudnnRNNDataDescriptor_t, &cudnnCreateRNNDataDescriptor, &cudnnDestroyRNNDataDescriptor>;

struct RnnNetwork {
  cudnnRNNMode_t mode = CUDNN_LSTM;
  ScalarType dtype = ScalarType::Float;
  bool has_biases = true, bidirectional = false;
  int64_t input = 0, hidden = 0;
  int64_t projection = 0;  // 0: none
  int64_t layers = 1;
  bool tf32 = false;  // float32 may be rounded to TF32 before it is multiplied

  int64_t directions() const { return bidirectional ? 2 : 1; }
  int64_t parts() const { return layers * directions(); }
  int64_t gates() const { return mode == CUDNN_LSTM ? 4 : mode == CUDNN_GRU ? 3 : 1; }
  int64_t state() const { return projection > 0 ? projection : hidden; }
  int64_t input_of(int64_t part) const { return part < directions() ? input : state() * directions(); }
  /// Tensors of a layer's direction: weight_ih, weight_hh, biases, weight_hr.
  int64_t stride() const { return 2 + (has_biases ? 2 : 0) + (projection > 0 ? 1 : 0); }
};

/// cuDNN's generator for dropout, whose state lies on the device; `bytes` 0: there is no dropout.
struct RnnDropout {
  double probability = 0;
  void* state = nullptr;
  size_t bytes = 0;
};

/// What is described for the library, on the calling thread's handle. Throws NotImplementedError for what the library
/// does not support, c10::Error where a call fails otherwise.
class Rnn {
 public:
  explicit Rnn(const RnnNetwork& network, const RnnDropout& dropout = {});

  size_t weight_bytes() const;
  /// Where a weight lies in a buffer, in elements, in the order of weights.
  struct Place {
    int64_t offset;
    std::vector<int64_t> sizes;
    int64_t numel() const;
  };
  std::vector<Place> places(const void* buffer, size_t bytes) const;

  const RnnNetwork& network() const { return network_; }
  cudnnHandle_t handle() const { return handle_; }
  cudnnRNNDescriptor_t get() const { return rnn_.get(); }

 private:
  RnnNetwork network_;
  cudnnHandle_t handle_;
  DropoutDescriptor dropout_;
  RnnDescriptor rnn_;
};

/// Packed sequences, and the states that go with them.
class RnnData {
 public:
  RnnData(const Rnn& rnn, c10::IntArrayRef batch_sizes);

  struct Spaces {
    size_t work = 0, reserve = 0;
  };
  Spaces spaces(bool training) const;

  struct Forward {
    const void *x, *hx, *cx, *weights;
    void *y, *hy, *cy;
    void *work, *reserve;  // reserve: null outside of training
  };
  void forward(const Forward& memory, const Spaces& spaces, size_t weight_bytes) const;

  struct Backward {
    const void *x, *y, *hx, *cx, *weights, *grad_y, *grad_hy, *grad_cy;  // the last two: null for zeros
    void *grad_x, *grad_hx, *grad_cx;
    void* grad_weights;  // null, or added to
    void *work, *reserve;
  };
  void backward(const Backward& memory, const Spaces& spaces, size_t weight_bytes) const;

 private:
  const Rnn& rnn_;
  RnnDataDescriptor x_, y_;
  TensorDescriptor h_, c_;
};

}  // namespace at::cuda::cudnn
