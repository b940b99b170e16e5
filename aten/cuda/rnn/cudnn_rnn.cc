// Recurrent networks of CUDA tensors by cuDNN.
#include <array>
#include <optional>
#include <tuple>
#include <vector>

#include "aten/core/context.h"
#include "aten/core/structured.h"
#include "aten/core/tensor.h"
#include "aten/cuda/cudnn/handle.h"
#include "aten/cuda/cudnn/rnn.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/rnn/kernels.h"
#include "aten/ops/rnn/rnn_layer.h"
#include "aten/ops/view/ops.h"
#include "c10/core/grad_mode.h"
#include "c10/cuda/guard.h"
#include "c10/memory/allocator.h"

namespace at::native {
namespace {

using cuda::cudnn::Rnn;
using cuda::cudnn::RnnData;
using cuda::cudnn::RnnDropout;
using cuda::cudnn::RnnNetwork;

// What a call says of its network.
struct Description {
  const char* op;
  int64_t stride, mode, hidden, projection, layers;
  bool bidirectional;
};

RnnNetwork network_of(const Description& d, ScalarType dtype, int64_t input) {
  TORCH_CHECK(d.mode >= 0 && d.mode <= 3, d.op, ": mode must be from 0 to 3, got ", d.mode);
  TORCH_CHECK(d.hidden > 0 && d.layers > 0 && input > 0, d.op,
              ": sizes and the number of layers must be positive, got an input of ", input, ", hidden states of ",
              d.hidden, " and ", d.layers, " layers");
  TORCH_CHECK(d.projection >= 0 && d.projection <= d.hidden && (d.projection == 0 || d.mode == CUDNN_LSTM), d.op,
              ": only an LSTM has projections, to at most hidden_size, got proj_size ", d.projection);
  RnnNetwork n;
  n.mode = static_cast<cudnnRNNMode_t>(d.mode);
  n.dtype = dtype;
  n.bidirectional = d.bidirectional;
  n.has_biases = d.stride >= 4;
  n.input = input;
  n.hidden = d.hidden;
  n.projection = d.projection;
  n.layers = d.layers;
  n.tf32 = globalContext().allowTF32CuDNN("rnn") && !NoTF32Guard::should_disable_tf32();
  TORCH_CHECK(d.stride == n.stride(), d.op, ": expected ", n.stride(), " weights for each layer and direction, got ",
              d.stride);
  return n;
}

void check_weights(const char* op, const RnnNetwork& n, TensorList weight) {
  TORCH_CHECK(static_cast<int64_t>(weight.size()) == n.parts() * n.stride(), op, ": expected ", n.parts() * n.stride(),
              " weights, got ", weight.size());
  const int64_t rows = n.gates() * n.hidden;
  const Tensor* next = weight.begin();
  const auto check = [&](IntArrayRef sizes) {
    const Tensor& t = *next++;
    TORCH_CHECK(t.defined() && t.sizes() == sizes, op, ": expected a weight of size ", sizes, ", got ",
                t.defined() ? t.sizes() : IntArrayRef());
    TORCH_CHECK(t.scalar_type() == n.dtype, op, ": expected weights of dtype ", n.dtype, ", got ", t.scalar_type());
    TORCH_CHECK(t.device() == weight[0].device() && t.is_cuda(), op, ": expected all weights on one CUDA device, got ",
                weight[0].device(), " and ", t.device());
  };
  for (int64_t part = 0; part < n.parts(); ++part) {
    check({rows, n.input_of(part)});
    check({rows, n.state()});
    if (n.has_biases) check({rows}), check({rows});
    if (n.projection > 0) check({n.projection, n.hidden});
  }
}

// The part of a buffer that is one weight, in memory of the buffer.
Tensor part_of(const Tensor& buffer, const Rnn::Place& place) {
  return at::view(at::narrow(buffer, 0, place.offset, place.numel()), place.sizes);
}

Tensor new_buffer(const Rnn& rnn, Device device) {
  const auto item = c10::elementSize(rnn.network().dtype);
  return empty_contiguous({static_cast<int64_t>((rnn.weight_bytes() + item - 1) / item)}, rnn.network().dtype, device);
}

// The buffer that the weights are parts of, as the library orders them; undefined where they are not.
Tensor common_buffer(const Rnn& rnn, TensorList weight) {
  const Tensor& first = weight[0];
  const auto item = static_cast<int64_t>(first.itemsize());
  const size_t bytes = rnn.weight_bytes();
  const int64_t count = (static_cast<int64_t>(bytes) + item - 1) / item;
  if (!is_dense(first) || first.storage_offset() + count > static_cast<int64_t>(first.storage().nbytes()) / item)
    return {};
  for (const Tensor& t : weight) {
    if (!is_dense(t) || !t.storage().is_alias_of(first.storage())) return {};
  }
  const std::vector<Rnn::Place> places = rnn.places(first.const_data_ptr(), bytes);
  for (size_t i = 0; i < places.size(); ++i) {
    if (weight[i].storage_offset() != first.storage_offset() + places[i].offset) return {};
  }
  Tensor buffer = empty_contiguous({0}, first.scalar_type(), first.device());
  at::set_(buffer, first, first.storage_offset(), {count}, {1});
  return buffer;
}

Tensor copied_buffer(const Rnn& rnn, TensorList weight) {
  const Tensor buffer = new_buffer(rnn, weight[0].device());
  const std::vector<Rnn::Place> places = rnn.places(buffer.const_data_ptr(), rnn.weight_bytes());
  for (size_t i = 0; i < places.size(); ++i) {
    Tensor to = part_of(buffer, places[i]);
    at::copy_(to, weight[i]);
  }
  return buffer;
}

// Steps, one behind the other, and the rows of each.
struct Sequences {
  Tensor rows;
  DimVector batch_sizes;
};

Sequences sequences_of(const char* op, const Tensor& t, bool batch_first, IntArrayRef batch_sizes) {
  Sequences s;
  if (batch_sizes.empty()) {
    TORCH_CHECK(t.dim() == 3, op, ": Expected input to be 3-D, but got ", t.dim(), "-D tensor");
    const Tensor by_step = batch_first ? at::transpose(t, 0, 1) : t;
    s.batch_sizes.assign(static_cast<size_t>(by_step.size(0)), by_step.size(1));
    s.rows = at::view(dense(by_step), {by_step.size(0) * by_step.size(1), by_step.size(2)});
  } else {
    TORCH_CHECK(t.dim() == 2, op, ": Expected packed data to be 2-D, but got ", t.dim(), "-D tensor");
    s.batch_sizes.assign(batch_sizes.begin(), batch_sizes.end());
    s.rows = dense(t);
  }
  int64_t rows = 0;
  TORCH_CHECK(!s.batch_sizes.empty(), op, ": Expected sequence length to be larger than 0 in RNN");
  for (size_t i = 0; i < s.batch_sizes.size(); ++i) {
    TORCH_CHECK(s.batch_sizes[i] > 0 && (i == 0 || s.batch_sizes[i] <= s.batch_sizes[i - 1]), op,
                ": batch_sizes must be positive and must not increase, got ", s.batch_sizes[i], " at step ", i);
    rows += s.batch_sizes[i];
  }
  TORCH_CHECK(rows == s.rows.size(0), op, ": Expected an input of ", rows, " rows, the sum of batch_sizes, got ",
              s.rows.size(0));
  return s;
}

// Rows as the call has its input.
Tensor as_called(const Tensor& rows, const Sequences& s, bool batch_first, IntArrayRef batch_sizes) {
  if (!batch_sizes.empty()) return rows;
  const Tensor by_step = at::view(rows, {static_cast<int64_t>(s.batch_sizes.size()), s.batch_sizes[0], rows.size(1)});
  return batch_first ? at::transpose(by_step, 0, 1) : by_step;
}

void check_like(const char* op, const char* name, const Tensor& t, IntArrayRef sizes, const Tensor& input) {
  TORCH_CHECK(t.sizes() == sizes, op, ": Expected ", name, " of size ", sizes, ", got ", t.sizes());
  TORCH_CHECK(t.scalar_type() == input.scalar_type() && t.device() == input.device(), op, ": expected ", name,
              " to have the input's dtype and device, ", input.scalar_type(), " on ", input.device(), ", but got ",
              t.scalar_type(), " on ", t.device());
}

RnnDropout dropout_of(const char* op, double dropout, bool train, int64_t layers, const std::optional<Tensor>& state) {
  TORCH_CHECK(dropout >= 0 && dropout <= 1, op, ": dropout probability has to be between 0 and 1, but got ", dropout);
  if (!train || dropout == 0 || layers == 1) return {};
  TORCH_CHECK(is_given(state) && state->numel() > 0 && state->scalar_type() == kByte && state->is_contiguous(), op,
              ": dropout needs the state that _cudnn_init_dropout_state gives");
  return {dropout, const_cast<void*>(state->const_data_ptr()), static_cast<size_t>(state->numel())};
}

void* memory(const Tensor& t) {
  return t.defined() && t.numel() > 0 ? const_cast<void*>(t.const_data_ptr()) : nullptr;
}

c10::DataPtr workspace_of(const RnnData::Spaces& spaces) {
  if (spaces.work == 0) return {};
  return c10::GetAllocator(c10::kCUDA)->allocate(spaces.work);
}

void check_states(const char* op, const RnnNetwork& n, const Sequences& s, const Tensor& input, const Tensor& hx,
                  const std::optional<Tensor>& cx) {
  check_like(op, "hx", hx, {n.parts(), s.batch_sizes[0], n.state()}, input);
  TORCH_CHECK(is_given(cx) == (n.mode == CUDNN_LSTM), op, ": an LSTM has cell states, and nothing else has");
  if (is_given(cx)) check_like(op, "cx", *cx, {n.parts(), s.batch_sizes[0], n.hidden}, input);
}

}  // namespace

Tensor _cudnn_rnn_flatten_weight(TensorList weight_arr, int64_t weight_stride0, int64_t input_size, int64_t mode,
                                 int64_t hidden_size, int64_t proj_size, int64_t num_layers, bool batch_first,
                                 bool bidirectional) {
  const char* const op = "_cudnn_rnn_flatten_weight";
  TORCH_CHECK(!weight_arr.empty(), op, ": cannot flatten empty weight list");
  const Description d{op, weight_stride0, mode, hidden_size, proj_size, num_layers, bidirectional};
  const RnnNetwork network = network_of(d, weight_arr[0].scalar_type(), input_size);
  check_weights(op, network, weight_arr);
  const c10::NoGradGuard no_grad;
  const Rnn rnn(network);
  const Tensor buffer = copied_buffer(rnn, weight_arr);
  const std::vector<Rnn::Place> places = rnn.places(buffer.const_data_ptr(), rnn.weight_bytes());
  for (size_t i = 0; i < places.size(); ++i) {
    // Parameters keep their identity: gradients and optimizers know them by it.
    TensorImpl& weight = *weight_arr[i].unsafeGetTensorImpl();
    weight.set_storage(buffer.storage().impl());
    weight.set_storage_offset(places[i].offset);
    weight.set_sizes_and_strides(places[i].sizes, strides_of_format(places[i].sizes, MemoryFormat::Contiguous));
    weight.bump_version();
  }
  return buffer;
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> _cudnn_rnn(
    const Tensor& input, TensorList weight, int64_t weight_stride0, const std::optional<Tensor>& weight_buf,
    const Tensor& hx, const std::optional<Tensor>& cx, int64_t mode, int64_t hidden_size, int64_t proj_size,
    int64_t num_layers, bool batch_first, double dropout, bool train, bool bidirectional, IntArrayRef batch_sizes,
    const std::optional<Tensor>& dropout_state) {
  const char* const op = "_cudnn_rnn";
  TORCH_CHECK(!weight.empty(), op, ": there are no weights");
  const Sequences s = sequences_of(op, input, batch_first, batch_sizes);
  const Description d{op, weight_stride0, mode, hidden_size, proj_size, num_layers, bidirectional};
  const RnnNetwork n = network_of(d, input.scalar_type(), s.rows.size(1));
  check_weights(op, n, weight);
  structured::check_one_device(input, weight[0], hx, cx, weight_buf, dropout_state);
  check_states(op, n, s, input, hx, cx);
  const Rnn rnn(n, dropout_of(op, dropout, train, num_layers, dropout_state));
  const size_t bytes = rnn.weight_bytes();
  Tensor buffer;
  if (is_given(weight_buf)) {
    check_like(op, "weight_buf", *weight_buf, {weight_buf->numel()}, input);
    TORCH_CHECK(weight_buf->is_contiguous() && weight_buf->nbytes() >= bytes, op,
                ": weight_buf has to be one contiguous piece of ", bytes, " bytes, got ", weight_buf->nbytes());
    buffer = *weight_buf;
  } else {
    buffer = common_buffer(rnn, weight);
    if (!buffer.defined()) buffer = copied_buffer(rnn, weight);
  }
  const RnnData data(rnn, s.batch_sizes);
  const RnnData::Spaces spaces = data.spaces(train);
  const Tensor h0 = dense(hx), c0 = dense_or_none(cx);
  const Tensor y = scratch({s.rows.size(0), n.state() * n.directions()}, input), hy = scratch(hx.sizes(), input),
               cy = is_given(cx) ? scratch(cx->sizes(), input) : scratch({0}, input),
               reserve = empty_contiguous({static_cast<int64_t>(spaces.reserve)}, kByte, input.device());
  const c10::DataPtr work = workspace_of(spaces);
  data.forward({memory(s.rows), memory(h0), memory(c0), memory(buffer), memory(y), memory(hy), memory(cy), work.get(),
                train ? memory(reserve) : nullptr},
               spaces, bytes);
  return {as_called(y, s, batch_first, batch_sizes), hy, cy, reserve, buffer};
}

std::tuple<Tensor, Tensor, Tensor, std::vector<Tensor>> _cudnn_rnn_backward(
    const Tensor& input, TensorList weight, int64_t weight_stride0, const Tensor& weight_buf, const Tensor& hx,
    const std::optional<Tensor>& cx, const Tensor& output, const std::optional<Tensor>& grad_output,
    const std::optional<Tensor>& grad_hy, const std::optional<Tensor>& grad_cy, int64_t mode, int64_t hidden_size,
    int64_t proj_size, int64_t num_layers, bool batch_first, double dropout, bool train, bool bidirectional,
    IntArrayRef batch_sizes, const std::optional<Tensor>& dropout_state, const Tensor& reserve,
    std::array<bool, 4> output_mask) {
  const char* const op = "_cudnn_rnn_backward";
  std::vector<Tensor> grad_weights(weight.size());
  if (!is_given(grad_output) && !is_given(grad_hy) && !is_given(grad_cy)) return {{}, {}, {}, grad_weights};
  TORCH_CHECK(train, "cudnn RNN backward can only be called in training mode");
  TORCH_CHECK(!weight.empty(), op, ": there are no weights");
  const Sequences s = sequences_of(op, input, batch_first, batch_sizes);
  const Description d{op, weight_stride0, mode, hidden_size, proj_size, num_layers, bidirectional};
  const RnnNetwork n = network_of(d, input.scalar_type(), s.rows.size(1));
  check_weights(op, n, weight);
  structured::check_one_device(input, weight[0], hx, cx, weight_buf, output, reserve, grad_output, grad_hy, grad_cy);
  check_states(op, n, s, input, hx, cx);
  const std::vector<int64_t> sizes{s.rows.size(0), n.state() * n.directions()};
  const auto rows_of = [&](const char* name, const Tensor& t) {
    const Tensor rows = sequences_of(op, t, batch_first, batch_sizes).rows;
    check_like(op, name, rows, sizes, input);
    return rows;
  };
  const Tensor y = rows_of("output", output);
  if (is_given(grad_hy)) check_like(op, "grad_hy", *grad_hy, hx.sizes(), input);
  if (is_given(grad_cy) && is_given(cx)) check_like(op, "grad_cy", *grad_cy, cx->sizes(), input);
  const Tensor gy = is_given(grad_output) ? rows_of("grad_output", *grad_output) : or_zeros({}, sizes, input);
  const Rnn rnn(n, dropout_of(op, dropout, train, num_layers, dropout_state));
  const size_t bytes = rnn.weight_bytes();
  TORCH_CHECK(weight_buf.is_contiguous() && weight_buf.nbytes() >= bytes && weight_buf.scalar_type() == n.dtype, op,
              ": weight_buf is not that of the forward pass");
  const RnnData data(rnn, s.batch_sizes);
  const RnnData::Spaces spaces = data.spaces(true);
  TORCH_CHECK(reserve.scalar_type() == kByte && reserve.is_contiguous() &&
                  reserve.numel() == static_cast<int64_t>(spaces.reserve),
              op, ": reserve is not that of the forward pass");
  // The library writes to it: a second backward pass needs it as it was.
  const Tensor kept = at::clone(reserve);
  const bool lstm = is_given(cx);
  const Tensor h0 = dense(hx), c0 = dense_or_none(cx), ghy = dense_or_none(grad_hy),
               gcy = lstm ? dense_or_none(grad_cy) : Tensor();
  const Tensor gx = scratch(s.rows.sizes(), input), ghx = scratch(hx.sizes(), input),
               gcx = lstm ? scratch(cx->sizes(), input) : Tensor();
  Tensor gw;
  if (output_mask[3]) {
    gw = new_buffer(rnn, input.device());
    at::zero_(gw);
  }
  const c10::DataPtr work = workspace_of(spaces);
  data.backward({memory(s.rows), memory(y), memory(h0), memory(c0), memory(weight_buf), memory(gy), memory(ghy),
                 memory(gcy), memory(gx), memory(ghx), memory(gcx), memory(gw), work.get(), memory(kept)},
                spaces, bytes);
  if (output_mask[3]) {
    const std::vector<Rnn::Place> places = rnn.places(gw.const_data_ptr(), bytes);
    for (size_t i = 0; i < places.size(); ++i) grad_weights[i] = part_of(gw, places[i]);
  }
  return {output_mask[0] ? as_called(gx, s, batch_first, batch_sizes) : Tensor(), output_mask[1] ? ghx : Tensor(),
          output_mask[2] ? gcx : Tensor(), grad_weights};
}

Tensor _cudnn_init_dropout_state(double dropout, bool train, int64_t dropout_seed, TensorOptions options) {
  const char* const op = "_cudnn_init_dropout_state";
  TORCH_CHECK(dropout >= 0 && dropout <= 1, op, ": dropout probability has to be between 0 and 1, but got ", dropout);
  TORCH_CHECK(options.device().is_cuda(), op, ": expected a CUDA device, got ", options.device());
  TORCH_CHECK(!options.has_dtype() || options.dtype() == kByte, op, ": the state is of dtype uint8");
  const c10::cuda::CUDAGuard guard(options.device());
  const Device device(kCUDA, guard.current_device().index());
  if (!train || dropout == 0) return empty_contiguous({0}, kByte, device);
  const cudnnHandle_t handle = getCudnnHandle();
  size_t bytes = 0;
  cuda::cudnn::check(cudnnDropoutGetStatesSize(handle, &bytes), "cudnnDropoutGetStatesSize");
  const Tensor state = empty_contiguous({static_cast<int64_t>(bytes)}, kByte, device);
  const cuda::cudnn::DropoutDescriptor d("cudnnCreateDropoutDescriptor");
  cuda::cudnn::check(cudnnSetDropoutDescriptor(d.get(), handle, static_cast<float>(dropout), memory(state), bytes,
                                               static_cast<unsigned long long>(dropout_seed)),
                     "cudnnSetDropoutDescriptor");
  return state;
}

}  // namespace at::native
