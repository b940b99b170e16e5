// Recurrent networks: what descriptors hold, where weights and intermediate results lie, and the sums themselves.
#pragma once

#include <cudnn.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/cuda_on_host/cudnn/state.h"

namespace cudnn_standin {

struct Dropout {
  bool set = false;
  float probability = 0;
  void* states = nullptr;
};

// The generator's state on the device.
struct DropoutStates {
  uint64_t seed, calls;
};
constexpr size_t kDropoutStatesBytes = 4096;

struct Network {
  bool set = false;
  cudnnRNNMode_t mode = CUDNN_LSTM;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnMathType_t math = CUDNN_DEFAULT_MATH;
  bool biases = true;
  int64_t directions = 1, input = 0, hidden = 0, state = 0, layers = 0;
  std::shared_ptr<Dropout> dropout;

  bool projected() const { return state != hidden; }
  int64_t gates() const { return mode == CUDNN_LSTM ? 4 : mode == CUDNN_GRU ? 3 : 1; }
  int64_t parts() const { return layers * directions; }
  int64_t input_of(int64_t layer) const { return layer == 0 ? input : state * directions; }
  size_t item() const { return bytes_of(type); }
};

// Offsets in elements. Between the weights of a part and those of the next there is a gap.
struct WeightOffsets {
  int64_t input, recurrent, projection, input_bias, recurrent_bias;
};
WeightOffsets offsets_of(const Network& n, int64_t part);
int64_t weight_count(const Network& n);

struct Data {
  bool set = false;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  cudnnRNNDataLayout_t layout = CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED;
  int64_t vector = 0;
  std::vector<int> lengths;

  int64_t rows() const;
};

struct PlainTensor {
  bool set = false;
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<int> sizes, strides;
};

// Null where no such thing is alive.
std::shared_ptr<Network> find_network(const void* descriptor);
std::shared_ptr<Data> find_data(const void* descriptor);
std::shared_ptr<PlainTensor> find_tensor(const void* descriptor);

size_t reserve_bytes(const Network& n, const Data& x);
constexpr size_t kNetworkWorkspace = 8192;

void count_network(cudnnMathType_t math);

// One call's memory; what it has no use for is null.
struct NetworkMemory {
  const void *x, *hx, *cx, *weights;
  void *y, *hy, *cy;  // of a backward pass, y: read
  const void *grad_y, *grad_hy, *grad_cy;
  void *grad_x, *grad_hx, *grad_cx, *grad_weights;
  void* reserve;
};
void run_forward(const Network& n, const Data& x, const NetworkMemory& m);
void run_backward_data(const Network& n, const Data& x, const NetworkMemory& m);
void run_backward_weights(const Network& n, const Data& x, const NetworkMemory& m);

}  // namespace cudnn_standin
