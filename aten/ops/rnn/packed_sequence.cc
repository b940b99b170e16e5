// Batches of sequences of different lengths: padded [steps, batch, ...], and packed, the rows of each step that are not
// padding one step after the other.
#include <algorithm>
#include <tuple>
#include <vector>

#include "aten/core/tensor.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/rnn/kernels.h"
#include "aten/ops/rnn/ops.h"
#include "aten/ops/view/ops.h"

namespace at::native {
namespace {

std::vector<int64_t> counts_of(const char* op, const char* name, const Tensor& t) {
  TORCH_CHECK(t.dim() == 1 && t.device().is_cpu() && t.scalar_type() == kLong, op, ": '", name,
              "' argument should be a 1D CPU int64 tensor, but got ", t.dim(), "D ", t.device(), " ", t.scalar_type(),
              " tensor");
  const Tensor own = at::contiguous(t);
  const int64_t* values = own.data_ptr<int64_t>();
  return std::vector<int64_t>(values, values + own.numel());
}

Tensor to_tensor(const std::vector<int64_t>& values) {
  const Tensor t = at::empty({static_cast<int64_t>(values.size())}, TensorOptions().dtype(kLong).device(kCPU));
  std::copy(values.begin(), values.end(), t.data_ptr<int64_t>());
  return t;
}

// Where the packed rows stand in the padded tensor, seen as [steps * batch, ...].
Tensor places(const std::vector<int64_t>& batch_sizes, int64_t batch, const Device& device) {
  std::vector<int64_t> rows;
  for (size_t t = 0; t < batch_sizes.size(); ++t) {
    for (int64_t i = 0; i < batch_sizes[t]; ++i) rows.push_back(static_cast<int64_t>(t) * batch + i);
  }
  const Tensor places = to_tensor(rows);
  return device.is_cpu() ? places : at::to(places, TensorOptions().device(device));
}

}  // namespace

std::tuple<Tensor, Tensor> pack_padded_sequence(const Tensor& input, const Tensor& lengths, bool batch_first) {
  constexpr const char* kName = "_pack_padded_sequence";
  TORCH_CHECK(input.numel() > 0, "Cannot pack empty tensors.");
  const std::vector<int64_t> of_samples = counts_of(kName, "lengths", lengths);
  TORCH_CHECK(input.dim() >= 2, kName, ": Expected an input of at least 2 dimensions, got ", input.dim());
  const Tensor steps_first = batch_first ? at::transpose(input, 0, 1) : input;
  const int64_t steps = steps_first.size(0), batch = steps_first.size(1);
  TORCH_CHECK(static_cast<int64_t>(of_samples.size()) == batch,
              "Expected `len(lengths)` to be equal to batch_size, but got ", of_samples.size(), " (batch_size=", batch,
              ")");
  for (size_t i = 0; i < of_samples.size(); ++i) {
    TORCH_CHECK(of_samples[i] > 0,
                "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0");
    TORCH_CHECK(i == 0 || of_samples[i] <= of_samples[i - 1],
                "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
                "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if "
                "you do not "
                "need ONNX exportability.");
  }
  TORCH_CHECK(of_samples[0] <= steps, kName, ": Expected lengths of at most ", steps, ", the input's steps, got ",
              of_samples[0]);
  std::vector<int64_t> batch_sizes(static_cast<size_t>(of_samples[0]), 0);
  for (int64_t length : of_samples) {
    for (int64_t t = 0; t < length; ++t) ++batch_sizes[static_cast<size_t>(t)];
  }
  const Tensor rows = at::flatten(steps_first, 0, 1);
  return {at::index_select(rows, 0, places(batch_sizes, batch, input.device())), to_tensor(batch_sizes)};
}

// The gradient of the padded batch, of input_size, from that of its rows.
Tensor pack_padded_sequence_backward(const Tensor& grad, IntArrayRef input_size, const Tensor& batch_sizes,
                                     bool batch_first) {
  constexpr const char* kName = "_pack_padded_sequence_backward";
  const std::vector<int64_t> counts = counts_of(kName, "batch_sizes", batch_sizes);
  TORCH_CHECK(input_size.size() >= 2 && input_size[0] >= 0 && input_size[1] >= 0, kName,
              ": Expected an input of at least 2 dimensions, got size ", input_size);
  DimVector sizes(input_size.begin(), input_size.end());
  if (batch_first) std::swap(sizes[0], sizes[1]);
  const int64_t steps = sizes[0], batch = sizes[1];
  int64_t rows = 0;
  for (const int64_t count : counts) {
    TORCH_CHECK(count >= 0 && count <= batch, kName, ": Expected batch_sizes from 0 to ", batch, ", got ", count);
    rows += count;
  }
  TORCH_CHECK(static_cast<int64_t>(counts.size()) <= steps, kName, ": Expected batch_sizes of at most ", steps,
              " steps, got ", counts.size());
  TORCH_CHECK(grad.dim() + 1 == static_cast<int64_t>(sizes.size()) && grad.size(0) == rows, kName,
              ": Expected a gradient of ", rows, " rows and of one dimension less than the input, got size ",
              grad.sizes());
  DimVector flat(sizes.begin() + 1, sizes.end());
  flat[0] = steps * batch;
  const Tensor padded = at::index_add(at::zeros(flat, grad.options()), 0, places(counts, batch, grad.device()), grad);
  const Tensor steps_first = at::view(padded, sizes);
  return batch_first ? at::transpose(steps_first, 0, 1) : steps_first;
}

std::tuple<Tensor, Tensor> pad_packed_sequence(const Tensor& data, const Tensor& batch_sizes, bool batch_first,
                                               const Scalar& padding_value, int64_t total_length) {
  constexpr const char* kName = "_pad_packed_sequence";
  const std::vector<int64_t> sizes = counts_of(kName, "batch_sizes", batch_sizes);
  TORCH_CHECK(data.dim() >= 1 && !sizes.empty(), kName,
              ": Expected packed data of at least 1 dimension and batch_sizes that are not empty");
  int64_t rows = 0;
  for (size_t t = 0; t < sizes.size(); ++t) {
    TORCH_CHECK(sizes[t] > 0 && (t == 0 || sizes[t] <= sizes[t - 1]), kName,
                ": batch_sizes must be positive and must not increase, got ", sizes[t], " at step ", t);
    rows += sizes[t];
  }
  TORCH_CHECK(data.size(0) == rows, kName, ": Expected data of ", rows, " rows, the sum of batch_sizes, got ",
              data.size(0));
  int64_t steps = static_cast<int64_t>(sizes.size());
  if (total_length > 0) {
    TORCH_CHECK(
        total_length >= steps,
        "Expected total_length to be at least the length of the longest sequence in input, but got total_length=",
        total_length, " and max sequence length being ", steps);
    steps = total_length;
  }
  const int64_t batch = sizes[0];
  DimVector padded(data.sizes().begin(), data.sizes().end());
  padded[0] = steps * batch;
  const Tensor filled =
      at::index_copy(at::full(padded, padding_value, data.options()), 0, places(sizes, batch, data.device()), data);
  padded[0] = batch;
  padded.insert(padded.begin(), steps);
  const Tensor steps_first = at::view(filled, padded);

  std::vector<int64_t> lengths(static_cast<size_t>(batch), 0);
  for (int64_t size : sizes) {
    for (int64_t i = 0; i < size; ++i) ++lengths[static_cast<size_t>(i)];
  }
  return {batch_first ? at::transpose(steps_first, 0, 1) : steps_first, to_tensor(lengths)};
}

}  // namespace at::native
