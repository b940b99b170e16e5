#include "nn/utils/rnn.h"

#include "aten/ops/copy/ops.h"
#include "aten/ops/creation/ops.h"
#include "aten/ops/index/ops.h"
#include "aten/ops/join/ops.h"
#include "aten/ops/rnn/ops.h"
#include "aten/ops/sort/ops.h"
#include "aten/ops/view/ops.h"
#include "c10/util/exception.h"

namespace torch::nn::utils::rnn {
namespace {

at::Tensor to_device(const at::Tensor& t, c10::Device device) {
  return !t.defined() || t.device() == device ? t : at::to(t, at::TensorOptions().device(device));
}

std::vector<int64_t> numbers_of(const at::Tensor& t) {
  const at::Tensor own = at::contiguous(at::to(to_device(t, c10::Device(c10::kCPU)), at::kLong));
  return std::vector<int64_t>(own.data_ptr<int64_t>(), own.data_ptr<int64_t>() + own.numel());
}

}  // namespace

at::Tensor invert_permutation(const at::Tensor& permutation) {
  if (!permutation.defined()) return {};
  const at::Tensor places = at::arange(permutation.numel(), permutation.options());
  return at::scatter(at::empty_like(permutation), 0, permutation, places);
}

PackedSequence::PackedSequence(at::Tensor data, at::Tensor batch_sizes, at::Tensor sorted_indices,
                               at::Tensor unsorted_indices)
    : data_(std::move(data)),
      batch_sizes_(std::move(batch_sizes)),
      sorted_indices_(std::move(sorted_indices)),
      unsorted_indices_(std::move(unsorted_indices)) {
  if (!unsorted_indices_.defined()) unsorted_indices_ = invert_permutation(sorted_indices_);
  TORCH_CHECK(!batch_sizes_.defined() || batch_sizes_.device().is_cpu(),
              "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. They "
              "should be "
              "instantiated by functions like pack_sequence and pack_padded_sequences in nn::utils::rnn, but got "
              "batch_sizes on ",
              batch_sizes_.device());
}

PackedSequence PackedSequence::to(at::TensorOptions options) const {
  const at::Tensor data = at::to(data_, options);
  if (data.is_same(data_)) return *this;
  return PackedSequence(data, batch_sizes_, to_device(sorted_indices_, data.device()),
                        to_device(unsorted_indices_, data.device()));
}
PackedSequence PackedSequence::cuda() const {
  return to(data_.options().device(c10::kCUDA));
}
PackedSequence PackedSequence::cpu() const {
  return to(data_.options().device(c10::kCPU));
}
PackedSequence PackedSequence::pin_memory() const {
  const auto pinned = [](const at::Tensor& t) { return t.defined() ? t.pin_memory() : t; };
  return PackedSequence(pinned(data_), batch_sizes_, pinned(sorted_indices_), pinned(unsorted_indices_));
}
bool PackedSequence::is_cuda() const {
  return data_.is_cuda();
}
bool PackedSequence::is_pinned() const {
  return data_.is_pinned();
}

PackedSequence pack_padded_sequence(at::Tensor input, at::Tensor lengths, bool batch_first, bool enforce_sorted) {
  lengths = to_device(lengths, c10::Device(c10::kCPU));
  at::Tensor sorted_indices;
  if (!enforce_sorted) {
    TORCH_CHECK(lengths.dim() == 1, "pack_padded_sequence: Expected lengths of one dimension, got ", lengths.sizes());
    const int64_t batch_dim = batch_first ? 0 : 1;
    TORCH_CHECK(input.dim() >= 2 && lengths.size(0) == input.size(batch_dim),
                "Expected `len(lengths)` to be equal to batch_size, but got ", lengths.size(0),
                " and an input of size ", input.sizes());
    std::tie(lengths, sorted_indices) = at::sort(lengths, -1, /*descending=*/true);
    sorted_indices = to_device(sorted_indices, input.device());
    input = at::index_select(input, batch_dim, sorted_indices);
  }
  auto [data, batch_sizes] = at::_pack_padded_sequence(input, lengths, batch_first);
  return PackedSequence(std::move(data), std::move(batch_sizes), std::move(sorted_indices));
}

std::tuple<at::Tensor, at::Tensor> pad_packed_sequence(const PackedSequence& sequence, bool batch_first,
                                                       double padding_value, std::optional<int64_t> total_length) {
  const int64_t longest = sequence.batch_sizes().size(0);
  TORCH_CHECK_VALUE(
      !total_length.has_value() || *total_length >= longest,
      "Expected total_length to be at least the length of the longest sequence in input, but got total_length=",
      total_length.value_or(0), " and max sequence length being ", longest);
  auto [padded, lengths] = at::_pad_packed_sequence(sequence.data(), sequence.batch_sizes(), batch_first, padding_value,
                                                    total_length.value_or(longest));
  const at::Tensor& order = sequence.unsorted_indices();
  if (!order.defined()) return {padded, lengths};
  return {at::index_select(padded, batch_first ? 0 : 1, order),
          at::index_select(lengths, 0, to_device(order, c10::Device(c10::kCPU)))};
}

at::Tensor pad_sequence(at::ArrayRef<at::Tensor> sequences, bool batch_first, double padding_value,
                        std::string_view padding_side) {
  return at::pad_sequence(sequences, batch_first, padding_value, padding_side);
}

std::vector<at::Tensor> unpad_sequence(const at::Tensor& padded_sequences, const at::Tensor& lengths,
                                       bool batch_first) {
  TORCH_CHECK(padded_sequences.dim() >= 2, "unpad_sequence: Expected padded sequences of at least 2 dimensions, got ",
              padded_sequences.sizes());
  const at::Tensor samples_first = batch_first ? padded_sequences : at::transpose(padded_sequences, 0, 1);
  const std::vector<int64_t> counts = numbers_of(lengths);
  TORCH_CHECK(static_cast<int64_t>(counts.size()) == samples_first.size(0), "unpad_sequence: Expected ",
              samples_first.size(0), " lengths, got ", counts.size());
  std::vector<at::Tensor> sequences;
  for (size_t i = 0; i < counts.size(); ++i) {
    sequences.push_back(at::narrow(at::select(samples_first, 0, static_cast<int64_t>(i)), 0, 0, counts[i]));
  }
  return sequences;
}

PackedSequence pack_sequence(at::ArrayRef<at::Tensor> sequences, bool enforce_sorted) {
  const at::Tensor lengths =
      at::empty({static_cast<int64_t>(sequences.size())}, at::TensorOptions().dtype(at::kLong).device(c10::kCPU));
  for (size_t i = 0; i < sequences.size(); ++i) lengths.data_ptr<int64_t>()[i] = sequences[i].size(0);
  return pack_padded_sequence(at::pad_sequence(sequences), lengths, false, enforce_sorted);
}

std::vector<at::Tensor> unpack_sequence(const PackedSequence& packed_sequences) {
  const auto [padded, lengths] = pad_packed_sequence(packed_sequences, /*batch_first=*/true);
  return unpad_sequence(padded, lengths, /*batch_first=*/true);
}

}  // namespace torch::nn::utils::rnn
