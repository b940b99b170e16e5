#include "aten/cuda/cudnn/rnn.h"

#include <algorithm>

#include "aten/cuda/cudnn/data_type.h"
#include "aten/cuda/cudnn/handle.h"
#include "c10/util/exception.h"

namespace at::cuda::cudnn {
namespace {

void check_supported(cudnnStatus_t status, const char* call) {
  TORCH_CHECK_NOT_IMPLEMENTED(!is_unsupported(status),
                              "cuDNN does not support this recurrent network: ", cudnnGetErrorString(status),
                              " when calling `", call, "`");
  check(status, call);
}

int narrow(int64_t size) {
  TORCH_CHECK(size >= 0 && size <= INT32_MAX, "cuDNN: sizes of 2^31 and more are not supported, got ", size);
  return static_cast<int>(size);
}

cudnnDataType_t type_of(const RnnNetwork& n) {
  const auto type = c10::isFloatingType(n.dtype) ? data_type_of(n.dtype) : std::nullopt;
  TORCH_CHECK_NOT_IMPLEMENTED(type.has_value(), "\"_cudnn_rnn\" not implemented for '", toString(n.dtype), "'");
  return *type;
}

// Sums are of float32, or of float64.
cudnnDataType_t sum_type_of(const RnnNetwork& n) {
  return n.dtype == ScalarType::Double ? CUDNN_DATA_DOUBLE : CUDNN_DATA_FLOAT;
}

cudnnMathType_t math_of(const RnnNetwork& n) {
  if (n.dtype == ScalarType::Half || n.dtype == ScalarType::BFloat16) return CUDNN_TENSOR_OP_MATH;
  return n.dtype == ScalarType::Float && !n.tf32 ? CUDNN_FMA_MATH : CUDNN_DEFAULT_MATH;
}

void set_dropout(const DropoutDescriptor& d, cudnnHandle_t handle, const RnnDropout& dropout) {
  if (dropout.bytes == 0) {
    check(cudnnSetDropoutDescriptor(d.get(), handle, 0, nullptr, 0, 0), "cudnnSetDropoutDescriptor");
    return;
  }
  check(cudnnRestoreDropoutDescriptor(d.get(), handle, static_cast<float>(dropout.probability), dropout.state,
                                      dropout.bytes, 0),
        "cudnnRestoreDropoutDescriptor");
}

// One matrix of a layer's direction, and the bias beside it, as the library places them. -1: there is none.
struct Piece {
  int64_t matrix = -1, bias = -1;  // bytes from the buffer's begin
  int64_t rows = 0, columns = 0;
};

Piece piece_of(const Rnn& rnn, int64_t part, int64_t id, const void* buffer, size_t bytes, const TensorDescriptor& m,
               const TensorDescriptor& b) {
  void *matrix = nullptr, *bias = nullptr;
  check_supported(cudnnGetRNNWeightParams(rnn.handle(), rnn.get(), narrow(part), bytes, buffer, narrow(id), m.get(),
                                          &matrix, b.get(), &bias),
                  "cudnnGetRNNWeightParams");
  const auto offset = [&](void* at) {
    return at == nullptr ? -1 : static_cast<char*>(at) - static_cast<const char*>(buffer);
  };
  cudnnDataType_t type;
  int rank = 0, sizes[3] = {}, strides[3] = {};
  check(cudnnGetTensorNdDescriptor(m.get(), 3, &type, &rank, sizes, strides), "cudnnGetTensorNdDescriptor");
  return {offset(matrix), offset(bias), rank == 3 ? sizes[1] : 0, rank == 3 ? sizes[2] : 0};
}

RnnDataDescriptor data_descriptor(cudnnDataType_t type, const std::vector<int>& lengths, int64_t vector) {
  RnnDataDescriptor d("cudnnCreateRNNDataDescriptor");
  check_supported(
      cudnnSetRNNDataDescriptor(d.get(), type, CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED, lengths[0],
                                narrow(static_cast<int64_t>(lengths.size())), narrow(vector), lengths.data(), nullptr),
      "cudnnSetRNNDataDescriptor");
  return d;
}

TensorDescriptor state_descriptor(cudnnDataType_t type, int64_t parts, int64_t batch, int64_t size) {
  TensorDescriptor d("cudnnCreateTensorDescriptor");
  const int sizes[3] = {narrow(parts), narrow(batch), narrow(size)}, strides[3] = {narrow(batch * size), sizes[2], 1};
  check(cudnnSetTensorNdDescriptor(d.get(), type, 3, sizes, strides), "cudnnSetTensorNdDescriptor");
  return d;
}

// The length of each sequence, the longest first.
std::vector<int> lengths_of(c10::IntArrayRef batch_sizes) {
  std::vector<int> lengths(static_cast<size_t>(narrow(batch_sizes[0])));
  for (const int64_t count : batch_sizes) {
    for (int64_t i = 0; i < count; ++i) ++lengths[static_cast<size_t>(i)];
  }
  return lengths;
}

}  // namespace

int64_t Rnn::Place::numel() const {
  int64_t n = 1;
  for (const int64_t size : sizes) n *= size;
  return n;
}

Rnn::Rnn(const RnnNetwork& n, const RnnDropout& dropout)
    : network_(n),
      handle_(native::getCudnnHandle()),
      dropout_("cudnnCreateDropoutDescriptor"),
      rnn_("cudnnCreateRNNDescriptor") {
  set_dropout(dropout_, handle_, dropout);
  check_supported(
      cudnnSetRNNDescriptor_v8(rnn_.get(), CUDNN_RNN_ALGO_STANDARD, n.mode,
                               n.has_biases ? CUDNN_RNN_DOUBLE_BIAS : CUDNN_RNN_NO_BIAS,
                               n.bidirectional ? CUDNN_BIDIRECTIONAL : CUDNN_UNIDIRECTIONAL, CUDNN_LINEAR_INPUT,
                               type_of(n), sum_type_of(n), math_of(n), narrow(n.input), narrow(n.hidden),
                               narrow(n.state()), narrow(n.layers), dropout_.get(), CUDNN_RNN_PADDED_IO_DISABLED),
      "cudnnSetRNNDescriptor_v8");
}

size_t Rnn::weight_bytes() const {
  size_t bytes = 0;
  check_supported(cudnnGetRNNWeightSpaceSize(handle_, rnn_.get(), &bytes), "cudnnGetRNNWeightSpaceSize");
  return bytes;
}

std::vector<Rnn::Place> Rnn::places(const void* buffer, size_t bytes) const {
  const TensorDescriptor m("cudnnCreateTensorDescriptor"), b("cudnnCreateTensorDescriptor");
  const auto item = static_cast<int64_t>(c10::elementSize(network_.dtype));
  const int64_t gates = network_.gates(), hidden = network_.hidden;
  std::vector<Place> all;
  for (int64_t part = 0; part < network_.parts(); ++part) {
    const auto piece = [&](int64_t id) { return piece_of(*this, part, id, buffer, bytes, m, b); };
    // Matrices of the input are numbered first, then those of the state; one behind the other by gates.
    Piece first[2];
    for (int64_t i = 0; i < 2; ++i) {
      const int64_t columns = i == 0 ? network_.input_of(part) : network_.state();
      const Piece &begin = first[i] = piece(i * gates), end = gates == 1 ? begin : piece(i * gates + gates - 1);
      const bool is_whole =
          begin.matrix >= 0 && begin.rows == hidden && begin.columns == columns && begin.matrix % item == 0 &&
          end.matrix - begin.matrix == (gates - 1) * hidden * columns * item &&
          (network_.has_biases
               ? begin.bias >= 0 && begin.bias % item == 0 && end.bias - begin.bias == (gates - 1) * hidden * item
               : true);
      TORCH_CHECK_NOT_IMPLEMENTED(is_whole, "cuDNN: weights of a recurrent network in an order that is not known");
      all.push_back({begin.matrix / item, {gates * hidden, columns}});
    }
    for (const Piece& p : first) {
      if (network_.has_biases) all.push_back({p.bias / item, {gates * hidden}});
    }
    if (network_.projection == 0) continue;
    const Piece p = piece(2 * gates);
    TORCH_CHECK_NOT_IMPLEMENTED(
        p.matrix >= 0 && p.rows == network_.projection && p.columns == hidden && p.matrix % item == 0,
        "cuDNN: weights of a recurrent network in an order that is not known");
    all.push_back({p.matrix / item, {network_.projection, hidden}});
  }
  return all;
}

RnnData::RnnData(const Rnn& rnn, c10::IntArrayRef batch_sizes)
    : rnn_(rnn),
      x_(data_descriptor(type_of(rnn.network()), lengths_of(batch_sizes), rnn.network().input)),
      y_(data_descriptor(type_of(rnn.network()), lengths_of(batch_sizes),
                         rnn.network().state() * rnn.network().directions())),
      h_(state_descriptor(type_of(rnn.network()), rnn.network().parts(), batch_sizes[0], rnn.network().state())),
      c_(state_descriptor(type_of(rnn.network()), rnn.network().parts(), batch_sizes[0], rnn.network().hidden)) {}

RnnData::Spaces RnnData::spaces(bool training) const {
  Spaces s;
  check_supported(cudnnGetRNNTempSpaceSizes(rnn_.handle(), rnn_.get(),
                                            training ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE, x_.get(),
                                            &s.work, &s.reserve),
                  "cudnnGetRNNTempSpaceSizes");
  if (!training) s.reserve = 0;
  return s;
}

// Lengths are read from the descriptors: a copy on the device is what older libraries took.
void RnnData::forward(const Forward& m, const Spaces& s, size_t weight_bytes) const {
  check_supported(cudnnRNNForward(rnn_.handle(), rnn_.get(),
                                  m.reserve != nullptr ? CUDNN_FWD_MODE_TRAINING : CUDNN_FWD_MODE_INFERENCE, nullptr,
                                  x_.get(), m.x, y_.get(), m.y, h_.get(), m.hx, m.hy, c_.get(), m.cx, m.cy,
                                  weight_bytes, m.weights, s.work, m.work, s.reserve, m.reserve),
                  "cudnnRNNForward");
}

void RnnData::backward(const Backward& m, const Spaces& s, size_t weight_bytes) const {
  check(cudnnRNNBackwardData_v8(rnn_.handle(), rnn_.get(), nullptr, y_.get(), m.y, m.grad_y, x_.get(), m.grad_x,
                                h_.get(), m.hx, m.grad_hy, m.grad_hx, c_.get(), m.cx, m.grad_cy, m.grad_cx,
                                weight_bytes, m.weights, s.work, m.work, s.reserve, m.reserve),
        "cudnnRNNBackwardData_v8");
  if (m.grad_weights == nullptr) return;
  check(cudnnRNNBackwardWeights_v8(rnn_.handle(), rnn_.get(), CUDNN_WGRAD_MODE_ADD, nullptr, x_.get(), m.x, h_.get(),
                                   m.hx, y_.get(), m.y, weight_bytes, m.grad_weights, s.work, m.work, s.reserve,
                                   m.reserve),
        "cudnnRNNBackwardWeights_v8");
}

}  // namespace at::cuda::cudnn
