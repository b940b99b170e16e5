// Descriptors of recurrent networks, of their data and of dropout: what the library refuses, without a device too.
#include <algorithm>
#include <mutex>

#include "tests/cuda_on_host/cudnn/rnn.h"
#include "tests/cuda_on_host/runtime/standin.h"

namespace cudnn_standin {
namespace {

// Objects of one kind that are alive.
template <class T>
class Alive {
 public:
  template <class Handle>
  cudnnStatus_t create(Handle* made) {
    if (const cudnnStatus_t status = enter(); status != CUDNN_STATUS_SUCCESS) return status;
    if (made == nullptr) return refuse(CUDNN_STATUS_BAD_PARAM, "a null argument");
    auto object = std::make_shared<T>();
    const std::lock_guard lock(mutex_);
    *made = reinterpret_cast<Handle>(object.get());
    all_.emplace(object.get(), object);
    return CUDNN_STATUS_SUCCESS;
  }
  cudnnStatus_t destroy(const void* object, const char* call) {
    const std::lock_guard lock(mutex_);
    if (object == nullptr || all_.erase(object) != 0) return CUDNN_STATUS_SUCCESS;
    report(std::string(call) + ": a descriptor that is none, or was destroyed");
    return CUDNN_STATUS_BAD_PARAM;
  }
  std::shared_ptr<T> find(const void* object) {
    const std::lock_guard lock(mutex_);
    const auto place = all_.find(object);
    return place == all_.end() ? nullptr : place->second;
  }
  size_t size() {
    const std::lock_guard lock(mutex_);
    return all_.size();
  }

 private:
  std::mutex mutex_;
  std::map<const void*, std::shared_ptr<T>> all_;
};
template <class T>
Alive<T>& alive() {
  static Alive<T>* const all = new Alive<T>;
  return *all;
}

bool is_known(cudnnDataType_t type) {
  return type == CUDNN_DATA_FLOAT || type == CUDNN_DATA_DOUBLE || type == CUDNN_DATA_HALF ||
         type == CUDNN_DATA_BFLOAT16;
}

cudnnStatus_t bad(const char* why) {
  return refuse(CUDNN_STATUS_BAD_PARAM, why);
}

}  // namespace

std::shared_ptr<Network> find_network(const void* descriptor) {
  return alive<Network>().find(descriptor);
}
std::shared_ptr<Data> find_data(const void* descriptor) {
  return alive<Data>().find(descriptor);
}
std::shared_ptr<PlainTensor> find_tensor(const void* descriptor) {
  return alive<PlainTensor>().find(descriptor);
}
size_t live_rnn_descriptors() {
  return alive<Network>().size() + alive<Data>().size() + alive<PlainTensor>().size() + alive<Dropout>().size();
}

int64_t Data::rows() const {
  int64_t rows = 0;
  for (const int length : lengths) rows += length;
  return rows;
}

WeightOffsets offsets_of(const Network& n, int64_t part) {
  constexpr int64_t kGap = 3;
  const int64_t rows = n.gates() * n.hidden;
  int64_t next = 0;
  WeightOffsets o{};
  // Matrices of all layers, then biases.
  for (int64_t p = 0; p < n.parts(); ++p) {
    const int64_t input = next, recurrent = input + rows * n.input_of(p / n.directions),
                  projection = recurrent + rows * n.state;
    next = projection + (n.projected() ? n.state * n.hidden : 0) + kGap;
    if (p == part) o = {input, recurrent, projection, 0, 0};
  }
  const int64_t biases = n.biases ? 2 * rows + kGap : 0;
  o.input_bias = next + part * biases;
  o.recurrent_bias = o.input_bias + rows;
  return o;
}

int64_t weight_count(const Network& n) {
  return offsets_of(n, n.parts()).input_bias;
}

}  // namespace cudnn_standin

using namespace cudnn_standin;

extern "C" {

cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* made) {
  return alive<PlainTensor>().create(made);
}
cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t d) {
  return alive<PlainTensor>().destroy(d, "cudnnDestroyTensorDescriptor");
}
cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t d, cudnnDataType_t type, int rank, const int sizes[],
                                         const int strides[]) {
  if (const cudnnStatus_t status = enter(); status != CUDNN_STATUS_SUCCESS) return status;
  const auto tensor = find_tensor(d);
  if (tensor == nullptr || sizes == nullptr || strides == nullptr) return bad("a null argument");
  if (rank < 3 || rank > CUDNN_DIM_MAX) return refuse(CUDNN_STATUS_NOT_SUPPORTED, "a rank below 3 or above 8");
  for (int i = 0; i < rank; ++i) {
    if (sizes[i] <= 0 || strides[i] <= 0) return bad("a size or stride that is not positive");
  }
  *tensor = {true, type, {sizes, sizes + rank}, {strides, strides + rank}};
  return CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnGetTensorNdDescriptor(const cudnnTensorDescriptor_t d, int room, cudnnDataType_t* type, int* rank,
                                         int sizes[], int strides[]) {
  if (const cudnnStatus_t status = enter(); status != CUDNN_STATUS_SUCCESS) return status;
  const auto tensor = find_tensor(d);
  if (tensor == nullptr || type == nullptr || rank == nullptr || sizes == nullptr || strides == nullptr)
    return bad("a null argument");
  *type = tensor->type;
  *rank = static_cast<int>(tensor->sizes.size());
  for (int i = 0; i < std::min(room, *rank); ++i) {
    sizes[i] = tensor->sizes[static_cast<size_t>(i)];
    strides[i] = tensor->strides[static_cast<size_t>(i)];
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateDropoutDescriptor(cudnnDropoutDescriptor_t* made) {
  return alive<Dropout>().create(made);
}
cudnnStatus_t cudnnDestroyDropoutDescriptor(cudnnDropoutDescriptor_t d) {
  return alive<Dropout>().destroy(d, "cudnnDestroyDropoutDescriptor");
}
cudnnStatus_t cudnnDropoutGetStatesSize(cudnnHandle_t handle, size_t* bytes) {
  if (const cudnnStatus_t status = enter(); status != CUDNN_STATUS_SUCCESS) return status;
  if (find_handle(handle) == nullptr || bytes == nullptr) return bad("a null argument");
  *bytes = kDropoutStatesBytes;
  return CUDNN_STATUS_SUCCESS;
}
static cudnnStatus_t set_dropout(cudnnDropoutDescriptor_t d, cudnnHandle_t handle, float probability, void* states,
                                 size_t bytes, const uint64_t* seed) {
  if (const cudnnStatus_t status = enter(); status != CUDNN_STATUS_SUCCESS) return status;
  const auto dropout = alive<Dropout>().find(d);
  const Handle* const owner = find_handle(handle);
  if (dropout == nullptr || owner == nullptr) return bad("a null argument");
  if (!(probability >= 0 && probability <= 1)) return bad("a probability out of its range");
  if (states != nullptr && bytes < kDropoutStatesBytes) return bad("states of too few bytes");
  if (states != nullptr && !cuda_standin::device_accessible(states, kDropoutStatesBytes)) {
    report("dropout: states that are no device memory");
    return bad("states that are no device memory");
  }
  *dropout = {true, probability, states};
  if (states == nullptr || seed == nullptr) return CUDNN_STATUS_SUCCESS;
  const cudaError_t status = cuda_standin::enqueue(owner->stream, "cudnnSetDropoutDescriptor", [states, seed = *seed] {
    const DropoutStates fresh{seed, 0};
    std::memset(states, 0xFF, kDropoutStatesBytes);
    std::memcpy(states, &fresh, sizeof fresh);
  });
  return status == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}
cudnnStatus_t cudnnSetDropoutDescriptor(cudnnDropoutDescriptor_t d, cudnnHandle_t handle, float probability,
                                        void* states, size_t bytes, unsigned long long seed) {
  const uint64_t value = seed;
  return set_dropout(d, handle, probability, states, bytes, &value);
}
cudnnStatus_t cudnnRestoreDropoutDescriptor(cudnnDropoutDescriptor_t d, cudnnHandle_t handle, float probability,
                                            void* states, size_t bytes, unsigned long long) {
  return set_dropout(d, handle, probability, states, bytes, nullptr);
}

cudnnStatus_t cudnnCreateRNNDescriptor(cudnnRNNDescriptor_t* made) {
  return alive<Network>().create(made);
}
cudnnStatus_t cudnnDestroyRNNDescriptor(cudnnRNNDescriptor_t d) {
  return alive<Network>().destroy(d, "cudnnDestroyRNNDescriptor");
}
cudnnStatus_t cudnnSetRNNDescriptor_v8(cudnnRNNDescriptor_t d, cudnnRNNAlgo_t algo, cudnnRNNMode_t mode,
                                       cudnnRNNBiasMode_t bias, cudnnDirectionMode_t direction,
                                       cudnnRNNInputMode_t input_mode, cudnnDataType_t type, cudnnDataType_t math_type,
                                       cudnnMathType_t math, int32_t input, int32_t hidden, int32_t projection,
                                       int32_t layers, cudnnDropoutDescriptor_t dropout, uint32_t flags) {
  if (const cudnnStatus_t status = enter(); status != CUDNN_STATUS_SUCCESS) return status;
  const auto network = find_network(d);
  if (network == nullptr) return bad("a null argument");
  if (input < 1 || hidden < 1 || layers < 1) return bad("a size that is not positive");
  if (projection < 1) return bad("a projection to nothing");
  if ((flags & ~CUDNN_RNN_PADDED_IO_ENABLED) != 0) return bad("flags that are none");
  const bool is_plain = algo == CUDNN_RNN_ALGO_STANDARD && input_mode == CUDNN_LINEAR_INPUT &&
                        (bias == CUDNN_RNN_NO_BIAS || bias == CUDNN_RNN_DOUBLE_BIAS) &&
                        flags == CUDNN_RNN_PADDED_IO_DISABLED;
  const bool is_typed =
      is_known(type) && (type == CUDNN_DATA_DOUBLE ? math_type == CUDNN_DATA_DOUBLE
                                                   : math_type == CUDNN_DATA_FLOAT ||
                                                         (type == CUDNN_DATA_HALF && math_type == CUDNN_DATA_HALF));
  if (!is_typed || projection > hidden || (projection != hidden && mode != CUDNN_LSTM))
    return refuse(CUDNN_STATUS_NOT_SUPPORTED, "types or a projection that the library has not");
  if (!is_plain) return refuse(CUDNN_STATUS_NOT_SUPPORTED, "what the stand-in has not");
  if (math_type == CUDNN_DATA_HALF) report("cudnnSetRNNDescriptor_v8: 16-bit numbers add up in 16 bits");
  const auto drop = dropout == nullptr ? nullptr : alive<Dropout>().find(dropout);
  if (dropout != nullptr && (drop == nullptr || !drop->set)) return bad("a descriptor of dropout that is not set");
  *network = {
      true,   mode,       type,   math, bias == CUDNN_RNN_DOUBLE_BIAS, direction == CUDNN_BIDIRECTIONAL ? 2 : 1, input,
      hidden, projection, layers, drop};
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnCreateRNNDataDescriptor(cudnnRNNDataDescriptor_t* made) {
  return alive<Data>().create(made);
}
cudnnStatus_t cudnnDestroyRNNDataDescriptor(cudnnRNNDataDescriptor_t d) {
  return alive<Data>().destroy(d, "cudnnDestroyRNNDataDescriptor");
}
cudnnStatus_t cudnnSetRNNDataDescriptor(cudnnRNNDataDescriptor_t d, cudnnDataType_t type, cudnnRNNDataLayout_t layout,
                                        int max_length, int batch, int vector, const int lengths[], void*) {
  if (const cudnnStatus_t status = enter(); status != CUDNN_STATUS_SUCCESS) return status;
  const auto data = find_data(d);
  if (data == nullptr || lengths == nullptr) return bad("a null argument");
  if (max_length <= 0 || batch <= 0 || vector <= 0) return bad("a size that is not positive");
  if (!is_known(type)) return refuse(CUDNN_STATUS_NOT_SUPPORTED, "a type that the library has not");
  int longest = 0, shortest = max_length;
  for (int i = 0; i < batch; ++i) {
    if (lengths[i] < 0 || lengths[i] > max_length) return bad("a length out of its range");
    longest = std::max(longest, lengths[i]);
    shortest = std::min(shortest, lengths[i]);
  }
  if (layout == CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED) {
    if (!std::is_sorted(lengths, lengths + batch, [](int a, int b) { return a > b; }))
      return bad("packed sequences that are not sorted");
    if (longest != max_length) return bad("another greatest length than that of the sequences");
    if (shortest == 0) return bad("a packed sequence without steps");
  }
  *data = {true, type, layout, vector, {lengths, lengths + batch}};
  return CUDNN_STATUS_SUCCESS;
}

}  // extern "C"
