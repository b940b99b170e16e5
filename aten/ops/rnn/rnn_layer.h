#pragma once
// One layer of a recurrent network in one direction: its arguments, checked. Shared by the kernels of the layer.

#include <optional>
#include <tuple>

#include "aten/core/tensor.h"

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

using RnnLayerGradients = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>;

inline bool is_given(const std::optional<Tensor>& t) {
  return t.has_value() && t->defined();
}

}  // namespace at::native
