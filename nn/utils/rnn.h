// Batches of sequences of different lengths, for recurrent layers.
//
//   auto packed = rnn::pack_padded_sequence(x, lengths, /*batch_first=*/false, /*enforce_sorted=*/false);
//   auto [output, state] = lstm->forward_with_packed_input(packed);
//   auto [padded, counts] = rnn::pad_packed_sequence(output);
#pragma once

#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "aten/core/tensor.h"

namespace torch::nn::utils::rnn {

// The permutation that undoes `permutation`; undefined for an undefined one.
at::Tensor invert_permutation(const at::Tensor& permutation);

// The steps of all sequences that are no padding: step 0 of all, longest sequence first, then step 1 of those that have
// one ..
class PackedSequence {
 public:
  // batch_sizes, int64 on the CPU: how many sequences have each step. sorted_indices: where each sequence stood before
  // they were sorted by length; unsorted_indices, made from it where left out, is the way back. Both undefined: they
  // were sorted. Throws c10::Error for batch_sizes on another device.
  explicit PackedSequence(at::Tensor data, at::Tensor batch_sizes = {}, at::Tensor sorted_indices = {},
                          at::Tensor unsorted_indices = {});

  const at::Tensor& data() const { return data_; }
  const at::Tensor& batch_sizes() const { return batch_sizes_; }
  const at::Tensor& sorted_indices() const { return sorted_indices_; }
  const at::Tensor& unsorted_indices() const { return unsorted_indices_; }

  // With data, and indices where the device changes, moved or converted; batch_sizes stay on the CPU.
  PackedSequence to(at::TensorOptions options) const;
  PackedSequence cuda() const;
  PackedSequence cpu() const;
  PackedSequence pin_memory() const;
  bool is_cuda() const;
  bool is_pinned() const;

 private:
  at::Tensor data_, batch_sizes_, sorted_indices_, unsorted_indices_;
};

// Packs `input`, [steps, batch, *] or with `batch_first` [batch, steps, *]. With `enforce_sorted` the lengths must not
// increase; without, the sequences are sorted. Throws c10::Error for lengths that are not positive, not sorted or too
// many.
PackedSequence pack_padded_sequence(at::Tensor input, at::Tensor lengths, bool batch_first = false,
                                    bool enforce_sorted = true);

// The padded sequences in their first order, and their lengths. `total_length`: how many steps at least.
// Throws c10::ValueError for a `total_length` below the longest sequence.
std::tuple<at::Tensor, at::Tensor> pad_packed_sequence(const PackedSequence& sequence, bool batch_first = false,
                                                       double padding_value = 0.0,
                                                       std::optional<int64_t> total_length = std::nullopt);

// Sequences [length, *] as one tensor, padded on the "right" or "left".
at::Tensor pad_sequence(at::ArrayRef<at::Tensor> sequences, bool batch_first = false, double padding_value = 0,
                        std::string_view padding_side = "right");
// The first lengths[i] steps of each sequence of a tensor padded on the right.
std::vector<at::Tensor> unpad_sequence(const at::Tensor& padded_sequences, const at::Tensor& lengths,
                                       bool batch_first = false);

PackedSequence pack_sequence(at::ArrayRef<at::Tensor> sequences, bool enforce_sorted = true);
std::vector<at::Tensor> unpack_sequence(const PackedSequence& packed_sequences);

}  // namespace torch::nn::utils::rnn
