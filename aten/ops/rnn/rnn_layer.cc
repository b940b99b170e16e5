// One layer of a recurrent network in one direction: forward and its gradient.
//
// The weights are laid out once for the products of all steps. The sums of the input are one product for all steps,
// or, where the weights stay in the cache, each step's own. Each step adds the product of the hidden state and runs its
// cells, row by row. The gradient goes through the steps backwards; the gradients of input and weights are products
// over all steps.
#include "aten/ops/rnn/rnn_layer.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>
#include <vector>

#include "aten/core/empty.h"
#include "aten/core/structured.h"
#include "aten/core/tensor_spec.h"
#include "aten/cpu/matrix/gemm.h"
#include "aten/cpu/matrix/packed.h"
#include "aten/cpu/rows/recurrent.h"
#include "aten/cpu/rows/rows.h"
#include "aten/cpu/support/visit_dtype.h"
#include "aten/ops/binary/ops.h"
#include "aten/ops/copy/ops.h"
#include "aten/ops/dense/dense.h"
#include "aten/ops/matmul/ops.h"
#include "aten/ops/reduce/ops.h"
#include "aten/ops/rnn/kernels.h"
#include "aten/ops/shared/matrix_support.h"
#include "aten/ops/view/ops.h"
#include "c10/parallel/parallel.h"

namespace at::native {
namespace {

constexpr int64_t kCellGrain = 2048;                  // hidden units that are worth a thread
constexpr double kWorthThreads = 2.0 * 64 * 64 * 64;  // multiply-adds
// Samples that run together. The weights are read for each block and step, so that blocks are larger where they come
// from afar.
constexpr int64_t kBlock = 16, kLargeBlock = 32;
constexpr int64_t kNearBytes = 7 << 18;
constexpr int64_t kPackedBlock = 8, kLargestBlock = 60;
constexpr int64_t kStepsWorthACopy = 8;

template <class T>
const T* data_of(const Tensor& t) {
  return t.defined() ? static_cast<const T*>(t.const_data_ptr()) : nullptr;
}
template <class T>
T* memory_of(const Tensor& t) {
  return t.defined() ? static_cast<T*>(t.mutable_data_ptr()) : nullptr;
}

template <class T>
void copy_rows(T* to, const T* from, int64_t rows, int64_t width) {
  if (rows * width > 0) std::memcpy(to, from, static_cast<size_t>(rows * width) * sizeof(T));
}

// c[m, n] = a[m, k] b[k, n] + add, all dense but for b, which may be given transposed. Over several steps of more than
// a row b is laid out once (`packed`), as float and double allow.
class StepProduct {
 public:
  StepProduct(matrix::Type type, int64_t n, int64_t k, const void* b, bool b_transposed, bool packed) {
    const matrix::Operand operand = b_transposed ? matrix::Operand{b, 1, k} : matrix::Operand{b, n, 1};
    if (packed && b != nullptr && n > 0 && k > 0) {
      packed_.emplace(type, n, k, operand);
      return;
    }
    g_.type = type;
    g_.n = n, g_.k = k;
    g_.a.row = k;
    g_.b = operand;
    g_.c_row = n;
  }
  void operator()(int64_t m, const void* a, void* c, const void* add, int64_t add_row) const {
    if (packed_.has_value()) return packed_->multiply(m, {a, packed_->k()}, c, packed_->n(), add, add_row);
    matrix::Gemm g = g_;
    g.m = m;
    g.a.data = a;
    g.c = c;
    g.add = add == nullptr ? matrix::Operand{} : matrix::Operand{add, add_row, 1};
    matrix::gemm(g);
  }

 private:
  matrix::Gemm g_;
  std::optional<matrix::PackedMatrix> packed_;
};

bool uses_packed(const RnnLayer& l, ScalarType dtype) {
  return (dtype == kFloat || dtype == kDouble) && l.batch > 1 && l.steps >= kStepsWorthACopy;
}

// Whether the weights of input and state stay in the cache from step to step.
bool are_near(const RnnLayer& l, ScalarType dtype) {
  return l.input > 0 && l.gates * (l.state + l.input) * static_cast<int64_t>(elementSize(dtype)) <= kNearBytes;
}

// f(first sample, how many) for blocks of samples. No result depends on the blocks of packed products; the others'
// blocks do not depend on the number of threads.
template <class F>
void for_blocks(const RnnLayer& l, int64_t itemsize, bool packed, const F& f) {
  if (l.batch == 0) return;
  const int64_t threads = at::in_parallel_region() ? 1 : at::get_num_threads();
  const int64_t near = l.gates * l.state * itemsize <= kNearBytes ? kBlock : kLargeBlock;
  const int64_t size = packed ? std::clamp(at::divup(l.batch, threads), kPackedBlock, kLargestBlock) : near;
  const int64_t blocks = at::divup(l.batch, size), rows = at::divup(l.batch, blocks);
  const double work = static_cast<double>(l.rows) * static_cast<double>(l.gates) * static_cast<double>(l.state);
  at::parallel_for(0, blocks, work < kWorthThreads ? blocks : 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i * rows;
      if (first < l.batch) f(first, std::min(rows, l.batch - first));
    }
  });
}

template <class F>
void for_rows(int64_t rows, int64_t width, const F& f) {
  at::parallel_for(0, rows, std::max<int64_t>(1, kCellGrain / std::max<int64_t>(width, 1)),
                   [&](int64_t begin, int64_t end) {
                     for (int64_t i = begin; i < end; ++i) f(i);
                   });
}

template <class T>
struct ForwardMemory {
  const T *input, *bias;  // what the sums of the input are made of, where that is not done for all steps before
  T *output, *gates, *cells;
  bool gates_of_step;  // `gates` are one step's
  T *h, *c, *sums,
      *unprojected;  // of one step: the running states, a GRU's sums of the hidden state, states to be projected
};

struct ForwardProducts {
  StepProduct with_input, with_state, with_projection;
};

// All steps for `samples` samples from `first` on.
template <class T>
void run_block(const RnnLayer& l, const Steps& steps, int64_t first, int64_t samples, const ForwardProducts& products,
               const T* b_hh, const ForwardMemory<T>& m) {
  const int64_t n = l.hidden;
  T *state = m.h + first * l.state, *cell = m.c != nullptr ? m.c + first * n : nullptr;
  T* sums = m.sums != nullptr ? m.sums + first * l.gates : nullptr;
  T* full = m.unprojected != nullptr ? m.unprojected + first * n : nullptr;
  int64_t count_before = 0;
  for (int64_t order = 0; order < l.steps; ++order) {
    const Steps::Step s = steps.part(order, first, samples);
    if (s.count == 0) continue;
    // Between steps of the same rows the states are not copied: they are read where the step before left them.
    const bool starts = count_before != s.count;
    const bool ends = order + 1 == l.steps || steps.part(order + 1, first, samples).count != s.count;
    count_before = s.count;
    T *gates = m.gates + (m.gates_of_step ? first : s.first) * l.gates, *out = m.output + s.first * l.state;
    T* c = m.cells != nullptr ? m.cells + s.first * n : cell;
    const T* c_before = m.cells != nullptr && !starts ? m.cells + s.before * n : cell;
    const T* h_before = starts ? state : m.output + s.before * l.state;
    if (m.input != nullptr) products.with_input(s.count, m.input + s.first * l.input, gates, m.bias, 0);
    if (sums != nullptr) {
      products.with_state(s.count, h_before, sums, b_hh, 0);
    } else {
      products.with_state(s.count, h_before, gates, gates, l.gates);
    }
    for_rows(s.count, n, [&](int64_t i) {
      T *row = gates + i * l.gates, *h = out + i * l.state;
      if (l.kind == CellKind::kLstm) {
        cpu::lstm_row<T>(row, c_before + i * n, c + i * n, full != nullptr ? full + i * n : h, n);
      } else if (l.kind == CellKind::kGru) {
        cpu::gru_row<T>(row, sums + i * l.gates, h_before + i * n, h, c != nullptr ? c + i * n : nullptr, n);
      } else {
        cpu::rnn_row<T>(row, h, n, l.kind == CellKind::kRelu);
      }
    });
    if (full != nullptr) products.with_projection(s.count, full, out, nullptr, 0);
    if (!ends) continue;
    copy_rows(state, out, s.count, l.state);
    if (cell != nullptr && c != cell) copy_rows(cell, c, s.count, n);
  }
}

TensorSpec spec(IntArrayRef sizes, const Tensor& like) {
  return dense_spec(sizes, like);
}

}  // namespace

std::array<TensorSpec, 5> rnn_layer_meta(const Tensor& input, const Tensor& hx, const std::optional<Tensor>& cx,
                                         const Tensor& w_ih, const Tensor& w_hh, const std::optional<Tensor>& b_ih,
                                         const std::optional<Tensor>& b_hh, const std::optional<Tensor>& w_hr,
                                         IntArrayRef batch_sizes, int64_t mode, bool, bool keep) {
  const RnnLayer l = check_rnn_layer(input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, batch_sizes, mode);
  structured::check_one_device(input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr);
  const bool kept = keep && l.keeps_gates();
  const auto sized = [&](bool wanted, int64_t rows, int64_t cols) {
    return wanted ? spec({rows, cols}, input) : spec({0}, input);
  };
  return {spec({l.rows, l.state}, input), spec({l.batch, l.state}, input), sized(is_given(cx), l.batch, l.hidden),
          sized(kept, l.rows, l.gates), sized(kept, l.rows, l.hidden)};
}

void rnn_layer_cpu(const Tensor& input, const Tensor& hx, const std::optional<Tensor>& cx, const Tensor& w_ih,
                   const Tensor& w_hh, const std::optional<Tensor>& b_ih, const std::optional<Tensor>& b_hh,
                   const std::optional<Tensor>& w_hr, IntArrayRef batch_sizes, int64_t mode, bool reverse, bool keep,
                   Tensor& output, Tensor& hy, Tensor& cy, Tensor& gates, Tensor& cells) {
  const RnnLayer l = check_rnn_layer(input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, batch_sizes, mode);
  const bool kept = keep && l.keeps_gates();
  DenseOut out(output), h(hy), c(cy), g(gates), of_cells(cells);
  at::copy_(h.tensor(), hx);
  if (is_given(cx)) at::copy_(c.tensor(), *cx);
  const ScalarType dtype = input.scalar_type();
  const bool packed = uses_packed(l, dtype), by_step = packed && are_near(l, dtype);
  Tensor sums = kept ? g.tensor() : scratch({by_step ? l.batch : l.rows, l.gates}, input);
  const Tensor bias = input_bias(l, b_ih, b_hh), transposed = at::t(w_ih);
  if (!by_step && bias.defined()) {
    at::addmm_out(sums, bias, input, transposed);
  } else if (!by_step) {
    at::mm_out(sums, input, transposed);
  }
  const Tensor x = by_step ? dense(input) : Tensor(), from_input = by_step ? dense(w_ih) : Tensor();
  // Where they are not packed, a copy of the weights, columns first, is faster by more than the copy costs.
  const bool copied = !packed && l.steps >= kStepsWorthACopy && l.batch > 1;
  const Tensor recurrent = copied ? at::clone(at::t(w_hh), MemoryFormat::Contiguous) : dense(w_hh);
  const Tensor projection = dense_or_none(w_hr), second = dense_or_none(b_hh);
  const Tensor of_hidden = l.kind == CellKind::kGru ? scratch({l.batch, l.gates}, input) : Tensor();
  const Tensor unprojected = projection.defined() ? scratch({l.batch, l.hidden}, input) : Tensor();
  const Steps steps(batch_sizes, reverse);
  cpu::visit_floating(dtype, name_of(l.kind), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const ForwardMemory<T> memory{data_of<T>(x),
                                  by_step ? data_of<T>(bias) : nullptr,
                                  out.data<T>(),
                                  memory_of<T>(sums),
                                  kept ? of_cells.data<T>() : nullptr,
                                  by_step && !kept,
                                  h.data<T>(),
                                  is_given(cx) ? c.data<T>() : nullptr,
                                  memory_of<T>(of_hidden),
                                  memory_of<T>(unprojected)};
    const matrix::Type type = matrix_type(dtype);
    const ForwardProducts products{StepProduct(type, l.gates, l.input, data_of<T>(from_input), true, true),
                                   StepProduct(type, l.gates, l.state, data_of<T>(recurrent), !copied, packed),
                                   StepProduct(type, l.state, l.hidden, data_of<T>(projection), true, packed)};
    for_blocks(l, sizeof(T), packed, [&](int64_t first, int64_t samples) {
      run_block<T>(l, steps, first, samples, products, data_of<T>(second), memory);
    });
  });
  for (DenseOut* result : {&out, &h, &c, &g, &of_cells}) result->commit();
}

namespace {

// The gradients' memory: of the sums (a GRU's of the hidden state apart), of the running states, of the projected
// results, and of one step's states before they are projected.
template <class T>
struct BackwardMemory {
  const T *output, *cells, *gates, *hx, *cx, *grad_output;
  T *grad_h, *grad_c, *grad_gates, *grad_recurrent, *grad_projected, *unprojected;
  bool to_hx;  // whether grad_h is wanted
};

template <class T>
void add_rows(T* to, const T* a, const T* b, int64_t count) {
  using C = typename cpu::ComputeType<T>::type;
  for (int64_t i = 0; i < count; ++i)
    to[i] = b == nullptr ? a[i] : static_cast<T>(static_cast<C>(a[i]) + static_cast<C>(b[i]));
}

template <class T>
void run_block_backward(const RnnLayer& l, const Steps& steps, int64_t first, int64_t samples,
                        const StepProduct& with_state, const StepProduct& with_projection, const BackwardMemory<T>& m) {
  const int64_t n = l.hidden;
  const bool gru = l.kind == CellKind::kGru;
  T *grad_h = m.grad_h + first * l.state, *grad_c = m.grad_c != nullptr ? m.grad_c + first * n : nullptr;
  T* full = m.unprojected != nullptr ? m.unprojected + first * n : nullptr;
  for (int64_t order = l.steps; order-- > 0;) {
    const Steps::Step s = steps.part(order, first, samples);
    if (s.count == 0) continue;
    const T* of_output = m.grad_output == nullptr ? nullptr : m.grad_output + s.first * l.state;
    T *gates = m.grad_gates + s.first * l.gates, *sums = gru ? m.grad_recurrent + s.first * l.gates : gates;
    if (full != nullptr) {
      T* projected = m.grad_projected + s.first * l.state;
      add_rows(projected, grad_h, of_output, s.count * l.state);
      with_projection(s.count, projected, full, nullptr, 0);
    }
    for_rows(s.count, n, [&](int64_t i) {
      const int64_t row = s.first + i, at = i * l.gates;
      const bool continued = i < s.before_count;
      const T* g2 = of_output == nullptr || full != nullptr ? nullptr : of_output + i * n;
      // An RNN's gates are its results.
      const T* kept = m.gates != nullptr ? m.gates + row * l.gates : nullptr;
      if (l.kind == CellKind::kLstm) {
        const T* before = continued ? m.cells + (s.before + i) * n : m.cx + (first + i) * n;
        const T* g1 = full != nullptr ? full + i * n : grad_h + i * n;
        cpu::lstm_row_backward<T>(kept, before, m.cells + row * n, g1, g2, grad_c + i * n, gates + at, n);
      } else if (gru) {
        const T* before = continued ? m.output + (s.before + i) * n : m.hx + (first + i) * n;
        cpu::gru_row_backward<T>(kept, m.cells + row * n, before, grad_h + i * n, g2, gates + at, sums + at, n);
      } else {
        cpu::rnn_row_backward<T>(m.output + row * n, grad_h + i * n, g2, gates + at, n, l.kind == CellKind::kRelu);
      }
    });
    if (order > 0 || m.to_hx) with_state(s.count, sums, grad_h, gru ? grad_h : nullptr, l.state);
  }
}

// The hidden state that each row started from.
template <class T>
void fill_states_before(const RnnLayer& l, const Steps& steps, const T* output, const T* hx, T* to) {
  for (int64_t order = 0; order < l.steps; ++order) {
    const Steps::Step s = steps[order];
    T* row = to + s.first * l.state;
    copy_rows(row, output + s.before * l.state, s.before_count, l.state);
    copy_rows(row + s.before_count * l.state, hx + s.before_count * l.state, s.count - s.before_count, l.state);
  }
}

}  // namespace

RnnLayerGradients rnn_layer_backward_cpu(const std::optional<Tensor>& grad_output, const std::optional<Tensor>& grad_hy,
                                         const std::optional<Tensor>& grad_cy, const Tensor& input, const Tensor& hx,
                                         const std::optional<Tensor>& cx, const Tensor& w_ih, const Tensor& w_hh,
                                         const std::optional<Tensor>& b_ih, const std::optional<Tensor>& b_hh,
                                         const std::optional<Tensor>& w_hr, IntArrayRef batch_sizes, int64_t mode,
                                         bool reverse, const Tensor& output, const Tensor& gates, const Tensor& cells,
                                         std::array<bool, 8> output_mask) {
  const RnnLayer l = check_rnn_layer_backward(grad_output, grad_hy, grad_cy, input, hx, cx, w_ih, w_hh, b_ih, b_hh,
                                              w_hr, batch_sizes, mode, output, gates, cells);
  const char* op = name_of(l.kind);
  const bool gru = l.kind == CellKind::kGru, projected = is_given(w_hr);
  const Steps steps(batch_sizes, reverse);
  const Tensor grad_h = or_zeros(grad_hy, hx.sizes(), input),
               grad_c = is_given(cx) ? or_zeros(grad_cy, cx->sizes(), input) : Tensor();
  const Tensor grad_gates = scratch({l.rows, l.gates}, input),
               grad_recurrent = gru ? scratch({l.rows, l.gates}, input) : grad_gates;
  const Tensor grad_projected = projected ? scratch({l.rows, l.state}, input) : Tensor();
  const Tensor out = dense(output), g = dense(gates), c = dense(cells), h0 = dense(hx), c0 = dense_or_none(cx);
  const Tensor go = dense_or_none(grad_output), recurrent = dense(w_hh), projection = dense_or_none(w_hr);
  Tensor before = output_mask[4] ? scratch({l.rows, l.state}, input) : Tensor();
  const Tensor of_step = projected ? scratch({l.batch, l.hidden}, input) : Tensor();
  Tensor unprojected = projected && output_mask[7] ? scratch({l.rows, l.hidden}, input) : Tensor();
  const bool packed = uses_packed(l, input.scalar_type());
  cpu::visit_floating(input.scalar_type(), op, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const BackwardMemory<T> memory{data_of<T>(out),
                                   data_of<T>(c),
                                   data_of<T>(g),
                                   data_of<T>(h0),
                                   data_of<T>(c0),
                                   data_of<T>(go),
                                   memory_of<T>(grad_h),
                                   memory_of<T>(grad_c),
                                   memory_of<T>(grad_gates),
                                   memory_of<T>(grad_recurrent),
                                   memory_of<T>(grad_projected),
                                   memory_of<T>(of_step),
                                   output_mask[1]};
    const matrix::Type type = matrix_type(input.scalar_type());
    const StepProduct with_state(type, l.state, l.gates, data_of<T>(recurrent), false, packed);
    const StepProduct with_projection(type, l.hidden, l.state, data_of<T>(projection), false, packed);
    for_blocks(l, sizeof(T), packed, [&](int64_t first, int64_t samples) {
      run_block_backward<T>(l, steps, first, samples, with_state, with_projection, memory);
    });
    if (before.defined()) fill_states_before<T>(l, steps, memory.output, memory.hx, memory_of<T>(before));
    if (!unprojected.defined()) return;
    T* to = memory_of<T>(unprojected);
    for_rows(l.rows, l.hidden, [&](int64_t i) {
      cpu::lstm_hidden_row<T>(memory.gates + i * l.gates, memory.cells + i * l.hidden, to + i * l.hidden, l.hidden);
    });
  });

  return finish_rnn_gradients(l, {grad_gates, grad_recurrent, grad_h, grad_c, before, grad_projected, unprojected},
                              input, w_ih, is_given(b_ih), output_mask);
}

RnnLayerGradients rnn_layer_backward_meta(const std::optional<Tensor>&, const std::optional<Tensor>&,
                                          const std::optional<Tensor>&, const Tensor& input, const Tensor& hx,
                                          const std::optional<Tensor>& cx, const Tensor& w_ih, const Tensor& w_hh,
                                          const std::optional<Tensor>& b_ih, const std::optional<Tensor>& b_hh,
                                          const std::optional<Tensor>& w_hr, IntArrayRef batch_sizes, int64_t mode,
                                          bool, const Tensor&, const Tensor&, const Tensor&,
                                          std::array<bool, 8> output_mask) {
  check_rnn_layer(input, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, batch_sizes, mode);
  const auto like = [&](size_t i, const std::optional<Tensor>& t) {
    return output_mask[i] && is_given(t) ? scratch(t->sizes(), *t) : Tensor();
  };
  return {like(0, input), like(1, hx),   like(2, cx),   like(3, w_ih),
          like(4, w_hh),  like(5, b_ih), like(6, b_hh), like(7, w_hr)};
}

}  // namespace at::native
