#pragma once
// One layer of a recurrent network in one direction: its arguments, checked, and what its kernels on every device
// share.

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/tensor.h"
#include "aten/ops/dense/dense.h"

namespace at::native {

// The numbers are those of the schemas' `mode`.
enum class CellKind : int64_t { kRelu = 0, kTanh = 1, kLstm = 2, kGru = 3 };

struct RnnLayer {
  CellKind kind = CellKind::kTanh;
  int64_t steps = 0;
  int64_t rows = 0;   // of all steps together
  int64_t batch = 0;  // rows of the first step, the largest
  int64_t input = 0, hidden = 0;
  int64_t state = 0;  // columns of the result: hidden, or the size it is projected to
  int64_t gates = 0;  // columns of the sums

  bool keeps_gates() const { return kind == CellKind::kLstm || kind == CellKind::kGru; }
};

// Throws c10::Error where arguments of _rnn_layer do not fit together, by the name of the public operator.
RnnLayer check_rnn_layer(const Tensor& input, const Tensor& hx, const std::optional<Tensor>& cx, const Tensor& w_ih,
                         const Tensor& w_hh, const std::optional<Tensor>& b_ih, const std::optional<Tensor>& b_hh,
                         const std::optional<Tensor>& w_hr, IntArrayRef batch_sizes, int64_t mode);

// "rnn_relu", "rnn_tanh", "lstm" or "gru".
const char* name_of(CellKind kind);

// The steps of a layer in the order in which they run. Rows of a step that the one before it did not have start from
// the initial state.
struct Steps {
  Steps(IntArrayRef sizes, bool reverse) : sizes(sizes), reverse(reverse), offsets(sizes.size()) {
    int64_t next = 0;
    for (size_t t = 0; t < sizes.size(); ++t) {
      offsets[t] = next;
      next += sizes[t];
    }
  }
  struct Step {
    int64_t first, count;          // rows
    int64_t before, before_count;  // the same of the step before it; 0 rows in the first
  };
  Step operator[](int64_t order) const {
    const int64_t steps = static_cast<int64_t>(sizes.size()), by = reverse ? 1 : -1;
    const int64_t t = reverse ? steps - 1 - order : order;
    Step s{offsets[static_cast<size_t>(t)], sizes[static_cast<size_t>(t)], 0, 0};
    if (order > 0) {
      s.before = offsets[static_cast<size_t>(t + by)];
      s.before_count = std::min(s.count, sizes[static_cast<size_t>(t + by)]);
    }
    return s;
  }
  // What of a step belongs to `count` samples from `first` on.
  Step part(int64_t order, int64_t first, int64_t count) const {
    const auto within = [&](int64_t all) { return std::clamp<int64_t>(all - first, 0, count); };
    const Step s = (*this)[order];
    return {s.first + first, within(s.count), s.before + first, within(s.before_count)};
  }

  IntArrayRef sizes;
  bool reverse;
  std::vector<int64_t> offsets;
};

using RnnLayerGradients = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>;

inline bool is_given(const std::optional<Tensor>& t) {
  return t.has_value() && t->defined();
}

// Throws where those of _rnn_layer_backward do not.
RnnLayer check_rnn_layer_backward(const std::optional<Tensor>& grad_output, const std::optional<Tensor>& grad_hy,
                                  const std::optional<Tensor>& grad_cy, const Tensor& input, const Tensor& hx,
                                  const std::optional<Tensor>& cx, const Tensor& w_ih, const Tensor& w_hh,
                                  const std::optional<Tensor>& b_ih, const std::optional<Tensor>& b_hh,
                                  const std::optional<Tensor>& w_hr, IntArrayRef batch_sizes, int64_t mode,
                                  const Tensor& output, const Tensor& gates, const Tensor& cells);

// What an LSTM or an RNN adds to the sums: both biases. A GRU's second one belongs to the hidden state's.
Tensor input_bias(const RnnLayer& l, const std::optional<Tensor>& b_ih, const std::optional<Tensor>& b_hh);

// The gradient of every step: of the sums (a GRU's of the hidden state apart), of the first states, and, where they are
// wanted, the hidden state that each row started from, of the projected results, and what was projected.
struct RnnStepGradients {
  Tensor gates, recurrent, h, c, before, projected, unprojected;
};
// The gradients of input and parameters: products and sums over all steps.
RnnLayerGradients finish_rnn_gradients(const RnnLayer& l, const RnnStepGradients& g, const Tensor& input,
                                       const Tensor& w_ih, bool has_biases, const std::array<bool, 8>& output_mask);

inline Tensor dense_or_none(const std::optional<Tensor>& t) {
  return is_given(t) ? dense(*t) : Tensor();
}
inline Tensor scratch(IntArrayRef sizes, const Tensor& like) {
  return empty_contiguous(sizes, like.scalar_type(), like.device());
}
inline Tensor or_zeros(const std::optional<Tensor>& grad, IntArrayRef sizes, const Tensor& like) {
  Tensor t = scratch(sizes, like);
  return is_given(grad) ? at::copy_(t, *grad) : at::zero_(t);
}

}  // namespace at::native
