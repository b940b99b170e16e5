// Calls with recurrent networks: what they check, and the work that they queue.
#include "tests/cuda_on_host/cudnn/rnn.h"

#include <functional>

#include "tests/cuda_on_host/runtime/standin.h"

namespace cudnn_standin {
namespace {

std::atomic<uint64_t> g_executions{0};
std::atomic<int> g_math{CUDNN_DEFAULT_MATH};

cudnnStatus_t bad(const std::string& why) {
  return refuse(CUDNN_STATUS_BAD_PARAM, why);
}
cudnnStatus_t misuse(const char* call, const std::string& why) {
  report(std::string(call) + ": " + why);
  return bad(why);
}

struct Span {
  const char* name;
  const void* begin;
  size_t bytes;
  bool writes;
  size_t alignment;
};

// What is wrong with memory, "" if nothing. Spans that are null are left out.
std::string wrong_memory(const std::vector<Span>& all) {
  for (const Span& a : all) {
    if (a.begin == nullptr || a.bytes == 0) continue;
    if (!cuda_standin::device_accessible(a.begin, a.bytes)) return std::string(a.name) + " leaves the device's memory";
    if (reinterpret_cast<uintptr_t>(a.begin) % a.alignment != 0) return std::string(a.name) + " is not aligned";
    for (const Span& b : all) {
      if (&a == &b || !a.writes || b.begin == nullptr || b.bytes == 0) continue;
      const char *const a0 = static_cast<const char*>(a.begin), *const b0 = static_cast<const char*>(b.begin);
      if (a0 < b0 + b.bytes && b0 < a0 + a.bytes) return std::string(a.name) + " overlaps " + b.name;
    }
  }
  return "";
}

struct Call {
  const char* name;
  Handle* handle;
  std::shared_ptr<Network> network;
  std::shared_ptr<Data> x, y;
  std::shared_ptr<PlainTensor> h, c;
  size_t weight_bytes, work_bytes, reserve_bytes;
  const void *weights, *work, *reserve;
};

bool is_state(const PlainTensor& t, const Network& n, int64_t batch, int64_t size) {
  const std::vector<int64_t> sizes = {n.parts(), batch, size}, strides = {batch * size, size, 1};
  return t.type == n.type && std::vector<int64_t>(t.sizes.begin(), t.sizes.end()) == sizes &&
         std::vector<int64_t>(t.strides.begin(), t.strides.end()) == strides;
}

// Descriptors and sizes; `training`: the reserve is wanted.
cudnnStatus_t check_call(const Call& c, bool training, bool has_cells) {
  if (c.handle == nullptr || c.network == nullptr || c.x == nullptr) return bad("a null argument");
  const Network& n = *c.network;
  if (!n.set || !c.x->set || (c.y != nullptr && !c.y->set)) return bad("a descriptor that is not set");
  int device = -1;
  if (cudaGetDevice(&device) != cudaSuccess) return CUDNN_STATUS_NOT_INITIALIZED;
  if (device != c.handle->device) return misuse(c.name, "the handle is another device's");
  if (c.x->layout != CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED) return bad("a layout that wants PADDED_IO_ENABLED");
  if (c.x->type != n.type || c.x->vector != n.input) return bad("data of another type or size than the network's");
  if (c.y != nullptr && (c.y->type != n.type || c.y->vector != n.state * n.directions || c.y->lengths != c.x->lengths))
    return bad("results of another type or size than the network's, or of other lengths than the data");
  const auto batch = static_cast<int64_t>(c.x->lengths.size());
  if (c.h == nullptr || !is_state(*c.h, n, batch, n.state)) return bad("hidden states of other sizes");
  if (has_cells && n.mode == CUDNN_LSTM && (c.c == nullptr || !is_state(*c.c, n, batch, n.hidden)))
    return bad("cell states of other sizes");
  if (c.weights == nullptr || c.weight_bytes < static_cast<size_t>(weight_count(n)) * n.item())
    return bad("a buffer of weights that is too small");
  if (c.work == nullptr || c.work_bytes < kNetworkWorkspace) return bad("a workspace that is too small");
  if (training && (c.reserve == nullptr || c.reserve_bytes < reserve_bytes(n, *c.x)))
    return bad("a reserve that is too small");
  return CUDNN_STATUS_SUCCESS;
}

size_t state_bytes(const Network& n, const Data& x, int64_t size) {
  return static_cast<size_t>(n.parts() * size) * x.lengths.size() * n.item();
}
size_t data_bytes(const Network& n, const Data& d) {
  return static_cast<size_t>(d.rows() * d.vector) * n.item();
}

cudnnStatus_t run(const Call& c, const std::vector<Span>& spans, const NetworkMemory& memory,
                  void (*compute)(const Network&, const Data&, const NetworkMemory&)) {
  std::vector<Span> all = spans;
  all.push_back({"the workspace", c.work, c.work_bytes, true, 256});
  if (memory.reserve != nullptr) all.push_back({"the reserve", c.reserve, c.reserve_bytes, true, 16});
  if (const std::string why = wrong_memory(all); !why.empty()) return misuse(c.name, why);
  const Busy busy(c.handle->running, "one handle");
  if (options().no_networks) return refuse(CUDNN_STATUS_NOT_SUPPORTED, "no networks");
  ++g_executions;
  g_math = c.network->math;
  const cudaError_t status =
      cuda_standin::enqueue(c.handle->stream, c.name,
                            [n = *c.network, dropout = c.network->dropout ? *c.network->dropout : Dropout(), x = *c.x,
                             memory, work = const_cast<void*>(c.work), bytes = c.work_bytes, compute]() mutable {
                              overwrite(work, bytes);
                              // As the descriptor was when the call came.
                              n.dropout = std::make_shared<Dropout>(dropout);
                              compute(n, x, memory);
                            });
  return status == cudaSuccess ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}

}  // namespace

uint64_t network_executions() {
  return g_executions;
}
cudnnMathType_t last_network_math() {
  return static_cast<cudnnMathType_t>(g_math.load());
}

}  // namespace cudnn_standin

using namespace cudnn_standin;

extern "C" {

cudnnStatus_t cudnnGetRNNWeightSpaceSize(cudnnHandle_t handle, cudnnRNNDescriptor_t d, size_t* bytes) {
  if (const cudnnStatus_t status = enter(); status != CUDNN_STATUS_SUCCESS) return status;
  const auto n = find_network(d);
  if (find_handle(handle) == nullptr || n == nullptr || bytes == nullptr) return bad("a null argument");
  if (!n->set) return bad("a descriptor that is not set");
  *bytes = static_cast<size_t>(weight_count(*n)) * n->item();
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNWeightParams(cudnnHandle_t handle, cudnnRNNDescriptor_t d, int32_t part, size_t bytes,
                                      const void* weights, int32_t id, cudnnTensorDescriptor_t matrix, void** matrix_at,
                                      cudnnTensorDescriptor_t bias, void** bias_at) {
  if (const cudnnStatus_t status = enter(); status != CUDNN_STATUS_SUCCESS) return status;
  const auto n = find_network(d);
  const auto m = find_tensor(matrix), b = find_tensor(bias);
  if (find_handle(handle) == nullptr || n == nullptr || !n->set || m == nullptr || b == nullptr ||
      matrix_at == nullptr || bias_at == nullptr || weights == nullptr)
    return bad("a null argument");
  if (bytes < static_cast<size_t>(weight_count(*n)) * n->item()) return bad("a buffer of weights that is too small");
  const int64_t gates = n->gates();
  if (part < 0 || part >= n->parts() || id < 0 || id > 2 * gates || (id == 2 * gates && n->mode != CUDNN_LSTM))
    return bad("a layer or a matrix that the network has not");
  const WeightOffsets o = offsets_of(*n, part);
  const auto at = [&](int64_t offset) {
    return const_cast<char*>(static_cast<const char*>(weights)) + static_cast<size_t>(offset) * n->item();
  };
  const auto describe = [&](PlainTensor& t, int64_t rows, int64_t columns) {
    t = {true,
         n->type,
         {1, static_cast<int>(rows), static_cast<int>(columns)},
         {static_cast<int>(rows * columns), static_cast<int>(columns), 1}};
  };
  *m = *b = PlainTensor();
  *matrix_at = *bias_at = nullptr;
  if (id == 2 * gates) {
    if (!n->projected()) return CUDNN_STATUS_SUCCESS;
    describe(*m, n->state, n->hidden);
    *matrix_at = at(o.projection);
    return CUDNN_STATUS_SUCCESS;
  }
  const bool first = id < gates;
  const int64_t gate = first ? id : id - gates, columns = first ? n->input_of(part / n->directions) : n->state;
  describe(*m, n->hidden, columns);
  *matrix_at = at((first ? o.input : o.recurrent) + gate * n->hidden * columns);
  if (!n->biases) return CUDNN_STATUS_SUCCESS;
  describe(*b, n->hidden, 1);
  *bias_at = at((first ? o.input_bias : o.recurrent_bias) + gate * n->hidden);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetRNNTempSpaceSizes(cudnnHandle_t handle, cudnnRNNDescriptor_t d, cudnnForwardMode_t mode,
                                        cudnnRNNDataDescriptor_t x, size_t* work, size_t* reserve) {
  if (const cudnnStatus_t status = enter(); status != CUDNN_STATUS_SUCCESS) return status;
  const auto n = find_network(d);
  const auto data = find_data(x);
  if (find_handle(handle) == nullptr || n == nullptr || data == nullptr) return bad("a null argument");
  if (!n->set || !data->set || data->vector != n->input || data->type != n->type)
    return bad("data of another type or size than the network's");
  if (work != nullptr) *work = kNetworkWorkspace;
  if (reserve != nullptr) *reserve = mode == CUDNN_FWD_MODE_TRAINING ? reserve_bytes(*n, *data) : 0;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnRNNForward(cudnnHandle_t handle, cudnnRNNDescriptor_t d, cudnnForwardMode_t mode, const int32_t*,
                              cudnnRNNDataDescriptor_t x_desc, const void* x, cudnnRNNDataDescriptor_t y_desc, void* y,
                              cudnnTensorDescriptor_t h_desc, const void* hx, void* hy, cudnnTensorDescriptor_t c_desc,
                              const void* cx, void* cy, size_t weight_bytes, const void* weights, size_t work_bytes,
                              void* work, size_t reserve_bytes, void* reserve) {
  if (const cudnnStatus_t status = enter(); status != CUDNN_STATUS_SUCCESS) return status;
  const Call c{"cudnnRNNForward",
               find_handle(handle),
               find_network(d),
               find_data(x_desc),
               find_data(y_desc),
               find_tensor(h_desc),
               find_tensor(c_desc),
               weight_bytes,
               work_bytes,
               reserve_bytes,
               weights,
               work,
               reserve};
  const bool training = mode == CUDNN_FWD_MODE_TRAINING;
  if (c.y == nullptr) return bad("a null argument");
  if (const auto status = check_call(c, training, cx != nullptr || cy != nullptr); status != CUDNN_STATUS_SUCCESS)
    return status;
  if (x == nullptr || y == nullptr) return bad("data or results without memory");
  const Network& n = *c.network;
  const size_t item = n.item(), of_h = state_bytes(n, *c.x, n.state), of_c = state_bytes(n, *c.x, n.hidden);
  NetworkMemory m{};
  m.x = x, m.hx = hx, m.cx = cx, m.weights = weights, m.y = y, m.hy = hy, m.cy = cy;
  if (training) m.reserve = reserve;
  return run(c,
             {{"x", x, data_bytes(n, *c.x), false, item},
              {"hx", hx, of_h, false, item},
              {"cx", cx, of_c, false, item},
              {"the weights", weights, weight_bytes, false, item},
              {"y", y, data_bytes(n, *c.y), true, item},
              {"hy", hy, of_h, true, item},
              {"cy", cy, of_c, true, item}},
             m, run_forward);
}

cudnnStatus_t cudnnRNNBackwardData_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t d, const int32_t*,
                                      cudnnRNNDataDescriptor_t y_desc, const void* y, const void* grad_y,
                                      cudnnRNNDataDescriptor_t x_desc, void* grad_x, cudnnTensorDescriptor_t h_desc,
                                      const void* hx, const void* grad_hy, void* grad_hx,
                                      cudnnTensorDescriptor_t c_desc, const void* cx, const void* grad_cy,
                                      void* grad_cx, size_t weight_bytes, const void* weights, size_t work_bytes,
                                      void* work, size_t reserve_bytes, void* reserve) {
  if (const cudnnStatus_t status = enter(); status != CUDNN_STATUS_SUCCESS) return status;
  const Call c{"cudnnRNNBackwardData_v8",
               find_handle(handle),
               find_network(d),
               find_data(x_desc),
               find_data(y_desc),
               find_tensor(h_desc),
               find_tensor(c_desc),
               weight_bytes,
               work_bytes,
               reserve_bytes,
               weights,
               work,
               reserve};
  if (c.y == nullptr) return bad("a null argument");
  if (const auto status = check_call(c, true, cx != nullptr || grad_cx != nullptr); status != CUDNN_STATUS_SUCCESS)
    return status;
  if (y == nullptr || grad_y == nullptr || grad_x == nullptr) return bad("results or gradients without memory");
  const Network& n = *c.network;
  const size_t item = n.item(), of_h = state_bytes(n, *c.x, n.state), of_c = state_bytes(n, *c.x, n.hidden);
  NetworkMemory m{};
  m.hx = hx, m.cx = cx, m.weights = weights, m.y = const_cast<void*>(y), m.grad_y = grad_y, m.grad_hy = grad_hy,
  m.grad_cy = grad_cy, m.grad_x = grad_x, m.grad_hx = grad_hx, m.grad_cx = grad_cx, m.reserve = reserve;
  return run(c,
             {{"y", y, data_bytes(n, *c.y), false, item},
              {"dy", grad_y, data_bytes(n, *c.y), false, item},
              {"hx", hx, of_h, false, item},
              {"cx", cx, of_c, false, item},
              {"dhy", grad_hy, of_h, false, item},
              {"dcy", grad_cy, of_c, false, item},
              {"the weights", weights, weight_bytes, false, item},
              {"dx", grad_x, data_bytes(n, *c.x), true, item},
              {"dhx", grad_hx, of_h, true, item},
              {"dcx", grad_cx, of_c, true, item}},
             m, run_backward_data);
}

cudnnStatus_t cudnnRNNBackwardWeights_v8(cudnnHandle_t handle, cudnnRNNDescriptor_t d, cudnnWgradMode_t add,
                                         const int32_t*, cudnnRNNDataDescriptor_t x_desc, const void* x,
                                         cudnnTensorDescriptor_t h_desc, const void* hx,
                                         cudnnRNNDataDescriptor_t y_desc, const void* y, size_t weight_bytes,
                                         void* grad_weights, size_t work_bytes, void* work, size_t reserve_bytes,
                                         void* reserve) {
  if (const cudnnStatus_t status = enter(); status != CUDNN_STATUS_SUCCESS) return status;
  const Call c{"cudnnRNNBackwardWeights_v8",
               find_handle(handle),
               find_network(d),
               find_data(x_desc),
               find_data(y_desc),
               find_tensor(h_desc),
               nullptr,
               weight_bytes,
               work_bytes,
               reserve_bytes,
               grad_weights,
               work,
               reserve};
  if (c.y == nullptr) return bad("a null argument");
  if (add != CUDNN_WGRAD_MODE_ADD) return refuse(CUDNN_STATUS_NOT_SUPPORTED, "gradients that are not added up");
  if (const auto status = check_call(c, true, false); status != CUDNN_STATUS_SUCCESS) return status;
  if (x == nullptr || y == nullptr) return bad("data or results without memory");
  const Network& n = *c.network;
  const size_t item = n.item(), of_h = state_bytes(n, *c.x, n.state);
  NetworkMemory m{};
  m.x = x, m.hx = hx, m.y = const_cast<void*>(y), m.grad_weights = grad_weights, m.reserve = reserve;
  return run(c,
             {{"x", x, data_bytes(n, *c.x), false, item},
              {"hx", hx, of_h, false, item},
              {"y", y, data_bytes(n, *c.y), false, item},
              {"dweights", grad_weights, weight_bytes, true, item}},
             m, run_backward_weights);
}

}  // extern "C"
